"""The reader of exposition text: scrapes, series (numbered within the source), samples, histograms.

* Buckets, `_sum` and `_count` of a histogram become one row of `histograms` per scrape: `le` ascending, `cumulative`
  the counts as exposed. They are not repeated in `samples`.
* A GaugeHistogram (labels `gt` and `le`, not cumulative) keeps its samples as exposed, and where its buckets are
  complete also gets a row of `histograms` with the counts summed up.
* NaN is null; ±Inf is kept. Counters that fall (a restart) are kept as they are.
* `samples.scrape` is the line of the poll in `scrapes`. A second `# TYPE` of a family begins another scrape where
  the file has no headers.
* The last line of a file that ends without a newline may be cut in the middle of its number: it is not used.
* At most `SERIES_LIMIT` series per source; what lies beyond is counted as unparsed, with a note.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from ridgeline.signals.exposition.assemble import Pending
from ridgeline.signals.exposition.book import I64, SERIES_LIMIT, Book, TooManySeries
from ridgeline.signals.exposition.keys import apart
from ridgeline.signals.exposition.parts import Part, parts
from ridgeline.signals.exposition.values import floats, pick
from ridgeline.signals.rows import Reading, Rows
from ridgeline.signals.scrapes import Scrape, scrape_rows
from ridgeline.signals.stream import Blob
from ridgeline.signals.unread import unread_rows

FLUSH_SAMPLES: Final = 400_000
FLUSH_UNREAD: Final = 10_000
COMMENT: Final = ord("#")


@dataclass
class _Layout:
    """The lines of the latest scrape without their values. The next scrape mostly has the same, and is then read
    without any look-up: what is left of each line behind its prefix is its value.
    """

    target: str | None = None
    prefixes: tuple[bytes, ...] = ()  # per line: `name{labels} `, or the whole line of a comment
    length: int = 0  # of all prefixes
    fixed: tuple[int, ...] = ()  # positions of comments and blank lines
    samples: tuple[int, ...] = ()  # positions of samples
    slots: I64 = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def values(self, target: str | None, lines: list[bytes]) -> tuple[bytes, ...] | None:
        """The value texts of the samples; None where a line does not begin as it did the last time."""
        if target != self.target or len(lines) != len(self.prefixes):
            return None
        rests = tuple(map(bytes.removeprefix, lines, self.prefixes))
        # A prefix that is not there is not removed: the lengths then do not add up.
        if sum(map(len, lines)) - sum(map(len, rests)) != self.length or any(pick(self.fixed, rests)):
            return None
        return pick(self.samples, rests)


@dataclass
class _State:
    reading: Reading
    book: Book = field(default_factory=Book)
    pending: Pending = field(default_factory=Pending)
    layout: _Layout = field(default_factory=_Layout)
    scrapes: list[Scrape] = field(default_factory=list)
    unread: list[tuple[int, str]] = field(default_factory=list)
    beyond: int = 0  # samples of series beyond the limit


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """Rows of `scrapes`, `samples`, `histograms`, `unread`, and at the end `series`."""
    state = _State(reading)
    taken, untimed, complaint = 0, 0, ""
    for part in parts(blob, reading):
        if part.scrape.failed:
            _failed(state, part)
        else:
            before = len(state.unread)
            taken += _take(state, part)
            if part.cut is not None:
                _cut(state, part.scrape, *part.cut)
            if not complaint and len(state.unread) > before:
                complaint = state.unread[before][1]
            if part.ends:
                part.scrape.ok = taken > 0
                if not taken:
                    part.scrape.refuse(complaint or "an empty answer")
        if part.ends:
            state.scrapes.append(part.scrape)
            taken, untimed, complaint = 0, untimed + (part.scrape.ts is None), ""
        if state.pending.count >= FLUSH_SAMPLES or len(state.unread) >= FLUSH_UNREAD:
            yield from _flush(state)
    yield from _flush(state)
    if untimed > 1:
        reading.note(f"{reading.path}: {untimed} scrapes without a time; they are taken to be in the order of the file")
    if state.beyond:
        reading.unparsed += state.beyond
        reading.note(
            f"{reading.path}: more than {SERIES_LIMIT} series; {state.beyond} samples of further ones were not kept: "
            "drop the labels that name single requests or users"
        )
    if state.book.series:
        yield state.book.series_rows(reading)
    roles = state.book.roles()
    reading.role = roles.pop() if len(roles) == 1 else reading.role


def _flush(state: _State) -> Iterator[Rows]:
    yield from state.pending.take(state.book.arrays(), state.reading)
    if state.scrapes:
        yield scrape_rows(state.reading, state.scrapes)
        state.scrapes = []
    if state.unread:
        yield unread_rows(state.reading, state.unread)
        state.unread = []


def _failed(state: _State, part: Part) -> None:
    """An answer that is an error: its text is kept with the poll, it is no sample and no unread line."""
    body = b"\n".join(part.lines if part.cut is None else [*part.lines, part.cut[1]]).strip()
    if body and part.scrape.error in (None, "no answer"):
        part.scrape.error = None
        part.scrape.refuse(body.decode("utf-8", "replace"))
    part.scrape.refuse(f"status {part.scrape.status}")
    state.reading.blank += len(part.lines) + (part.cut is not None)
    if part.ends:
        state.reading.understood += 1  # the poll itself is what this part says


def _cut(state: _State, scrape: Scrape, number: int, line: bytes) -> None:
    if not line.strip():
        state.reading.blank += 1
        return
    scrape.error = "cut: the last line has no newline"
    state.reading.note(f"{state.reading.path}:{number}: the last line has no newline and may be cut; it was not used")
    state.unread.append((number, line.decode("utf-8", "replace")))


def _take(state: _State, part: Part) -> int:
    """Read the samples of one part; returns how many."""
    target = part.scrape.target
    state.book.targets.add(target)
    extra: list[tuple[int, int, float, float | None]] = []
    layout = state.layout
    texts = layout.values(target, part.lines)
    if texts is None:
        layout, extra = _lay_out(state, part)
        texts = tuple(part.lines[at].rpartition(b" ")[2] for at in layout.samples)
    positions = np.array(layout.samples, dtype=np.int64)
    values, sound = floats(texts)
    slots = layout.slots
    if not sound.all():
        for at in positions[~sound].tolist():
            state.unread.append((part.first + at, part.lines[at].decode("utf-8", "replace")))
        slots, values, positions = slots[sound], values[sound], positions[sound]
    state.reading.blank += len(layout.fixed)
    state.reading.understood += len(slots) + len(extra)
    time = np.nan if part.scrape.ts is None else part.scrape.ts
    ts = np.full(len(slots), time)
    if extra:
        more = list(zip(*extra, strict=True))
        slots = np.concatenate((slots, np.array(more[1], dtype=np.int64)))
        values = np.concatenate((values, np.array(more[2], dtype=np.float64)))
        positions = np.concatenate((positions, np.array(more[0], dtype=np.int64)))
        ts = np.concatenate((ts, np.array([time if own is None else own for own in more[3]], dtype=np.float64)))
        for own in more[3]:
            state.reading.saw(own, own)
    if len(slots):
        state.pending.add(slots, values, positions + part.first, ts, part.scrape.line)
    return len(slots)


def _lay_out(state: _State, part: Part) -> tuple[_Layout, list[tuple[int, int, float, float | None]]]:
    """The layout of a scrape whose keys are not the latest ones; lines with more than key and value come extra."""
    book, target = state.book, part.scrape.target
    for line in part.lines:
        if line[:7] == b"# TYPE ":
            words = line[7:].split()
            if len(words) == 2:
                book.declare(words[0].decode("utf-8", "replace"), words[1].decode("utf-8", "replace").lower())
    memo = book.memo(target)
    fixed, samples, slots, odd, cacheable = [], [], [], [], True
    extra: list[tuple[int, int, float, float | None]] = []
    prefixes: list[bytes] = []
    for at, line in enumerate(part.lines):
        key = line.rpartition(b" ")[0]
        slot = memo.get(key)
        prefixes.append(line if slot is None else line[: len(key) + 1])
        if slot is None:
            stripped = line.strip()
            if not stripped or stripped[0] == COMMENT:
                fixed.append(at)
                continue
            try:
                slot = book.slot(target, key)
                if slot is None:
                    told = apart(stripped.decode("utf-8", "replace"))
                    other = None if told is None else book.slot(target, told.key.encode())
                    if told is None or other is None:
                        odd.append(at)
                    else:
                        extra.append((at, other, told.value, told.ts))
                    continue
                prefixes[at] = line[: len(key) + 1]
            except TooManySeries:
                state.beyond += 1
                cacheable = False
                continue
        samples.append(at)
        slots.append(slot)
    state.unread.extend((part.first + at, part.lines[at].decode("utf-8", "replace")) for at in odd)
    layout = _Layout(
        target,
        tuple(prefixes),
        sum(map(len, prefixes)),
        tuple(fixed),
        tuple(samples),
        np.array(slots, dtype=np.int64),
    )
    # A scrape with lines of another shape is looked at line by line each time.
    state.layout = layout if cacheable and not odd and not extra else _Layout()
    return layout, extra
