"""Differences of quantiles between two outcomes of the same requests, with bootstrap intervals over the pairs.

The pairs are resampled whole (Efron and Tibshirani, 1993, ch. 8): what is common to both sides of a request (its
length, its place in the load) does not widen the interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

SEED: Final = 20
REPLICATES: Final = 1000
FEWEST: Final = 8
FEWEST_BEYOND: Final = 4
MOST_PAIRS: Final = 4000
"""Beyond as many pairs a quarter of a thousand replicates is enough, and bounds the time."""

Verdict = Literal["slower", "faster", "same", "too-few"]


@dataclass(frozen=True, slots=True)
class Paired:
    """The q quantile of either side, their difference `b - a` and its 95 % interval, in the unit of the values."""

    q: float
    n: int
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None
    verdict: Verdict


def paired_quantile(
    a: ArrayLike, b: ArrayLike, q: float, *, margin: float = 0.1, margin_abs: float = 0.005, seed: int = SEED
) -> Paired | None:
    """How the q quantile of `b` lies to that of `a`, pair by pair; None where there is no pair.

    `margin` (share of A's figure) and `margin_abs` (its unit) say which difference would not matter. `slower` needs the
    whole interval above zero and the difference above the margin; `same` the whole interval within it.
    """
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if x.shape != y.shape:
        raise ValueError(f"{x.size} values but {y.size} to pair them with")
    whole = np.isfinite(x) & np.isfinite(y)
    x, y = x[whole], y[whole]
    n = int(x.size)
    if n == 0:
        return None
    left, right = _quantile(x[None, :], q)[0], _quantile(y[None, :], q)[0]
    difference = float(right - left)
    if n < FEWEST or n * min(q, 1 - q) < FEWEST_BEYOND:
        return Paired(q, n, float(left), float(right), difference, None, None, "too-few")
    rng = np.random.default_rng(seed)
    draws = np.concatenate([_differences(x, y, q, rng, rows) for rows in _batches(n)])
    low, high = (float(v) for v in np.quantile(draws, (0.025, 0.975)))
    room = max(margin * abs(float(left)), margin_abs)
    verdict: Verdict = "too-few"
    if low > 0 and difference > room:
        verdict = "slower"
    elif high < 0 and -difference > room:
        verdict = "faster"
    elif -room <= low and high <= room:
        verdict = "same"
    return Paired(q, n, float(left), float(right), difference, low, high, verdict)


def _batches(n: int) -> list[int]:
    """Replicates in batches whose index arrays stay below some 32 MB."""
    total = REPLICATES if n <= MOST_PAIRS else REPLICATES // 4
    size = max(1, min(total, 4_000_000 // n))
    return [min(size, total - at) for at in range(0, total, size)]


def _differences(
    x: NDArray[np.float64], y: NDArray[np.float64], q: float, rng: np.random.Generator, rows: int
) -> NDArray[np.float64]:
    picks = rng.integers(0, x.size, (rows, x.size))
    return _quantile(y[picks], q) - _quantile(x[picks], q)


def _quantile(values: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    """The order statistic that `stats.intervals.quantile` names, of each row."""
    n = values.shape[1]
    rank = min(n, max(1, int(np.ceil(q * n - 1e-9 * max(1.0, q * n)))))
    return np.asarray(np.partition(values, rank - 1, axis=1)[:, rank - 1], np.float64)
