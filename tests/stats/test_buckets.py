import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ridgeline.stats.buckets import (
    Histogram,
    delta,
    from_gauge_histogram,
    histogram,
    merge,
    over_scrapes,
    quantile,
    share_above,
)
from ridgeline.stats.intervals import quantile as sample_quantile

BOUNDS = st.lists(st.integers(1, 400), min_size=1, max_size=8, unique=True).map(sorted)
VALUES = st.lists(st.integers(1, 500).map(float), min_size=1, max_size=60)


def of(values: Sequence[float], bounds: Sequence[float]) -> Histogram:
    upper = [*bounds, math.inf]
    return histogram(upper, [sum(v <= b for v in values) for b in upper], math.fsum(values))


@given(VALUES, BOUNDS, st.floats(0, 1))
def test_the_true_quantile_lies_in_the_interval(values: list[float], bounds: list[float], q: float) -> None:
    got, truth = quantile(of(values, bounds), q), sample_quantile(values, q)
    assert got is not None
    assert truth is not None
    assert got.low < truth <= got.high
    assert (got.point is None) is math.isinf(got.high)
    if got.point is not None:
        assert got.low <= got.point <= got.high


@given(VALUES, VALUES, BOUNDS, BOUNDS, st.floats(0, 1))
def test_it_also_does_after_a_merge_of_other_bounds(
    one: list[float], other: list[float], bounds: list[float], others: list[float], q: float
) -> None:
    merged = merge([of(one, bounds), of(other, others)])
    got, truth = quantile(merged, q), sample_quantile(one + other, q)
    assert got is not None
    assert truth is not None
    assert got.low < truth <= got.high
    assert merged.count == len(one) + len(other)
    assert merged.total == pytest.approx(math.fsum(one + other))
    assert np.all(merged.least <= merged.cumulative + 1e-9)
    assert np.all(merged.cumulative <= merged.most + 1e-9)


@given(VALUES, VALUES, BOUNDS)
def test_merge_of_same_bounds_is_that_of_all(one: list[float], other: list[float], bounds: list[float]) -> None:
    merged, whole = merge([of(one, bounds), of(other, bounds)]), of(one + other, bounds)
    assert np.array_equal(merged.cumulative, whole.cumulative)
    assert merged.exact


@given(VALUES, VALUES, BOUNDS)
def test_delta_undoes_merge(before: list[float], between: list[float], bounds: list[float]) -> None:
    step = delta(of(before, bounds), of(before + between, bounds))
    assert not step.reset
    assert np.array_equal(step.histogram.cumulative, of(between, bounds).cumulative)
    assert step.histogram.mean == pytest.approx(math.fsum(between) / len(between))


@given(VALUES, VALUES, BOUNDS)
def test_a_fallen_count_is_a_reset_and_what_came_after_is_kept(
    before: list[float], after: list[float], bounds: list[float]
) -> None:
    assume(len(after) < len(before))
    step = delta(of(before, bounds), of(after, bounds))
    assert step.reset
    assert step.histogram.count == len(after)


@given(st.lists(VALUES, min_size=2, max_size=5), BOUNDS)
def test_a_chain_of_scrapes_adds_up(parts: list[list[float]], bounds: list[float]) -> None:
    seen: list[float] = []
    scrapes = [of(seen := seen + part, bounds) for part in parts]
    chain = over_scrapes(scrapes)
    assert chain is not None
    assert not chain.reset
    assert np.array_equal(chain.histogram.cumulative, of(seen[len(parts[0]) :], bounds).cumulative)


def test_a_restart_with_other_buckets_is_a_reset() -> None:
    assert delta(of([1, 2], [1]), of([1, 2, 3], [2])).reset
    assert over_scrapes([of([1], [1])]) is None


@given(VALUES, BOUNDS, st.floats(-10, 600))
def test_share_above_encloses_the_truth(values: list[float], bounds: list[float], threshold: float) -> None:
    got = share_above(of(values, bounds), threshold)
    truth = sum(v > threshold for v in values) / len(values)
    assert got is not None
    assert got.low - 1e-12 <= truth <= got.high + 1e-12
    assert got.low <= got.point <= got.high
    if threshold in bounds:
        assert got.low == got.high


@given(VALUES, BOUNDS)
def test_gauge_histograms_become_cumulative(values: list[float], bounds: list[float]) -> None:
    edges = [-math.inf, *bounds, math.inf]
    rows = [(gt, le, sum(gt < v <= le for v in values)) for gt, le in pairwise(edges)]
    assert np.array_equal(from_gauge_histogram(reversed(rows)).cumulative, of(values, bounds).cumulative)


def test_a_missing_gauge_bucket_is_not_zero() -> None:
    with pytest.raises(ValueError, match="missing"):
        from_gauge_histogram([(0, 1, 3), (2, 5, 1)])
    with pytest.raises(ValueError, match="negative"):
        from_gauge_histogram([(0, 1, 3), (1, math.inf, -1)])
    assert from_gauge_histogram([(0, 1, 3), (1, 5, 1)]).count == 4


def test_prometheus_interpolation() -> None:
    # 10 values up to 1, 30 more up to 2: the median is the 20th, a third into the second bucket.
    got = quantile(histogram([1, 2, math.inf], [10, 40, 40]), 0.5)
    assert got is not None
    assert (got.low, got.high, got.point) == (1, 2, pytest.approx(4 / 3))


def test_beyond_the_last_bound_there_is_no_point() -> None:
    got = quantile(histogram([1, math.inf], [1, 10]), 0.99)
    assert got is not None
    assert (got.low, got.high, got.point) == (1, math.inf, None)


def test_empty_is_none_and_never_zero() -> None:
    empty = histogram([1, math.inf], [0, 0], 0.0)
    assert (empty.mean, quantile(empty, 0.5), share_above(empty, 1)) == (None, None, None)
    assert histogram([1, math.inf], [1, 1], math.nan).mean is None


def test_a_torn_scrape_is_mended_and_said() -> None:
    torn = histogram([1, 2, math.inf], [5, 4, 6])
    assert torn.repaired
    assert list(torn.cumulative) == [5, 5, 6]
    step = delta(histogram([1, 2, math.inf], [0, 3, 3]), histogram([1, 2, math.inf], [4, 5, 5]))
    assert step.histogram.repaired
    assert list(step.histogram.cumulative) == [2, 2, 2]


@pytest.mark.parametrize(
    ("bounds", "counts", "message"),
    [
        ([1, 2], [1, 2], "Inf"),
        ([], [], "Inf"),
        ([1, 1, math.inf], [1, 1, 1], "twice"),
        ([math.nan, math.inf], [1, 1], "NaN"),
        ([1, math.inf], [-1, 1], "negative"),
        ([1, math.inf], [math.nan, 1], "NaN"),
        ([1, math.inf], [1], "counts"),
    ],
)
def test_what_is_no_histogram_is_refused(bounds: list[float], counts: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        histogram(bounds, counts)


def test_merged_bounds_have_no_delta() -> None:
    mixed = merge([of([1, 5], [2]), of([3], [4])])
    assert not mixed.exact
    with pytest.raises(ValueError, match="merged"):
        delta(mixed, mixed)
    with pytest.raises(ValueError, match="nothing"):
        merge([])
