"""The estimates of every figure on every side, before they are judged.

A quantity comes from request rows where every side has them, else from histograms (bounds that the buckets prove),
else from what a benchmark printed (values without intervals).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from ridgeline.model.comparison import Basis, Estimate
from ridgeline.stats import buckets
from ridgeline.stats.buckets import Histogram
from ridgeline.stats.intervals import order_rank
from ridgeline.verdict.evidence import Evidence
from ridgeline.verdict.observed import Counted, Observed
from ridgeline.verdict.requests import Requests
from ridgeline.verdict.sections import (
    FEWEST_BEYOND,
    Plan,
    bare,
    correlated_s,
    estimate,
    forward,
    plan,
    statistic,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A time that is compared: the least difference that matters, and the floor under its ratio."""

    column: str
    name: str
    margin_s: float
    floor_s: float
    drives: bool


QUANTITIES: Final = (
    Quantity("ttft_s", "ttft", 0.010, 0.002, drives=True),
    Quantity("queue_s", "queue", 0.010, 0.005, drives=False),
    Quantity("tpot_s", "tpot", 0.001, 0.0002, drives=True),
    Quantity("e2e_s", "e2e", 0.020, 0.005, drives=True),
)
Wanted = tuple[tuple[str, float | None], ...]
Found = list[tuple[str, tuple[Estimate, ...]]]
# Of each time the mean and the tail decide; more tests of the same requests would only cost certainty (Holm).
DECIDING: Final = ("mean", "p99")
STATISTICS: Final[Wanted] = (("mean", None), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99))


@dataclass(frozen=True, slots=True)
class Share:
    """A share that is compared as it is: what is counted above and below, and which way is better."""

    name: str
    above: str
    below: str | None  # None: per request
    unit: str
    better: Literal["lower", "higher"]
    margin: float
    drives: bool


SHARES: Final = (
    Share("errors", "bad", None, "share", "lower", 0.01, drives=True),
    Share("retractions", "retractions", None, "per request", "lower", 0.02, drives=False),
    Share("hit_ratio", "cached_tokens", "prompt_tokens", "share", "higher", 0.02, drives=False),
)


