"""From settings, time model and perturbations to the engine's tables."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.state import State, allocate, grown
from ridgeline.sim.settings import ROUTERS, SCHEDULE_POLICIES, SettingError, Settings, version_tuple
from ridgeline.sim.timing import PS, TimeModel

BILLION = 1_000_000_000

ORDERS = dict(zip(SCHEDULE_POLICIES, range(8), strict=True)) | {"user": p.USER_ORDER, "priority": p.FCFS}
EVICTION_CODES = {"lru": p.LRU, "lfu": p.LFU, "slru": p.SLRU, "priority": p.PRIORITY_EVICTION, "tlru": p.TLRU,
                  "fifo": p.FIFO}  # fmt: skip
ROUTER_CODES = dict(zip(ROUTERS, range(6), strict=True)) | {"none": p.GW_ROUND_ROBIN, "user": p.GW_USER}
BALANCE_CODES = {
    "round_robin": p.DP_ROUND_ROBIN, "auto": p.DP_ROUND_ROBIN, "minimum_tokens": p.DP_ROUND_ROBIN,
    "shortest_queue": p.DP_SHORTEST_QUEUE, "follow_bootstrap_room": p.DP_FOLLOW_ROOM,
    "total_requests": p.DP_REQUESTS, "total_tokens": p.DP_TOKENS, "user": p.DP_USER,
}  # fmt: skip

PERTURBABLE: dict[str, int] = {
    "step_base": p.STEP_BASE, "prefill_token": p.STEP_PREFILL, "attention": p.STEP_ATTENTION,
    "decode_request": p.STEP_DECODE, "context_token": p.STEP_CONTEXT, "mixed_request": p.STEP_MIXED,
    "max_running_requests": p.MAX_RUNNING, "chunked_prefill_size": p.CHUNK, "max_prefill_tokens": p.MAX_PREFILL,
    "stolen_tokens": p.STOLEN, "hang": p.HANG, "down": p.DOWN, "lora_load": p.LORA_LOAD, "grammar": p.GRAMMAR,
    "storage": p.STORAGE, "tokenize": p.TOKENIZE_BASE, "tokenize_token": p.TOKENIZE_TOKEN,
    "tokenizers": p.TOKENIZERS, "return": p.RETURN_BASE, "return_token": p.RETURN_TOKEN, "returners": p.RETURNERS,
    "handshake": p.HANDSHAKE, "link_token": p.LINK_TOKEN, "link_latency": p.LINK_LATENCY, "link_fail": p.LINK_FAIL,
    "bootstrap_block": p.BOOT_BLOCK, "reserved_decode_tokens": p.RESERVED, "accept_length": p.ACCEPT,
    "snapshot_every": p.SNAPSHOT_EVERY, "request_work": p.WORK, "max_queued_requests": p.MAX_QUEUED,
    "cache": p.CACHE, "ratio_init": p.RATIO_INIT,
}  # fmt: skip
"""What a perturbation can name. Units are the parameter's own: picoseconds, tokens, counts, 0/1, per mille."""

STEP_PARTS = (p.STEP_BASE, p.STEP_PREFILL, p.STEP_ATTENTION, p.STEP_DECODE, p.STEP_CONTEXT, p.STEP_MIXED)
FIXED = frozenset({"cache"})
"""Parameters that may only be perturbed from time zero for ever: the tables depend on them."""


@dataclass(frozen=True)
class Perturbation:
    """Between two moments, ``parameter`` becomes ``value * times_per_mille / 1000 + plus``.

    ``rank`` counts over all workers (-1: every rank); ``kind`` names one request class (-1: the rank as a
    whole). ``parameter`` is a key of `PERTURBABLE`, or ``step_time`` for every part of the step time at once.
    """

    parameter: str
    from_ps: int
    to_ps: int
    times_per_mille: int = 1000
    plus: int = 0
    rank: int = -1
    kind: int = -1


def perturbation_rows(items: Sequence[Perturbation]) -> list[tuple[int, ...]]:
    """Rows of `State.perturb`.

    Raises:
        SettingError: an unknown parameter, or a window that ends before it starts.
    """
    rows: list[tuple[int, ...]] = []
    for item in items:
        if item.to_ps <= item.from_ps:
            raise SettingError(f"perturbation {item.parameter}: ends before it starts")
        if item.parameter == "step_time":
            codes: Sequence[int] = STEP_PARTS
        elif item.parameter in PERTURBABLE:
            codes = (PERTURBABLE[item.parameter],)
        else:
            raise SettingError(f"perturbation: {item.parameter} is not one of {', '.join(PERTURBABLE)}, step_time")
        rows.extend(
            (item.from_ps, item.to_ps, code, item.rank, item.kind, item.times_per_mille, item.plus) for code in codes
        )
    return rows


