"""Bytes of a log → framed lines. The common prefix `[YYYY-MM-DD HH:MM:SS ranks] ` is read for all lines at once."""

import re
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numpy.lib.stride_tricks import sliding_window_view

from ridgeline.signals.lines import F64, I64, U8, LogLines, Mask, newlines, slices
from ridgeline.signals.log.clock import Clock, Stamp
from ridgeline.signals.log.prefixes import Head, ranks_of, split_head

SEVERITIES: Final = ("info", "warning", "error", "fatal")
HEAD_BYTES: Final = 400  # of a line without the common prefix, looked at for other prefixes
STAMP: Final = 20  # bytes of `[YYYY-MM-DD HH:MM:SS`
RANK_BYTES: Final = (10, 20, 64)  # most prefixes close within the first width
DIGITS: Final = np.array([1, 2, 3, 4, 6, 7, 9, 10, 12, 13, 15, 16, 18, 19])
MARKS: Final = ((0, 0x5B), (5, 0x2D), (8, 0x2D), (14, 0x3A), (17, 0x3A))  # [ - - : :
BOX_END: Final = re.compile(rb"[ \t]*(?:\xe2\x94[\x82\x83])?[ \t]*$")  # always found, perhaps empty
UVICORN: Final = ((b"INFO:   ", 0), (b"DEBUG:  ", 0), (b"WARNING:", 1), (b"ERROR:  ", 2), (b"CRITICAL", 3))


@dataclass
class _Frame:
    """The columns of a chunk while they are filled."""

    ts: F64
    dp: I64
    tp: I64
    pp: I64
    severity: npt.NDArray[np.int8]
    logger: I64
    prefixed: Mask
    start: I64  # where the body begins in the buffer
    end: I64
    names: list[str] = field(default_factory=list)


def frame(data: bytes, numbers: I64 | int, clock: Clock) -> tuple[LogLines, int]:
    """(the lines that are not blank, how many were blank) of a run of whole lines.

    `numbers` is the number of the first line, or one number per line. `data` is valid UTF-8 without escapes.
    """
    padded = np.frombuffer(data + b"\0" * (RANK_BYTES[-1] + STAMP + 16), dtype=np.uint8)
    buf = padded[: len(data)]
    ends = newlines(buf)
    starts = np.concatenate((np.zeros(1, np.int64), ends + 1))
    ended = np.ones(len(starts), np.bool_)
    if len(data) and data[-1] == 10:
        starts, ended = starts[:-1], ended[:-1]
    else:
        ends = np.append(ends, len(data))
        ended[-1] = False
    line = np.arange(numbers, numbers + len(starts)) if isinstance(numbers, int) else numbers
    cr = (ends > starts) & (padded[np.maximum(ends - 1, 0)] == 13)
    ends = ends - cr
    blank = _blank(data, padded, starts, ends)
    if blank.any():
        keep = ~blank
        starts, ends, ended, line = starts[keep], ends[keep], ended[keep], line[keep]
    n = len(starts)
    rows = _Frame(
        np.full(n, np.nan),
        np.full(n, -1, np.int64),
        np.full(n, -1, np.int64),
        np.full(n, -1, np.int64),
        np.full(n, -1, np.int8),
        np.full(n, -1, np.int64),
        np.zeros(n, np.bool_),
        starts.copy(),
        ends.copy(),
    )
    common = _common(padded, rows, clock) if n else np.zeros(0, np.bool_)
    for i in np.flatnonzero(~common).tolist():
        _other(data, i, rows, clock)
    if n:
        _uvicorn(padded, rows)
    known = ~np.isnan(rows.ts)
    clock.follow(line[known], rows.ts[known])
    lines = LogLines(
        line.astype(np.int64),
        rows.ts,
        slices(padded, rows.start, rows.end),
        rows.dp,
        rows.tp,
        rows.pp,
        _words(rows.severity, SEVERITIES),
        _words(rows.logger, rows.names),
        rows.prefixed,
        ended,
    )
    return lines, int(blank.sum())


