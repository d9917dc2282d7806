"""A server log → rows. Lines are framed chunk by chunk, then each parser of a literal list takes what it knows."""

import re
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from ridgeline.signals.lines import LogLines, Parsed
from ridgeline.signals.log import batches
from ridgeline.signals.log.clock import Clock
from ridgeline.signals.log.frame import frame
from ridgeline.signals.log.unread import unread_rows
from ridgeline.signals.log.version import settle
from ridgeline.signals.rows import Reading, Rows
from ridgeline.signals.stream import Blob

Parser = Callable[[LogLines, Reading], Parsed]

# In order; each gets the lines that none before it understood.
PARSERS: Final[tuple[Parser, ...]] = (batches.parse,)

ESCAPES: Final = re.compile(rb"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[@-Z\\^_])")
FULL_DATE: Final = re.compile(rb"(?<!\d)(19[7-9]\d|20\d\d)-\d\d-\d\d[ T]\d\d:\d\d:\d\d")


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """The rows of one log. Never raises for content: what no parser knows becomes `unread` rows."""
    seen = FULL_DATE.search(blob.head(1 << 16))
    clock = Clock(reading, int(seen.group(1)) if seen else None)
    for first, data in blob.chunks(reading):
        lines, blank = frame(_clean(data, first, reading), first, clock)
        reading.blank += blank
        reading.lines += blank + len(lines)
        yield from route(lines, reading)
    clock.say(reading)
    settle(reading)


def route(lines: LogLines, reading: Reading) -> Iterator[Rows]:
    """Hand lines to the parsers in order; count what was understood and give the rest as `unread` rows."""
    known = lines.ts[~np.isnan(lines.ts)]
    if len(known):
        reading.saw(float(known.min()), float(known.max()))
    for parse in PARSERS:
        if not len(lines):
            return
        parsed = parse(lines, reading)
        yield from parsed.rows
        taken = int(parsed.understood.sum())
        if taken:
            reading.understood += taken
            lines = lines.pick(~parsed.understood)
    reading.unparsed += len(lines)
    if len(lines):
        rows, errors = unread_rows(lines, reading)
        reading.unparsed_errors += errors
        yield rows


def _clean(data: bytes, first: int, reading: Reading) -> bytes:
    """Escapes out, bytes that are no UTF-8 replaced (and that said once)."""
    if b"\x1b" in data:
        data = ESCAPES.sub(b"", data)
    if not data.isascii():
        try:
            pa.array([data], pa.string()).validate(full=True)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            reading.note(f"{reading.path}:{first}: from here on some bytes are not UTF-8; they were replaced")
            return data.decode("utf-8", "replace").encode()
    return data
