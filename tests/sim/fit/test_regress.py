"""Sums of work between moments, and the robust non-negative solution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.sim.fit.regress import Equations, joined, solve
from ridgeline.sim.fit.run import FEATURES, Run, Steps, work_between

NAMES = len(FEATURES)


def run_of(steps: Steps, scheduled: list[float]) -> Run:
    none = np.full(len(scheduled), np.nan)
    return Run(none, np.array(scheduled), none, none, none, none, steps)


def steps_of(spans: list[float], gaps: list[float]) -> Steps:
    start, end, now = [], [], 0.0
    for span, gap in zip(spans, gaps, strict=True):
        start.append(now + gap)
        now += gap + span
        end.append(now)
    count = len(spans)
    features = np.arange(1.0, count * 6 + 1).reshape(count, 6)
    return Steps(np.array(start), np.array(end), features)


spans = st.lists(st.floats(0.001, 2.0), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(spans, st.data())
def test_work_adds_up(spans: list[float], data: st.DataObject) -> None:
    gaps = data.draw(st.lists(st.floats(0.0, 1.0), min_size=len(spans), max_size=len(spans)))
    run = run_of(steps_of(spans, gaps), [0.0, 0.5, 0.5])
    a, b, c = sorted(data.draw(st.lists(st.floats(0.0, 30.0), min_size=3, max_size=3)))
    whole = work_between(run, np.array([a]), np.array([c]))
    parts = work_between(run, np.array([a]), np.array([b])) + work_between(run, np.array([b]), np.array([c]))
    assert np.allclose(whole, parts)
    assert (whole >= -1e-9).all()


def test_a_cut_step_counts_by_its_share_and_idle_time_counts_nothing() -> None:
    run = run_of(Steps(np.array([0.0, 3.0]), np.array([2.0, 4.0]), np.array([[4.0] * 6, [2.0] * 6])), [0.5])
    assert work_between(run, np.array([0.0]), np.array([1.0]))[0].tolist() == [2.0] * 6 + [1.0]
    assert work_between(run, np.array([2.0]), np.array([3.0]))[0].tolist() == [0.0] * 7
    assert work_between(run, np.array([0.5]), np.array([9.0]))[0].tolist() == [5.0] * 6 + [1.0]
    assert work_between(run, np.array([0.6]), np.array([9.0]))[0][6] == 0.0


def test_no_steps_no_work() -> None:
    empty = Steps(np.zeros(0), np.zeros(0), np.zeros((0, 6)))
    assert work_between(run_of(empty, []), np.zeros(3), np.ones(3)).tolist() == [[0.0] * 7] * 3


def system(rows: int, coefficients: np.ndarray, noise: float, seed: int = 3) -> Equations:
    draw = np.random.default_rng(seed)
    work = np.column_stack([
        draw.integers(1, 80, rows), draw.integers(0, 4000, rows), draw.integers(0, 2_000_000, rows),
        draw.integers(0, 900, rows), draw.integers(0, 400_000, rows), draw.integers(0, 300, rows),
        draw.integers(0, 9, rows),
    ]).astype(float)  # fmt: skip
    seconds = work @ coefficients * (1 + draw.normal(0, noise, rows))
    return Equations(work, seconds, np.arange(rows), np.zeros(rows, np.int64))


TRUE = np.array([0.02, 1e-4, 2e-9, 5e-5, 1.5e-7, 6e-5, 0.01])


def test_exact_rows_give_the_exact_coefficients() -> None:
    assert solve(system(60, TRUE, 0.0), np.zeros(NAMES)) == pytest.approx(TRUE, rel=1e-6)


def test_a_tenth_of_wild_rows_changes_little() -> None:
    given = system(200, TRUE, 0.005)
    given.seconds[::10] *= 5
    found = solve(given, np.zeros(NAMES))
    clean = system(200, TRUE, 0.0)
    assert clean.work @ found == pytest.approx(clean.seconds, rel=0.08)


def test_never_negative_and_never_below_a_floor() -> None:
    given = system(80, TRUE, 0.3)
    assert (solve(given, np.zeros(NAMES)) >= 0).all()
    floors = np.array([0.05, 0, 0, 0, 0, 0, 0.0])
    assert (solve(given, floors) >= floors).all()


def test_few_lines_count_more_than_many_misled_intervals() -> None:
    wrong = system(200, TRUE * [1, 1, 1, 3, 1, 1, 1], 0.0)
    lines = system(12, TRUE, 0.0, seed=8)
    lines = Equations(lines.work, lines.seconds, np.full(12, -1), np.full(12, 9))
    alone = solve(wrong, np.zeros(NAMES))
    both = solve(joined(wrong, lines), np.zeros(NAMES))
    assert alone[3] == pytest.approx(3 * TRUE[3], rel=0.01)
    assert abs(both[3] - TRUE[3]) < abs(alone[3] - TRUE[3])
    assert joined(wrong, None) is wrong