def _blank(data: bytes, padded: U8, starts: I64, ends: I64) -> Mask:
    blank: Mask = ends <= starts
    first = padded[starts]
    for i in np.flatnonzero(~blank & ((first == 32) | (first == 9) | (first == 13))).tolist():
        blank[i] = not data[starts[i] : ends[i]].strip()
    return blank


def _common(padded: U8, rows: _Frame, clock: Clock) -> Mask:
    """Fill the rows that begin with the common prefix; True where that was so."""
    heads = _fixed(padded, rows.start, STAMP)
    which = heads.indices.to_numpy(zero_copy_only=False)
    good, base = _seconds(np.frombuffer(heads.dictionary.buffers()[1], np.uint8), len(heads.dictionary), clock)
    ok: Mask = good[which] & (rows.end - rows.start > STAMP)
    if not ok.any():
        return ok
    at = rows.start + STAMP
    milli = ok & ((padded[at] == 0x2E) | (padded[at] == 0x2C))
    fraction = np.zeros(len(at))
    if milli.any():
        part = padded[at[:, None] + np.arange(1, 4)].astype(np.int64) - 48
        milli &= ((part >= 0) & (part <= 9)).all(axis=1)
        fraction[milli] = (part @ np.array([100, 10, 1]))[milli] / 1000.0
        at = at + 4 * milli
    ranked = ok & (padded[at] == 32)
    if ranked.any():
        at = _ranks(padded, at, ranked, ok, rows)
    ok &= padded[at] == 0x5D
    at = at + 1
    ok &= padded[at] != 0x5B  # `[file:line][LEVEL]` follows: not the common prefix
    ok &= at <= rows.end
    at = at + (padded[at] == 32)
    ts = base[which] + fraction
    rows.ts = np.where(ok, ts if clock.shift_s is None else ts - clock.shift_s, rows.ts)
    clock.naive |= bool(ok.any())
    rows.start = np.where(ok, np.minimum(at, rows.end), rows.start)
    rows.prefixed |= ok
    return ok


def _fixed(padded: U8, start: I64, width: int) -> pa.DictionaryArray:
    """`width` bytes from each start, dictionary-encoded."""
    part = np.ascontiguousarray(sliding_window_view(padded, width)[start])
    return _encoded(part, width)


def _encoded(part: U8, width: int) -> pa.DictionaryArray:
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(width), len(part), [None, pa.py_buffer(part)]
    ).dictionary_encode()


def _seconds(data: U8, n: int, clock: Clock) -> tuple[Mask, F64]:
    """(whether it is a time, its epoch seconds) of each of n distinct `[YYYY-MM-DD HH:MM:SS`."""
    head = data[: n * STAMP].reshape(n, STAMP)
    numbers = head[:, DIGITS].astype(np.int64) - 48
    ok: Mask = ((numbers >= 0) & (numbers <= 9)).all(axis=1) & ((head[:, 11] == 32) | (head[:, 11] == 0x54))
    for at, mark in MARKS:
        ok &= head[:, at] == mark
    y = numbers[:, :4] @ np.array([1000, 100, 10, 1])
    mo, d, h, mi, s = (numbers[:, i] * 10 + numbers[:, i + 1] for i in (4, 6, 8, 10, 12))
    ok &= (mi < 60) & (s < 61)
    base = np.full(n, np.nan)
    for i in np.flatnonzero(ok).tolist():
        base[i] = clock.hour(int(y[i]), int(mo[i]), int(d[i]), int(h[i])) + int(mi[i]) * 60 + int(s[i])
    return ok, base


