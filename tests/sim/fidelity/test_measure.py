"""Fit, predict, compare: honest bounds, and a gate that notices a broken model."""

from dataclasses import replace

import numpy as np
import pytest

from ridgeline.scenario.model import Scenario
from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fidelity.figures import METRICS, STATISTICS
from ridgeline.sim.fidelity.measure import MOST, Fidelity, fidelity, parts, shortened
from ridgeline.sim.fit.configured import Configured
from ridgeline.sim.fit.run import Run
from ridgeline.sim.settings import Settings
from ridgeline.sim.timing import TimeModel
from tests.sim.fit.plain_vllm import plain_run
from tests.sim.fit.traffics import SMALL, TRUTH, observed, scenario_of

SETUP = Configured(SMALL, True, True, True, ())
SCENARIO = scenario_of(100, rate=7.0)
TRAFFIC = observed(SCENARIO, SMALL)


def errors(answer: Fidelity) -> list[float]:
    return [abs(f.error) for m in METRICS for f in answer.figures[m].values() if f.error is not None and m != "queue_s"]


def test_a_server_like_the_model_is_trusted_and_its_figures_lie_within_the_bounds() -> None:
    answer = fidelity(TRAFFIC, SETUP, plain_run)
    assert answer.trust
    assert max(errors(answer)) < 0.03
    for metric in METRICS:
        for statistic in STATISTICS:
            figure = answer.figures[metric][statistic]
            assert figure.low is not None
            assert figure.high is not None
            assert figure.predicted is not None
            assert figure.observed is not None
            assert figure.low <= figure.predicted <= figure.high
            assert figure.low <= figure.observed <= figure.high
    assert (answer.trained, answer.tested) == (50, 50)


def test_the_same_input_gives_the_same_answer() -> None:
    assert fidelity(TRAFFIC, SETUP, plain_run).figures == fidelity(TRAFFIC, SETUP, plain_run).figures


@pytest.mark.parametrize("split", [0.25, 0.4, 0.6, 0.75])
def test_other_splits(split: float) -> None:
    answer = fidelity(TRAFFIC, SETUP, plain_run, split)
    assert answer.trained == int(100 * split)
    assert answer.trust


def test_the_gate_notices_a_cache_that_the_model_lacks() -> None:
    """The server shares openings of 320 tokens and runs at the edge; the model thinks every prompt is new."""
    scenario = scenario_of(120, rate=8.5, groups=3)
    truth = observed(scenario, SMALL)
    blind = replace(SMALL, disable_radix_cache=True)
    assert fidelity(truth, SETUP, plain_run).trust
    # the first part of a run holds few finds, so a fit cannot hide what is missing later
    late = switched(scenario, 60)
    assert not fidelity(observed(late, SMALL), replace(SETUP, settings=blind), plain_run).trust


def switched(scenario: Scenario, at: int) -> Scenario:
    """The same prompts, of which those before ``at`` share nothing."""
    ids = scenario.segment_id.copy()
    ids[:at] = np.arange(1000, 1000 + at)
    return replace(scenario, segment_id=ids)


def test_the_gate_notices_a_wrong_pool() -> None:
    tight = replace(SMALL, max_total_num_tokens=3200, max_running_requests=64)
    traffic = observed(scenario_of(120, rate=6.0), tight)
    assert fidelity(traffic, replace(SETUP, settings=tight), plain_run).trust
    wrong = replace(tight, max_total_num_tokens=2000)
    assert not fidelity(traffic, replace(SETUP, settings=wrong), plain_run).trust


def test_the_gate_notices_a_server_that_slows_down() -> None:
    answer = fidelity(observed(SCENARIO, SMALL, runner=slowing), SETUP, plain_run)
    assert not answer.trust
    assert any("predicted" in reason for reason in answer.why)


def slowing(scenario: Scenario, settings: Settings, model: TimeModel) -> Run:
    """The first half at the model's speed, then a run of its own at 1.6 times that, joined."""
    slow = replace(model, base_ps=model.base_ps * 8 // 5, decode_request_ps=model.decode_request_ps * 8 // 5)
    quick, late = plain_run(scenario, settings, model), plain_run(scenario, settings, slow)
    first = np.arange(scenario.n) < scenario.n // 2
    pick = [np.where(first, getattr(quick, k), getattr(late, k)) for k in ("queued", "scheduled", "first", "last")]
    return replace(quick, queued=pick[0], scheduled=pick[1], first=pick[2], last=pick[3])


def test_nothing_observed_after_the_split_is_said_and_never_trusted() -> None:
    seen = {k: np.where(np.arange(100) < 50, v, np.nan) for k, v in TRAFFIC.observed.items()}
    answer = fidelity(replace(TRAFFIC, observed=seen), SETUP, plain_run)
    assert not answer.trust
    assert answer.observed_any
    figure = answer.figures["ttft_s"]["mean"]
    assert figure.observed is None
    assert figure.error is None
    assert figure.predicted is not None
    assert any("not observed" in reason for reason in answer.why)


def test_nothing_observed_at_all() -> None:
    seen = {k: np.full(100, np.nan) for k in TRAFFIC.observed}
    answer = fidelity(replace(TRAFFIC, observed=seen), SETUP, plain_run)
    assert (answer.trust, answer.observed_any, answer.fitted) == (False, False, None)
    assert all(f.predicted is None for m in answer.figures.values() for f in m.values())


def test_hidden_parts_stand_on_neither_side() -> None:
    outcome = tuple("hidden" if i % 10 == 0 else "finished" for i in range(100))
    train, test = parts(replace(TRAFFIC, outcome=outcome), 0.5)
    assert len(train) == len(test) == 45
    assert not set(range(0, 100, 10)) & set(train.tolist() + test.tolist())


def test_a_long_traffic_is_cut_around_the_split_with_its_clock() -> None:
    n = MOST + 500
    long = scenario_of(n, rate=50.0)
    stamps = {k: np.arange(n, dtype=float) if k == "first" else np.full(n, np.nan) for k in TRAFFIC.observed}
    whole = Traffic(long, tuple(map(str, range(n))), 10.0, stamps, np.ones(n, np.bool_), ("finished",) * n, "none", ())
    cut, note = shortened(whole, 0.5)
    assert cut.n == MOST
    assert cut.rids[0] == "250"
    assert int(cut.scenario["arrival_ps"][0]) == 0
    began = int(long["arrival_ps"][250]) / 1e12
    assert cut.observed["first"][0] == pytest.approx(250 - began)
    assert cut.origin_ts == pytest.approx(10.0 + began)
    assert note
    assert shortened(TRAFFIC, 0.5) == (TRAFFIC, ())


def test_truth_is_what_the_tests_think() -> None:
    assert plain_run(SCENARIO, SMALL, TRUTH).last.max() > SCENARIO["arrival_ps"][-1] / 1e12
