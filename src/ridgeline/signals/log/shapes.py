"""Lines grouped by what is left when their digits are taken out, and the digits of many lines read at once.

A server log has few distinct shapes. A parser works out once per shape which number means what; the numbers of all
lines of that shape are then read column by column. Lines of odd shapes form groups of their own and cost a little more.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ridgeline.signals.lines import F64, I64, U8, bytes_of

NUMBER: Final = re.compile(r"-?0(?:\.0)?")
MAX_DIGITS: Final = 15  # integers up to here are exact in a double; a longer run of digits is no figure of a log line

POWERS: Final = 10.0 ** np.arange(MAX_DIGITS + 1)
WORD: Final = 8
ZERO: Final = np.uint8(48)
BLOCK_BYTES: Final = 1 << 18
# (10 x 2^n + 1, bits, what is kept): each step makes one number of two neighbours.
PAIRS: Final = tuple(
    tuple(np.uint64(n) for n in step)
    for step in (
        (2561, 8, 0x00FF00FF00FF00FF),
        (6553601, 16, 0x0000FFFF0000FFFF),
        (42949672960001, 32, 0x00000000FFFFFFFF),
    )
)


@dataclass(frozen=True)
class Shapes:
    """`texts[code]` is a shape (each run of digits is one `0`); `codes[n]` says which one a line has."""

    data: U8  # the bytes of all lines, one behind the other
    texts: list[str]
    codes: npt.NDArray[np.int32]  # [n]
    start: I64  # [runs] first byte of a run of digits
    end: I64  # [runs] behind its last byte
    first: I64  # [n] the line's first run

    def integers(self, rows: I64, slot: int) -> F64:
        """Run `slot` of each line as a number; NaN where it has too many digits."""
        run = self.first[rows] + slot
        return _number(self.data, self.start[run], self.end[run])

    def decimals(self, rows: I64, slot: int) -> F64:
        """Runs `slot` and `slot + 1` as the parts before and behind a decimal point."""
        run = self.first[rows] + slot
        digits = self.end[run + 1] - self.start[run + 1]
        scale = POWERS[np.minimum(digits, MAX_DIGITS)]
        figures = _number(self.data, self.start[run], self.end[run]) * scale
        figures += _number(self.data, self.start[run + 1], self.end[run + 1])
        # One division of two exact integers is correctly rounded, as reading the text would be.
        value: F64 = figures / scale
        odd = np.flatnonzero(figures >= 2.0**53)
        for i in odd.tolist():
            text = bytes(self.data[self.start[run[i]] : self.end[run[i] + 1]])
            value[i] = float(text)
        return value

    def digits(self, rows: I64, slot: int) -> I64:
        """How many digits run `slot` of each line has."""
        run = self.first[rows] + slot
        width: I64 = self.end[run] - self.start[run]
        return width


def shapes_of(bodies: pa.Array) -> Shapes:
    """Group lines by shape. There are no nulls among them, none is empty and none begins with a digit."""
    data, offsets = bytes_of(bodies)
    n = len(bodies)
    turns, short = _turns(data)
    start, end = turns[0::2], turns[1::2]
    first = np.searchsorted(start, offsets)
    dropped = np.concatenate(([0], np.cumsum(end - start - 1)))
    short[start - dropped[:-1]] = ZERO
    short_offsets = (offsets - dropped[first]).astype(np.int32)
    reduced: Any = pa.StringArray.from_buffers(n, pa.py_buffer(short_offsets), pa.py_buffer(short))
    coded = reduced.dictionary_encode()
    return Shapes(
        data,
        coded.dictionary.to_pylist(),
        coded.indices.to_numpy(zero_copy_only=False),
        start,
        end,
        first[:-1],
    )


def _turns(data: U8) -> tuple[I64, U8]:
    """(where runs of digits begin and end by turns, the bytes with only the first digit of each run).

    No line begins with a digit, so a run never goes on from one line into the next. What is compared is made block by
    block: large arrays that live for a moment cost more in fresh memory than in arithmetic.
    """
    turns: list[I64] = []
    kept: list[U8] = []
    room = np.zeros(BLOCK_BYTES + 1, np.bool_)  # whether each byte of a block is a digit, and the one in front of it
    last = False
    for at in range(0, len(data), BLOCK_BYTES):
        block = data[at : at + BLOCK_BYTES]
        digit = room[: len(block) + 1]
        digit[0] = last
        np.less(block - ZERO, 10, out=digit[1:])
        last = bool(digit[-1])
        turns.append(np.flatnonzero(digit[1:] != digit[:-1]) + at)
        kept.append(block[~(digit[1:] & digit[:-1])])
    if last:
        turns.append(np.array([len(data)]))
    return np.concatenate(turns or [np.zeros(0, np.int64)]), np.concatenate(kept or [np.zeros(0, np.uint8)])


def groups(codes: npt.NDArray[np.int32], count: int) -> list[I64]:
    """For each shape the lines that have it, in order."""
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(count + 1))
    return [order[edges[i] : edges[i + 1]] for i in range(count)]


def numbers(shapes: Shapes, members: list[I64], pattern: re.Pattern[str]) -> F64:
    """[n] the number that group `v` of a pattern finds first in each line; NaN where it finds none.

    The pattern is searched once per shape, so it sees every run of digits as `0`. `members` is what `groups` gives.
    """
    values = np.full(len(shapes.codes), np.nan)
    for text, rows in zip(shapes.texts, members, strict=True):
        found = pattern.search(text)
        if found is None or not NUMBER.fullmatch(found["v"]):
            continue
        slot = text.count("0", 0, found.start("v"))
        value = shapes.decimals(rows, slot) if "." in found["v"] else shapes.integers(rows, slot)
        values[rows] = -value if found["v"][0] == "-" else value
    return values


def _number(data: U8, start: I64, end: I64) -> F64:
    """The digits from `start` to `end` as numbers, all lines at once; NaN beyond `MAX_DIGITS`."""
    length = end - start
    if int(end.min(initial=2 * WORD)) < 2 * WORD:
        data, end = np.concatenate((np.zeros(2 * WORD, np.uint8), data)), end + 2 * WORD
    value = _word(data, end, length)
    long = np.flatnonzero(length > WORD)
    if len(long):
        value[long] += 1e8 * _word(data, end[long] - WORD, length[long] - WORD)
    value[length > MAX_DIGITS] = np.nan
    return value


def _word(data: U8, end: I64, length: I64) -> F64:
    """The last eight digits or fewer in front of each `end`: read as one word, then pairs, fours and eight added up."""
    words = np.ndarray((len(data) - WORD + 1,), "<u8", data, strides=(1,))[end - WORD]
    unused = (8 * (WORD - np.minimum(length, WORD))).astype(np.uint64)
    words = (words >> unused) << unused & np.uint64(0x0F0F0F0F0F0F0F0F)
    for factor, shift, kept in PAIRS:
        words = (words * factor >> shift) & kept
    return words.astype(np.float64)
