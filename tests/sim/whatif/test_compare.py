"""The comparison: gate, paired table, who pays, the advice; the same whatever the number of processes."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ridgeline.sim.settings import SettingError, Settings
from ridgeline.sim.whatif import pool
from ridgeline.sim.whatif.advise import advise
from ridgeline.sim.whatif.compare import compare, objective_of
from ridgeline.sim.whatif.contract import to_json, to_text
from ridgeline.sim.whatif.result import Comparison
from ridgeline.sim.whatif.slo import limits_of
from ridgeline.sim.whatif.variants import changed, variants
from tests.sim.whatif.made import TIGHT, made_basis, slower, traffic_under


def compared(*vary: str, repeats: int = 1, slo: tuple[str, ...] = (), **more: object) -> Comparison:
    basis = made_basis()
    return compare(basis, variants(basis.settings, vary), repeats=repeats, limits=limits_of(slo), **more)  # type: ignore[arg-type]


def test_the_base_is_one_run_and_never_twice() -> None:
    assert [v.name for v in variants(TIGHT, ("max_running_requests=8,16", "schedule_policy=fcfs"))] == [
        "base", "max_running_requests=16"]  # fmt: skip
    with pytest.raises(SettingError, match="KEY=A,B"):
        variants(TIGHT, ("max_running_requests=8,,16",))
    with pytest.raises(SettingError, match="no such setting"):
        variants(TIGHT, ("max_runing=8",))


def test_vllm_takes_its_own_names() -> None:
    made = changed(Settings(), ("max_num_seqs=4", "engine=vllm", "block_size=32"))
    assert made.max_running_requests == 4 and made.page_size == 32


def test_lifting_a_cap_that_binds_is_recommended_with_its_flag_and_interval() -> None:
    found = compared("max_running_requests=8,32", repeats=3, slo=("ttft_p99=1s",))
    advice = advise(found)
    assert found.gate is not None and found.gate.trust
    assert advice.chosen is not None and dict(advice.chosen.variant.changes) == {"max_running_requests": 32}
    assert "--max-running-requests 32" in advice.sentence and advice.sentence.startswith("Set ")
    told = to_json(found)
    best = min(told["runs"], key=lambda r: r["rank"])
    assert best["changes"] == {"max_running_requests": 32} and best["goodput"] > told["runs"][0]["goodput"]
    assert told["fidelity"]["trust"] is True and told["schema"] == "ridgeline.simulation/1"
    gain = told["recommended"]["gain"]
    assert gain["low"] <= gain["delta"] <= gain["high"] < 0


def test_no_change_is_worth_it_is_an_answer() -> None:
    found = compared("chunked_prefill_size=4096,8192")
    assert advise(found).chosen is None and advise(found).sentence.startswith("None of the settings tried helps")
    assert to_json(found)["recommended"] is None
    assert any("changes nothing" in text for text in found.warnings)


def test_who_pays_is_named() -> None:
    basis = made_basis(400, rate=9.0)
    kind = np.arange(400) % 5 == 0
    columns = {**basis.scenario.columns, "priority": np.where(kind, 1, 0)}
    basis = replace(basis, scenario=replace(basis.scenario, columns=columns))
    ways = variants(basis.settings, ("enable_priority_scheduling=true",))
    found = compare(basis, ways, objective=objective_of("ttft_mean", ()))
    classes = {g.name: c for g, c in found.runs[1].classes}
    assert classes["priority 1"].delta < 0 < classes["priority 0"].delta
    assert "priority 0" in to_text(found)


def test_a_made_up_scenario_has_no_gate_and_says_so() -> None:
    basis = replace(made_basis(), traffic=None, sampled=False)
    found = compare(basis, variants(basis.settings, ("max_running_requests=32",)))
    assert to_json(found)["fidelity"] is None
    assert "no observed times" in to_text(found).splitlines()[0]
    assert "never compared with a server" in advise(found).sentence


@pytest.mark.parametrize("broken", ["cache off", "pool", "slower steps", "cap"])
def test_the_gate_notices_a_broken_feature(broken: str) -> None:
    basis = made_basis(settings=replace(TIGHT, max_total_num_tokens=6_000) if broken == "pool" else TIGHT)
    if broken == "cache off":
        basis = replace(basis, settings=replace(basis.settings, disable_radix_cache=True))
    elif broken == "pool":
        basis = replace(basis, settings=replace(basis.settings, max_total_num_tokens=60_000))
    elif broken == "slower steps":
        basis = replace(basis, model=slower(basis.model, 1.35))
    else:
        basis = replace(basis, settings=replace(basis.settings, max_running_requests=12))
    found = compare(basis, variants(basis.settings, ()))
    assert found.gate is not None and not found.gate.trust and found.gate.why
    assert "NOT to be trusted" in to_text(found).splitlines()[0]


def test_pinned_requests_are_warned_of_and_unpin_frees_them() -> None:
    settings = Settings(dp_size=2, max_running_requests=4, load_balance_method="round_robin")
    basis = made_basis(settings=settings)
    columns = {**basis.scenario.columns, "dp_rank": np.zeros(basis.scenario.n, np.int64)}
    scenario = replace(basis.scenario, columns=columns)
    basis = replace(basis, scenario=scenario, traffic=traffic_under(scenario, settings))
    ways = variants(settings, ("load_balance_method=total_requests",))
    pinned = compare(basis, ways)
    assert any("--unpin" in text for text in pinned.warnings) and any("changes nothing" in t for t in pinned.warnings)
    freed = compare(replace(basis.unpinned(), traffic=None), ways)
    assert not any("--unpin" in text for text in freed.warnings)


def test_processes_change_nothing_but_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(jobs: int) -> str:
        out = to_json(compared("max_running_requests=16,32", repeats=2, jobs=jobs))
        for run in out["runs"]:
            del run["cpu_s"]
        return json.dumps(out)

    alone = told(1)
    monkeypatch.setattr(pool, "WORTH_PROCESSES_S", 0.0)
    assert told(2) == alone


def test_an_interrupt_keeps_what_is_done() -> None:
    def stop(done: int, _count: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    found = compared("max_running_requests=16,32", repeats=5, jobs=1, on_done=stop)
    assert found.interrupted and found.repeats == 1 and len(found.runs) == 3 and found.planned == 15
    assert "Interrupted: 3 of 15" in to_text(found)


def test_overload_ends_and_says_so() -> None:
    basis = replace(made_basis(400, rate=60.0), traffic=None, sampled=False)
    found = compare(basis, variants(basis.settings, ()))
    assert any("still wait when the last one arrives" in text for text in found.warnings)
    assert to_json(found)["runs"][0]["overloaded"] is True


def test_figures_of_a_window_are_about_its_requests_alone() -> None:
    basis = made_basis()
    rows = np.arange(100, 200)
    found = compare(basis, variants(basis.settings, ("max_running_requests=32",)), over=rows)
    whole = compare(basis, variants(basis.settings, ("max_running_requests=32",)))
    assert len(found.base.outcomes[0].values["ttft_s"]) == 100
    assert np.array_equal(found.base.outcomes[0].values["e2e_s"], whole.base.outcomes[0].values["e2e_s"][rows])
    assert found.gate is not None and found.gate.requests == 300


@pytest.mark.parametrize("text", ["goodput", "ttft", "ttft_p95", "speed_mean"])
def test_an_objective_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="--by"):
        objective_of(text, ())