def seconds(value: float) -> int:
    """Seconds as whole picoseconds."""
    return round(value * PS)


def rank_row(s: Settings, model: TimeModel, role: int, seed: int) -> dict[int, int]:
    """The parameters of one rank with the given role."""
    version = version_tuple(s.version)
    init = min(1.0, 0.7 * s.schedule_conservativeness)
    low = min(1.0, init * 0.14)
    pool = s.max_total_num_tokens // s.page_size * s.page_size
    vllm = s.engine == "vllm"
    priority = s.enable_priority_scheduling or (vllm and s.schedule_policy == "priority")
    plain = not (s.decode_workers or s.enable_dp_attention or s.speculative_num_draft_tokens)
    overlap = (s.async_scheduling if vllm else not s.disable_overlap_schedule) and plain
    return {
        p.OVERLAP: overlap, p.STEP_BASE: model.base_ps, p.STEP_PREFILL: model.prefill_token_ps,
        p.STEP_ATTENTION: model.attention_half_pair_ps, p.STEP_DECODE: model.decode_request_ps,
        p.STEP_CONTEXT: model.context_token_ps, p.STEP_MIXED: model.mixed_request_ps,
        p.STEP_DRAFT: model.draft_request_ps, p.POOL: pool, p.PAGE: s.page_size,
        p.MAX_RUNNING: s.max_running_requests, p.MAX_PREFILL: s.max_prefill_tokens,
        p.CHUNK: s.chunked_prefill_size, p.MIXED: s.enable_mixed_chunk,
        p.DECODE_INTERVAL: s.prefill_decode_interval, p.PREFILL_MAX: s.prefill_max_requests,
        p.RATIO_INIT: round(init * BILLION), p.RATIO_MIN: round(low * BILLION),
        p.RATIO_DECAY: round((init - low) * BILLION) // 600, p.CLIP: s.clip_max_new_tokens, p.RETRACT_STEPS: 20,
        p.IGNORE_EOS_FULL: version >= (0, 5, 10), p.ORDER: ORDERS[s.schedule_policy], p.PRIORITY: priority,
        p.PRIORITY_SIGN: 1 if s.schedule_low_priority_values_first or vllm else -1,
        p.PREEMPT_THRESHOLD: s.priority_scheduling_preemption_threshold,
        p.PREEMPT_ON: not s.disable_priority_preemption,
        p.CACHE: not s.disable_radix_cache and role != p.DECODE_ROLE,
        p.EVICTION: EVICTION_CODES[s.radix_eviction_policy], p.TLRU_THRESHOLD: s.tlru_threshold,
        p.TLRU_NEXT: s.tlru_next_prompt_estimate, p.MAX_QUEUED: s.max_queued_requests, p.CONTEXT: s.context_length,
        p.ABORT_LAST: version >= (0, 4, 10), p.LORA_SLOTS: s.max_loras_per_batch if s.enable_lora else 0,
        p.LORA_LOAD: seconds(s.lora_load_s), p.GRAMMAR: 1000, p.STORAGE: 1000,
        p.SNAPSHOT_EVERY: s.load_snapshot_publish_interval, p.LOG_EVERY: s.decode_log_interval,
        p.TOKENIZE_BASE: seconds(s.tokenize_s), p.TOKENIZE_TOKEN: seconds(s.tokenize_token_s),
        p.TOKENIZERS: s.tokenizer_worker_num, p.RETURN_BASE: seconds(s.return_s),
        p.RETURN_TOKEN: seconds(s.return_token_s), p.RETURNERS: s.detokenizer_worker_num, p.ROLE: role,
        p.RESERVED: s.num_reserved_decode_tokens, p.HANDSHAKE: seconds(s.handshake_s),
        p.BOOT_TIMEOUT: seconds(s.disaggregation_bootstrap_timeout),
        p.WAIT_TIMEOUT: seconds(s.disaggregation_waiting_timeout),
        p.ALLOCATION: s.disaggregation_decode_allocation_policy == "prefill_complete",
        p.LINK_TOKEN: round(s.kv_bytes_per_token * 1000 / s.transfer_gb_per_s),
        p.LINK_LATENCY: seconds(s.transfer_latency_s), p.DRAFT: s.speculative_num_draft_tokens,
        p.ACCEPT: round(s.speculative_accept_length * 1000), p.FAMILY: p.VLLM if vllm else p.SGLANG, p.SEED: seed,
    }  # fmt: skip