def _ranks(padded: U8, at: I64, ranked: Mask, ok: Mask, rows: _Frame) -> I64:
    """Read the rank names before the bracket closes; each distinct text is parsed once. Clears `ok` where odd."""
    moved = at.copy()
    index = np.flatnonzero(ranked)
    for width in RANK_BYTES:
        if not len(index):
            break
        texts = _fixed(padded, at[index], width)
        table = np.full((len(texts.dictionary), 5), -1, np.int64)
        for i, text in enumerate(texts.dictionary.to_pylist()):
            words, closed, _ = text.partition(b"]")
            table[i, 4] = len(words) if closed else -1
            names = words.decode("ascii", "replace").split()
            if names and all(name.rstrip("0123456789").isupper() and name[-1:].isdigit() for name in names):
                table[i, :4] = (*ranks_of(" ".join(names)), 1)
        found = table[texts.indices.to_numpy(zero_copy_only=False)]
        closed_here = found[:, 4] > 0
        done, values = index[closed_here], found[closed_here]
        rows.dp[done], rows.tp[done], rows.pp[done] = values[:, 0], values[:, 1], values[:, 2]
        ok[done] &= values[:, 3] == 1
        moved[done] += values[:, 4]
        index = index[~closed_here]
    ok[index] = False
    return moved


def _other(data: bytes, i: int, rows: _Frame, clock: Clock) -> None:
    """Frame one line of another shape."""
    start, end = int(rows.start[i]), int(rows.end[i])
    rows.dp[i] = rows.tp[i] = rows.pp[i] = -1
    text = data[start : min(end, start + HEAD_BYTES)].decode("utf-8", "replace")
    head = split_head(text)
    if head.boxed:
        rows.end[i] = end - len(BOX_END.search(data[max(start, end - HEAD_BYTES) : end])[0])  # type: ignore[index]
    elif head.outer is not None or head.names:
        rows.end[i] = start + _end(data[start:end])
    if head.at == 0 and not head.prefixed:
        return
    rows.start[i] = min(start + len(text[: head.at].encode()), int(rows.end[i]))
    rows.dp[i], rows.tp[i], rows.pp[i] = head.dp, head.tp, head.pp
    rows.prefixed[i] = head.prefixed
    if head.severity:
        rows.severity[i] = SEVERITIES.index(head.severity)
    if head.names:
        name = " ".join(dict.fromkeys(head.names))
        if name not in rows.names:
            rows.names.append(name)
        rows.logger[i] = rows.names.index(name)
    rows.ts[i] = _time(head, clock)


def _end(line: bytes) -> int:
    """The length of a wrapped line without what the collector put behind it (blanks, Ray's repeat count)."""
    at = line.find(b" [repeated ")
    return len(line.rstrip(b" \t")) if at < 0 else at


def _time(head: Head, clock: Clock) -> float:
    inner = clock.at(head.stamp) if head.stamp is not None else None
    outer = _outer(head.outer, clock) if head.outer is not None else None
    if inner is not None and outer is not None and head.stamp is not None and head.outer is not None:
        clock.agree(head.stamp, inner, head.outer, outer)
    if inner is not None and head.stamp is not None:
        naive = head.stamp.zone_s is None and head.stamp.month is not None
        return inner - clock.shift_s if naive and clock.shift_s is not None else inner
    if outer is None or head.outer is None:
        return float("nan")
    if head.outer.zone_s is None and clock.outer_shift_s is not None:
        return outer - clock.outer_shift_s
    return outer


def _outer(stamp: Stamp, clock: Clock) -> float:
    was = clock.naive
    ts = clock.at(stamp)
    if stamp.zone_s is not None:
        clock.naive = was
    return ts


def _uvicorn(padded: U8, rows: _Frame) -> None:
    """Severity of bodies that begin with a level and a colon."""
    word = np.ascontiguousarray(sliding_window_view(padded, 8)[rows.start]).view(np.uint64).ravel()
    for text, code in UVICORN:
        rows.severity[(word == np.frombuffer(text, np.uint64)[0]) & (rows.severity < 0)] = code


def _words(codes: npt.NDArray[np.integer], words: tuple[str, ...] | list[str]) -> pa.Array:
    if not len(words) or (codes < 0).all():
        return pa.nulls(len(codes), pa.string())
    index = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(index, pa.array(list(words), pa.string())).cast(pa.string())
