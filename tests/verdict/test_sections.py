"""Intervals under autocorrelation: coverage on processes whose truth is known."""

import numpy as np
import pytest

from ridgeline.verdict.sections import bare, contrast, correlated_s, estimate, holm, plan, statistic


def ar1(n: int, phi: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, np.sqrt(1 - phi * phi), n)
    out = np.empty(n)
    value = rng.normal()
    for i in range(n):
        value = phi * value + noise[i]
        out[i] = value
    return out


def test_the_autocorrelation_time_is_found() -> None:
    at = np.arange(20000.0)
    found = [correlated_s(at, ar1(20000, 0.99, seed)) for seed in range(8)]
    assert 100 < np.median(found) < 320  # (1 + phi) / (1 - phi) = 199 s
    assert correlated_s(at, np.random.default_rng(1).normal(size=20000)) < 200


@pytest.mark.parametrize("phi", [0.0, 0.9, 0.98])
def test_the_interval_of_a_mean_covers_it(phi: float) -> None:
    """95 % intervals of exp(AR(1)) cover the true mean in at least 88 of 100 windows, whatever the correlation."""
    at = np.arange(2000.0)
    truth = float(np.exp(0.5 * 0.25))
    hits = 0
    for seed in range(100):
        values = np.exp(0.5 * ar1(2000, phi, seed))
        cut = plan(at, correlated_s(at, np.log(values)))
        found = statistic(at, values, lambda x: float(x.mean()), cut, floor=1e-6)
        assert found.low is not None and found.high is not None
        hits += found.low <= truth <= found.high
    assert hits >= 88


def test_two_windows_of_one_process_are_rarely_different() -> None:
    different = 0
    for seed in range(100):
        sides = []
        at = np.arange(1500.0)
        values = [np.exp(ar1(1500, 0.97, 2 * seed + k)) for k in (0, 1)]
        correlated = max(correlated_s(at, np.log(v)) for v in values)
        sides = [
            statistic(at, v, lambda x: float(np.quantile(x, 0.9)), plan(at, correlated), floor=1e-6) for v in values
        ]
        different += contrast("p90", *sides, margin=0.1, margin_abs=0.0, alpha=0.02).verdict == "different"
    assert different <= 5


def test_a_large_change_is_seen_with_few_values() -> None:
    at = np.arange(60.0)
    rng = np.random.default_rng(3)
    slow, fast = (scale * np.exp(rng.normal(0, 0.3, 60)) for scale in (5.0, 0.5))
    sides = [statistic(at, v, lambda x: float(x.mean()), plan(at, 1.0), floor=1e-3) for v in (slow, fast)]
    found = contrast("mean", *sides, margin=0.1, margin_abs=0.01, alpha=0.02)
    assert found.verdict == "different" and found.direction == "down"
    assert found.low is not None and found.high is not None and found.low < found.difference < found.high < 0  # type: ignore[operator]


def test_values_without_an_interval_decide_nothing() -> None:
    few = bare(3.0, 7, "7 values", scale="log")
    found = contrast("p99", few, few, margin=0.1, margin_abs=0.0, alpha=0.02)
    assert (found.verdict, found.p_value, found.low) == ("too-few", None, None)
    assert plan(np.arange(19.0), 1.0) is None


def test_only_the_distance_that_buckets_prove_counts() -> None:
    """Two figures inside one bucket are never different, however small the scatter."""
    cut = plan(np.arange(100.0), 1.0)
    assert cut is not None
    a = estimate(1.2, [1.2] * 10, cut, scale="log", least=1.0, most=2.0)
    b = estimate(1.9, [1.9] * 10, cut, scale="log", least=1.0, most=2.0)
    far = estimate(5.0, [5.0] * 10, cut, scale="log", least=4.0, most=6.0)
    assert contrast("p50", a, b, margin=0.1, margin_abs=0.0, alpha=0.02).verdict == "too-few"
    assert contrast("p50", a, far, margin=0.1, margin_abs=0.0, alpha=0.02).verdict == "different"


def test_holm() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.06, 0.06], nan_ok=True)
