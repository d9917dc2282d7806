"""Histogram algebra on cumulative buckets: delta of two scrapes, merge, quantile, share above, mean.

A bucket says only that a value lies in (lower, upper]. So every answer is an interval that the buckets prove,
and beside it the point that Prometheus' linear interpolation would give. Merging histograms of different
bounds happens on their common refinement, where a count may be known only within limits: `least` and `most`
hold them, and they are equal for any histogram as scraped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ridgeline.stats.intervals import order_rank

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Cumulative counts: `cumulative[i]` values are <= `bounds[i]`; the last bound is +inf.

    `least` <= `cumulative` <= `most` enclose the true counts. `total` is the sum of the values, None where not
    known. `repaired` says that a scrape was torn (counts fell from one bucket to the next) and was mended by
    the running maximum.
    """

    bounds: Floats
    cumulative: Floats
    least: Floats
    most: Floats
    total: float | None = None
    repaired: bool = False

    @property
    def count(self) -> float:
        """How many values were observed."""
        return float(self.cumulative[-1])

    @property
    def exact(self) -> bool:
        """Whether every count is known (false only after a merge of different bounds)."""
        return bool(np.array_equal(self.least, self.most))

    @property
    def mean(self) -> float | None:
        """Sum over count; None without a sum or without values."""
        return None if self.total is None or self.count <= 0 else self.total / self.count


def histogram(bounds: ArrayLike, cumulative: ArrayLike, total: float | None = None) -> Histogram:
    """A histogram as scraped, in any order of buckets.

    Raises ValueError where it cannot be one: no bucket, no +Inf bucket, a NaN or repeated bound, a negative or
    NaN count. A NaN `total` is taken as not known.
    """
    upper = np.asarray(bounds, np.float64).ravel()
    counts = np.asarray(cumulative, np.float64).ravel()
    if upper.size != counts.size:
        raise ValueError(f"{upper.size} bounds but {counts.size} counts")
    if upper.size == 0 or not np.any(upper == math.inf):
        raise ValueError("no +Inf bucket: the number of values is not known")
    if bool(np.any(np.isnan(upper))) or np.unique(upper).size != upper.size:
        raise ValueError("a bucket bound is NaN or appears twice")
    if bool(np.any(~np.isfinite(counts))) or bool(np.any(counts < 0)):
        raise ValueError("a bucket count is negative, NaN or infinite")
    order = np.argsort(upper)
    upper, counts = upper[order], counts[order]
    mended = np.maximum.accumulate(counts)
    known = None if total is None or math.isnan(total) else float(total)
    return Histogram(upper, mended, mended, mended, known, not np.array_equal(mended, counts))


def from_gauge_histogram(buckets: Iterable[tuple[float, float, float]]) -> Histogram:
    """SGLang's GaugeHistogram: rows (gt, le, count) that are not cumulative (gt < value <= le).

    Raises ValueError where buckets overlap or one is missing in between: its count is not known.
    """
    rows = sorted((float(le), float(gt), float(count)) for gt, le, count in buckets)
    if not rows:
        raise ValueError("no bucket")
    for (upper, _, _), (_, lower, _) in pairwise(rows):
        if lower != upper:
            raise ValueError(f"a bucket ends at {upper:g}, the next begins at {lower:g}: missing or overlapping")
    if rows[-1][0] != math.inf:
        rows.append((math.inf, rows[-1][0], 0.0))
    counts = [count for _, _, count in rows]
    # Each count, not only the running sum, must be possible.
    if any(not math.isfinite(count) or count < 0 for count in counts):
        raise ValueError("a bucket count is negative, NaN or infinite")
    return histogram([le for le, _, _ in rows], np.cumsum(counts))


@dataclass(frozen=True, slots=True, eq=False)
class Delta:
    """What was observed between two scrapes. `reset`: the counter began anew, and the part before is lost."""

    histogram: Histogram
    reset: bool


def delta(earlier: Histogram, later: Histogram) -> Delta:
    """The values observed between two scrapes of one series.

    A reset is any fallen bucket or other bounds (another boot); then only what came after it is known, and
    that is `later` itself. Raises ValueError for merged histograms, whose counts are limits.
    """
    if not (earlier.exact and later.exact):
        raise ValueError("a delta needs histograms as scraped, not merged ones of different bounds")
    same = np.array_equal(earlier.bounds, later.bounds)
    if not same or bool(np.any(later.cumulative < earlier.cumulative)):
        return Delta(later, reset=True)
    raw = later.cumulative - earlier.cumulative
    mended = np.maximum.accumulate(raw)
    # The number of values is the one figure a torn scrape has right: the +Inf bucket is the count.
    mended = np.minimum(mended, raw[-1])
    total = None if earlier.total is None or later.total is None else later.total - earlier.total
    torn = not np.array_equal(mended, raw) or earlier.repaired or later.repaired
    return Delta(Histogram(later.bounds, mended, mended, mended, total, torn), reset=False)


