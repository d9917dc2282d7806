"""Ranks of one group print the same line: such copies become one row, and are counted."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ridgeline.signals.lines import I64, Mask

MIX = np.uint64(0x9E3779B97F4A7C15)


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
    return np.ascontiguousarray(column, dtype=np.float64).view(np.uint64)


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
