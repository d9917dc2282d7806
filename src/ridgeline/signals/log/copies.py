"""Ranks of one group print the same line: such copies become one row, and are counted."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ridgeline.signals.lines import I64, Mask, Parsed
from ridgeline.signals.rows import Rows

MIX: Final = np.uint64(0x9E3779B97F4A7C15)
EVENT_SAME: Final = ("ts", "kind", "dp_rank", "rid", "room", "peer", "count", "value", "attrs", "template")


def folded(same: Sequence[npt.NDArray[np.generic]], tp_rank: I64, pp_rank: I64) -> tuple[Mask, I64]:
    """(rows to keep, how many ranks printed each) for rows that are equal in every column of `same`.

    Copies differ in their tensor or pipeline rank. A rank's second equal line is a second happening, so the k-th line
    of one rank is folded with the k-th of the others.
    """
    n = len(tp_rank)
    copies = np.ones(n, np.int64)
    rank = tp_rank * 100_000 + pp_rank
    if n < 2 or (rank == rank[0]).all():
        return np.ones(n, np.bool_), copies
    keys = np.stack([_bits(column) for column in same], axis=1)
    code = _code(keys)
    order = np.lexsort((rank, code))
    again = (code[order][1:] == code[order][:-1]) & (rank[order][1:] == rank[order][:-1])
    turn = np.empty(n, np.int64)
    turn[order] = _run_index(np.concatenate(([False], again)))
    group = _code(np.stack([code, turn.view(np.uint64)], axis=1))
    _, first, which = np.unique(group, return_index=True, return_inverse=True)
    leader = first[which]
    equal = (keys == keys[leader]).all(axis=1) & (turn == turn[leader])  # a collision of codes folds nothing
    keep = (leader == np.arange(n)) | ~equal
    copies[:] = np.where(keep & (leader == np.arange(n)), np.bincount(leader[equal], minlength=n), 1)
    return keep, copies


def _bits(column: npt.NDArray[np.generic]) -> npt.NDArray[np.uint64]:
    kind = np.int64 if np.issubdtype(column.dtype, np.integer) else np.float64
    return np.ascontiguousarray(column, dtype=kind).view(np.uint64)


def _code(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    code = np.zeros(len(keys), np.uint64)
    for i in range(keys.shape[1]):
        code = (code ^ (keys[:, i] + np.uint64(i))) * MIX
        code ^= code >> np.uint64(29)
    return code


def _run_index(continues: Mask) -> I64:
    """For each place how many places since the last False."""
    at = np.arange(len(continues))
    start = np.maximum.accumulate(np.where(continues, 0, at))
    index: I64 = at - start
    return index


def folded_events(parsed: Parsed) -> Parsed:
    """The same events with those that several ranks of one group printed in one second folded into one row each."""
    return Parsed([_fold(rows) if rows.table == "events" else rows for rows in parsed.rows], parsed.understood)


def _fold(rows: Rows) -> Rows:
    data = rows.data
    if len(data) < 2:
        return rows
    same = []
    for name in EVENT_SAME:
        if name in data.column_names:
            column = data[name].combine_chunks()
            if pa.types.is_string(column.type):
                column = column.dictionary_encode().indices
            empty = float("nan") if pa.types.is_floating(column.type) else -1
            same.append(column.fill_null(empty).to_numpy(zero_copy_only=False))
    rank = [data[name].fill_null(-1).to_numpy() for name in ("tp_rank", "pp_rank")]
    keep, copies = folded(same, rank[0], rank[1])
    if keep.all():
        return rows
    at = data.column_names.index("copies")
    return Rows(rows.table, data.set_column(at, "copies", pa.array(copies)).filter(pa.array(keep)))
