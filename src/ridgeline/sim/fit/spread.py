"""How steady the server's speed was over the training part: what a constant time model cannot know."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fit.fit import Fitted, told_by
from ridgeline.sim.fit.run import Run

BLOCKS: Final = 6
FEWEST_TO_TRIM: Final = 5
FAR: Final = 6.0
FEWEST: Final = 4
"""Requests a block needs to say anything."""


def speed_spread(traffic: Traffic, run: Run, fitted: Fitted, rows: NDArray[np.int64]) -> float:
    """Standard deviation, over blocks of consecutive requests, of observed time over fitted time of the same work.

    Of five blocks and more one that stands far off all others is left out: a cold start is not how a server goes on.
    """
    system = told_by(traffic, run, fitted, rows)
    told = system.work @ fitted.coefficients
    # intervals that hold a queue say how full the server was, not how fast
    steady = next((kinds for kinds in ((0, 1), (3,)) if np.isin(system.kind, kinds).any()), (2,))
    ratios = []
    for block in np.array_split(rows, BLOCKS):
        mine = np.isin(system.request, block) & (told > 0) & np.isin(system.kind, steady)
        if len(np.unique(system.request[mine])) >= FEWEST:
            ratios.append(float(system.seconds[mine].sum() / told[mine].sum()))
    if len(ratios) < 2:
        return 0.0
    told_apart = np.array(ratios)
    if len(told_apart) >= FEWEST_TO_TRIM:
        furthest = int(np.argmax(np.abs(told_apart - np.median(told_apart))))
        others = np.delete(told_apart, furthest)
        if abs(told_apart[furthest] - float(np.mean(others))) > FAR * float(np.std(others, ddof=1)):
            told_apart = others
    return float(np.std(told_apart, ddof=1))
