"""The engine equals the oracle: the vLLM family."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ridgeline.scenario.model import Scenario
from ridgeline.sim.service import simulate, simulate_in_pieces
from ridgeline.sim.settings import Settings
from ridgeline.sim.tables import Perturbation
from ridgeline.sim.timing import TimeModel
from tests.sim.compare import bin_of, engine_rows, oracle_cfg, oracle_requests, oracle_rows
from tests.sim.oracle_service import Oracle
from tests.sim.oracle_vllm import VllmRank
from tests.sim.strategies import MS, models, scenarios

MANY = settings(
    max_examples=int(os.environ.get("RIDGELINE_EXAMPLES", "60")), deadline=None,
    suppress_health_check=list(HealthCheck), phases=(Phase.reuse, Phase.generate, Phase.shrink),
)  # fmt: skip


@st.composite
def vllm(draw: Any) -> Settings:
    page = draw(st.sampled_from([1, 4, 16]))
    return Settings(
        engine="vllm", async_scheduling=draw(st.booleans()),
        page_size=page, max_total_num_tokens=draw(st.sampled_from([130, 200, 400, 2000])),
        max_running_requests=draw(st.sampled_from([1, 2, 5, 30])),
        chunked_prefill_size=draw(st.sampled_from([-1, 16, 48, 200])),
        max_prefill_tokens=draw(st.sampled_from([30, 1000])),
        schedule_policy=draw(st.sampled_from(["fcfs", "priority"])),
        disable_radix_cache=draw(st.sampled_from([False, False, True])),
        max_queued_requests=draw(st.sampled_from([0, 0, 3])), dp_size=draw(st.integers(1, 2)),
        load_balance_method=draw(st.sampled_from(["round_robin", "total_tokens", "total_requests"])),
        load_snapshot_publish_interval=draw(st.sampled_from([1, 4, 15])),
    )  # fmt: skip


@st.composite
def troubles(draw: Any) -> list[Perturbation]:
    out = []
    for _ in range(draw(st.integers(0, 2))):
        name, times, plus, kind = draw(st.sampled_from([
            ("step_time", 3000, 0, -1), ("hang", 0, 1, -1), ("grammar", 3000, 0, -1), ("stolen_tokens", 0, 50, -1),
            ("request_work", 0, 9 * MS, 1)]))  # fmt: skip
        start = draw(st.integers(0, 900)) * MS
        end = start + draw(st.integers(1, 400)) * MS
        out.append(Perturbation(name, start, end, times, plus, draw(st.integers(-1, 1)), kind))
    return out


@MANY
@given(scenarios(), vllm(), models, troubles(), st.lists(st.integers(0, 1500), max_size=3))
def test_vllm(
    scenario: Scenario, chosen: Settings, model: TimeModel, timed: list[Perturbation], cuts: list[int]
) -> None:
    service = simulate(scenario, chosen, model, timed)
    cfg = oracle_cfg(chosen, model, timed, 0)
    cfg.p["priority"] = chosen.schedule_policy == "priority"
    oracle = Oracle(cfg, VllmRank)
    requests = oracle_requests(scenario)
    oracle.run(requests)
    for a, b in zip(engine_rows(service), oracle_rows(requests), strict=True):
        assert a == b, f"engine {a} oracle {b}"
    counts: Counter[int] = Counter()
    for ps, n in oracle.gaps().items():
        counts[bin_of(ps)] += n
    assert {int(k): int(v) for k, v in enumerate(service.gaps()) if v} == dict(counts)
    for rank, mine in zip(oracle.ranks, service.state.rank, strict=False):
        assert rank.free == mine.free
    pieces = simulate_in_pieces(scenario, chosen, [c * MS for c in cuts], model=model, perturbations=timed)
    assert engine_rows(pieces) == engine_rows(service)
    assert (pieces.gaps() == service.gaps()).all()
