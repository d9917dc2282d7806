"""A file of request-log records → rows. Lines that are none (a server log beside it) go to the log reader's parsers."""

from collections.abc import Callable, Iterator
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa

from ridgeline.signals.lines import I64
from ridgeline.signals.log.clock import Clock
from ridgeline.signals.log.frame import frame
from ridgeline.signals.log.reader import ESCAPES, run_rows
from ridgeline.signals.request_log.jsonrows import json_rows
from ridgeline.signals.request_log.rows import Memory
from ridgeline.signals.request_log.session import cursor
from ridgeline.signals.request_log.split import Split, split
from ridgeline.signals.request_log.zone import Zone
from ridgeline.signals.rows import Reading, Rows
from ridgeline.signals.stream import Blob

# Brings lines of another form to that of a record; null where it cannot.
Prepare = Callable[[duckdb.DuckDBPyConnection, I64, pa.Array, Reading], pa.Array]
CHUNK: Final = 16 * 1024 * 1024


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """The rows of one request log: `records`, `request_attrs`, `events`, `unread`. Never raises for content."""
    memory = Memory(Zone())
    clock = Clock(reading)
    with cursor() as con:
        for first, data in blob.chunks(reading, CHUNK):
            yield from chunk_rows(con, clean(data, first, reading), first, reading, memory, clock)
    clock.say(reading)


def chunk_rows(
    con: duckdb.DuckDBPyConnection,
    data: bytes,
    first: int,
    reading: Reading,
    memory: Memory,
    clock: Clock,
    prepare: Prepare | None = None,
) -> Iterator[Rows]:
    """The rows of one run of whole lines, numbered from `first`."""
    found = split(data, first)
    reading.blank += found.blank
    reading.lines += found.blank + len(found.line) + len(found.other_line)
    other_line, other_start, other_end = found.other_line, found.other_start, found.other_end
    if len(found.line):
        body = found.body if prepare is None else prepare(con, found.line, found.body, reading)
        rows, understood = json_rows(con, found.line, body, reading, memory)
        reading.understood += int(understood.sum())
        yield from rows
        if not understood.all():
            other_line, other_start, other_end = _joined(found, ~understood)
    if len(other_line):
        rest = b"".join(data[s:e] + b"\n" for s, e in zip(other_start.tolist(), other_end.tolist(), strict=True))
        lines, _ = frame(rest, other_line, clock)
        yield from run_rows(lines, reading)


def clean(data: bytes, first: int, reading: Reading) -> bytes:
    """Without a byte-order mark and terminal escapes; bytes that are no UTF-8 replaced, and that said once."""
    data = data.removeprefix(b"\xef\xbb\xbf") if first == 1 else data
    if b"\x1b" in data:
        data = ESCAPES.sub(b"", data)
    if not data.isascii():
        try:
            pa.array([data], pa.string()).validate(full=True)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            reading.note(f"{reading.path}:{first}: from here on some bytes are not UTF-8; they were replaced")
            return data.decode("utf-8", "replace").encode()
    return data


def _joined(found: Split, rest: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[I64, I64, I64]:
    """The other lines and the JSON lines nobody understood, in file order."""
    line = np.concatenate((found.other_line, found.line[rest]))
    order = np.argsort(line, kind="stable")
    start = np.concatenate((found.other_start, found.start[rest]))
    end = np.concatenate((found.other_end, found.end[rest]))
    return line[order], start[order], end[order]
