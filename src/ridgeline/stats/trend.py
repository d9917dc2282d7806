"""Does it rise, does it stand still: robust slope, monotone share, plateaus.

The slope is Theil-Sen's (median of the slopes of all pairs), its interval Sen's (1968) from the variance of
Kendall's statistic. Both survive a third of wild samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from ridgeline.stats.change_point import clean


@dataclass(frozen=True, slots=True)
class Slope:
    """Change per second, its interval at `level`, and how many samples it rests on (after thinning)."""

    per_s: float
    low: float
    high: float
    level: float
    n: int

    @property
    def rising(self) -> bool:
        """Whether the whole interval lies above zero."""
        return self.low > 0

    @property
    def falling(self) -> bool:
        """Whether the whole interval lies below zero."""
        return self.high < 0


def slope(times: ArrayLike, values: ArrayLike, *, level: float = 0.95, most: int = 600) -> Slope | None:
    """Theil-Sen slope; None below four samples or where all times are equal.

    More than `most` samples are thinned evenly (the pairs grow with the square). For autocorrelated series the
    interval is too narrow: ask for a large slope, not only for one that is not zero.
    """
    t, x = clean(times, values)
    if t.size > most:
        picked = np.linspace(0, t.size - 1, most).round().astype(np.int64)
        t, x = t[picked], x[picked]
    n = int(t.size)
    if n < 4:
        return None
    i, j = np.triu_indices(n, 1)
    gap = t[j] - t[i]
    some = gap > 0
    if not np.any(some):
        return None
    slopes = np.sort((x[j][some] - x[i][some]) / gap[some])
    _, ties = np.unique(x, return_counts=True)
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    half = NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(max(variance, 0.0))
    low = max(0, math.floor((slopes.size - half) / 2))
    high = min(slopes.size - 1, math.ceil((slopes.size + half) / 2))
    return Slope(float(np.median(slopes)), float(slopes[low]), float(slopes[high]), level, n)


@dataclass(frozen=True, slots=True)
class Steps:
    """Shares of the steps between neighbouring samples that go up, down and nowhere; they add up to 1."""

    up: float
    down: float
    flat: float
    n: int


def steps(values: ArrayLike, tolerance: float = 0.0) -> Steps | None:
    """How monotone a series is; None below two samples. Steps of at most `tolerance` are flat."""
    x = np.asarray(values, np.float64).ravel()
    change = np.diff(x[np.isfinite(x)])
    if change.size == 0:
        return None
    up, down = int((change > tolerance).sum()), int((change < -tolerance).sum())
    n = int(change.size)
    return Steps(up / n, down / n, (n - up - down) / n, n)


@dataclass(frozen=True, slots=True)
class Plateau:
    """A stretch in which a series stays within the tolerance; `level` is its median."""

    start: float
    end: float
    level: float
    n: int


def plateaus(
    times: ArrayLike, values: ArrayLike, *, min_duration: float, tolerance: float = 0.0, max_gap: float = math.inf
) -> tuple[Plateau, ...]:
    """Every longest stretch of at least `min_duration` seconds that varies by at most `tolerance`.

    Stretches do not overlap; a gap of more than `max_gap` seconds between samples ends one, for nothing is
    known of what happened in it.
    """
    t, x = clean(times, values)
    found: list[Plateau] = []
    start = 0
    lowest = highest = float(x[0]) if x.size else 0.0
    for i in range(1, t.size + 1):
        if i < t.size:
            low, high = min(lowest, float(x[i])), max(highest, float(x[i]))
            if high - low <= tolerance and t[i] - t[i - 1] <= max_gap:
                lowest, highest = low, high
                continue
        if t[i - 1] - t[start] >= min_duration and i - start >= 2:
            level = float(np.median(x[start:i]))
            found.append(Plateau(float(t[start]), float(t[i - 1]), level, i - start))
        if i < t.size:
            start, lowest, highest = i, float(x[i]), float(x[i])
    return tuple(found)
