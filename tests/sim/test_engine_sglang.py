"""The engine equals the step-by-step oracle in integer picoseconds: SGLang, one rank and many."""

from __future__ import annotations

import os
from dataclasses import replace

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ridgeline.scenario.model import Scenario
from ridgeline.sim.service import simulate, simulate_in_pieces
from ridgeline.sim.settings import Settings
from ridgeline.sim.tables import Perturbation
from ridgeline.sim.timing import TimeModel
from tests.sim.compare import check, engine_rows
from tests.sim.strategies import MS, models, perturbations, scenarios, settings_of

MANY = settings(
    max_examples=int(os.environ.get("RIDGELINE_EXAMPLES", "40")), deadline=None,
    suppress_health_check=list(HealthCheck), phases=(Phase.reuse, Phase.generate, Phase.shrink),
)  # fmt: skip


@MANY
@given(scenarios(), settings_of(), models)
def test_one_rank(scenario: Scenario, chosen: Settings, model: TimeModel) -> None:
    check(scenario, chosen, model)


@MANY
@given(scenarios(), settings_of(), models, perturbations())
def test_one_rank_perturbed(scenario: Scenario, chosen: Settings, model: TimeModel, timed: list[Perturbation]) -> None:
    check(scenario, chosen, model, timed)


@MANY
@given(
    scenarios(),
    settings_of(dp_size=3),
    models,
    st.sampled_from(["round_robin", "total_requests", "total_tokens", "follow_bootstrap_room"]),
    perturbations(3),
)
def test_ranks(scenario: Scenario, chosen: Settings, model: TimeModel, method: str, timed: list[Perturbation]) -> None:
    check(scenario, replace(chosen, load_balance_method=method), model, timed)


@MANY
@given(scenarios(), settings_of(dp_size=2, enable_dp_attention=True), models, perturbations(2))
def test_dp_attention(scenario: Scenario, chosen: Settings, model: TimeModel, timed: list[Perturbation]) -> None:
    check(scenario, chosen, model, timed)


@MANY
@given(
    scenarios(),
    settings_of(workers=3),
    models,
    st.sampled_from(["random", "round_robin", "power_of_two", "cache_aware", "consistent_hashing"]),
    st.integers(1, 2),
    st.sampled_from([0.0, 0.03]),
    st.integers(1, 2),
    st.sampled_from([60, 10_000]),
    st.lists(st.tuples(st.integers(0, 500), st.integers(1, 300), st.integers(0, 2)), max_size=3),
    st.integers(0, 3),
)
def test_gateway(
    scenario: Scenario, chosen: Settings, model: TimeModel, router: str, dp: int, tokenize: float, servers: int,
    tree: int, downs: list[tuple[int, int, int]], seed: int,
) -> None:  # fmt: skip
    chosen = replace(chosen, router=router, dp_size=dp, tokenize_s=tokenize, tokenize_token_s=tokenize / 50,
                     tokenizer_worker_num=servers, max_tree_size=tree, balance_abs_threshold=2)  # fmt: skip
    timed = [Perturbation("down", a * MS, (a + b) * MS, 1000, 1, w * dp) for a, b, w in downs]
    check(scenario, chosen, model, timed, seed)


@MANY
@given(scenarios(), settings_of(speculative_num_draft_tokens=4), models, st.sampled_from([1.0, 1.7, 3.25]))
def test_speculation(scenario: Scenario, chosen: Settings, model: TimeModel, accept: float) -> None:
    check(scenario, replace(chosen, speculative_accept_length=accept), model)


@MANY
@given(
    scenarios(),
    settings_of(dp_size=3, radix_eviction_policy="lru"),
    models,
    st.sampled_from(["0.4.6.post5", "0.4.10", "0.5.3", "0.5.6"]),
)
def test_older_versions(scenario: Scenario, chosen: Settings, model: TimeModel, version: str) -> None:
    method = "round_robin" if version.startswith("0.4") else "shortest_queue"
    check(scenario, replace(chosen, version=version, load_balance_method=method, load_watch_interval=0.05), model)


@MANY
@given(scenarios(), settings_of(), models, perturbations(2), st.lists(st.integers(0, 1500), max_size=6),
       st.sampled_from(["round_robin", "total_tokens"]), st.booleans())  # fmt: skip
def test_resumed(
    scenario: Scenario, chosen: Settings, model: TimeModel, timed: list[Perturbation], cuts: list[int], method: str,
    lockstep: bool,
) -> None:  # fmt: skip
    chosen = replace(chosen, dp_size=2, load_balance_method=method, enable_dp_attention=lockstep)
    whole = simulate(scenario, chosen, model, timed)
    pieces = simulate_in_pieces(scenario, chosen, [c * MS for c in cuts], model=model, perturbations=timed)
    assert engine_rows(whole) == engine_rows(pieces)
    assert (whole.gaps() == pieces.gaps()).all()
