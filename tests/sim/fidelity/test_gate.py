"""Figures, bounds, the gate and the contract."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.sim.fidelity.contract import SCHEMA, to_json, to_text
from ridgeline.sim.fidelity.figures import METRICS, NOTHING, STATISTICS, Figure, bounds, figures, statistics_of
from ridgeline.sim.fidelity.gate import judge, passes
from ridgeline.sim.fidelity.measure import Fidelity, fidelity
from tests.sim.fidelity.test_measure import SETUP, TRAFFIC
from tests.sim.fit.plain_vllm import plain_run


def figure(observed: float | None, predicted: float | None) -> Figure:
    known = observed is not None and predicted is not None
    return Figure(observed, predicted, predicted / observed - 1 if known and observed else None, 0.0, 99.0)  # type: ignore[operator]


def test_the_bound_and_its_exception_for_short_waits() -> None:
    assert passes("e2e_s", figure(10.0, 12.0)) is True
    assert passes("e2e_s", figure(10.0, 12.1)) is False
    assert passes("queue_s", figure(0.001, 0.05)) is True
    assert passes("ttft_s", figure(0.0, 0.06)) is False
    assert passes("tpot_s", figure(0.001, 0.05)) is False
    assert passes("queue_s", figure(None, 1.0)) is None


def table(**changed: Figure) -> dict[str, dict[str, Figure]]:
    good = Figure(1.0, 1.1, 0.1, 0.9, 1.3)
    return {m: {s: changed.get(f"{m[:-2]}_{s}", good) for s in STATISTICS} for m in METRICS}


def test_one_bad_figure_is_enough_and_is_named() -> None:
    assert judge(table(), ()) == (True, ())
    trust, why = judge(table(e2e_p90=Figure(1.0, 1.5, 0.5, 1.4, 1.6)), ("pool assumed",))
    assert not trust
    assert why[0].startswith("E2E p90: predicted 1.5 s, observed 1 s (+50%")
    assert why[-1] == "pool assumed"


def test_an_interval_wider_than_its_figure_says_nothing() -> None:
    trust, why = judge(table(e2e_mean=Figure(1.0, 1.1, 0.1, 0.0, 2.5)), ())
    assert not trust
    assert "wider" in why[0]


def test_nothing_to_compare_is_no_trust() -> None:
    nothing = {m: dict.fromkeys(STATISTICS, NOTHING) for m in METRICS}
    trust, why = judge(nothing, ())
    assert not trust
    assert len(why) == len(METRICS)


def test_statistics_are_the_usual_ones() -> None:
    assert statistics_of(np.arange(101.0)).tolist() == [50.0, 50.0, 90.0, 99.0]


amounts = st.floats(0.0, 1e4)


@given(st.lists(amounts, min_size=4, max_size=4), st.lists(st.lists(amounts, min_size=4, max_size=4), max_size=4),
       st.floats(1, 3))  # fmt: skip
def test_bounds_hold_the_figure(guess: list[float], members: list[list[float]], stretch: float) -> None:
    rows = [np.array(m) for m in members]
    low, high = bounds(np.array(guess), rows, rows, None, stretch)
    assert (low >= 0).all()
    assert (low <= np.array(guess)).all()
    assert (high >= np.array(guess)).all()


def test_a_slower_server_widens_upwards() -> None:
    guess = np.full(4, 10.0)
    low, high = bounds(guess, [], [np.full(4, 14.0), np.full(4, 9.0)], None, 1.0)
    assert (high > 14.0).all()
    assert (low > 8.5).all()


def test_error_is_null_where_nothing_was_observed_or_it_is_zero() -> None:
    out = figures(np.array([0.0, 1.0, 1.0, 1.0]), np.array([1.0, 2.0, 1.0, 0.5]), None)
    assert [out[s].error for s in STATISTICS] == [None, 1.0, 0.0, -0.5]
    assert out["mean"].low is None


@pytest.fixture(scope="module")
def answer() -> Fidelity:
    return fidelity(TRAFFIC, SETUP, plain_run)


def test_the_contract(answer: Fidelity) -> None:
    said = json.loads(json.dumps(to_json(answer), allow_nan=False))
    assert list(said) == ["schema", "split", "time_model", "metrics", "trust", "why"]
    assert said["schema"] == SCHEMA == "ridgeline.fidelity/1"
    assert said["split"] == 0.5
    assert list(said["metrics"]) == list(METRICS)
    for metric in METRICS:
        assert list(said["metrics"][metric]) == ["mean", "p50", "p90", "p99"]
        for value in said["metrics"][metric].values():
            assert list(value) == ["observed", "predicted", "error", "low", "high"]
    assert said["trust"] is True
    assert said["time_model"]["step_s"] == pytest.approx(0.02, rel=0.2)


def test_the_text_names_the_verdict(answer: Fidelity) -> None:
    assert "can be trusted on this traffic" in to_text(answer)
    assert to_text(answer, markdown=True).startswith("| figure |")
    assert len(to_text(answer).splitlines()) >= 17
