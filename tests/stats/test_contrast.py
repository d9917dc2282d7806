import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.stats.contrast import contrast_mean, contrast_quantile, contrast_share

SAMPLES = st.lists(st.floats(0.001, 1e4), min_size=20, max_size=80)


@given(SAMPLES, SAMPLES)
def test_swapping_the_samples_turns_the_sign(one: list[float], other: list[float]) -> None:
    for left, right in (
        (contrast_mean(one, other), contrast_mean(other, one)),
        (contrast_quantile(one, other, 0.5), contrast_quantile(other, one, 0.5)),
    ):
        assert left.difference is not None
        assert right.difference is not None
        assert left.difference == pytest.approx(-right.difference)
        assert left.p_value == pytest.approx(right.p_value)


@given(SAMPLES, SAMPLES)
def test_the_interval_holds_the_difference_and_the_verdict_follows(one: list[float], other: list[float]) -> None:
    for got in (contrast_mean(one, other), contrast_quantile(one, other, 0.5)):
        assert got.low is not None
        assert got.high is not None
        assert got.difference is not None
        assert got.low <= got.difference <= got.high
        if got.verdict == "different":
            assert got.low > 0 or got.high < 0
            assert got.direction == ("up" if got.difference > 0 else "down")
        if got.verdict == "same":
            assert -got.margin <= got.low <= got.high <= got.margin


@given(SAMPLES)
def test_a_sample_does_not_differ_from_itself(values: list[float]) -> None:
    assert contrast_mean(values, values).verdict != "different"
    assert contrast_quantile(values, values, 0.5).verdict != "different"


def test_a_doubled_service_time_is_different() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.exponential(1, 400), rng.exponential(2, 400)
    for got in (contrast_mean(a, b), contrast_quantile(a, b, 0.5), contrast_quantile(a, b, 0.9)):
        assert got.verdict == "different"
        assert got.ratio == pytest.approx(2, rel=0.4)


def test_a_tail_that_ranks_do_not_see_is_seen() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.uniform(1, 2, 3000), rng.uniform(1, 2, 3000)
    b[::33] = 60
    assert contrast_quantile(a, b, 0.99).verdict == "different"
    assert contrast_quantile(a, b, 0.5).verdict == "same"


def test_two_large_equal_samples_are_the_same_and_two_small_ones_are_not_known() -> None:
    rng = np.random.default_rng(3)
    big = contrast_mean(rng.exponential(1, 50_000), rng.exponential(1, 50_000))
    small = contrast_mean(rng.exponential(1, 15), rng.exponential(1, 15))
    assert (big.verdict, small.verdict) == ("same", "too-few")


def test_false_alarms_are_rare() -> None:
    rng = np.random.default_rng(4)
    wrong = sum(
        contrast_quantile(rng.lognormal(0, 1, 80), rng.lognormal(0, 1, 80), q).verdict == "different"
        for q in (0.5, 0.9)
        for _ in range(150)
    )
    assert wrong <= 15


def test_blocks_keep_a_wandering_series_from_raising_an_alarm() -> None:
    rng = np.random.default_rng(5)

    def wander(n: int) -> np.ndarray:
        noise = rng.normal(size=n)
        for i in range(1, n):
            noise[i] += 0.97 * noise[i - 1]
        return 100 + noise

    pairs = [(wander(600), wander(600)) for _ in range(12)]
    naive = sum(contrast_mean(a, b, margin=0).verdict == "different" for a, b in pairs)
    careful = sum(contrast_mean(a, b, margin=0, block=60).verdict == "different" for a, b in pairs)
    tails = sum(contrast_quantile(a, b, 0.5, margin=0, block=60).verdict == "different" for a, b in pairs)
    assert naive >= 4
    assert careful <= 2
    assert tails <= 2


def test_blocks_still_see_a_real_shift() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(10, 1, 1000), rng.normal(15, 1, 1000)
    assert contrast_mean(a, b, block=20).verdict == "different"
    assert contrast_quantile(a, b, 0.5, block=20).verdict == "different"


def test_quantile_needs_values_beyond_it() -> None:
    got = contrast_quantile(range(100), range(100, 200), 0.99)
    assert (got.verdict, got.low, got.p_value) == ("too-few", None, None)
    assert "400" in got.why
    assert got.difference == 100


def test_unfinished_requests_rank_last_and_are_never_averaged() -> None:
    a, b = np.ones(100), np.ones(100)
    b[:60] = math.inf
    assert contrast_quantile(a, b, 0.5).verdict == "too-few"
    assert contrast_quantile(a, b, 0.5).difference is None
    b = np.full(100, 9.0)
    b[:10] = math.inf
    assert contrast_quantile(a, b, 0.5).verdict == "different"
    with pytest.raises(ValueError, match="not over yet"):
        contrast_mean(a, b)


def test_missing_is_dropped_and_counted() -> None:
    got = contrast_mean([1.0] * 10 + [math.nan] * 5, [1.0] * 12)
    assert (got.n_a, got.n_b, got.verdict) == (10, 12, "same")
    assert contrast_mean([], [1.0]).verdict == "too-few"
    assert contrast_mean([], [1.0]).a is None


def test_shares() -> None:
    assert contrast_share(2, 1000, 90, 1000).verdict == "different"
    assert contrast_share(0, 5000, 0, 5000).verdict == "same"
    assert contrast_share(0, 20, 1, 20).verdict == "too-few"
    assert contrast_share(0, 0, 1, 20).a is None
    with pytest.raises(ValueError, match="between 0 and n"):
        contrast_share(3, 2, 0, 1)


def test_the_seed_decides_and_a_million_rows_are_quick() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.exponential(1, 500_000), rng.exponential(1.3, 500_000)
    first = contrast_quantile(a, b, 0.99)
    assert first == contrast_quantile(a, b, 0.99)
    assert first.verdict == "different"
    assert contrast_mean(a, b, block=50).verdict == "different"
    with pytest.raises(ValueError, match="block"):
        contrast_mean(a, b, block=0)
