"""Lines that a container runtime cut: Kubernetes writes long ones in parts, `P` for those that go on, `F` for the last.

A part goes on in the next line of its stream; lines of the other stream may stand between. The whole line has the time
and the number of its first part.
"""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from ridgeline.signals.lines import I64
from ridgeline.signals.stream import LINE_LIMIT

PART: Final = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:\d\d) (stdout|stderr) ([PF]) ")
HEAD_BYTES: Final = 1 << 16
MARKS: Final = (b" stdout P ", b" stderr P ")


class _Open:
    """A line whose end has not come yet."""

    def __init__(self, number: int, text: bytes) -> None:
        self.number = number
        self.parts = [text]
        self.size = len(text)

    def add(self, text: bytes) -> None:
        """The next part; what goes beyond the limit of a line is left out."""
        text = text[: max(0, LINE_LIMIT - self.size)]
        self.parts.append(text)
        self.size += len(text)


def whole_lines(runs: Iterator[tuple[int, bytes]]) -> Iterator[tuple[I64 | int, bytes]]:
    """The same runs of lines with the parts put together; runs without parts go through as they are."""
    waiting: dict[bytes, _Open] = {}
    for first, data in runs:
        # Every line of such a file has the mark, so that its first ones tell.
        if waiting or (PART.search(data, 0, HEAD_BYTES) and any(mark in data for mark in MARKS)):
            yield from _joined(first, data, waiting)
        else:
            yield first, data
    left = sorted(waiting.values(), key=lambda line: line.number)
    if left:
        yield _packed([(line.number, b"".join(line.parts)) for line in left], ended=False)


def _joined(first: int, data: bytes, waiting: dict[bytes, _Open]) -> Iterator[tuple[I64, bytes]]:
    ended = data.endswith(b"\n")
    out: list[tuple[int, bytes]] = []
    last_whole = True
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), first):
        found = PART.match(line)
        last_whole = found is None or found[2] == b"F"
        if found is None:
            out.append((number, line))
            continue
        begun = waiting.pop(found[1], None)
        if begun is None and last_whole:
            out.append((number, line))
            continue
        if begun is None:
            begun = _Open(number, line[: found.start(2)] + b"F" + line[found.end(2) :])
        else:
            begun.add(line[found.end() :])
        if last_whole:
            out.append((begun.number, b"".join(begun.parts)))
        else:
            waiting[found[1]] = begun
    if out:
        yield _packed(out, ended or not last_whole)


def _packed(lines: list[tuple[int, bytes]], ended: bool) -> tuple[I64, bytes]:
    text = b"\n".join(text for _, text in lines)
    return np.array([number for number, _ in lines], np.int64), text + b"\n" if ended else text
