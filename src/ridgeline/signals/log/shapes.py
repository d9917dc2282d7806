"""Lines grouped by what is left when their digits are taken out, and the digits of many lines read at once.

A server log has few distinct shapes. A parser works out once per shape which number means what; the numbers of all
lines of that shape are then read column by column. Lines of odd shapes form groups of their own and cost a little more.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ridgeline.signals.lines import F64, I64

U8 = npt.NDArray[np.uint8]
MAX_DIGITS: Final = 15  # integers up to here are exact in a double; a longer run of digits is no figure of a log line


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
        whole = _number(self.data, self.start[run], self.end[run])
        part = _number(self.data, self.start[run + 1], self.end[run + 1])
        scale = 10.0 ** np.minimum(digits, MAX_DIGITS)
        # One division of two exact integers is correctly rounded, as reading the text would be.
        value: F64 = (whole * scale + part) / scale
        odd = np.flatnonzero(whole * scale + part >= 2.0**53)
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
    bodies = pa.concat_arrays([bodies]) if bodies.offset else bodies
    _, offset_buffer, data_buffer = bodies.buffers()
    n = len(bodies)
    offsets = np.frombuffer(offset_buffer, np.int32)[: n + 1].astype(np.int64)
    data = np.frombuffer(data_buffer, np.uint8)[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    digit = (data - np.uint8(48)) < 10
    # No line begins with a digit, so a run never goes on from one line into the next.
    turns = np.flatnonzero(digit[1:] != digit[:-1]) + 1
    if len(turns) % 2:
        turns = np.append(turns, len(data))
    start, end = turns[0::2], turns[1::2]
    keep = ~digit
    keep[start] = True
    short = data[keep]
    first = np.searchsorted(start, offsets)
    dropped = np.concatenate(([0], np.cumsum(end - start - 1)))
    short[start - dropped[:-1]] = 48
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


def groups(codes: npt.NDArray[np.int32], count: int) -> list[I64]:
    """For each shape the lines that have it, in order."""
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(count + 1))
    return [order[edges[i] : edges[i + 1]] for i in range(count)]


def _number(data: U8, start: I64, end: I64) -> F64:
    """The digits from `start` to `end` as numbers, all lines at once; NaN beyond `MAX_DIGITS`."""
    length = end - start
    width = min(int(length.max(initial=1)), MAX_DIGITS)
    value = np.zeros(len(start))
    for i in range(width, 0, -1):
        digit = data[end - np.minimum(i, length)] - 48.0
        value = (
            value * 10.0 + digit
            if i <= int(length.min(initial=width))
            else np.where(i <= length, digit + value * 10.0, value)
        )
    value[length > MAX_DIGITS] = np.nan
    return value
