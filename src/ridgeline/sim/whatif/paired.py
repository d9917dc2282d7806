"""Differences between two settings on the same requests in the same repeats, with intervals.

The interval is for one more day like this one: requests resampled in blocks by arrival (what stood behind what is
kept), and, with repeats, Student's t on the differences of the repeats, each of which has its own order of requests and
its own speed of the server.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from ridgeline.sim.whatif.run import Outcome

STATISTICS: Final = ("mean", "p50", "p90", "p99")
BLOCKS: Final = 30
DRAWS: Final = 200
LEVEL: Final = 0.95
FEWEST_TO_RESAMPLE: Final = 20
MOST_TO_RESAMPLE: Final = 20_000
"""Quantiles of more requests are not resampled: repeats tell their spread."""

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Change:
    """A figure under another setting minus under the base (s or share); ``low``, ``high``: 95 % interval, None where
    nothing bounds it; ``relative``: by the base, None where that is 0."""

    before: float
    after: float
    delta: float
    low: float | None
    high: float | None

    @property
    def relative(self) -> float | None:
        """The change as a share of the base."""
        return self.delta / self.before if self.before else None

    @property
    def certain(self) -> bool:
        """Whether the interval leaves no room for nothing."""
        return self.low is not None and self.high is not None and (self.high < 0 or self.low > 0)


def statistic(values: Floats, name: str) -> float:
    """Mean or nearest-rank quantile of what is known; NaN where nothing is."""
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return float("nan")
    if name == "mean":
        return float(np.mean(known, dtype=np.float64))
    at = max(0, -(-int(name[1:]) * len(known) // 100) - 1)
    return float(np.partition(known, at)[at])


def change(
    before: Sequence[Floats], after: Sequence[Floats], name: str, rows: NDArray[np.int64] | None = None, seed: int = 0
) -> Change | None:
    """The change of one statistic of one metric; one array per repeat, aligned by request. None where nothing is known.

    Requests that one of the two settings did not finish are left out of both.
    """
    pairs: list[tuple[Floats, Floats]] = []
    for a, b in zip(before, after, strict=True):
        x, y = (a, b) if rows is None else (a[rows], b[rows])
        both = ~np.isnan(x) & ~np.isnan(y)
        pairs.append((np.where(both, x, np.nan), np.where(both, y, np.nan)))
    olds = [statistic(x, name) for x, _ in pairs]
    news = [statistic(y, name) for _, y in pairs]
    if not olds or any(value != value for value in (*olds, *news)):
        return None
    deltas = np.array(news) - np.array(olds)
    half = half_width(deltas, pairs[0], name, seed)
    old, new, delta = float(np.mean(olds)), float(np.mean(news)), float(np.mean(deltas))
    if half is None:
        return Change(old, new, delta, None, None)
    # no time falls below 0; shares that count for good are handed in as 0 to -1
    floor, ceiling = (-old, float("inf")) if old >= 0 and new >= 0 else (-1.0 - old, -old)
    return Change(old, new, delta, min(delta, max(delta - half, floor)), max(delta, min(delta + half, ceiling)))


def half_width(deltas: NDArray[np.float64], first: tuple[Floats, Floats], name: str, seed: int) -> float | None:
    """Half of the interval: between requests and between repeats, added in quadrature. None: nothing tells either."""
    between = None
    count = len(deltas)
    if count > 1:
        spread = float(np.std(deltas, ddof=1)) * (1 + 1 / count) ** 0.5
        between = float(student.ppf((1 + LEVEL) / 2, count - 1)) * spread
    inside = resampled(first, name, seed)
    if between is None and inside is None:
        return None
    return float(np.hypot(between or 0.0, inside or 0.0))


def resampled(pair: tuple[Floats, Floats], name: str, seed: int) -> float | None:
    """1.96 standard deviations of the difference over draws of blocks of requests; None: too few, or too many."""
    old, new = pair
    known = int((~np.isnan(old)).sum())
    if known < FEWEST_TO_RESAMPLE or (name != "mean" and known > MOST_TO_RESAMPLE):
        return None
    blocks = [b for b in np.array_split(np.flatnonzero(~np.isnan(old)), min(BLOCKS, known // 4)) if len(b)]
    drawn = np.random.default_rng(seed).integers(0, len(blocks), (DRAWS, len(blocks)))
    if name == "mean":
        sums = np.array([float(np.sum(new[b] - old[b], dtype=np.float64)) for b in blocks])
        sizes = np.array([len(b) for b in blocks], np.float64)
        found = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    else:
        found = np.array([
            statistic(new[rows], name) - statistic(old[rows], name)
            for rows in (np.concatenate([blocks[i] for i in draw]) for draw in drawn)
        ])  # fmt: skip
    return 1.96 * float(np.std(found))


def of_metric(outcomes: Sequence[Outcome], metric: str) -> list[Floats]:
    """One metric of a setting, an array per repeat."""
    return [outcome.values[metric] for outcome in outcomes]
