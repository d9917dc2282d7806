"""Bytes of a request log → the lines that hold a JSON record (bare or behind `[time] `), and all other lines."""

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from ridgeline.signals.lines import I64, newlines

_BRACE: Final = 0x7B
_BRACKET: Final = 0x5B
_SHUT: Final = 0x5D
_SPACE: Final = 0x20
_PREFIXES: Final = (26, 22)  # `[YYYY-MM-DD HH:MM:SS.mmm] ` and the same without milliseconds
_PAD: Final = 32
_INLINE: Final = 12  # bytes a view holds itself (Arrow columnar format, variable-size binary view)


class Split(NamedTuple):
    """Lines of a chunk. `body` has one string per JSON line; `others` are the remaining lines that are not blank."""

    line: I64  # [n] numbers of the JSON lines
    body: pa.Array  # [n] string or string_view, the prefix taken off; the newline may be left on
    start: I64  # [n] where each of them begins in the chunk, prefix included
    end: I64  # [n] where each ends, the newline not included
    other_line: I64  # [m]
    other_start: I64  # [m]
    other_end: I64  # [m]
    blank: int


def split(data: bytes | memoryview, first: int) -> Split:
    """Lines of `data` (valid UTF-8), numbered from `first`."""
    buf = np.frombuffer(data, dtype=np.uint8)
    ends = newlines(buf)
    if len(data) and data[-1] != 10:
        ends = np.append(ends, len(data))
    starts = np.empty(len(ends), np.int64)
    if len(ends):
        starts[0] = 0
        starts[1:] = ends[:-1] + 1
    line = np.arange(first, first + len(starts))
    padded = buf if len(starts) and starts[-1] + _PAD < len(buf) else np.append(buf, np.zeros(_PAD, np.uint8))
    begin = starts
    lead = padded[starts]
    prefixed = lead == _BRACKET
    if prefixed.any():
        begin = starts.copy()
        for size in _PREFIXES:
            # Only within the line: a short line's successors may happen to have the marks at the right distance.
            brace = np.minimum(starts + size, len(padded) - 1)
            fits = prefixed & (starts + size < ends) & (padded[brace - 2] == _SHUT) & (padded[brace - 1] == _SPACE)
            fits &= padded[brace] == _BRACE
            begin[fits] = starts[fits] + size
        lead = padded[begin]
    mine = lead == _BRACE
    if mine.all() and not prefixed.any() and len(data) and data[-1] == 10:
        offsets = np.empty(len(starts) + 1, np.int32)
        offsets[:-1] = starts
        offsets[-1] = len(data)
        body = pa.StringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(data))
        none = np.zeros(0, np.int64)
        return Split(line, body, starts, ends, none, none, none, 0)
    others = ~mine
    blank = np.zeros(len(starts), np.bool_)
    for at in np.flatnonzero(others & (ends - starts < _PAD)).tolist():
        blank[at] = not bytes(data[starts[at] : ends[at]]).strip()
    others &= ~blank
    return Split(
        line[mine],
        _gathered(data, begin[mine], ends[mine]),
        starts[mine],
        ends[mine],
        line[others],
        starts[others],
        ends[others],
        int(blank.sum()),
    )


def _gathered(data: bytes | memoryview, begin: I64, end: I64) -> pa.Array:
    """Strings data[begin:end] as Arrow views into `data`: nothing is copied but strings of up to twelve bytes."""
    size = end - begin
    views = np.zeros((len(begin), 4), np.uint32)
    views[:, 0] = size
    padded = data if len(begin) == 0 or begin[-1] + 4 <= len(data) else bytes(data) + b"\0" * 4
    views[:, 1] = np.ndarray((max(0, len(padded) - 3),), dtype="<u4", buffer=padded, strides=(1,))[begin]
    views[:, 3] = begin
    for at in np.flatnonzero(size <= _INLINE).tolist():
        text = bytes(data[begin[at] : end[at]]).ljust(_INLINE, b"\0")
        views[at, 1:] = np.frombuffer(text, dtype="<u4")
    buffers = [None, pa.py_buffer(views), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string_view(), len(begin), buffers)