@dataclass(frozen=True, slots=True)
class Paired:
    """A statistic of each block of every side, on its scale, where all sides served the same requests."""

    cut: Plan
    marks: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A figure before it is judged: the estimate of each side in order, and what a difference must exceed.

    `apart`: AFTER and BASELINE once more, by how their own values hang together: a backlog that grew all through
    INCIDENT says nothing of how far these two are known.
    """

    name: str
    unit: str
    quantity: str
    better: Literal["lower", "higher"]
    basis: Basis
    drives: bool
    estimates: tuple[Estimate, ...]
    margin: float
    margin_abs: float
    paired: Paired | None = None
    apart: tuple[Estimate, ...] = ()


def time_rows(sides: Sequence[Evidence], quantity: Quantity, wanted: Wanted, margin: float, paired: bool) -> list[Row]:
    """Every statistic of one time, from the best evidence that all sides have."""
    columns = _together(sides, quantity.column) if paired else [_column(s.requests, quantity.column) for s in sides]
    seen = [side.histograms.get(quantity.column) for side in sides]
    usable = [c for c in columns if c is not None]
    pairs: dict[str, Paired] = {}
    apart: dict[str, tuple[Estimate, ...]] = {}
    basis: Basis
    if len(usable) == len(sides):
        found, basis = _from_requests(usable, quantity, wanted), "requests"
        pairs = pairs_of(usable, quantity, wanted) if paired else {}
        apart = dict(_from_requests(usable[1:], quantity, wanted)) if len(sides) > 2 else {}
    elif all(s is not None for s in seen):
        told = [s for s in seen if s is not None]
        found, basis = _from_histograms(told, quantity, wanted), "histograms"
        apart = dict(_from_histograms(told[1:], quantity, wanted)) if len(sides) > 2 else {}
    else:
        found, basis = _from_summaries(sides, quantity, wanted), "summary"
    return [
        Row(f"{quantity.name}_{name}", "s", quantity.name, "lower", basis, quantity.drives and name in DECIDING,
            estimates, margin, quantity.margin_s, pairs.get(name), apart.get(name, ()))
        for name, estimates in found
    ]  # fmt: skip


def _column(requests: Requests | None, name: str) -> tuple[Floats, Floats] | None:
    """(times, values) of the requests that have a value; None below two of them."""
    if requests is None:
        return None
    values = requests.columns[name]
    kept = ~np.isnan(values) & (values >= 0)
    return (requests.at[kept], values[kept]) if int(kept.sum()) >= 2 else None


def _from_requests(columns: Sequence[tuple[Floats, Floats]], quantity: Quantity, wanted: Wanted) -> Found:
    floor = quantity.floor_s
    correlated = max(correlated_s(at, np.log(values + floor)) for at, values in columns)
    cuts = [plan(at, correlated) for at, _ in columns]
    out: Found = []
    for name, q in wanted:
        of, beyond = (_mean, 1.0) if q is None else (_quantile(q), min(q, 1 - q))
        out.append(
            (
                name,
                tuple(
                    statistic(at, values, of, cut, floor=floor, beyond=beyond)
                    for (at, values), cut in zip(columns, cuts, strict=True)
                ),
            )
        )
    return out


def _together(sides: Sequence[Evidence], name: str) -> list[tuple[Floats, Floats] | None]:
    """Columns of the requests that every side has a value of, row by row the same request."""
    tables = [side.requests for side in sides if side.requests is not None]
    kept = np.logical_and.reduce([t.columns[name] >= 0 for t in tables])
    if int(kept.sum()) < 2:
        return [None] * len(sides)
    return [(t.at[kept], t.columns[name][kept]) for t in tables]


def pairs_of(columns: Sequence[tuple[Floats, Floats]], quantity: Quantity, wanted: Wanted) -> dict[str, Paired]:
    """Statistic → its blocks, from (times, values) of every side, row by row the same request."""
    at, floor = columns[0][0], quantity.floor_s
    logs = [np.log(values + floor) for _, values in columns]
    cut = plan(at, max(correlated_s(at, other - logs[0]) for other in logs[1:]))
    if cut is None:
        return {}
    block = cut.of(at)
    full = [b for b in range(cut.blocks) if bool(np.any(block == b))]
    out = {}
    for name, q in wanted:
        if q is not None and at.size * min(q, 1 - q) < FEWEST_BEYOND:
            continue
        of = _mean if q is None else _quantile(q)
        marks = tuple(tuple(forward(of(v[block == b]), "log", floor) for b in full) for _, v in columns)
        out[name] = Paired(cut, marks)
    return out


def _mean(values: Floats) -> float:
    return float(values.mean())


def _quantile(q: float) -> Callable[[Floats], float]:
    def of(values: Floats) -> float:
        rank = order_rank(values.size, q) - 1
        return float(np.partition(values, rank)[rank])

    return of


def _from_histograms(seen: Sequence[Observed], quantity: Quantity, wanted: Wanted) -> Found:
    """Means are exact (sum and count); quantiles lie where the buckets say, sampled in blocks of time."""
    means = [_step_means(s) for s in seen]
    floor = quantity.floor_s
    correlated = max(correlated_s(at, np.log(values + floor)) for at, values in means)
    cuts = [plan(s.at, correlated, s.n) for s in seen]
    wholes = [buckets.merge(s.steps) for s in seen]
    parts = [_blocks(s, cut.of(s.at), cut.blocks) if cut else [] for s, cut in zip(seen, cuts, strict=True)]
    out: Found = []
    for name, q in wanted:
        if q is None and any(whole.mean is None for whole in wholes):
            continue
        estimates = []
        for whole, pieces, cut in zip(wholes, parts, cuts, strict=True):
            value, least, most = _read(whole, q)
            why = f"{round(whole.count)} values over too few scrapes"
            if cut is None or (q is not None and whole.count * min(q, 1 - q) < 4):
                found = bare(value, round(whole.count), why, scale="log", floor=floor, least=least, most=most)
            else:
                values = [_read(piece, q)[0] for piece in pieces if piece.count > 0]
                found = estimate(value, values, cut, scale="log", floor=floor, least=least, most=most)
            estimates.append(found)
        out.append((name, tuple(estimates)))
    return out


def _step_means(s: Observed) -> tuple[Floats, Floats]:
    values = np.array([step.mean if step.mean is not None else math.nan for step in s.steps])
    kept = ~np.isnan(values) & (values >= 0)
    return s.at[kept], values[kept]


def _blocks(s: Observed, block: NDArray[np.intp], count: int) -> list[Histogram]:
    groups = [[step for step, b in zip(s.steps, block, strict=True) if b == k] for k in range(count)]
    return [buckets.merge(group) for group in groups if group]


def _read(whole: Histogram, q: float | None) -> tuple[float, float, float]:
    """(value, least, most) of the mean or a quantile."""
    if q is None:
        mean = whole.mean
        assert mean is not None
        return mean, mean, mean
    found = buckets.quantile(whole, q)
    assert found is not None
    value = found.point if found.point is not None else found.low
    return value, found.low, found.high


def _from_summaries(sides: Sequence[Evidence], quantity: Quantity, wanted: Wanted) -> Found:
    out: Found = []
    for name, _ in wanted:
        values = [side.summaries.get(f"{quantity.name}_{name}") for side in sides]
        known = [value for value in values if value is not None]
        if len(known) == len(sides):
            why = "one printed figure per run: without single requests there is no interval"
            out.append((name, tuple(bare(v, 1, why, scale="log", floor=quantity.floor_s) for v in known)))
    return out


def share_row(sides: Sequence[Evidence], share: Share) -> Row | None:
    """One share from request rows, else from counters; None where a side has neither."""
    pairs = [_share_columns(side.requests, share) for side in sides]
    known = [pair for pair in pairs if pair is not None]
    if len(known) == len(sides):
        basis: Basis = "requests"
    else:
        counted = [side.ratios.get(share.name) for side in sides]
        known = [_counted_columns(c) for c in counted if c is not None]
        if len(known) < len(sides):
            return None
        basis = "counters"
    times = [correlated_s(at[below > 0], above[below > 0] / below[below > 0]) for at, above, below in known]
    estimates = tuple(_share_estimate(at, above, below, max(times), share) for at, above, below in known)
    apart = tuple(_share_estimate(at, above, below, max(times[1:]), share) for at, above, below in known[1:])
    return Row(share.name, share.unit, share.name, share.better, basis, share.drives, estimates, 0.0, share.margin,
               _itself(known, max(times), estimates[0].n) if basis == "counters" else None,
               apart if len(sides) > 2 else ())  # fmt: skip


def _itself(known: Sequence[tuple[Floats, Floats, Floats]], correlated: float, n: int) -> Paired | None:
    """Where every side counted the very same at the same moments, nothing is left to chance."""
    if not all(np.array_equal(x, y) for other in known[1:] for x, y in zip(known[0], other, strict=True)):
        return None
    cut = plan(known[0][0], correlated, n)
    return None if cut is None else Paired(cut, tuple((0.0,) * cut.blocks for _ in known))


def _share_columns(requests: Requests | None, share: Share) -> tuple[Floats, Floats, Floats] | None:
    if requests is None or requests.n < 2:
        return None
    above = requests.columns[share.above]
    below = np.ones(above.size) if share.below is None else requests.columns[share.below]
    kept = ~np.isnan(above) & ~np.isnan(below)
    return (requests.at[kept], above[kept], below[kept]) if int(kept.sum()) >= 2 else None


def _counted_columns(pair: tuple[Counted, Counted]) -> tuple[Floats, Floats, Floats]:
    """Both counters on the moments of either, zero where one has no step."""
    above, below = pair
    at = np.union1d(above.at, below.at)
    out = []
    for counter in (above, below):
        by = np.zeros(at.size)
        np.add.at(by, np.searchsorted(at, counter.at), counter.by)
        out.append(by)
    return at, out[0], out[1]


def _share_estimate(at: Floats, above: Floats, below: Floats, correlated: float, share: Share) -> Estimate:
    total = float(below.sum())
    n = int(at.size if share.below is None and float(below.max(initial=0)) <= 1 else total)
    if total <= 0:
        return bare(0.0, 0, "nothing was counted", scale="linear")
    whole = float(above.sum()) / total
    cut = plan(at, correlated, n)
    if cut is None:
        return bare(whole, n, f"{n} cases over too few moments", scale="linear")
    block = cut.of(at)
    tops = np.bincount(block, weights=above, minlength=cut.blocks)
    bases = np.bincount(block, weights=below, minlength=cut.blocks)
    floor = 0.0
    if share.below is None:
        # A side without any event has no scatter; half an event is what it could still hide.
        smooth = (float(above.sum()) + 0.5) / (total + 1)
        floor = math.sqrt(max(smooth * (1 - min(smooth, 0.5)), 0.0) / total)
    parts = [float(t / b) for t, b in zip(tops, bases, strict=True) if b > 0]
    return estimate(whole, parts, cut, scale="linear", spread_floor=floor)
