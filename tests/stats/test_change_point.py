import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.stats.change_point import change_point, change_points, frozen_since


def noisy(seed: int, levels: list[tuple[int, float]], spread: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(level, spread, n) for n, level in levels])


@given(st.integers(0, 10_000), st.integers(60, 240), st.sampled_from([-12.0, 8.0, 40.0]))
def test_a_planted_step_is_found_where_it_is(seed: int, at: int, shift: float) -> None:
    x = noisy(seed, [(at, 10.0), (300 - at, 10.0 + shift)])
    found = change_point(np.arange(300) * 5.0, x)
    assert found is not None
    assert abs(found.onset - at * 5.0) <= 15
    assert found.not_before < found.onset
    assert found.before == pytest.approx(10, abs=1)
    assert found.after == pytest.approx(10 + shift, abs=1)
    assert not found.gradual


def test_noise_alone_is_rarely_a_change() -> None:
    found = sum(change_point(np.arange(200), noisy(seed, [(200, 3.0)])) is not None for seed in range(100))
    assert found == 0


def test_a_slow_wander_is_not_a_strong_change() -> None:
    rng = np.random.default_rng(1)
    waves = 10 + np.sin(np.arange(400) / 10) + rng.normal(0, 0.3, 400)
    assert change_point(np.arange(400), waves) is None


def test_spikes_do_not_make_a_level() -> None:
    x = noisy(3, [(300, 5.0)])
    x[::37] = 500
    assert change_point(np.arange(300), x) is None


def test_a_burst_has_a_beginning_and_an_end() -> None:
    x = noisy(5, [(100, 2.0), (80, 30.0), (120, 2.0)])
    found = change_points(np.arange(300), x)
    assert [round(point.onset) for point in found] == [100, 180]
    assert found[0].after > found[0].before
    assert found[1].after < found[1].before


def test_gaps_and_nan_are_left_out_and_order_does_not_matter() -> None:
    t = np.concatenate([np.arange(100.0), np.arange(5000.0, 5100.0)])
    x = noisy(7, [(100, 1.0), (100, 30.0)])
    x[[5, 50, 150]] = math.nan
    order = np.random.default_rng(0).permutation(200)
    found = change_point(t[order], x[order])
    assert found is not None
    assert (found.not_before, found.onset) == (99, 5000)
    assert found.n_before == 98


def test_a_slope_is_called_gradual() -> None:
    found = change_point(np.arange(300), noisy(2, [(300, 0.0)], 0.2) + np.arange(300) / 5, min_strength=1)
    assert found is not None
    assert found.gradual


def test_an_exact_step_without_noise() -> None:
    found = change_point(range(40), [0] * 20 + [7] * 20)
    assert found is not None
    assert (found.onset, found.before, found.after, found.strength) == (20, 0, 7, 1000)


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 9, [2.0] * 500, [math.nan] * 500])
def test_too_little_or_nothing_moving_is_none(values: list[float]) -> None:
    assert change_point(range(len(values)), values) is None


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=80), st.integers(1, 9))
def test_any_series_is_safe(values: list[float], window: int) -> None:
    points = change_points(range(len(values)), values, window=window, min_windows=2)
    assert [p.onset for p in points] == sorted(p.onset for p in points)


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="times"):
        change_point([1, 2], [1])


def test_the_onset_of_a_stall_is_the_last_progress() -> None:
    t = np.arange(0, 600, 5.0)
    stall = frozen_since(t, np.minimum(t * 3, 300), min_still=60)
    assert stall is not None
    assert stall.last_progress == 100
    assert stall.duration == 495


def test_a_counter_that_moves_restarts_or_was_never_seen_to_move_is_no_stall() -> None:
    t = np.arange(0, 600, 5.0)
    assert frozen_since(t, t, min_still=60) is None
    assert frozen_since(t, np.full(t.size, 8.0), min_still=60) is None
    fallen = np.where(t < 550, 900.0, 0.0)
    assert frozen_since(t, fallen, min_still=60) is None


def test_missing_samples_at_the_end_prolong_nothing() -> None:
    t = np.arange(0, 600, 5.0)
    x = np.minimum(t, 100.0)
    x[t > 120] = math.nan
    assert frozen_since(t, x, min_still=60) is None
    stall = frozen_since(t, x, min_still=20)
    assert stall is not None
    assert stall.seen_until == 120
