"""From a cause to what is tried, and from what was tried to what is chosen."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from ridgeline.causes import CAUSES
from ridgeline.sim.settings import Settings
from ridgeline.sim.whatif.basis import Basis, read_basis, write_basis
from ridgeline.sim.whatif.decide import decide, objective_for, to_json
from ridgeline.sim.whatif.hypotheses import hypotheses, value_of
from ridgeline.words.whatif import BY_LOAD, TRIES
from tests.sim.whatif.made import TIGHT, made_basis


def test_what_is_tried_names_causes_and_settings_that_exist() -> None:
    known = {f.name for f in fields(Settings)}
    assert set(TRIES) <= {cause.id for cause in CAUSES}
    assert {name for tries in TRIES.values() for one in tries for name, _ in one.settings} <= known


@pytest.mark.parametrize("cause", sorted(TRIES))
@pytest.mark.parametrize("version", ["0.5.3", "0.5.9", "0.5.23"])
def test_only_what_the_version_takes_is_tried_and_nothing_twice(cause: str, version: str) -> None:
    base = Settings(version=version, dp_size=2, workers=2, router="round_robin", max_queued_requests=10,
                    enable_lora=True, disable_radix_cache=True, page_size=64)  # fmt: skip
    found = hypotheses(cause, base, 5)
    names = [one.variant.name for one in found]
    assert len(names) == len(set(names)) and "base" not in names


def test_vllm_is_only_tried_with_what_it_has() -> None:
    base = Settings(engine="vllm", page_size=16)
    tried = {key for cause in TRIES for one in hypotheses(cause, base, 0) for key, _ in one.variant.changes}
    assert "schedule_conservativeness" not in tried and "enable_mixed_chunk" not in tried
    assert "max_running_requests" in tried


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("max_running_requests", "x1.5", "12"),
        ("chunked_prefill_size", "x0.125", "1024"),
        ("workers", "+1", "2"),
        ("router", "?power_of_two", "power_of_two"),
        ("schedule_policy", "lpm", "lpm"),
    ],
)
def test_relative_values(key: str, text: str, value: str) -> None:
    assert value_of(key, text, TIGHT) == value
    assert value_of("router", "?power_of_two", Settings(router="random", workers=2)) is None


def test_stale_loads_are_not_met_with_what_looks_at_load() -> None:
    base = Settings(dp_size=2, load_balance_method="total_requests", workers=2, router="power_of_two")
    tried = {value for one in hypotheses("routing.stale-load", base, 0) for _, value in one.variant.changes}
    assert "round_robin" in tried and not tried & BY_LOAD


def test_requests_refused_at_a_queue_limit_are_what_must_fall() -> None:
    settings = replace(TIGHT, max_queued_requests=2)
    made = made_basis(settings=settings)
    assert made.traffic is not None
    lost = np.isnan(made.traffic.observed["e2e_s"])
    assert 0.05 < lost.mean() < 0.9
    outcome = tuple("rejected" if each else "finished" for each in lost)
    basis = replace(made, traffic=replace(made.traffic, outcome=outcome, measured=~lost))
    found = decide(basis, "queue.limit-rejected", "simulate", repeats=2)
    assert found.verdict == "change" and found.flag is not None and found.flag.startswith("--max-queued-requests")
    assert "requests without an answer" in found.sentence and "late answers instead of refusals" in found.risks
    assert any(risk.startswith("pays: TTFT p90 (+") for risk in found.risks)
    assert found.comparison is not None and found.comparison.gate is not None
    blind = replace(basis, settings=replace(settings, max_queued_requests=40))
    gated = decide(blind, "queue.limit-rejected", "simulate", repeats=2).comparison
    assert gated is not None and gated.gate is not None and not gated.gate.trust
    assert any(why.startswith("refused requests: predicted ") for why in gated.gate.why)


def test_a_flag_goes_before_a_server_where_it_does_as_well() -> None:
    found = decide(made_basis(), "queue.running-cap", "simulate", repeats=2)
    assert found.verdict == "change" and found.price == "flag" and found.flag is not None
    assert found.flag.startswith("--max-running-requests")
    told = to_json(found)
    assert told["worth_touching"] is True and len(told["tried"]) >= 4 and told["gain"]["high"] < 0


def test_no_gain_is_no_change() -> None:
    calm = made_basis(settings=Settings(max_running_requests=64, max_total_num_tokens=200_000), rate=2.0)
    found = decide(calm, "queue.head-of-line", "simulate", repeats=2)
    assert found.verdict == "no-gain" or found.price == "server"


def test_a_cause_without_settings_and_a_cache_without_prefixes() -> None:
    assert decide(made_basis(50), "fault.hang", "replay").verdict == "no-setting"
    basis = made_basis(50)
    assert basis.traffic is not None
    blind = replace(basis, traffic=replace(basis.traffic, prefix="cached"),
                    settings=replace(TIGHT, disable_radix_cache=True))  # fmt: skip
    assert decide(blind, "cache.disabled", "config").verdict == "no-evidence"


def test_a_simulator_that_is_wrong_here_recommends_nothing_outright() -> None:
    basis = made_basis()
    wrong = replace(basis, settings=replace(basis.settings, max_running_requests=3))
    found = decide(wrong, "queue.running-cap", "simulate", repeats=2)
    assert found.verdict == "not-trusted" and found.worth is None


def test_the_figure_that_the_incident_hurt_is_what_must_improve() -> None:
    basis = made_basis(200)
    assert basis.traffic is not None
    bad, good = np.arange(100, 200), np.arange(100)
    slow = {**basis.traffic.observed, "tpot_s": basis.traffic.observed["tpot_s"] * np.where(np.arange(200) < 100, 1, 9)}
    basis = replace(basis, traffic=replace(basis.traffic, observed=slow))
    assert objective_for(basis, "queue.burst", (), bad, good).metric == "tpot_s"
    assert objective_for(basis, "queue.burst", (), None, None).metric == "ttft_s"
    assert objective_for(basis, "decode.batch-growth", (), None, None).metric == "tpot_s"


def test_a_basis_survives_its_files(tmp_path: Path) -> None:
    basis = replace(made_basis(40), pace_spread=0.07, pool_held=-500, notes=("a note",))
    write_basis(basis, tmp_path / "s")
    read: Basis = read_basis(tmp_path / "s")
    assert read.settings == basis.settings and read.model == basis.model and read.way == basis.way
    assert (read.pace_spread, read.pool_held, read.notes, read.fitted) == (0.07, -500, ("a note",), True)
    assert read.traffic is not None and basis.traffic is not None
    assert np.array_equal(read.traffic.observed["ttft_s"], basis.traffic.observed["ttft_s"], equal_nan=True)
