"""A server log → rows. Lines are framed chunk by chunk, then each parser of a literal list takes what it knows."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.signals.lines import I64, LogLines, Parsed, joined, part
from ridgeline.signals.log import (
    access,
    batches,
    chatter,
    deaths,
    disagg_events,
    generic,
    sglang_events,
    stacks,
    startup,
    time_stats,
    vllm,
)
from ridgeline.signals.log.ahead import ahead
from ridgeline.signals.log.clock import Clock
from ridgeline.signals.log.export import records
from ridgeline.signals.log.frame import frame
from ridgeline.signals.log.life import Life
from ridgeline.signals.log.partial import whole_lines
from ridgeline.signals.log.rules import matching
from ridgeline.signals.log.unread import MANY, repeated, unread_rows
from ridgeline.signals.log.version import settle
from ridgeline.signals.log.wrapped import unwrap
from ridgeline.signals.request_log import parse_json_lines, parse_text_lines
from ridgeline.signals.rows import Reading, Rows
from ridgeline.signals.stream import Blob

Parser = Callable[[LogLines, Reading], Parsed]

# In order, after batch lines and request-log lines were taken out; each gets what none before it understood.
PARSERS: Final[tuple[Parser, ...]] = (
    access.parse,
    time_stats.parse,
    deaths.parse,
    stacks.parse,
    sglang_events.parse,
    disagg_events.parse,
    vllm.parse,
    startup.parse,
    chatter.parse,
    generic.parse,
)

ESCAPES: Final = re.compile(rb"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[@-Z\\^_])")
FULL_DATE: Final = re.compile(rb"(?<!\d)(19[7-9]\d|20\d\d)-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
LARGE_BYTES: Final = 4 << 20  # from here on threads are worth their start
RUN_LINES: Final = 400_000
UNDATED_S: Final = 366 * 86400.0  # times without a date are read as of 1970: they are no span of time
REQUEST_BYTES: Final = 8 << 20
REQUEST_WORDS: Final = (
    r'^\s*(?:\{.{0,40}"event": ?"(?:request|scheduler)\.|\{"timestamp": ?"|Receive(?: OpenAI)?: obj=|Finish: obj=)'
)
UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """The rows of one log. Never raises for content: what no parser knows becomes `unread` rows.

    A log of several chunks is read by two stages ahead of the caller (`ahead`): framing, and parsing.
    """
    framing = replace(reading, notes=[])  # the framing stage's own notes and span, so that their order is fixed
    head = blob.head(LARGE_BYTES + 1)
    framed = _framed(blob, framing, head[: 1 << 16])
    if len(head) > LARGE_BYTES:
        yield from ahead(_parsed(ahead(framed), reading))
    else:
        yield from _parsed(framed, reading)
    reading.clock = framing.clock
    reading.lines += framing.lines  # lines that are no records (the header of an export)
    reading.understood += framing.understood
    for note in framing.notes:
        reading.note(note)
    settle(reading)


def _framed(blob: Blob, reading: Reading, head: bytes) -> Iterator[tuple[LogLines, int]]:
    """(lines, number of blank ones) run by run."""
    seen = FULL_DATE.search(head)
    year = int(seen.group(1)) if seen else None
    clock = Clock(reading, year)
    for at, (numbers, data) in enumerate(_runs(blob, reading, head)):
        lines, blank = frame(data, numbers, clock)
        if at == 0 and clock.learnt:
            # The first run showed how far wrapper and record are apart: read it again, knowing that.
            clock = clock.again(reading, year)
            lines, blank = frame(data, numbers, clock)
        yield lines, blank
    clock.say(reading)


def _parsed(framed: Iterator[tuple[LogLines, int]], reading: Reading) -> Iterator[Rows]:
    held: LogLines | None = None
    life = Life()
    requests: list[LogLines] = []
    strange: set[str] = set()
    for lines, blank in framed:
        reading.blank += blank
        reading.lines += blank + len(lines)
        if held is not None and len(held):
            lines = joined(held, lines)
        at = _last_second(lines)
        held = part(lines, at, len(lines))
        yield from life.follow(route(part(lines, 0, at), reading, requests, strange))
        if sum(some.body.nbytes for some in requests) > REQUEST_BYTES:
            yield from _requests(requests, reading)
    if held is not None:
        yield from life.follow(route(held, reading, requests, strange))
    yield from _requests(requests, reading)


def route(lines: LogLines, reading: Reading, requests: list[LogLines], strange: set[str]) -> list[Rows]:
    """Hand lines to the parsers in order; count what was understood and give the rest as `unread` rows.

    Request-log lines are only collected: their parser is dear to start and cheap per line. `strange` holds texts that
    many lines before these had and no parser knew: such a line may fill a disk, and is not asked about again.
    """
    out: list[Rows] = []
    known = lines.ts[lines.ts > UNDATED_S]
    if len(known):
        reading.saw(float(known.min()), float(known.max()))
    lines, parts = unwrap(lines)
    reading.understood += parts
    lines = _through((batches.parse,), lines, reading, out)
    # A request's own words may look like anything: no other parser may see them.
    words = matching(lines.body, REQUEST_WORDS)
    if words.any():
        requests.append(lines.pick(words))
        lines = lines.pick(~words)
    if strange and len(lines):
        again = np.asarray(pc.is_in(lines.body, pa.array(sorted(strange)))) & lines.prefixed
        out.extend(_left(lines.pick(again), reading))
        lines = lines.pick(~again)
    lines = _through(PARSERS, lines, reading, out)
    if len(lines) >= MANY and len(strange) < MANY:
        strange.update(repeated(lines))
    return [*out, *_left(lines, reading)]


def run_rows(lines: LogLines, reading: Reading) -> list[Rows]:
    """All that one run of lines gives, request-log lines included."""
    requests: list[LogLines] = []
    rows = route(lines, reading, requests, set())
    return [*rows, *_requests(requests, reading)]


def _requests(requests: list[LogLines], reading: Reading) -> list[Rows]:
    """Parse the collected request-log lines, and forget them."""
    if not requests:
        return []
    out: list[Rows] = []
    lines = _through((parse_json_lines, parse_text_lines), reduce(joined, requests), reading, out)
    requests.clear()
    return [*out, *_left(lines, reading)]


def _through(parsers: Sequence[Parser], lines: LogLines, reading: Reading, out: list[Rows]) -> LogLines:
    """The lines that none of the parsers understood; what they gave is added to `out`."""
    for parse in parsers:
        if not len(lines):
            break
        parsed = parse(lines, reading)
        out.extend(parsed.rows)
        if parsed.understood.any():
            reading.understood += int(parsed.understood.sum())
            lines = lines.pick(~parsed.understood)
    return lines


def _left(lines: LogLines, reading: Reading) -> list[Rows]:
    if not len(lines):
        return []
    rows, errors = unread_rows(lines, reading)
    reading.unparsed += len(lines)
    reading.unparsed_errors += errors
    return [rows]


def _runs(blob: Blob, reading: Reading, head: bytes) -> Iterator[tuple[I64 | int, bytes]]:
    """(line numbers or the first one, clean bytes of whole lines) of a plain log or of an export of one."""
    if head[:2] in UTF16:
        reading.note(f"{blob.shown}: UTF-16 text; read as such")
        yield 1, blob.whole(reading).decode("utf-16", "replace").encode()
        return
    exported = records(blob, reading)
    if exported is not None:
        reading.note(f"{blob.shown}: an export; each record's message was read as a log line")
        for numbers, data in exported:
            yield numbers, _clean(data, int(numbers[0]), reading)
        return
    short = (run for first, data, count in blob.counted(reading) for run in _short_runs(first, data, count))
    for at, some in whole_lines(short):
        yield at, _clean(some, at if isinstance(at, int) else int(at[0]), reading)


def _short_runs(first: int, data: bytes, count: int) -> Iterator[tuple[int, bytes]]:
    """A chunk as it is, or in parts where it has so many lines that their columns would be large."""
    if count <= RUN_LINES:
        yield first, data
        return
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == 10)[RUN_LINES - 1 :: RUN_LINES] + 1
    at = 0
    for end in [*ends.tolist(), len(data)]:
        if end > at:
            yield first, data[at:end]
        at = end
        first += RUN_LINES


def _last_second(lines: LogLines) -> int:
    """Where the last second of a run begins: it may go on in the next one, as may a traceback under way."""
    timed = np.flatnonzero(~np.isnan(lines.ts))
    if not len(timed):
        return len(lines)
    other = timed[lines.ts[timed] != lines.ts[timed[-1]]]
    if not len(other):
        return len(lines)
    at = int(timed[np.searchsorted(timed, other[-1]) + 1])
    return at if at > len(lines) // 2 else len(lines)


def _clean(data: bytes, first: int, reading: Reading) -> bytes:
    """Escapes out, bytes that are no UTF-8 replaced (and that said once)."""
    if b"\0" in data:
        data = data.replace(b"\0", b"")
        reading.note(f"{reading.path}: holds NUL bytes; left out")
    if b"\x1b" in data:
        data = ESCAPES.sub(b"", data)
    if not data.isascii():
        try:
            pa.array([data], pa.string()).validate(full=True)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            text = f"{reading.path}: some bytes are not UTF-8 (first in the lines from {first}); they were replaced"
            if not any("are not UTF-8" in note for note in reading.notes):
                reading.note(text)
            return data.decode("utf-8", "replace").encode()
    return data
