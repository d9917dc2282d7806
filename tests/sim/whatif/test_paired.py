"""Paired changes: what they measure, and that their intervals cover."""

import numpy as np
import pytest

from ridgeline.sim.whatif.paired import change, statistic


def test_a_shift_of_every_request_is_certain_and_exact() -> None:
    before = np.random.default_rng(0).exponential(2.0, 400)
    found = change([before], [before - 0.5], "mean")
    assert found is not None and found.delta == pytest.approx(-0.5) and found.certain
    assert found.relative == pytest.approx(-0.5 / before.mean())


def test_no_difference_is_none() -> None:
    before = np.random.default_rng(0).exponential(2.0, 400)
    found = change([before, before], [before, before], "p99")
    assert found is not None and found.delta == 0 and not found.certain


def test_what_either_setting_did_not_finish_counts_in_neither() -> None:
    before, after = np.array([1.0, 2.0, 100.0]), np.array([1.0, 2.0, np.nan])
    found = change([before], [after], "mean")
    assert found is not None and found.before == found.after == 1.5
    assert change([np.array([np.nan])], [np.array([np.nan])], "mean") is None


def test_the_interval_of_the_mean_covers_nine_times_in_ten() -> None:
    inside = 0
    for seed in range(100):
        draw = np.random.default_rng(seed)
        before = draw.exponential(2.0, 300)
        found = change([before], [before + draw.normal(0.1, 1.0, 300)], "mean", seed=seed)
        assert found is not None and found.low is not None and found.high is not None
        inside += found.low <= 0.1 <= found.high
    assert 88 <= inside <= 100


def test_the_interval_over_repeats_covers_one_more_repeat() -> None:
    inside = 0
    for seed in range(200):
        draw = np.random.default_rng(seed)
        base = np.full(10, 5.0)  # too few requests to resample: the repeats alone tell
        effects = draw.normal(-1.0, 0.4, 5)
        found = change([base] * 4, [base + e for e in effects[:4]], "mean")
        assert found is not None and found.low is not None and found.high is not None
        inside += found.low <= effects[4] <= found.high
    assert inside >= 180


def test_one_repeat_of_few_requests_has_no_interval() -> None:
    found = change([np.ones(5)], [np.zeros(5)], "mean")
    assert found is not None and found.low is None and not found.certain


def test_quantiles_are_nearest_rank_as_in_the_summary() -> None:
    assert statistic(np.arange(1.0, 101.0), "p99") == 99 and statistic(np.arange(1.0, 101.0), "p50") == 50
