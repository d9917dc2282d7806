"""The engine equals the oracle where prefill and decode are apart."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ridgeline.scenario.model import Scenario
from ridgeline.sim.service import simulate
from ridgeline.sim.settings import Settings
from ridgeline.sim.tables import Perturbation
from ridgeline.sim.timing import TimeModel
from tests.sim.compare import engine_rows, oracle_cfg, oracle_requests, oracle_rows
from tests.sim.oracle_pd import PairOracle
from tests.sim.strategies import MS, models, scenarios, settings_of

MANY = settings(
    max_examples=int(os.environ.get("RIDGELINE_EXAMPLES", "60")), deadline=None,
    suppress_health_check=list(HealthCheck), phases=(Phase.reuse, Phase.generate, Phase.shrink),
)  # fmt: skip


@st.composite
def apart(draw: Any) -> Settings:
    prefill, decode = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    base = draw(settings_of(schedule_policy="fcfs", enable_mixed_chunk=False, enable_priority_scheduling=False,
                            max_queued_requests=0, enable_lora=False, prefill_decode_interval=0))  # fmt: skip
    return replace(
        base, workers=prefill + decode, decode_workers=decode, dp_size=draw(st.integers(1, 2)),
        num_reserved_decode_tokens=draw(st.sampled_from([0, 5, 20])),
        disaggregation_decode_allocation_policy=draw(st.sampled_from(["early", "prefill_complete"])),
        disaggregation_bootstrap_timeout=draw(st.sampled_from([0.3, 300.0])),
        disaggregation_waiting_timeout=draw(st.sampled_from([0.2, 300.0])),
        handshake_s=draw(st.sampled_from([0.0, 0.004])),
        transfer_gb_per_s=draw(st.sampled_from([0.05, 1.0, 40.0])),
        load_balance_method=draw(st.sampled_from(["round_robin", "follow_bootstrap_room"])),
    )  # fmt: skip


@st.composite
def troubles(draw: Any) -> list[Perturbation]:
    out = []
    for _ in range(draw(st.integers(0, 2))):
        name, times, plus = draw(st.sampled_from([
            ("step_time", 3000, 0), ("link_token", 20_000, 0), ("link_latency", 1000, 40 * MS), ("link_fail", 0, 400),
            ("bootstrap_block", 0, 1), ("hang", 0, 1), ("stolen_tokens", 0, 60)]))  # fmt: skip
        start = draw(st.integers(0, 600)) * MS
        end = start + draw(st.integers(1, 400)) * MS
        out.append(Perturbation(name, start, end, times, plus, draw(st.integers(-1, 1))))
    return out


@MANY
@given(scenarios(extras=False), apart(), models, troubles())
def test_apart(scenario: Scenario, chosen: Settings, model: TimeModel, timed: list[Perturbation]) -> None:
    service = simulate(scenario, chosen, model, timed)
    oracle = PairOracle(oracle_cfg(chosen, model, timed, 0))
    rows = oracle.run_pairs(oracle_requests(scenario))
    for a, b in zip(engine_rows(service), oracle_rows(rows), strict=True):
        assert a == b, f"engine {a} oracle {b}"
    for rank, mine in zip(oracle.ranks, service.state.rank, strict=False):
        assert rank.free == mine.free
