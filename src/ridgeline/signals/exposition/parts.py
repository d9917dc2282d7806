"""A file of scrapes → parts that end between two metric families, so that no histogram is torn."""

from collections.abc import Iterator
from dataclasses import dataclass

from ridgeline.signals.rows import Reading
from ridgeline.signals.scrapes import Piece, Scrape, pieces
from ridgeline.signals.stream import Blob


@dataclass
class Part:
    """Some lines of one scrape, `first` the number of the first; `ends` where the scrape is complete with them."""

    scrape: Scrape
    first: int
    lines: list[bytes]
    ends: bool
    cut: tuple[int, bytes] | None = None  # a last line without newline, taken off: its number may be cut


def parts(blob: Blob, reading: Reading) -> Iterator[Part]:
    """Parts in order. Where a file has no headers, a family that is declared again begins another scrape."""
    held: list[bytes] = []
    split = _Repeats()
    for piece in pieces(blob, reading):
        lines, first = held + piece.lines, piece.first - len(held)
        cut = None
        if piece.open_end and lines:
            cut = (first + len(lines) - 1, lines.pop())
        at = len(lines) if piece.last else _last_family(lines)
        lines, held = lines[:at], lines[at:]
        if piece.scrape.ts is None and piece.scrape.url is None:
            yield from split.parts(piece, first, lines, cut)
        else:
            yield Part(piece.scrape, first, lines, piece.last, cut)


class _Repeats:
    """Which families the present scrape has declared, and the scrape that began where one was declared again."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self.latest = b""
        self.head: Scrape | None = None  # the scrape of the file's pieces
        self.scrape: Scrape | None = None  # the one begun inside it

    def parts(self, piece: Piece, first: int, lines: list[bytes], cut: tuple[int, bytes] | None) -> Iterator[Part]:
        if piece.scrape is not self.head:
            self.head, self.scrape = piece.scrape, piece.scrape
            self.seen, self.latest = set(), b""
        assert self.scrape is not None
        start = 0
        for at in [i for i, line in enumerate(lines) if line[:7] == b"# TYPE "]:
            name = lines[at][7:].split(b" ", 1)[0]
            if name in self.seen and name != self.latest:
                # The HELP line of a family stands before its TYPE line and belongs to the same scrape.
                begin = at - 1 if at > start and lines[at - 1].startswith(b"# HELP " + name + b" ") else at
                yield Part(self.scrape, first + start, lines[start:begin], ends=True)
                start, self.scrape, self.seen = begin, Scrape(first + begin), set()
            self.seen.add(name)
            self.latest = name
        rest = lines[start:]
        if self.scrape is not self.head:
            self.scrape.size += sum(map(len, rest)) + len(rest)
        yield Part(self.scrape, first + start, rest, piece.last, cut)


def _last_family(lines: list[bytes]) -> int:
    """Where the last family of an incomplete block begins; its end if no family begins in it."""
    for at in range(len(lines) - 1, 0, -1):
        if lines[at][:1] == b"#":
            while at > 1 and lines[at - 1][:1] == b"#":
                at -= 1
            return at
    return len(lines)
