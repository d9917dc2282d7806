"""Intervals for values that hang together in time: sectioning (batch statistics) with Student's t.

Latencies under queueing are autocorrelated: a thousand requests of one bad minute are one fact. The window is cut
into blocks several autocorrelation times long; the statistic is taken of the whole and of each block, and the blocks'
scatter around the whole gives the standard error (sectioning: Asmussen and Glynn, "Stochastic Simulation", 2007,
ch. III.5). With the few blocks that an incident offers, percentiles of a block bootstrap are too narrow (the
standard error of k blocks has k - 1 degrees of freedom, and the bootstrap does not know it); t intervals are not, and
need no random draws. Blocks that are short against the autocorrelation time still hang together: the factor by which
their scatter then falls short (AR(1), first order) is put back.

Times and rates are compared on the log scale (a ratio), shares as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ridgeline.model.comparison import Estimate, Scale
from ridgeline.model.contrast import Contrast, ContrastVerdict

Floats = NDArray[np.float64]

LEVEL = 0.95
FEWEST_BLOCKS = 8
MOST_BLOCKS = 32
BLOCK_TIMES = 6.0  # a block should be this many autocorrelation times long
FEWEST_EACH = 4  # values per block
FEWEST_BEYOND = 4  # values beyond a quantile
BINS = 256


@dataclass(frozen=True, slots=True)
class Plan:
    """How a window is cut: `edges` of the blocks, and the autocorrelation time (s) it was made for."""

    edges: Floats
    correlated_s: float
    n: int

    @property
    def blocks(self) -> int:
        """How many blocks."""
        return int(self.edges.size - 1)

    def of(self, times: Floats) -> NDArray[np.intp]:
        """The block of each time."""
        return np.clip(np.searchsorted(self.edges, times, side="right") - 1, 0, self.blocks - 1)

    @property
    def shortfall(self) -> float:
        """Expected scatter of the blocks over what independent blocks would show (1: none is lost)."""
        length = float(self.edges[1] - self.edges[0])
        if length <= 0:
            return 1.0
        b = self.blocks
        within = 1 - self.correlated_s / (2 * length)
        return min(1.0, max(0.15, (b * within - 1) / (b - 1)))

    @property
    def n_eff(self) -> float:
        """How many independent values the n are worth."""
        span = float(self.edges[-1] - self.edges[0])
        gap = span / self.n if self.n else 0.0
        return float(self.n) if self.correlated_s <= gap else max(1.0, span / self.correlated_s)


def correlated_s(times: Floats, values: Floats) -> float:
    """Integrated autocorrelation time in seconds, from means of equal bins of time; 0 where nothing can be said.

    The sum stops where it is a sixth of the lag (Sokal's window), so that noise in far lags does not enter.
    """
    if times.size < 16:
        return 0.0
    start, end = float(times[0]), float(times[-1])
    bins = int(min(BINS, times.size // 4))
    if end <= start:
        return 0.0
    at = np.minimum(((times - start) / (end - start) * bins).astype(np.int64), bins - 1)
    counts = np.bincount(at, minlength=bins)
    sums = np.bincount(at, weights=values, minlength=bins)
    known = counts > 0
    means = np.zeros(bins)
    means[known] = sums[known] / counts[known] - (sums.sum() / counts.sum())
    # A bin without requests says nothing: it takes part in no product.
    spectrum = np.fft.rfft(means, 2 * bins)
    mask = np.fft.rfft(known.astype(np.float64), 2 * bins)
    products = np.fft.irfft(spectrum * np.conj(spectrum))[:bins]
    pairs = np.maximum(np.round(np.fft.irfft(mask * np.conj(mask))[:bins]), 1.0)
    cov = products / pairs
    if cov[0] <= 0:
        return 0.0
    total = 1.0
    for lag in range(1, bins // 2):
        total += 2 * float(cov[lag] / cov[0])
        if lag >= 6 * max(total, 1.0):
            break
    # The mean was taken from the same window, which lowers every covariance by about total / bins of the variance.
    width = (end - start) / bins
    share = max(total, 1.0) / bins
    return width * max(total, 1.0) / max(1 - share, 0.5) if total > 1.0 else width


def plan(times: Floats, correlated: float, n: int | None = None) -> Plan | None:
    """Blocks for sorted `times`; None where there are too few values for the fewest blocks."""
    size = int(times.size) if n is None else n
    if size < FEWEST_BLOCKS * FEWEST_EACH or times.size < FEWEST_BLOCKS:
        return None
    start, end = float(times[0]), float(times[-1])
    if end <= start:
        return None
    wanted = (end - start) / (BLOCK_TIMES * correlated) if correlated > 0 else MOST_BLOCKS
    blocks = int(min(MOST_BLOCKS, size // FEWEST_EACH, times.size, max(wanted, FEWEST_BLOCKS)))
    return Plan(np.linspace(start, end, blocks + 1), correlated, size)


def forward(value: float, scale: Scale, floor: float) -> float:
    """A value on the scale it is compared on."""
    if scale == "linear":
        return value
    return math.log(value + floor) if value + floor > 0 else -math.inf


def backward(value: float, scale: Scale, floor: float) -> float:
    """The inverse of `forward`."""
    if scale == "linear":
        return value
    return max(math.exp(value) - floor, 0.0) if value < 700 else math.inf


def student(df: int, level: float = LEVEL) -> float:
    """The two-sided Student quantile."""
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + level) / 2))


def estimate(
    whole: float,
    parts: Sequence[float],
    cut: Plan,
    *,
    scale: Scale,
    floor: float = 0.0,
    least: float | None = None,
    most: float | None = None,
    spread_floor: float = 0.0,
) -> Estimate:
    """The estimate of a statistic from its value on the whole window and on each block that has values."""
    at = forward(whole, scale, floor)
    marks = np.array([forward(part, scale, floor) for part in parts])
    marks = marks[np.isfinite(marks)]
    low_edge, high_edge = (whole if least is None else least), (whole if most is None else most)
    if marks.size < FEWEST_BLOCKS or not math.isfinite(at):
        return bare(whole, cut.n, f"values in {marks.size} stretches of time, {FEWEST_BLOCKS} are needed",
                    scale=scale, floor=floor, least=low_edge, most=high_edge)  # fmt: skip
    df = int(marks.size - 1)
    spread = math.sqrt(float(((marks - at) ** 2).sum()) / df / marks.size / cut.shortfall)
    spread = max(spread, spread_floor)
    half = student(df) * spread
    low = backward(forward(low_edge, scale, floor) - half, scale, floor)
    high = backward(forward(high_edge, scale, floor) + half, scale, floor)
    return Estimate(whole, low, high, low_edge, high_edge, cut.n, cut.n_eff, spread, df, scale, floor, int(marks.size))


def paired_spread(a: Sequence[float], b: Sequence[float], whole: float, cut: Plan) -> tuple[float, int] | None:
    """(standard error, degrees of freedom) of B - A from blocks that hold the same requests on both sides.

    `a` and `b` are the statistic of each block on its scale, `whole` the difference over all. None: too few blocks.
    """
    steps = np.asarray(b) - np.asarray(a)
    steps = steps[np.isfinite(steps)]
    if steps.size < FEWEST_BLOCKS:
        return None
    df = int(steps.size - 1)
    return math.sqrt(float(((steps - whole) ** 2).sum()) / df / steps.size / cut.shortfall), df


def bare(
    value: float, n: int, why: str, *, scale: Scale, floor: float = 0.0, least: float | None = None,
    most: float | None = None,
) -> Estimate:  # fmt: skip
    """A value without an interval, and why there is none."""
    return Estimate(
        value, None, None, value if least is None else least, value if most is None else most, n, float(n), None, 0,
        scale, floor, 0, why,
    )  # fmt: skip


def statistic(
    times: Floats, values: Floats, of: Callable[[Floats], float], cut: Plan | None, *, floor: float, beyond: float = 1.0
) -> Estimate:
    """A statistic of request values (log scale) in blocks of time; `beyond` is the share of values behind it."""
    whole = of(values)
    if cut is None or not math.isfinite(whole):
        why = f"{values.size} values; at least {FEWEST_BLOCKS * FEWEST_EACH} over time are needed"
        return bare(whole, int(values.size), why, scale="log", floor=floor)
    if values.size * beyond < FEWEST_BEYOND:
        needed = math.ceil(FEWEST_BEYOND / beyond)
        return bare(whole, int(values.size), f"needs {needed} requests, has {values.size}", scale="log", floor=floor)
    block = cut.of(times)
    parts = [of(values[block == b]) for b in range(cut.blocks) if bool(np.any(block == b))]
    return estimate(whole, parts, cut, scale="log", floor=floor)


def contrast(
    name: str, a: Estimate, b: Estimate, *, margin: float, margin_abs: float, alpha: float,
    paired: tuple[float, int] | None = None,
) -> Contrast:  # fmt: skip
    """B against A: difference in the figure's unit, its interval at 95 %, Welch's two-sided p-value.

    Where buckets bound the values, only the distance that the bounds prove counts. `different` needs p < `alpha`.
    `paired` is the standard error and degrees of freedom of the difference where both sides served the same requests.
    """
    n = (a.n, b.n)
    difference = b.value - a.value
    limit = max(margin * abs(a.value), margin_abs)
    if paired is None and (a.spread is None or b.spread is None):
        return Contrast(name, a.value, b.value, difference, None, None, LEVEL, limit, *n, None, "none", "too-few",
                        a.why or b.why)  # fmt: skip
    from scipy.special import stdtr

    scale, floor = a.scale, max(a.floor, b.floor)
    nearest, farthest = _distance(a, b, scale, floor)
    spread, df = paired if paired is not None else _welch(a, b)
    half = student(df) * spread
    p = _p_value(nearest, farthest, spread, df, stdtr)
    low = _moved(a, nearest - half, scale, floor)
    high = _moved(a, farthest + half, scale, floor)
    proven = 0.0 if nearest <= 0 <= farthest else abs(_moved(a, nearest if nearest > 0 else farthest, scale, floor))
    verdict: ContrastVerdict
    if p < alpha and proven > limit:
        verdict, why = "different", "the difference is beyond chance and beyond the margin"
    elif low >= -limit and high <= limit:
        verdict, why = "same", "the whole interval lies within the margin"
    else:
        verdict, why = "too-few", "the interval is wider than the margin"
    return Contrast(name, a.value, b.value, difference, low, high, LEVEL, limit, *n, p,
                    "paired-sections" if paired is not None else "welch-on-sections", verdict,
                    why)  # fmt: skip


def _distance(a: Estimate, b: Estimate, scale: Scale, floor: float) -> tuple[float, float]:
    """The least and the greatest B - A that the bounds allow, on the scale."""
    low = forward(b.least, scale, floor) - forward(a.most, scale, floor)
    high = forward(b.most, scale, floor) - forward(a.least, scale, floor)
    return (low, high) if low <= high else (high, low)


def _p_value(low: float, high: float, spread: float, df: int, stdtr: Callable[[float, float], float]) -> float:
    if low <= 0 <= high:
        return 1.0
    distance = min(abs(low), abs(high))
    return 0.0 if spread <= 0 or math.isinf(distance) else 2 * float(stdtr(df, -distance / spread))


def _welch(a: Estimate, b: Estimate) -> tuple[float, int]:
    """Standard error of the difference; degrees of freedom after Welch and Satterthwaite, rounded down."""
    assert a.spread is not None and b.spread is not None
    va, vb = a.spread**2, b.spread**2
    weights = va**2 / max(a.df, 1) + vb**2 / max(b.df, 1)
    df = min(a.df, b.df) if weights <= 0 else max(1, int((va + vb) ** 2 / weights))
    return math.sqrt(va + vb), df


def _moved(a: Estimate, by: float, scale: Scale, floor: float) -> float:
    """A step on the scale as a difference in A's unit."""
    if scale == "linear":
        return by
    if by > 700:
        return math.inf
    return (a.value + floor) * (math.exp(by) - 1) if by > -math.inf else -(a.value + floor)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p-values (1979); None stays None and takes no part."""
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    out: list[float | None] = [None] * len(p_values)
    worst = 0.0
    for rank, (p, i) in enumerate(known):
        worst = max(worst, min(1.0, p * (len(known) - rank)))
        out[i] = worst
    return out
