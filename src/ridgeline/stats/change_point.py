"""When did it change: the onset of a shift in a series, and the last progress of a frozen counter.

CUSUM on the ranks of window medians (Pettitt, 1979: the split that separates most, with no assumption on the
distribution), applied again to both sides as in E-divisive. Medians of windows carry the test, so that single
spikes and short-range autocorrelation do not; the onset is then sharpened on the raw samples. Only samples
that exist take part: a gap is a gap, not a level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A shift at `onset`: the time of the first sample of the new level, `before` and `after` its medians.

    The true moment lies after `not_before`, the last sample of the old level. `strength` is the shift over the
    spread within both sides (capped at 1000); `p_value` is Pettitt's approximation. `gradual`: a straight line
    fits better than a step, so the onset is only the middle of a slope.
    """

    onset: float
    not_before: float
    before: float
    after: float
    strength: float
    p_value: float
    n_before: int
    n_after: int
    gradual: bool


def clean(times: ArrayLike, values: ArrayLike) -> tuple[Floats, Floats]:
    """Both arrays in time order without rows that have a NaN or infinity; ValueError for unequal lengths."""
    t, x = np.asarray(times, np.float64).ravel(), np.asarray(values, np.float64).ravel()
    if t.size != x.size:
        raise ValueError(f"{t.size} times but {x.size} values")
    keep = np.isfinite(t) & np.isfinite(x)
    order = np.argsort(t[keep], kind="stable")
    return t[keep][order], x[keep][order]


def change_point(
    times: ArrayLike,
    values: ArrayLike,
    *,
    window: int | None = None,
    min_strength: float = 3.0,
    max_p: float = 0.01,
    min_windows: int = 5,
) -> ChangePoint | None:
    """The strongest shift of a series, or None where there is none (or too few samples to tell).

    `window` is how many samples make one median; by default about 120 windows, at least one sample each.
    `min_windows` are needed on either side.
    """
    found = change_points(
        times, values, window=window, min_strength=min_strength, max_p=max_p, min_windows=min_windows, most=4
    )
    return max(found, key=lambda point: (point.strength * math.sqrt(min(point.n_before, point.n_after)), -point.onset),
               default=None)  # fmt: skip


