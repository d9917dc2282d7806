"""The fit finds what a plain server was made of, from its stamps, from clients alone, from few requests."""

from dataclasses import replace

import numpy as np
import pytest

from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fit.choices import choices_of
from ridgeline.sim.fit.configured import Configured, is_pipelined, with_pipelining
from ridgeline.sim.fit.fit import Fitted, fit, levelled, simulated
from ridgeline.sim.fit.loss import capped_mean, loss
from ridgeline.sim.fit.run import FEATURES
from ridgeline.sim.settings import Settings
from tests.sim.fit.plain_vllm import plain_run
from tests.sim.fit.traffics import SMALL, observed, scenario_of

SCENARIO = scenario_of(90)
WHOLE = observed(SCENARIO, SMALL)
HALF, REST = np.arange(45), np.arange(45, 90)


def without(traffic: Traffic, *names: str) -> Traffic:
    seen = dict(traffic.observed)
    seen |= {name: np.full(traffic.n, np.nan) for name in names}
    return replace(traffic, observed=seen)


def worst(traffic: Traffic, fitted: Fitted | None, rows: np.ndarray = REST) -> float:
    """Largest relative error of mean TTFT, TPOT and E2E over ``rows``, against what really happened."""
    assert fitted is not None
    _run, figures = simulated(traffic, fitted, plain_run)
    names = ("ttft_s", "tpot_s", "e2e_s")
    return max(abs(float(np.nanmean(figures[k][rows]) / np.nanmean(WHOLE.observed[k][rows]) - 1)) for k in names)


def test_engine_stamps_of_the_first_half_predict_the_second() -> None:
    fitted = fit(WHOLE, [SMALL], HALF, plain_run)
    assert worst(WHOLE, fitted) < 0.02
    assert fitted is not None
    assert fitted.evidence == "engine stamps"
    assert fitted.model.base_ps == pytest.approx(20_000_000_000, rel=0.2)


def test_clients_alone_know_enough() -> None:
    lone = without(WHOLE, "queued", "scheduled", "first", "last", "queue_s")
    fitted = fit(lone, [SMALL], HALF, plain_run)
    assert worst(lone, fitted) < 0.06
    assert fitted is not None
    assert fitted.evidence == "arrival to first and last token"


def test_one_request_in_four_with_stamps() -> None:
    seen = {k: np.where(np.arange(90) % 4 == 0, v, np.nan) for k, v in WHOLE.observed.items()}
    few = replace(WHOLE, observed=seen)
    assert worst(few, fit(few, [SMALL], HALF, plain_run)) < 0.05


def test_e2e_alone() -> None:
    bare = without(WHOLE, "queued", "scheduled", "first", "last", "queue_s", "ttft_s", "tpot_s")
    assert worst(bare, fit(bare, [SMALL], HALF, plain_run)) < 0.15


def test_too_few_requests_give_no_fit() -> None:
    assert fit(WHOLE, [SMALL], np.arange(5), plain_run) is None
    assert fit(without(WHOLE, *WHOLE.observed), [SMALL], HALF, plain_run) is None


@pytest.mark.parametrize("pipelined", [True, False])
def test_whether_the_server_pipelines_is_found_out(pipelined: bool) -> None:
    settings = with_pipelining(SMALL, pipelined)
    traffic = observed(SCENARIO, settings)
    choices = choices_of(Configured(SMALL, None, True, True, ()), traffic, HALF)
    assert {is_pipelined(choice) for choice in choices} == {True, False}
    fitted = fit(traffic, choices, HALF, plain_run)
    assert fitted is not None
    assert is_pipelined(fitted.settings) is pipelined


def test_a_pool_that_is_larger_than_told_is_found_out() -> None:
    tight = replace(SMALL, max_total_num_tokens=4000, max_running_requests=64)
    traffic = replace(observed(scenario_of(90, rate=9.0), replace(tight, max_total_num_tokens=4800)), prefix="none")
    choices = choices_of(Configured(tight, True, True, True, ()), traffic, HALF)
    assert len(choices) > 1
    fitted = fit(traffic, choices, HALF, plain_run)
    assert fitted is not None
    assert fitted.settings.max_total_num_tokens > 4200


def test_known_settings_leave_one_choice_and_no_queue_limit() -> None:
    limited = Settings(engine="sglang", max_queued_requests=5)
    assert [c.max_queued_requests for c in choices_of(Configured(limited, False, True, True, ()), WHOLE, HALF)] == [0]


def test_host_work_of_a_new_request_is_seen() -> None:
    burdened = dict(SCENARIO.columns)
    burdened["work_us"] = np.full(90, 15_000)
    slow = observed(replace(SCENARIO, columns=burdened), SMALL)
    traffic = replace(slow, scenario=SCENARIO)
    fitted = fit(traffic, [SMALL], HALF, plain_run)
    assert fitted is not None
    assert fitted.coefficients[-1] == pytest.approx(0.015, rel=0.4)


def test_the_level_follows_the_waits_where_the_intervals_are_silent() -> None:
    """Coefficients a twelfth too small: queues and whole times say so, and the level is raised."""
    exact = fit(WHOLE, [SMALL], HALF, plain_run)
    assert exact is not None
    low = replace(exact, coefficients=exact.coefficients * 0.92, loss=0.0)
    _run, figures = simulated(WHOLE, low, plain_run)
    low = replace(low, loss=loss(WHOLE, _run, figures, HALF))
    raised = levelled(WHOLE, low, HALF, plain_run, np.zeros(len(FEATURES)))
    assert raised.loss < low.loss
    assert raised.coefficients[0] == pytest.approx(exact.coefficients[0], rel=0.04)


def test_what_never_ran_is_off_by_its_whole_size_and_no_reason_to_lose_the_error() -> None:
    """One request that the simulation never starts made the error NaN once, and no fit better than another."""
    guess = fit(WHOLE, [SMALL], HALF, plain_run)
    assert guess is not None
    run, figures = simulated(WHOLE, guess, plain_run)
    whole = loss(WHOLE, run, figures, HALF)
    gone = np.where(np.arange(WHOLE.n) == HALF[20], np.nan, 1.0)
    cut = replace(run, scheduled=run.scheduled * gone, first=run.first * gone, last=run.last * gone)
    assert whole < loss(WHOLE, cut, {k: v * gone for k, v in figures.items()}, HALF) < whole + 0.2


def test_one_wild_error_does_not_choose() -> None:
    errors = np.full(100, 0.1)
    errors[3] = 50.0
    assert capped_mean(errors) == pytest.approx(0.1)