def over_scrapes(scrapes: Sequence[Histogram]) -> Delta | None:
    """Everything observed from the first scrape to the last, resets in between survived; None below two."""
    if len(scrapes) < 2:
        return None
    steps = [delta(a, b) for a, b in pairwise(scrapes)]
    return Delta(merge([step.histogram for step in steps]), any(step.reset for step in steps))


def merge(parts: Sequence[Histogram]) -> Histogram:
    """The histogram of all values of all parts; same bounds add exactly, others on their common refinement.

    The sum is known only where every part has one. Raises ValueError for no part.
    """
    if not parts:
        raise ValueError("nothing to merge")
    bounds = parts[0].bounds
    if not all(np.array_equal(bounds, part.bounds) for part in parts):
        bounds = np.unique(np.concatenate([part.bounds for part in parts]))
        parts = [_refine(part, bounds) for part in parts]
    totals = [part.total for part in parts]
    total = None if None in totals else math.fsum(value for value in totals if value is not None)
    return Histogram(
        bounds,
        np.sum([part.cumulative for part in parts], axis=0),
        np.sum([part.least for part in parts], axis=0),
        np.sum([part.most for part in parts], axis=0),
        total,
        any(part.repaired for part in parts),
    )


def _refine(part: Histogram, bounds: Floats) -> Histogram:
    """The same values on finer bounds that contain the part's own."""
    below = np.searchsorted(part.bounds, bounds, side="right") - 1  # last own bound <= new bound, or -1
    above = np.searchsorted(part.bounds, bounds, side="left")  # first own bound >= new bound
    least = np.where(below >= 0, part.least[np.maximum(below, 0)], 0.0)
    most = part.most[above]
    return Histogram(bounds, np.array([_at(part, float(x)) for x in bounds]), least, most, part.total, part.repaired)


def _edges(part: Histogram, i: int) -> tuple[float, float]:
    """Lower and upper edge of bucket `i`; the first begins at 0 unless its bound is not above 0."""
    upper = float(part.bounds[i])
    if i > 0:
        return float(part.bounds[i - 1]), upper
    return (0.0, upper) if upper > 0 else (-math.inf, upper)


def _at(part: Histogram, x: float) -> float:
    """How many values are <= x, interpolated inside a bucket; nothing is assumed of an open-ended one."""
    i = int(np.searchsorted(part.bounds, x, side="left"))
    if part.bounds[i] == x:
        return float(part.cumulative[i])
    lower, upper = _edges(part, i)
    before = float(part.cumulative[i - 1]) if i else 0.0
    if not (math.isfinite(lower) and math.isfinite(upper)) or x <= lower:
        return before
    return before + (float(part.cumulative[i]) - before) * (x - lower) / (upper - lower)


@dataclass(frozen=True, slots=True)
class QuantileEstimate:
    """A quantile lies in (`low`, `high`]; `point` interpolates and is None where `high` is infinite."""

    q: float
    low: float
    high: float
    point: float | None
    n: float


def quantile(part: Histogram, q: float) -> QuantileEstimate | None:
    """The `q` quantile (the smallest value that a share `q` does not exceed); None without values."""
    n = part.count
    if n <= 0:
        return None
    rank = order_rank(max(1, round(n)), q) if n == round(n) else max(q * n, math.ulp(n))
    first = int(np.searchsorted(part.most, rank, side="left"))
    last = int(np.searchsorted(part.least, rank, side="left"))
    # A merged count may be unknown up to its total, never beyond it.
    first, last = min(first, part.bounds.size - 1), min(last, part.bounds.size - 1)
    low, high = _edges(part, first)[0], float(part.bounds[last])
    if not math.isfinite(high):
        return QuantileEstimate(q, low, high, None, n)
    i = min(int(np.searchsorted(part.cumulative, rank, side="left")), part.bounds.size - 1)
    lower, upper = _edges(part, i)
    before = float(part.cumulative[i - 1]) if i else 0.0
    inside = float(part.cumulative[i]) - before
    wanted = max(q * n - before, 0.0)
    if not math.isfinite(lower):
        point = upper
    else:
        point = lower + (upper - lower) * (wanted / inside if inside > 0 else 1.0)
    return QuantileEstimate(q, low, high, min(max(point, low), high), n)


@dataclass(frozen=True, slots=True)
class ShareEstimate:
    """The share of values above a threshold lies in [`low`, `high`]; equal ends are an exact answer."""

    threshold: float
    low: float
    high: float
    point: float
    n: float


def share_above(part: Histogram, threshold: float) -> ShareEstimate | None:
    """The share of values > `threshold`; exact where the threshold is a bound. None without values."""
    n = part.count
    if n <= 0:
        return None
    if math.isnan(threshold):
        raise ValueError("the threshold is NaN")
    at_or_above = int(np.searchsorted(part.bounds, threshold, side="left"))
    below = int(np.searchsorted(part.bounds, threshold, side="right")) - 1
    most_kept = float(part.most[at_or_above])
    least_kept = float(part.least[below]) if below >= 0 else 0.0
    low, high = max(0.0, 1 - most_kept / n), min(1.0, 1 - least_kept / n)
    return ShareEstimate(threshold, low, high, min(max(1 - _at(part, threshold) / n, low), high), n)
