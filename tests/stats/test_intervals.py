import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.stats.intervals import (
    clopper_pearson,
    order_rank,
    quantile,
    quantile_interval,
    weighted_quantile,
    wilson,
    wilson_ends,
)


@st.composite
def hits_of(draw: st.DrawFn) -> tuple[int, int]:
    n = draw(st.integers(1, 10_000))
    return draw(st.integers(0, n)), n


@given(hits_of())
def test_share_intervals_hold_the_share_and_stay_in_range(case: tuple[int, int]) -> None:
    hits, n = case
    for interval in (wilson(hits, n), clopper_pearson(hits, n)):
        assert interval.low is not None
        assert interval.high is not None
        assert 0 <= interval.low <= hits / n <= interval.high <= 1


@given(hits_of())
def test_swapping_hits_and_misses_mirrors_the_interval(case: tuple[int, int]) -> None:
    hits, n = case
    for function in (wilson, clopper_pearson):
        one, other = function(hits, n), function(n - hits, n)
        assert one.low is not None
        assert other.high is not None
        assert math.isclose(one.low, 1 - other.high, abs_tol=1e-9)


def test_published_values() -> None:
    # Newcombe (1998), 81 of 263 and 0 of 20 at 95 %.
    score = wilson(81, 263)
    assert (score.low, score.high) == (pytest.approx(0.2553, abs=1e-4), pytest.approx(0.3662, abs=1e-4))
    exact = clopper_pearson(81, 263)
    assert (exact.low, exact.high) == (pytest.approx(0.2527, abs=1e-4), pytest.approx(0.3676, abs=1e-4))
    assert wilson(0, 20).high == pytest.approx(0.1611, abs=1e-4)


def test_no_rows_means_nothing_is_known() -> None:
    low, high = wilson_ends([0], [0])
    assert (low[0], high[0]) == (0, 1)


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and n"):
        wilson(3, 2)
    with pytest.raises(ValueError, match="level"):
        wilson(1, 2, level=1.5)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60), st.floats(0, 1))
def test_quantile_is_numpys_inverted_cdf_of_a_slightly_smaller_share(values: list[float], q: float) -> None:
    got = quantile(values, q)
    assert got is not None
    ordered = sorted(values)
    share_not_above = sum(v <= got for v in ordered) / len(ordered)
    share_below = sum(v < got for v in ordered) / len(ordered)
    assert share_not_above >= q - 1e-6
    assert share_below <= max(q, 1e-9) + 1e-9


def test_decimal_quantiles_hit_the_rank_that_is_meant() -> None:
    assert order_rank(100, 0.99) == 99
    assert order_rank(1000, 0.999) == 999
    assert order_rank(10, 0.7) == 7
    assert order_rank(7, 0.0) == 1


def test_censored_values_rank_last_and_nan_is_dropped() -> None:
    assert quantile([1.0, math.nan, math.inf, 2.0], 0.5) == 2.0
    assert quantile([1.0, math.nan, math.inf, 2.0], 0.99) == math.inf
    assert quantile([math.nan], 0.5) is None


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200), st.sampled_from([0.05, 0.5, 0.9, 0.99]))
def test_quantile_interval_holds_the_point(values: list[float], q: float) -> None:
    point = quantile(values, q)
    assert point is not None
    assert quantile_interval(values, q).contains(point)


def test_quantile_interval_says_when_the_sample_is_too_small() -> None:
    assert quantile_interval(range(50), 0.99).high is None
    assert quantile_interval(range(50), 0.99).low is not None
    assert quantile_interval(range(1000), 0.99).high is not None
    assert quantile_interval([], 0.5).low is None


def test_quantile_interval_covers_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    truth = math.log(10)  # the 0.9 quantile of a standard exponential
    inside = sum(quantile_interval(rng.exponential(size=200), 0.9).contains(truth) for _ in range(400))
    assert inside >= 0.93 * 400


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(0, 9)), min_size=1, max_size=40), st.floats(0, 1))
def test_whole_weights_are_repetitions(rows: list[tuple[float, int]], q: float) -> None:
    repeated = [value for value, weight in rows for _ in range(weight)]
    got = weighted_quantile([v for v, _ in rows], [w for _, w in rows], q)
    if not repeated:
        assert got is None
        return
    assert got is not None
    assert got in repeated
    assert sum(v <= got for v in repeated) / len(repeated) >= q - 1e-9
    assert sum(v < got for v in repeated) / len(repeated) <= q + 1e-9


def test_weighted_quantile_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="negative"):
        weighted_quantile([1.0], [-1.0], 0.5)
    with pytest.raises(ValueError, match="weights"):
        weighted_quantile([1.0], [1.0, 2.0], 0.5)