def build(
    s: Settings, model: TimeModel, perturbations: Sequence[Perturbation], seed: int, rows: int, logging: bool
) -> State:
    """Tables ready for requests.

    Raises:
        SettingError: see `perturbation_rows`.
    """
    ranks = s.workers * s.dp_size
    trees = s.workers if s.router == "cache_aware" else 0
    pairs = perturbation_rows(perturbations)
    tokenizers = max([s.tokenizer_worker_num, s.detokenizer_worker_num, 1]
                     + [int(row[6]) + 64 for row in pairs if row[2] in (p.TOKENIZERS, p.RETURNERS)])  # fmt: skip
    columns = max(tokenizers, s.page_size)
    st = allocate(rows, ranks + trees, s.max_running_requests + 1, columns, len(pairs), logging)
    if pairs:
        st.param[st.g[p.G_PERTURB] : st.g[p.G_ASK], :7] = pairs
    for w in range(s.workers):
        row = st.rank[w]
        row.lo, row.hi = w * s.dp_size, (w + 1) * s.dp_size
        row.role = p.UNIFIED
        if s.decode_workers:
            row.role = p.DECODE_ROLE if w >= s.workers - s.decode_workers else p.PREFILL_ROLE
        row.tree = ranks + w if trees else -1
    for r in range(ranks + trees):
        real = r < ranks
        role = int(st.rank[r // s.dp_size].role) if real else p.UNIFIED
        values = rank_row(s, model, role, seed) if real else {p.PAGE: 1, p.EVICTION: p.LRU, p.CACHE: 1}
        for code, value in values.items():
            st.param[st.g[p.G_BASE] + r, code] = st.param[r, code] = int(value)
        rank = st.rank[r]
        rank.free = st.param[r, p.POOL]
        rank.ratio = st.param[r, p.RATIO_INIT]
        rank.root = r
        rank.next_perturb = min([p.FOREVER] + [row[0] for row in pairs if row[4] < 0 and row[3] in (-1, r)])
        if real:
            rank.now = rank.next_perturb
        root = st.node[r]
        root.parent, root.rank, root.alive, root.owner = -1, r, 1, -1
    if s.engine == "vllm":
        st = with_blocks(st, ranks, ranks + trees, s)
    g = st.g
    g[p.G_TOP_NODE] += ranks + trees
    g[p.G_LIVE_NODES] = g[p.G_TOP_NODE]
    g[p.G_RANKS], g[p.G_RANKS_EACH], g[p.G_WORKERS] = ranks, s.dp_size, s.workers
    g[p.G_DECODE_WORKERS], g[p.G_PD] = s.decode_workers, s.decode_workers > 0
    g[p.G_LOCKSTEP] = s.enable_dp_attention
    g[p.G_ROUTER] = ROUTER_CODES[s.router]
    g[p.G_BALANCE] = BALANCE_CODES[s.load_balance_method]
    if s.load_balance_method == "auto" and s.decode_workers:
        g[p.G_BALANCE] = p.DP_FOLLOW_ROOM
    g[p.G_KNOWS_DOWN] = version_tuple(s.version) >= (0, 5, 10)
    if s.load_balance_method == "shortest_queue":
        g[p.G_WATCH] = g[p.G_NEXT_WATCH] = seconds(s.load_watch_interval)
    g[p.G_RATIO_CACHE] = round(s.cache_threshold * 1000)
    g[p.G_ABS_CACHE] = s.balance_abs_threshold
    g[p.G_REL_CACHE] = round(s.balance_rel_threshold * 1000)
    g[p.G_TREE_TOKENS] = s.max_tree_size
    g[p.G_SEED] = seed
    g[p.G_PERTURBED] = any(row[4] >= 0 for row in pairs)
    return st


def with_blocks(st: State, ranks: int, first: int, s: Settings) -> State:
    """Add each rank's blocks to the node table (from row ``first``), all in its free queue."""
    each = s.max_total_num_tokens // s.page_size
    total = first + ranks * each
    size = 4096
    while size < 2 * total:
        size *= 2
    st = st._replace(node=grown(st.node, size), table=np.full(4 * size, -1, np.int32))
    st.g[p.G_MASK] = 4 * size - 1
    st.g[p.G_TOP_NODE] = ranks * each
    for r in range(ranks):
        low = first + r * each
        rows = st.node[low : low + each]
        rows["parent"] = -1
        rows["rank"] = r
        rows["hchild"] = np.arange(low - 1, low + each - 1)
        rows["hnext"] = np.arange(low + 1, low + each + 1)
        rows["hchild"][0] = rows["hnext"][-1] = -1
        queue = st.queue[r * p.QUEUES + p.BLOCKS]
        queue.head, queue.tail, queue.n = low, low + each - 1, each
    return st
