"""Which requests an incident without a window of its own hurt: the stretches of the traffic that stand out."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.whatif.paired import statistic

BLOCK: Final = 30
"""Requests that follow each other and are looked at together."""
STANDS_OUT: Final = 2.0
"""A block is hurt where the 90th percentile of a metric is this many times that of the middle block."""
MOST_HURT: Final = 0.5
"""Beyond this share of the blocks what is slow is the rule, and no stretch stands out."""

Rows = NDArray[np.int64]


def slow_stretches(traffic: Traffic) -> tuple[Rows, Rows] | None:
    """(rows of the stretches that stand out, all other rows), by arrival; None: nothing does, or too few times are
    known."""
    blocks = np.array_split(np.arange(traffic.n), max(1, traffic.n // BLOCK))
    hurt = np.zeros(len(blocks), np.bool_)
    for metric in ("ttft_s", "tpot_s", "e2e_s"):
        told = np.array([statistic(traffic.observed[metric][rows], "p90") for rows in blocks])
        if not np.isnan(told).all():
            hurt |= told >= STANDS_OUT * np.nanmedian(told)
    if not hurt.any() or hurt.mean() > MOST_HURT:
        return None
    slow = np.repeat(hurt, [len(rows) for rows in blocks])
    return np.flatnonzero(slow), np.flatnonzero(~slow)
