"""Citations: rows → `server.log:1812-1960`, and back to the raw lines."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

from ridgeline.signals.dump.lines import request_lines
from ridgeline.signals.dump.sniff import looks_like_pickle
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob

MOST_RANGES: Final = 6
LINE_CHARS: Final = 4000


def ranges(lines: Iterable[int], gap: int = 1) -> list[tuple[int, int]]:
    """Sorted (first, last) ranges of line numbers; numbers up to `gap` apart share a range."""
    out: list[tuple[int, int]] = []
    for line in sorted(set(lines)):
        if out and line - out[-1][1] <= gap:
            out[-1] = (out[-1][0], line)
        else:
            out.append((line, line))
    return out


def cite(names: Mapping[int, str], rows: Iterable[tuple[int | None, int | None]], most: int = MOST_RANGES) -> list[str]:
    """(source, line) of rows → citations by source: `a.log:18-22`, `a.log:40`, or `a.log` where no line is known.

    A source with more than `most` ranges is cited as one range from its first to its last line.
    """
    known = sorted({(s, line) for s, line in rows if s is not None}, key=lambda r: (r[0], r[1] is None, r[1] or 0))
    out: list[str] = []
    for source, members in groupby(known, key=lambda r: r[0]):
        name = names.get(source, f"source {source}")
        lines = [line for _, line in members if line is not None]
        found = ranges(lines)
        if len(found) > most:
            found = [(found[0][0], found[-1][1])]
        out += [f"{name}:{a}-{b}" if a != b else f"{name}:{a}" for a, b in found] or [name]
    return out


def parse(citation: str) -> tuple[str, int | None, int | None]:
    """`a.log:18-22` → ("a.log", 18, 22); a citation without lines → (name, None, None)."""
    name, colon, where = citation.rpartition(":")
    first, dash, last = where.partition("-")
    if not colon or not first.isdecimal() or (dash and not last.isdecimal()):
        return citation, None, None
    return name, int(first), int(last) if dash else int(first)


def lines_of(blob: Blob, wanted: Sequence[int], limit: int = 200) -> dict[int, str]:
    """Line number → text (without its end, cut at LINE_CHARS) of up to `limit` wanted lines; reads no further than
    the last of them. Compressed files are fine; numbers beyond the end are absent.
    """
    numbers = sorted({n for n in wanted if n > 0})[:limit]
    if not numbers:
        return {}
    if looks_like_pickle(blob.head(4096)):
        return request_lines(blob, numbers)  # a dump's numbers are those of its requests
    out: dict[int, str] = {}
    left = set(numbers)
    for first, data in blob.chunks(Reading(0, blob.shown)):
        lines = data.split(b"\n")
        inside = [n for n in numbers if first <= n < first + len(lines) and n in left]
        for n in inside:
            text = lines[n - first]
            if n - first == len(lines) - 1 and not text:
                continue  # behind the last newline: not a line of this chunk
            out[n] = text.rstrip(b"\r").decode("utf-8", "replace")[:LINE_CHARS]
            left.discard(n)
        if not left or first > numbers[-1]:
            break
    return out
