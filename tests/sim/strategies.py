"""Random scenarios, settings and perturbations, small enough for the oracle and tight enough to hurt."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from ridgeline.scenario.model import Scenario, make
from ridgeline.sim.settings import Settings
from ridgeline.sim.tables import Perturbation
from ridgeline.sim.timing import TimeModel

MS = 1_000_000_000

models = st.builds(
    TimeModel, label=st.just("random"), base_ps=st.integers(1, 20) .map(lambda v: v * 100_000_007),
    prefill_token_ps=st.integers(0, 50_000_003), attention_half_pair_ps=st.integers(0, 9973),
    decode_request_ps=st.integers(0, 90_000_001), context_token_ps=st.integers(0, 1_000_003),
    mixed_request_ps=st.integers(0, 1_000_003), draft_request_ps=st.integers(0, 1_000_003),
)  # fmt: skip


@st.composite
def scenarios(draw: Any, most: int = 24, longest: int = 90, extras: bool = True) -> Scenario:
    n = draw(st.integers(1, most))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    scale = draw(st.sampled_from([0, 1, 10, 60, 300]))
    arrivals = np.cumsum(rng.integers(0, scale * MS // 4 + 1, n))
    prompt = rng.integers(1, longest + 1, n)
    out = rng.integers(1, draw(st.sampled_from([2, 12, 40])) + 1, n)
    columns: dict[str, Any] = {
        "arrival_ps": arrivals, "input_tokens": prompt, "output_tokens": out,
        "max_new_tokens": out + rng.integers(0, draw(st.sampled_from([1, 2, 60])), n),
        "routing_key": rng.integers(0, 4, n), "priority": rng.integers(-2, 3, n) * 7,
        "namespace": rng.integers(0, 2, n) * draw(st.integers(0, 1)),
        "ignore_eos": rng.integers(0, 2, n) * draw(st.integers(0, 1)), "kind": rng.integers(0, 3, n),
    }  # fmt: skip
    if extras:
        for name, top in (("grammar_us", 40_000), ("storage_us", 40_000), ("work_us", 9_000), ("lora", 4)):
            columns[name] = rng.integers(0, top, n) * rng.integers(0, 2, n) * draw(st.integers(0, 1))
        leave = rng.integers(0, 2, n) * draw(st.integers(0, 1))
        columns["cancel_ps"] = np.where(leave > 0, arrivals + rng.integers(1, 300 * MS, n), 0)
    # contents: few opening segments, then branches, then a tail of one's own
    offsets, ids, tokens = [0], [], []
    unit = draw(st.sampled_from([1, 3, 8, 16]))
    for i in range(n):
        left = int(prompt[i])
        node = 0
        while left > 0 and rng.random() < 0.8:
            node = (node * 3 + int(rng.integers(1, 4))) % 99_991
            size = min(left, unit * (1 + node % 3))
            ids.append(node if size == unit * (1 + node % 3) else 100_000 + node)
            tokens.append(size)
            left -= size
        if left > 0:
            ids.append(1_000_000 + i)
            tokens.append(left)
        offsets.append(len(ids))
    parts = tuple(np.array(v, np.int64) for v in (offsets, ids, tokens))
    return make(columns, parts)  # type: ignore[arg-type]


@st.composite
def settings_of(draw: Any, **fixed: Any) -> Settings:
    page = draw(st.sampled_from([1, 1, 4, 16]))
    pool = draw(st.sampled_from([130, 200, 400, 2000]))
    values: dict[str, Any] = {
        "page_size": page, "max_total_num_tokens": max(pool, 8 * page),
        "max_running_requests": draw(st.sampled_from([1, 2, 5, 30])),
        "max_prefill_tokens": draw(st.sampled_from([30, 100, 1000])),
        "chunked_prefill_size": draw(st.sampled_from([-1, 16, 48, 200])),
        "enable_mixed_chunk": draw(st.booleans()), "disable_overlap_schedule": draw(st.booleans()),
        "prefill_decode_interval": draw(st.sampled_from([0, 0, 3])),
        "prefill_max_requests": draw(st.sampled_from([0, 0, 2])),
        "schedule_policy": draw(st.sampled_from([
            "fcfs", "lpm", "dfs-weight", "lof", "random", "routing-key", "hrrn", "shortest-prefill-first"])),
        "schedule_conservativeness": draw(st.sampled_from([0.1, 0.5, 1.0, 2.0])),
        "enable_priority_scheduling": draw(st.booleans()),
        "disable_priority_preemption": draw(st.booleans()),
        "schedule_low_priority_values_first": draw(st.booleans()),
        "disable_radix_cache": draw(st.sampled_from([False, False, True])),
        "radix_eviction_policy": draw(st.sampled_from(["lru", "lfu", "slru", "priority", "tlru"])),
        "tlru_threshold": draw(st.sampled_from([0, 40])), "tlru_next_prompt_estimate": 8,
        "max_queued_requests": draw(st.sampled_from([0, 0, 3])),
        "clip_max_new_tokens": draw(st.sampled_from([10, 4096])),
        "version": draw(st.sampled_from(["0.5.23"])),
        "enable_lora": draw(st.booleans()), "max_loras_per_batch": draw(st.integers(1, 2)),
        "load_snapshot_publish_interval": draw(st.sampled_from([1, 4, 15])),
    }  # fmt: skip
    values.update(fixed)
    return Settings(**values)


@st.composite
def perturbations(draw: Any, ranks: int = 1) -> list[Perturbation]:
    out = []
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, 900)) * MS
        name = draw(st.sampled_from(["step_time", "stolen_tokens", "hang", "request_work", "storage", "grammar",
                                     "max_queued_requests", "context_token"]))  # fmt: skip
        times, plus = draw(st.integers(500, 4000)), 0
        kind = -1
        if name == "stolen_tokens":
            times, plus = 1000, draw(st.integers(1, 60))
        elif name == "hang":
            times, plus = 1000, 1
        elif name == "request_work":
            times, plus, kind = 1000, draw(st.integers(1, 30)) * MS, draw(st.integers(0, 2))
        elif name == "max_queued_requests":
            times, plus = 0, 2
        out.append(Perturbation(name, start, start + draw(st.integers(1, 400)) * MS, times, plus,
                                draw(st.integers(-1, ranks - 1)), kind))  # fmt: skip
    return out
