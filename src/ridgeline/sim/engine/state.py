"""The engine's tables: record arrays of requests, ranks, batch slots, tree nodes, content, log rows.

A table holds one row per thing; rows point at each other by index (-1: none). The tuple `State` is handed
to every engine function. Only Python code here allocates; compiled code asks for room by returning a
``NEED_…`` code (see `params`).
"""

from typing import Any, NamedTuple

import numpy as np

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.jit import INTERPRETED

I8 = np.int64
# interpreted, small integers would overflow where compiled code widens them
I4, I2, I1 = (np.int64, np.int64, np.int64) if INTERPRETED else (np.int32, np.int16, np.int8)

REQUEST = np.dtype(
    [
        *((name, I8) for name in ("arrival", "cancel", "dispatch", "queued", "entry", "start", "first", "finish",
                                  "sent", "last", "ready", "answer", "aged", "s0", "extra")),
        *((name, I4) for name in ("prompt", "out", "max_new", "lora", "key", "space", "seg_lo", "seg_hi",
                                  "out_seg", "grammar_us", "storage_us", "gen", "kv", "tree", "held", "cached",
                                  "extend", "node", "nxt", "prv", "slot", "peer", "g0", "matched")),
        *((name, I2) for name in ("kind", "priority", "asked", "worker", "rank", "retractions", "bits")),
        ("state", I1), ("outcome", I1), ("fault", I1),
    ]
)  # fmt: skip

RANK = np.dtype(
    [
        *((name, I8) for name in ("now", "dur", "steps", "ctx", "free", "evictable", "protected", "ratio", "tick",
                                  "decodes", "last_decode", "fin_min", "wtokens", "processed", "passes",
                                  "next_cancel", "next_perturb", "snap_at", "snap_requests", "snap_tokens",
                                  "budget_seen", "budget_requests", "budget_tokens", "join_at", "log_tokens",
                                  "log_at", "busy", "prefill_tokens", "cached_tokens", "retractions", "peak",
                                  "stolen", "emitted", "next_ready", "began", "seen", "prev_steps", "turn",
                                  "rotation", "inflight", "link_free", "group_now")),
        *((name, I4) for name in ("running", "chunk", "nbatch", "root", "heap", "decode_left", "njoin", "nlora",
                                  "ndone", "last_prebuilt", "order_next", "tree", "lo", "hi", "role")),
        *((name, I1) for name in ("full", "kind", "halted", "many_joins", "dirty", "mixing", "hold", "stirred")),
    ]
)  # fmt: skip

NODE = np.dtype(
    [
        *((name, I8) for name in ("h", "tick", "hk1", "hk2")),
        *((name, I4) for name in ("parent", "owner", "start", "end", "lock", "nchild", "seg", "hits", "hchild",
                                  "hnext", "order", "rank", "weight")),
        ("priority", I2), ("inheap", I1), ("alive", I1),
    ]
)  # fmt: skip

SLOT = np.dtype([("fin", I8), ("key", I8), ("req", I4), ("full", I4), ("batch", I4), ("lora", I4)])
QUEUE = np.dtype([("head", I4), ("tail", I4), ("n", I4)])
SEG = np.dtype([("id", I4), ("end", I4)])
LOG = np.dtype([("t", I8), ("rank", I4), ("kind", I4), *((f"v{i}", I8) for i in range(10))])
BINS = 8 * 64
"""Inter-token latency bins: eight per octave of picoseconds."""


WIDE = BINS
"""Least columns of `State.wide`."""


class State(NamedTuple):
    """All tables of one simulation (see the dtypes above). Few on purpose: each costs compile time.

    Row ``w`` of ``rank`` also holds what belongs to worker ``w`` (``turn`` to ``role``). ``queue`` has `QUEUES`
    lists per rank. ``param`` stacks, in rows: parameters per rank as they are, the same as configured,
    perturbations (from, to, code, rank, class, times per mille, plus), and what a user's policy sees.
    ``wide`` stacks token-gap counts per rank, KV residues per rank, adapter slots per rank (ids, then last
    uses), and the times at which each worker's tokenizers come free. ``scratch`` is sorting room, ``table``
    the child table of the trees, ``blocks`` who has which block (vLLM), ``g`` single numbers (``G_…`` in `params`).
    """

    req: Any
    rank: Any
    node: Any
    slot: Any
    queue: Any
    seg: Any
    log: Any
    param: Any
    wide: Any
    scratch: Any
    table: Any
    blocks: Any
    g: Any


def record(count: int, dtype: np.dtype[Any]) -> Any:
    """``count`` zeroed rows that read the same compiled and interpreted (attribute access)."""
    return np.zeros(count, dtype).view(np.recarray)


def grown(rows: Any, count: int) -> Any:
    """``rows`` with room for ``count``; new rows are zero."""
    more = record(count, (rows.dtype.fields and np.dtype(rows.dtype.descr)) or rows.dtype)
    more[: len(rows)] = rows
    return more


def allocate(requests: int, ranks: int, slots: int, columns: int, perturbations: int, logging: bool) -> State:
    """Empty tables for a run; ``ranks`` counts the pseudo-ranks that hold the gateway's trees."""
    g = np.zeros(p.GLOBALS, np.int64)
    nodes = 4096
    g[p.G_FREE_NODE] = -1
    g[p.G_EVENTS] = -1
    g[p.G_MASK] = 4 * nodes - 1
    g[p.G_LOGGING] = logging
    g[p.G_SLOTS] = slots
    g[p.G_BASE], g[p.G_PERTURB], g[p.G_PERTURBS] = ranks, 2 * ranks, perturbations
    g[p.G_ASK] = 2 * ranks + perturbations
    g[p.G_RESIDUE], g[p.G_LORA], g[p.G_POOL] = ranks, 2 * ranks, 3 * ranks
    state = State(
        req=record(requests, REQUEST), rank=record(ranks, RANK), node=record(nodes, NODE),
        slot=record(ranks * slots, SLOT), queue=record(ranks * p.QUEUES, QUEUE), seg=record(1, SEG),
        log=record(4096 if logging else 1, LOG),
        param=np.zeros((3 * ranks + perturbations + 4, p.PARAMS), np.int64),
        wide=np.zeros((4 * ranks, max(columns, WIDE)), np.int64), scratch=np.zeros((7, 1024), np.int64),
        table=np.full(4 * nodes, -1, np.int32), blocks=np.zeros((1, 1), np.int32), g=g,
    )  # fmt: skip
    for name in ("chunk", "heap", "root", "tree"):
        state.rank[name] = -1
    state.queue["head"] = -1
    state.queue["tail"] = -1
    for name in ("next_cancel", "next_perturb", "fin_min", "next_ready", "now"):
        state.rank[name] = p.FOREVER
    return state