def change_points(
    times: ArrayLike,
    values: ArrayLike,
    *,
    window: int | None = None,
    min_strength: float = 3.0,
    max_p: float = 0.01,
    min_windows: int = 5,
    most: int = 8,
) -> tuple[ChangePoint, ...]:
    """Every shift, in time order, at most `most`; levels are those of the neighbouring stretches."""
    t, x = clean(times, values)
    size = window or max(1, t.size // 120)
    if size < 1 or t.size < 2 * size * min_windows:
        return ()
    ends = [0, *sorted(_splits(x, size, max_p, min_windows, most)), t.size]
    # A split was placed before its neighbours were known: place it again between them.
    for i in range(1, len(ends) - 1):
        ends[i] = _sharpen(x, ends[i - 1], ends[i], ends[i + 1], size)
    points = []
    for i in range(1, len(ends) - 1):
        point = _measure(t, x, ends[i - 1], ends[i], ends[i + 1], max_p)
        if point is not None and point.strength >= min_strength:
            points.append(point)
    return tuple(points)


def _splits(x: Floats, size: int, max_p: float, min_windows: int, most: int) -> list[int]:
    """Sample indices of the splits found by bisection, the most certain first."""
    open_ends, splits = [(0, x.size)], list[int]()
    while open_ends and len(splits) < most:
        candidates = [(cut, span) for span in open_ends if (cut := _pettitt(x[slice(*span)], size, min_windows))]
        good = [(cut, span) for cut, span in candidates if cut[1] <= max_p]
        if not good:
            break
        (at, _), (start, end) = min(good, key=lambda item: (item[0][1], item[1]))
        split = _sharpen(x, start, start + at, end, size)
        splits.append(split)
        open_ends.remove((start, end))
        open_ends += [span for span in ((start, split), (split, end)) if span[1] - span[0] >= 2 * size * min_windows]
    return splits


def _pettitt(x: Floats, size: int, min_windows: int) -> tuple[int, float] | None:
    """The sample index that splits best, and Pettitt's p-value; None where the stretch is too short."""
    n = x.size // size
    if n < 2 * min_windows:
        return None
    medians = np.median(x[: n * size].reshape(n, size), axis=1)
    _, inverse, counts = np.unique(medians, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    k = np.arange(1, n)
    u = np.abs(2 * np.cumsum(ranks)[:-1] - k * (n + 1))
    inner = u[min_windows - 1 : n - min_windows]
    if inner.size == 0 or inner.max() <= 0:
        return None
    best = int(np.argmax(inner)) + min_windows
    p = min(1.0, 2 * math.exp(-6 * float(inner.max()) ** 2 / (float(n) ** 3 + float(n) ** 2)))
    return best * size, p


def _sharpen(x: Floats, start: int, split: int, end: int, size: int) -> int:
    """The split near a window's edge that leaves the least absolute deviation from both levels."""
    reach = max(4 * size, (end - start) // 16)
    low, high = max(start + 1, split - reach), min(end - 1, split + reach)
    before, after = float(np.median(x[start:low])), float(np.median(x[high:end]))
    zone = x[low:high]
    cost = np.concatenate([[0.0], np.cumsum(np.abs(zone - before) - np.abs(zone - after))])
    # The last of equal minima: on a tie the old level is believed to have held on.
    return low + int(cost.size - 1 - np.argmin(cost[::-1]))


def _measure(t: Floats, x: Floats, start: int, split: int, end: int, max_p: float) -> ChangePoint | None:
    left, right = x[start:split], x[split:end]
    if left.size == 0 or right.size == 0:
        return None
    before, after = float(np.median(left)), float(np.median(right))
    rest = np.concatenate([np.abs(left - before), np.abs(right - after)])
    # A median of deviations is 0 for a series that mostly stands still; the mean then still sees its noise.
    spread = max(1.4826 * float(np.median(rest)), float(np.mean(rest)))
    shift = abs(after - before)
    strength = 1000.0 if spread <= 0 else min(shift / spread, 1000.0)
    if shift == 0:
        return None
    n1, n2 = left.size, right.size
    order = np.argsort(x[start:end], kind="stable")
    ranks = np.empty(order.size)
    ranks[order] = np.arange(1, order.size + 1)
    u = abs(2 * float(ranks[:n1].sum()) - n1 * (n1 + n2 + 1))
    n = float(n1 + n2)
    p = min(1.0, 2 * math.exp(-6 * u * u / (n**3 + n**2)))
    middle = t[start:end] - t[start:end].mean()
    if p > max_p:
        return None
    slope = float(middle @ (x[start:end] - x[start:end].mean())) / max(float(middle @ middle), 1e-300)
    line = float(np.abs(x[start:end] - x[start:end].mean() - slope * middle).sum())
    return ChangePoint(
        float(t[split]), float(t[split - 1]), before, after, strength, p, n1, n2, line < float(rest.sum())
    )


@dataclass(frozen=True, slots=True)
class Stall:
    """A counter that stands still: `last_progress` is the onset, `seen_until` the last sample that shows it."""

    last_progress: float
    seen_until: float
    level: float
    n_still: int

    @property
    def duration(self) -> float:
        """How long it demonstrably stood still."""
        return self.seen_until - self.last_progress


def frozen_since(times: ArrayLike, counter: ArrayLike, *, min_still: float, min_samples: int = 3) -> Stall | None:
    """The stall at the end of a cumulative counter, or None where it still moves or was never seen to move.

    Onset is the last progress, not the line that reports it. A fallen value is a restart and counts as
    progress. Missing samples at the end prolong nothing: only samples seen are evidence.
    """
    t, x = clean(times, counter)
    if t.size < min_samples + 1:
        return None
    moved = np.flatnonzero(np.diff(x) != 0)
    if moved.size == 0:
        return None
    at = int(moved[-1]) + 1
    stall = Stall(float(t[at]), float(t[-1]), float(x[-1]), int(t.size - at - 1))
    return stall if stall.duration >= min_still and stall.n_still >= min_samples else None
