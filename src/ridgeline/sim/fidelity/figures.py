"""Observed and predicted figures, with bounds: mean, p50, p90, p99 of queue, TTFT, TPOT and E2E."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fit.run import Floats

METRICS: Final = ("queue_s", "ttft_s", "tpot_s", "e2e_s")
STATISTICS: Final = ("mean", "p50", "p90", "p99")
QUANTILES: Final = (0.5, 0.9, 0.99)

FLOOR: Final = 0.03
"""Half width that no interval goes below, as a share of the figure: steps vary even where the fit is exact."""
MOST_HELD_OUT: Final = 0.3


@dataclass(frozen=True)
class Figure:
    """One figure in seconds; ``low`` and ``high`` bound ``predicted``; None: the evidence does not say."""

    observed: float | None
    predicted: float | None
    error: float | None
    low: float | None
    high: float | None


NOTHING = Figure(None, None, None, None, None)


def statistics_of(values: Floats) -> Floats:
    """Mean and the quantiles of `QUANTILES` (linear interpolation)."""
    return np.array([float(np.mean(values)), *(float(q) for q in np.quantile(values, QUANTILES))])


def observed_and_predicted(
    traffic: Traffic, predicted: Mapping[str, Floats], rows: NDArray[np.int64], name: str
) -> tuple[Floats | None, Floats | None]:
    """Statistics of metric ``name`` over those ``rows`` where it was observed (predicted: all, where none was)."""
    use = rows[traffic.known(name)[rows]]
    seen = statistics_of(traffic.observed[name][use]) if len(use) else None
    over = use if len(use) else rows[traffic.measured[rows]]
    guess = predicted[name][over]
    guess = guess[~np.isnan(guess)]
    if len(guess) == 0 or (len(use) and len(guess) < len(use) / 2):
        return seen, None
    return seen, statistics_of(guess)


def bounds(
    guess: Floats,
    refits: Sequence[Floats],
    speeds: Sequence[Floats],
    held_out: Floats | None,
    stretch: float,
    least_s: float = 0.0,
) -> tuple[Floats, Floats]:
    """Low and high bounds of ``guess``.

    Added in quadrature: twice the spread of ``refits`` on resampled requests; the error that a fit on the first half
    of the training part made on its second half (``held_out``, relative; the worst statistic counts for all, up to
    `MOST_HELD_OUT`: what is small and off by a multiple says little of what is large); a floor (``least_s``: one step,
    by which any moment can shift); and, to each side, what the ``speeds`` (the same fit on a server slower or faster
    than fitted) give. ``stretch`` >= 1 widens the whole where the predicted part leaves what the fit has seen.
    """
    spread = 2 * np.std(np.array(refits), axis=0) if len(refits) > 1 else np.zeros_like(guess)
    drift = min(float(np.max(held_out)), MOST_HELD_OUT) * guess if held_out is not None else np.zeros_like(guess)
    floor = np.maximum(FLOOR * guess, least_s)
    even = spread**2 + drift**2 + floor**2
    below = guess - np.min(np.array([*speeds, guess]), axis=0)
    above = np.max(np.array([*speeds, guess]), axis=0) - guess
    low: Floats = np.maximum(0.0, guess - stretch * np.sqrt(even + below**2))
    high: Floats = guess + stretch * np.sqrt(even + above**2)
    return low, high


def figures(observed: Floats | None, guess: Floats | None, bounded: tuple[Floats, Floats] | None) -> dict[str, Figure]:
    """The four figures of one metric."""
    out: dict[str, Figure] = {}
    for index, statistic in enumerate(STATISTICS):
        seen = None if observed is None else float(observed[index])
        value = None if guess is None else float(guess[index])
        error = None if seen is None or value is None or seen == 0 else value / seen - 1
        low = None if bounded is None or value is None else float(bounded[0][index])
        high = None if bounded is None or value is None else float(bounded[1][index])
        out[statistic] = Figure(seen, value, error, low, high)
    return out
