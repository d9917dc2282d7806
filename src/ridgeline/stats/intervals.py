"""Intervals for shares and quantiles, and the weighted quantile.

Shares: Wilson's score interval (closed form, safe near 0 and 1) and Clopper-Pearson (exact, never too
short). Quantiles: order statistics, whose ranks follow from the binomial distribution, so that no shape of
the data is assumed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A value between two ends; an end that the sample cannot give is None."""

    low: float | None
    high: float | None
    level: float

    def contains(self, value: float) -> bool:
        """Whether `value` lies inside; a missing end excludes nothing."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level {level!r}: needs a number between 0 and 1")


def _check_counts(hits: Floats, n: Floats) -> None:
    if bool(np.any(hits < 0)) or bool(np.any(hits > n)):
        raise ValueError("hits must lie between 0 and n")


def wilson_ends(hits: ArrayLike, n: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Wilson's interval for many shares at once; `n` of 0 gives (0, 1): nothing is known."""
    _check_level(level)
    k, total = np.broadcast_arrays(np.asarray(hits, np.float64), np.asarray(n, np.float64))
    _check_counts(k, total)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    safe = np.maximum(total, 1.0)
    share = k / safe
    scale = 1 + z * z / safe
    centre = (share + z * z / (2 * safe)) / scale
    half = z * np.sqrt(share * (1 - share) / safe + z * z / (4 * safe * safe)) / scale
    low = np.where(k == 0, 0.0, np.clip(centre - half, 0, 1))
    high = np.where(k == total, 1.0, np.clip(centre + half, 0, 1))
    # Rounding must not push an end past the share it is an interval for.
    low, high = np.minimum(low, share), np.maximum(high, share)
    return np.where(total > 0, low, 0.0), np.where(total > 0, high, 1.0)


def wilson(hits: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's interval for one share; raises ValueError unless 0 <= hits <= n."""
    low, high = wilson_ends([hits], [n], level)
    return Interval(float(low[0]), float(high[0]), level)


def clopper_pearson(hits: int, n: int, level: float = 0.95) -> Interval:
    """The exact interval for one share; raises ValueError unless 0 <= hits <= n."""
    from scipy.stats import beta

    _check_level(level)
    _check_counts(np.asarray(hits, np.float64), np.asarray(n, np.float64))
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, n - hits + 1))
    high = 1.0 if hits == n else float(beta.ppf(1 - tail, hits + 1, n - hits))
    return Interval(low, high, level)


def quantile(values: ArrayLike, q: float) -> float | None:
    """The smallest value that at least a share `q` does not exceed; NaN dropped, +inf allowed (censored)."""
    kept = finite_or_censored(values)
    if kept.size == 0:
        return None
    return float(np.sort(kept)[order_rank(kept.size, q) - 1])


def order_rank(n: int, q: float) -> int:
    """The rank (from 1) of the order statistic that is the `q` quantile of `n` values."""
    if not 0 <= q <= 1:
        raise ValueError(f"quantile {q!r}: needs a number from 0 to 1")
    # The product of a decimal q and n may land a hair above the whole number that is meant.
    return min(n, max(1, math.ceil(q * n - 1e-9 * max(1.0, q * n))))


def finite_or_censored(values: ArrayLike) -> Floats:
    """The values as floats without NaN; +inf stays and means "not over yet"."""
    kept = np.asarray(values, np.float64).ravel()
    return kept[~np.isnan(kept)]


def quantile_interval(values: ArrayLike, q: float, level: float = 0.95) -> Interval:
    """Order-statistic interval of the `q` quantile; an end is None where the sample is too small for it."""
    from scipy.stats import binom

    _check_level(level)
    kept = np.sort(finite_or_censored(values))
    n = kept.size
    if n == 0:
        return Interval(None, None, level)
    order_rank(n, q)
    tail = (1 - level) / 2
    # X(r) <= quantile unless fewer than r values fall below it, and likewise from above.
    below = int(binom.ppf(tail, n, q))
    above = int(binom.ppf(1 - tail, n, q)) + 1
    low = float(kept[below - 1]) if below >= 1 else None
    high = float(kept[above - 1]) if above <= n else None
    return Interval(low, high, level)


def weighted_quantile(values: ArrayLike, weights: ArrayLike, q: float) -> float | None:
    """The smallest value up to which the weights reach a share `q` of their sum.

    Rows with a NaN value or weight and weights of zero are left out. None where nothing is left; ValueError
    for a negative weight or unequal lengths.
    """
    if not 0 <= q <= 1:
        raise ValueError(f"quantile {q!r}: needs a number from 0 to 1")
    raw, mass = np.asarray(values, np.float64).ravel(), np.asarray(weights, np.float64).ravel()
    if raw.shape != mass.shape:
        raise ValueError(f"{raw.size} values but {mass.size} weights")
    if bool(np.any(mass < 0)):
        raise ValueError("a weight is negative")
    keep = ~np.isnan(raw) & ~np.isnan(mass) & (mass > 0)
    raw, mass = raw[keep], mass[keep]
    if raw.size == 0:
        return None
    order = np.argsort(raw, kind="stable")
    reached = np.cumsum(mass[order])
    target = q * reached[-1] * (1 - 1e-12)
    return float(raw[order][min(int(np.searchsorted(reached, target)), raw.size - 1)])
