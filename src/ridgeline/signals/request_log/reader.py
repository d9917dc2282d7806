"""A file of request-log records → rows. Lines that are none (a server log beside it) go to the log reader's parsers."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from ridgeline.signals.lines import BLOCK, I64, NEWLINE, newlines
from ridgeline.signals.log.ahead import ahead
from ridgeline.signals.log.clock import Clock
from ridgeline.signals.log.frame import frame
from ridgeline.signals.log.reader import ESCAPES, run_rows
from ridgeline.signals.request_log import keys
from ridgeline.signals.request_log.fill import filled
from ridgeline.signals.request_log.jsonrows import json_rows, plain
from ridgeline.signals.request_log.project import scan
from ridgeline.signals.request_log.rows import Memory, to_rows
from ridgeline.signals.request_log.session import cursor
from ridgeline.signals.request_log.split import Split, split
from ridgeline.signals.request_log.survey import survey
from ridgeline.signals.request_log.zone import Zone
from ridgeline.signals.rows import Reading, Rows
from ridgeline.signals.stream import Blob

# Brings lines of another form to that of a record; null where it cannot.
Prepare = Callable[[duckdb.DuckDBPyConnection, I64, pa.Array, Reading], pa.Array]
ALL: Final = -1
ESCAPE: Final = 0x1B
CHUNK: Final = 32 * 1024 * 1024
LOOKS: Final = 256  # blocks looked at ahead of what is read
LARGE: Final = 1 << 20  # from here on a thread is worth its start
SCAN_BYTES: Final = 8 * 1024 * 1024  # a plain file from this size on is handed to DuckDB whole


class Run(NamedTuple):
    """Some whole lines of a file, split."""

    data: bytes | memoryview
    split: Split
    narrow: bool  # no key of theirs needs the wide shape


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """The rows of one request log: `records`, `request_attrs`, `events`, `unread`. Never raises for content."""
    memory = Memory(Zone())
    clock = Clock(reading)
    with cursor() as con:
        done = 0
        if blob.path is not None and blob.plain and blob.path.stat().st_size >= SCAN_BYTES:
            done = yield from _scanned(con, blob.path, reading, memory)
        if done != ALL:
            yield from careful(con, blob, reading, memory, clock, done + 1)
    clock.say(reading)


def careful(
    con: duckdb.DuckDBPyConnection,
    blob: Blob,
    reading: Reading,
    memory: Memory,
    clock: Clock,
    start: int = 1,
    prepare: Prepare | None = None,
) -> Iterator[Rows]:
    """The rows from line `start` on, run by run: any line may be of any kind. The next run is split meanwhile."""
    side = replace(reading, notes=[])  # the other thread's notes, so that their order is fixed
    runs = _runs(blob, side, start, prepare is None)
    for run in ahead(runs) if len(blob.head(LARGE)) == LARGE else runs:
        yield from _run_rows(con, run, reading, memory, clock, prepare)
    for note in side.notes:
        reading.note(note)


def _runs(blob: Blob, reading: Reading, start: int, looked: bool) -> Iterator[Run]:
    for first, raw in _pieces(blob, reading, start):
        data = clean(raw, first, reading)
        yield Run(data, split(data, first), looked and keys.narrow(data))


def _pieces(blob: Blob, reading: Reading, start: int) -> Iterator[tuple[int, bytes | memoryview]]:
    """(number of the first line, bytes) from line `start` on."""
    if start == 1 and blob.path is not None and blob.plain and blob.path.stat().st_size >= SCAN_BYTES:
        views = filled(blob.path, CHUNK)
        while True:
            try:
                view = next(views)
            except StopIteration as end:
                if end.value:
                    return
                break
            yield start, view
            start += len(newlines(np.frombuffer(view, dtype=np.uint8))) + (view[-1] != NEWLINE)
    yield from _from_line(blob.chunks(reading, CHUNK), start)


def _scanned(
    con: duckdb.DuckDBPyConnection, path: Path, reading: Reading, memory: Memory
) -> Generator[Rows, None, int]:
    """Rows of a file of bare JSON lines; returns ALL, or how many lines were read when something was not plain.

    Another thread looks at the file's bytes just ahead: no row is handed on before all of its line was looked at.
    """
    looks = ahead(survey(path), LOOKS)
    done = 0
    try:
        first = next(looks)
        narrow, seen = first.narrow, first.lines
        if not first.bare:
            return done
        for batch in scan(con, path, narrow):
            while seen < done + len(batch):
                following = next(looks, None)
                if following is None or not following.bare or (narrow and not following.narrow):
                    return done
                seen += following.lines
            if not plain(batch, narrow):
                return done
            line = pa.array(np.arange(done + 1, done + 1 + len(batch)))
            yield from to_rows(batch.set_column(0, "line", line), reading, memory)
            done += len(batch)
            reading.lines += len(batch)
            reading.understood += len(batch)
        return ALL if seen + sum(one.lines for one in looks) == done else done
    except duckdb.Error:
        return done  # a line that is no JSON: the careful way says which, and keeps the rest
    finally:
        looks.close()


def _from_line(chunks: Iterator[tuple[int, bytes]], start: int) -> Iterator[tuple[int, bytes]]:
    """The chunks without the lines before number `start`."""
    for first, data in chunks:
        at = 0
        for _ in range(first, min(start, first + data.count(b"\n"))):
            at = data.index(b"\n", at) + 1
        if data[at:]:
            yield max(first, start), data[at:] if at else data


def _run_rows(
    con: duckdb.DuckDBPyConnection,
    run: Run,
    reading: Reading,
    memory: Memory,
    clock: Clock,
    prepare: Prepare | None,
) -> Iterator[Rows]:
    data, found = run.data, run.split
    reading.blank += found.blank
    reading.lines += found.blank + len(found.line) + len(found.other_line)
    other_line, other_start, other_end = found.other_line, found.other_start, found.other_end
    if len(found.line):
        body = found.body if prepare is None else prepare(con, found.line, found.body, reading)
        rows, understood = json_rows(con, found.line, body, reading, memory, run.narrow)
        reading.understood += int(understood.sum())
        yield from rows
        if not understood.all():
            other_line, other_start, other_end = _joined(found, ~understood)
    if len(other_line):
        rest = b"".join(bytes(data[s:e]) + b"\n" for s, e in zip(other_start.tolist(), other_end.tolist(), strict=True))
        lines, _ = frame(rest, other_line, clock)
        yield from run_rows(lines, reading)


def clean(raw: bytes | memoryview, first: int, reading: Reading) -> bytes | memoryview:
    """Without a byte-order mark and terminal escapes; bytes that are no UTF-8 replaced, and that said once."""
    if isinstance(raw, memoryview) and _simple(raw):
        return raw
    data = bytes(raw)
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


def _simple(raw: memoryview) -> bool:
    """Whether all bytes are ASCII and none begins an escape."""
    buf = np.frombuffer(raw, dtype=np.uint8)
    blocks = (buf[at : at + BLOCK] for at in range(0, len(buf), BLOCK))
    return all(int(block.max()) < 0x80 and not bool((block == ESCAPE).any()) for block in blocks)


def _joined(found: Split, rest: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[I64, I64, I64]:
    """The other lines and the JSON lines nobody understood, in file order."""
    line = np.concatenate((found.other_line, found.line[rest]))
    order = np.argsort(line, kind="stable")
    start = np.concatenate((found.other_start, found.start[rest]))
    end = np.concatenate((found.other_end, found.end[rest]))
    return line[order], start[order], end[order]
