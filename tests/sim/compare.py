"""The same run through engine and oracle, compared in integer picoseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ridgeline.scenario.model import Scenario
from ridgeline.sim.engine import params as p
from ridgeline.sim.service import Hooks, Service, simulate
from ridgeline.sim.settings import Settings, version_tuple
from ridgeline.sim.tables import Perturbation
from ridgeline.sim.timing import PS, TimeModel
from tests.sim.oracle_service import Oracle
from tests.sim.oracle_types import Cfg, Req

NAMES = {"step_base": "step_base", "prefill_token": "step_prefill", "attention": "step_attention",
         "decode_request": "step_decode", "context_token": "step_context", "mixed_request": "step_mixed",
         "max_running_requests": "max_running", "stolen_tokens": "stolen", "hang": "hang", "down": "down",
         "tokenize": "tokenize", "storage": "storage", "grammar": "grammar", "lora_load": "lora_load",
         "request_work": "work", "handshake": "handshake", "link_token": "link_token",
         "link_latency": "link_latency", "link_fail": "link_fail", "bootstrap_block": "boot_block",
         "max_queued_requests": "max_queued"}  # fmt: skip
STEP = ("step_base", "step_prefill", "step_attention", "step_decode", "step_context", "step_mixed")


def oracle_cfg(s: Settings, m: TimeModel, timed: Sequence[Perturbation], seed: int) -> Cfg:
    version = version_tuple(s.version)
    init = min(1.0, 0.7 * s.schedule_conservativeness)
    low = min(1.0, init * 0.14)
    plain = not (s.decode_workers or s.enable_dp_attention or s.speculative_num_draft_tokens)
    overlap = s.async_scheduling if s.engine == "vllm" else not s.disable_overlap_schedule
    values: dict[str, Any] = {
        "overlap": overlap and plain,
        "page": s.page_size, "pool": s.max_total_num_tokens, "eviction": s.radix_eviction_policy,
        "tlru_threshold": s.tlru_threshold, "tlru_next": s.tlru_next_prompt_estimate,
        "cache": not s.disable_radix_cache, "ratio_init": round(init * 1e9), "ratio_min": round(low * 1e9),
        "ratio_decay": round((init - low) * 1e9) // 600, "clip": s.clip_max_new_tokens,
        "eos_full": version >= (0, 5, 10), "abort_last": version >= (0, 4, 10),
        "knows_down": version >= (0, 5, 10), "order": s.schedule_policy, "priority": s.enable_priority_scheduling,
        "priority_sign": 1 if s.schedule_low_priority_values_first else -1,
        "preempt_on": not s.disable_priority_preemption,
        "preempt_threshold": s.priority_scheduling_preemption_threshold, "max_running": s.max_running_requests,
        "max_prefill": s.max_prefill_tokens, "chunk": s.chunked_prefill_size, "mixed": s.enable_mixed_chunk,
        "decode_interval": s.prefill_decode_interval, "prefill_max": s.prefill_max_requests,
        "max_queued": s.max_queued_requests, "context": s.context_length,
        "lora_slots": s.max_loras_per_batch if s.enable_lora else 0, "lora_load": round(s.lora_load_s * PS),
        "snapshot_every": s.load_snapshot_publish_interval, "draft": s.speculative_num_draft_tokens,
        "accept": round(s.speculative_accept_length * 1000), "step_draft": m.draft_request_ps,
        "step_base": m.base_ps, "step_prefill": m.prefill_token_ps, "step_attention": m.attention_half_pair_ps,
        "step_decode": m.decode_request_ps, "step_context": m.context_token_ps, "step_mixed": m.mixed_request_ps,
        "lockstep": s.enable_dp_attention, "workers": s.workers, "dp": s.dp_size, "router": s.router,
        "balance": "round_robin" if s.load_balance_method == "auto" else s.load_balance_method, "seed": seed,
        "tokenize": round(s.tokenize_s * PS), "tokenize_token": round(s.tokenize_token_s * PS),
        "tokenizers": s.tokenizer_worker_num, "watch": round(s.load_watch_interval * PS),
        "abs": s.balance_abs_threshold, "rel": round(s.balance_rel_threshold * 1000),
        "cache_ratio": round(s.cache_threshold * 1000), "tree_tokens": s.max_tree_size, "storage": 1000,
        "grammar": 1000, "work": 0, "hang": 0, "down": 0, "stolen": 0, "boot_block": 0, "link_fail": 0,
        "reserved": s.num_reserved_decode_tokens, "handshake": round(s.handshake_s * PS),
        "boot_timeout": round(s.disaggregation_bootstrap_timeout * PS),
        "wait_timeout": round(s.disaggregation_waiting_timeout * PS),
        "late_alloc": s.disaggregation_decode_allocation_policy == "prefill_complete",
        "link_token": round(s.kv_bytes_per_token * 1000 / s.transfer_gb_per_s),
        "link_latency": round(s.transfer_latency_s * PS), "decode_workers": s.decode_workers,
    }  # fmt: skip
    rows = []
    for item in timed:
        names = STEP if item.parameter == "step_time" else (NAMES[item.parameter],)
        rest = (item.rank, item.kind, item.times_per_mille, item.plus)
        rows += [(item.from_ps, item.to_ps, name, *rest) for name in names]
    return Cfg(values, rows)


def oracle_requests(scenario: Scenario) -> list[Req]:
    out = []
    for i in range(scenario.n):
        content: list[tuple[int, int]] = []
        for j in range(scenario.offsets[i], scenario.offsets[i + 1]):
            content += [(int(scenario.segment_id[j]), k) for k in range(scenario.segment_tokens[j])]
        c = {name: int(values[i]) for name, values in scenario.columns.items()}
        q = Req(i, c["arrival_ps"], c["input_tokens"], min(c["output_tokens"], c["max_new_tokens"]),
                c["max_new_tokens"], content, space=c["namespace"], key=c["routing_key"], lora=c["lora"],
                priority=c["priority"], asked=c["dp_rank"], kind=c["kind"], ignore_eos=bool(c["ignore_eos"]),
                grammar_us=c["grammar_us"], storage_us=c["storage_us"], cancel=c["cancel_ps"],
                work_us=c["work_us"])  # fmt: skip
        out.append(q)
    return out


def bin_of(ps: int) -> int:
    """Eight equal parts per octave, from the definition."""
    if ps < 8:
        return ps
    e = ps.bit_length() - 1
    return (e - 2) * 8 + (ps - (1 << e)) * 8 // (1 << e)


FIELDS = ("dispatch", "queued", "start", "first", "finish", "retractions", "gen")


def engine_rows(service: Service) -> list[tuple[Any, ...]]:
    rows = service.requests()
    return [
        (i, p.OUTCOMES[int(q["outcome"])], *(int(q[f]) for f in FIELDS), int(q["rank"]), int(q["cached"]))
        for i, q in enumerate(rows)
    ]


def oracle_rows(requests: Sequence[Req]) -> list[tuple[Any, ...]]:
    return [(q.id, q.outcome, *(getattr(q, f) for f in FIELDS), q.rank, q.cached) for q in requests]


def check(
    scenario: Scenario, settings: Settings, model: TimeModel, timed: Sequence[Perturbation] = (), seed: int = 0,
    hooks: Hooks | None = None,
) -> Service:  # fmt: skip
    """Assert equality of every stamp, outcome and token gap; pages are conserved on both sides."""
    service = simulate(scenario, settings, model, timed, seed, hooks)
    requests = oracle_requests(scenario)
    cfg = oracle_cfg(settings, model, timed, seed)
    oracle = Oracle(cfg)
    oracle.run(requests)
    left, right = engine_rows(service), oracle_rows(requests)
    for a, b in zip(left, right, strict=True):
        assert a == b, f"engine {a} oracle {b}"
    counts: Counter[int] = Counter()
    for ps, n in oracle.gaps().items():
        counts[bin_of(ps)] += n
    have = {int(k): int(v) for k, v in enumerate(service.gaps()) if v}
    assert have == {k: v for k, v in counts.items() if v}
    conserved(service, cfg)
    for rank, mine in zip(oracle.ranks, service.state.rank, strict=False):
        assert rank.free == mine.free
        assert rank.tree.evictable() == mine.evictable
        assert rank.tree.protected() == mine.protected
    return service


def conserved(service: Service, cfg: Cfg) -> None:
    """Every token of every pool is free, cached, held by a request, or stolen."""
    st = service.state
    rows = service.requests()
    n = service.settings.workers * service.settings.dp_size
    for r in range(n):
        held = int(np.sum(rows["held"][(rows["rank"] == r)]))
        rank = st.rank[r]
        pool = cfg.p["pool"] // cfg.p["page"] * cfg.p["page"]
        stolen = int(st.param[r, p.STOLEN])
        if rank.running == 0:
            assert rank.free + rank.evictable + rank.protected + held + stolen == pool
