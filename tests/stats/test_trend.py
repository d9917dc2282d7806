import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.stats.trend import plateaus, slope, steps

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=40)


@given(NUMBERS, st.floats(-100, 100))
def test_a_line_added_adds_its_slope(values: list[float], extra: float) -> None:
    t = np.arange(len(values), dtype=float)
    flat, tilted = slope(t, values), slope(t, np.asarray(values) + extra * t)
    assert flat is not None
    assert tilted is not None
    assert tilted.per_s == pytest.approx(flat.per_s + extra, abs=1e-6)
    assert flat.low <= flat.per_s <= flat.high


def test_an_exact_line_and_a_third_of_nonsense() -> None:
    t = np.arange(90.0)
    x = 3 + 0.25 * t
    x[::4] = -1e6
    got = slope(t, x)
    assert got is not None
    assert got.per_s == pytest.approx(0.25, abs=0.05)
    clean = slope(t, 3 + 0.25 * t)
    assert clean is not None
    assert clean.per_s == pytest.approx(0.25)
    assert clean.rising
    assert not clean.falling


def test_noise_has_no_direction_and_small_samples_none() -> None:
    noise = slope(range(300), np.random.default_rng(4).normal(size=300))
    assert noise is not None
    assert not noise.rising
    assert not noise.falling
    assert slope([1, 2, 3], [1, 2, 3]) is None
    assert slope([5, 5, 5, 5], [1, 2, 3, 4]) is None


def test_long_series_are_thinned() -> None:
    got = slope(np.arange(100_000), np.arange(100_000) * 2.0)
    assert got is not None
    assert (got.n, got.per_s) == (600, 2.0)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_steps_add_up(values: list[float]) -> None:
    got, mirrored = steps(values), steps([-v for v in values])
    assert got is not None
    assert mirrored is not None
    assert got.up + got.down + got.flat == pytest.approx(1)
    assert (got.up, got.down) == (mirrored.down, mirrored.up)


def test_steps_of_a_climb() -> None:
    got = steps([1, 2, math.nan, 3, 3, 2.95], tolerance=0.1)
    assert got is not None
    assert (got.up, got.flat, got.n) == (0.5, 0.5, 4)
    assert steps([1]) is None


def test_plateaus_end_where_the_value_moves_and_where_nothing_is_known() -> None:
    t = np.arange(20.0)
    x = np.array([1, 2, 3, 3, 3, 3, 3, 3, 4, 5, 5, 5, 5, 5, 6, 7, 8, 9, 9, 9.0])
    found = plateaus(t, x, min_duration=4)
    assert [(p.start, p.end, p.level) for p in found] == [(2, 7, 3), (9, 13, 5)]
    late = np.where(t >= 5, t + 100, t)
    assert [(p.start, p.end) for p in plateaus(late, x, min_duration=2, max_gap=10)] == [
        (2, 4), (105, 107), (109, 113), (117, 119),
    ]  # fmt: skip
    assert plateaus([], [], min_duration=0) == ()


@given(st.lists(st.integers(0, 3), max_size=40), st.integers(1, 5))
def test_plateaus_are_apart_and_hold_their_tolerance(values: list[int], shortest: int) -> None:
    found = plateaus(range(len(values)), values, min_duration=shortest, tolerance=1)
    for p in found:
        stretch = values[int(p.start) : int(p.end) + 1]
        assert max(stretch) - min(stretch) <= 1
        assert p.end - p.start >= shortest
    assert all(a.end < b.start for a, b in pairwise(found))
