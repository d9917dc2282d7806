"""The client's view: SGLang bench_serving, GuideLLM, AIPerf, and plain JSON records with times."""

from collections.abc import Iterator
from typing import Any, Final

from ridgeline.signals.client import aiperf, bench_serving, guidellm, plain
from ridgeline.signals.client.record import Collected
from ridgeline.signals.client.series import Figures
from ridgeline.signals.jsontext import decoded
from ridgeline.signals.rows import Reading, Rows
from ridgeline.signals.stream import Blob
from ridgeline.signals.unread import unread_rows

PROBED: Final = 4  # lines


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """The rows of one client file: `records` with role `client`, `request_attrs`, `series`, `samples`, `unread`."""
    into, figures = Collected(reading), Figures(reading)
    head = blob.head().removeprefix(b"\xef\xbb\xbf").lstrip()
    first = head.partition(b"\n")[0]
    if not head.startswith((b"{", b"[")):
        aiperf.read_csv(blob.whole(reading).decode("utf-8-sig", "replace"), into, figures)
    elif head.startswith(b"{") and (_has_lines(head) or (len(first) >= len(head) > 0 and _is_line(first))):
        yield from _lines(blob, reading, into, figures)
    else:
        yield from _document(blob, reading, into, figures)
    yield from into.rows()
    yield from into.lag_rows()
    yield from figures.rows()


def _has_lines(head: bytes) -> bool:
    """Whether one of the first lines is an object of its own; the first may have been cut."""
    return any(isinstance(decoded(line), dict) for line in head.split(b"\n", PROBED)[:PROBED])


def _is_line(first: bytes) -> bool:
    """A first line longer than the head: bench_serving's objects with details are."""
    return first.startswith(b"{") and b'"benchmarks"' not in first[:4096]


def _lines(blob: Blob, reading: Reading, into: Collected, figures: Figures) -> Iterator[Rows]:
    for first, chunk in blob.chunks(reading):
        unread: list[tuple[int, str]] = []
        lines = chunk.removesuffix(b"\n").split(b"\n")
        reading.lines += len(lines)
        for number, line in enumerate(lines, first):
            if not line.strip():
                reading.blank += 1
            elif not _object(decoded(line.removeprefix(b"\xef\xbb\xbf")), number, into, figures):
                unread.append((number, _shown(line)))
            if into.full():
                yield from into.rows()
        if unread:
            yield unread_rows(reading, unread)


def _document(blob: Blob, reading: Reading, into: Collected, figures: Figures) -> Iterator[Rows]:
    data = blob.whole(reading).removeprefix(b"\xef\xbb\xbf")
    value = decoded(data)
    reading.lines += data.count(b"\n") + (not data.endswith(b"\n"))
    if value is None:
        reading.note(f"{blob.shown}: broken or cut JSON; nothing of it was used (give the whole file)")
        yield unread_rows(reading, [(1, _shown(data))])
        return
    items = value if isinstance(value, list) else [value]
    unread = [
        (number, "an element that is no request")
        for number, item in enumerate(items, 1)
        if not _object(item, number, into, figures)
    ]
    if unread:
        yield unread_rows(reading, unread)


def _object(value: Any, number: int, into: Collected, figures: Figures) -> bool:
    """Read one JSON object as whatever it is; False where it is nothing known."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("benchmarks"), list):
        guidellm.read_report(value, into, figures)
    elif aiperf.is_summary(value):
        aiperf.read_summary(value, into, figures)
    elif bench_serving.is_run(value):
        bench_serving.read_run(value, number, into, figures)
    elif aiperf.is_record(value):
        aiperf.read_record(value, number, into)
    else:
        found = plain.record_of(value, into.reading)
        if found is None:
            return False
        into.add(number, *found)
    return True


def _shown(line: bytes) -> str:
    """What may be shown of a line: its beginning, without what could be a prompt."""
    text = line[:500].decode("utf-8", "replace")
    cuts = [at for word in ('"prompt"', '"text"', '"messages"', '"generated') if (at := text.find(word)) >= 0]
    return text[: min(cuts)] + "…" if cuts else text
