"""Gauges and load snapshots at the moments somebody asks: what the last report said, or nothing is running."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.lab.case import Case
from ridgeline.lab.emit.model import Batch
from ridgeline.lab.service import windows
from ridgeline.lab.shown import Seen, present
from ridgeline.scenario.model import PS
from ridgeline.sim.engine import params as p

Column = NDArray[Any]
IDLE_AFTER_S: Final = {"0.5.3": 30.0, "0.5.9": 30.0, "0.5.23": 1.0}
SNAPSHOT_EVERY: Final = 15
"""Decode steps between load snapshots of 0.5.23."""


def stamps_of(case: Case, seen: Seen, rank: int) -> tuple[Column, Column]:
    """When each request of a rank came to its scheduler and left it (virtual seconds)."""
    mine = [r for r in seen.requests if (r.rank or 0) == rank and r.dispatched_ts is not None and r.state != "rejected"]
    enter = np.array([r.dispatched_ts - case.base_ts for r in mine if r.dispatched_ts is not None])
    leave = np.array(
        [np.nan if r.completed_ts is None and r.finished_ts is None and r.state != "cancelled"
         else (r.completed_ts or r.finished_ts or r.received_ts + 2.0) - case.base_ts for r in mine]
    )  # fmt: skip
    return enter, leave


def from_batch(
    seen: Seen, b: Batch | None, decode: Batch | None, prefill: Batch | None, idle: bool, ended: bool
) -> dict[str, float]:
    """The gauges after a report; ``decode`` and ``prefill`` are the last of each kind before it."""
    server = seen.server
    pool = server.pool_tokens
    used = 0 if b is None or idle else b.used_tokens
    hit = 0.0
    if prefill is not None:
        total = prefill.new_tokens + prefill.cached_tokens
        hit = prefill.cached_tokens / total if total else 0.0
    if server.version in ("0.5.3", "0.5.9") and decode is not None and (prefill is None or decode.ts >= prefill.ts):
        hit = 0.0  # every decode report overwrites the gauge in these releases
    live = b is not None and not idle
    running = b.running if live and b is not None else 0
    tokens = used / pool
    values = {
        "running": float(running),
        "waiting": float(b.waiting) if live and b is not None else 0.0,
        "used_tokens": float(used),
        "usage": round(tokens, 2) if server.version == "0.5.23" else tokens,
        "swa_usage": 0.0,
        "mamba_usage": 0.0,
        "sequence_tokens": float(used),
        "gen_tps": decode.tps if decode is not None and not idle else 0.0,
        "grammar_waiting": 0.0,
        "offline": 0.0,
        "hit_rate": hit,
        "pool_tokens": float(pool),
        "page_size": float(server.page_size),
        "pages": float(pool // server.page_size),
        "context_len": float(server.context_len),
        "accept_length": (decode.accept_length or 0.0) if decode is not None and not idle else 0.0,
        "accept_rate": 0.0,
        "bootstrap": float(b.bootstrap) if live and b is not None else 0.0,
        "inflight": float(b.inflight) if live and b is not None else 0.0,
        "prealloc": float(b.prealloc) if live and b is not None else 0.0,
        "transfer": float(b.transfer) if live and b is not None else 0.0,
        "pending_prealloc": 0.0,
        "prealloc_usage": 0.0,
        "transfer_gb_s": 0.0,
        "transfer_ms": 0.0,
        "bootstrap_ms": 0.0,
        "alloc_ms": 0.0,
        "utilization": -1.0 if server.role == "prefill" else 0.0,
        "new_token_ratio": 0.098,
        "graph": float(decode.graph) if decode is not None else 0.0,
        "retracted_now": 0.0,
        "paused": 0.0,
    }
    if ended:
        values["gen_tps"] = 0.0
    return values


def hung(case: Case, seen: Seen, rank: int, t: float) -> bool:
    """Whether the scheduler stands still at ``t``: then its gauges and snapshots stay as they were."""
    if case.healthy:
        return False
    place = rank if case.dp_size > 1 else int(seen.server.host.rsplit(".", 1)[1]) - 11
    for change in case.fault.changes:
        if change.parameter != "hang" or (change.where == "rank" and place != case.target):
            continue
        if any(start <= t < end for start, end, _ in windows(case, change)):
            return True
    return False


def live_counts(case: Case, seen: Seen, rank: int, times: Column) -> dict[str, Column]:
    """Queue lengths as a scheduler that has nothing to run reports them, and the tokens held by transfers."""
    base = case.base_ts
    mine = [r for r in seen.requests if (r.rank or 0) == rank and r.dispatched_ts is not None]

    def column(values: list[float | None]) -> Column:
        return np.array([np.nan if v is None else v - base for v in values], np.float64)

    gone = column(
        [
            r.finished_ts if r.finished_ts is not None else r.received_ts + 2.0 if r.state == "cancelled" else None
            for r in mine
        ]
    )

    def length(enter: list[float | None], leave: list[float | None]) -> Column:
        out = column(leave)
        return present(column(enter), np.where(np.isnan(out), gone, out), times)

    scheduled = [r.scheduled_ts for r in mine]
    found = {"waiting": length([r.queued_ts for r in mine], scheduled)}
    if seen.server.role == "prefill":
        found["bootstrap"] = length([r.bootstrap_entry_ts for r in mine], [r.bootstrap_done_ts for r in mine])
        found["inflight"] = length([r.prefill_done_ts for r in mine], [r.transfer_done_ts for r in mine])
    elif seen.server.role == "decode":
        found["prealloc"] = length([r.bootstrap_entry_ts for r in mine], [r.alloc_done_ts for r in mine])
        found["transfer"] = length([r.alloc_done_ts for r in mine], [r.transfer_done_ts for r in mine])
        mean = float(np.mean([r.prompt_tokens for r in mine])) if mine else 0.0
        found["held_tokens"] = found["transfer"] * mean
    return found


LONG_STEP_S: Final = 2.0
"""A step that ends so soon after a moment was running at it."""


def working(steps: Column, t: float, after: float) -> bool:
    """Whether the scheduler ran a step at ``t``: reports come every forty steps, and a step may last for seconds."""
    at = int(np.searchsorted(steps, t, "right"))
    return bool((at and t - steps[at - 1] <= after) or (at < len(steps) and steps[at] - t <= LONG_STEP_S))


def gauges_at(case: Case, seen: Seen, times: list[float]) -> list[tuple[dict[str, float], ...]]:
    """Per moment, the gauges of every rank."""
    per_rank: list[list[dict[str, float]]] = []
    for rank in range(seen.server.dp_size):
        batches = [b for b in seen.batches if b.rank == rank]
        when = np.array([b.ts - case.base_ts for b in batches])
        steps = seen.rows[rank]["t"] / PS
        enter, leave = stamps_of(case, seen, rank)
        inside = present(enter, leave, np.asarray(times))
        rows: list[dict[str, float]] = []
        evictable = evictable_at(seen, rank, times)
        grammar = grammar_at(case, seen, rank, np.asarray(times))
        live = live_counts(case, seen, rank, np.asarray(times))
        for k, t in enumerate(times):
            at = int(np.searchsorted(when, t, "right"))
            last = batches[at - 1] if at else None
            decode = next((b for b in batches[max(0, at - 400) : at][::-1] if b.kind == "decode"), None)
            prefill = next((b for b in batches[max(0, at - 400) : at][::-1] if b.kind == "prefill"), None)
            after = IDLE_AFTER_S.get(seen.server.version, 0.5)
            quiet = last is None or (t - (last.ts - case.base_ts) > after and not working(steps, t, after))
            idle = quiet and (inside[k] == 0 or not hung(case, seen, rank, t))
            values = from_batch(seen, last, decode, prefill, idle, idle)
            if idle and inside[k] > 0:
                values |= {name: float(column[k]) for name, column in live.items() if name != "held_tokens"}
                if "held_tokens" in live:
                    values["used_tokens"] = float(live["held_tokens"][k])
                    values["usage"] = values["used_tokens"] / seen.server.pool_tokens
            values["evictable_tokens"] = float(evictable[k])
            values["available_tokens"] = max(
                0.0, seen.server.pool_tokens - values["used_tokens"] - values["evictable_tokens"]
            )
            values["grammar_waiting"] = float(grammar[k])
            rows.append(values)
        per_rank.append(rows)
    return [tuple(per_rank[r][k] for r in range(len(per_rank))) for k in range(len(times))]


def grammar_at(case: Case, seen: Seen, rank: int, times: Column) -> Column:
    """Requests whose schema is being compiled."""
    mine = [r for r in seen.requests if r.schema and (r.rank or 0) == rank and r.dispatched_ts is not None]
    enter = np.array([r.dispatched_ts - case.base_ts for r in mine if r.dispatched_ts is not None])
    leave = np.array([np.nan if r.queued_ts is None else r.queued_ts - case.base_ts for r in mine])
    return present(enter, leave, times)


def evictable_at(seen: Seen, rank: int, times: list[float]) -> Column:
    """Evictable cache, as an upper bound: all prompt and output tokens finished so far, within what is not in use."""
    rows = seen.rows[rank]
    out = np.zeros(len(times))
    if len(rows) == 0:
        return out
    t = rows["t"] / PS
    stored = np.cumsum(np.where(rows["kind"] == p.LOG_PREFILL, rows["v1"], 0))
    at = np.searchsorted(t, np.asarray(times), "right") - 1
    ok = at >= 0
    used = np.where(ok, rows["v8"][np.maximum(at, 0)], 0)
    held = np.where(ok, stored[np.maximum(at, 0)], 0)
    clipped: Column = np.clip(held - used, 0, np.maximum(seen.server.pool_tokens - used, 0))
    return clipped


def published(case: Case, t: float) -> float:
    """The moment a load answer at ``t`` tells of: ``t``, or where snapshots are rare, that of the last one."""
    every = next((case.strength(step.amount) for step in case.fault.traffic if step.what == "stale_load"), 0.0)
    if not every or case.healthy or not case.onset_s <= t < case.end_s:
        return t
    return case.onset_s + (t - case.onset_s) // every * every


def snapshots_at(case: Case, seen: Seen, times: list[float]) -> list[tuple[dict[str, float], ...]]:
    """Per moment, the last load snapshot of every rank: after a prefill, every few decode steps, or when idle."""
    times = [published(case, t) for t in times]
    per_rank: list[list[dict[str, float]]] = []
    for rank, rows in enumerate(seen.rows):
        keep = (rows["kind"] == p.LOG_PREFILL) | ((rows["kind"] == p.LOG_DECODE) & (rows["v4"] % SNAPSHOT_EVERY == 0))
        kept = rows[keep]
        t = kept["t"] / PS
        all_t = rows["t"] / PS
        prefill = rows["kind"] == p.LOG_PREFILL
        done = np.cumsum(np.where(prefill, rows["v1"], 0))
        busy = np.cumsum(np.where(prefill, rows["v4"], 0)) / 1e6
        enter, leave = stamps_of(case, seen, rank)
        inside = present(enter, leave, np.asarray(times))
        batches = [b for b in seen.batches if b.rank == rank]
        when = np.array([b.ts - case.base_ts for b in batches])
        live = live_counts(case, seen, rank, np.asarray(times))
        out: list[dict[str, float]] = []
        for k, moment in enumerate(times):
            at = int(np.searchsorted(t, moment, "right")) - 1
            total = int(np.searchsorted(all_t, moment, "right")) - 1
            b = batches[int(np.searchsorted(when, moment, "right")) - 1] if len(when) and when[0] <= moment else None
            quiet = at < 0 or moment - float(t[at]) > (0.5 if inside[k] == 0 else 3.0)
            idle = quiet and (inside[k] == 0 or not hung(case, seen, rank, moment))
            row = None if at < 0 else kept[at]
            running = 0 if idle or row is None else int(row["v9"] if row["kind"] == p.LOG_DECODE else row["v3"])
            used = 0 if idle or row is None else int(row["v8"])
            queued = 0 if idle or row is None else int(row["v7"])
            ts = case.base_ts + (moment - 0.4 if idle or row is None else float(t[at]))
            out.append(
                {
                    "ts": ts,
                    "running": running,
                    "waiting": 0 if idle or row is None else int(row["v6"]),
                    "used_tokens": used,
                    "total_tokens": used + queued,
                    "uncached_waiting": queued,
                    "gen_tps": b.tps if b is not None and b.kind == "decode" and not idle else 0.0,
                    "hit_rate": 0.0,
                    "prefilled_tokens": float(done[total]) if total >= 0 else 0.0,
                    "prefill_us": float(busy[total]) if total >= 0 else 0.0,
                    "bootstrap": b.bootstrap if b is not None and not idle else 0,
                    "inflight": b.inflight if b is not None and not idle else 0,
                    "prealloc": b.prealloc if b is not None and not idle else 0,
                    "transfer": b.transfer if b is not None and not idle else 0,
                    "retracted": 0,
                    "grammar": 0,
                }
            )
            if idle and inside[k] > 0:
                out[-1] |= {name: float(column[k]) for name, column in live.items() if name != "held_tokens"}
                out[-1]["used_tokens"] = float(live["held_tokens"][k]) if "held_tokens" in live else 0.0
        per_rank.append(out)
    return [tuple(per_rank[r][k] for r in range(len(per_rank))) for k in range(len(times))]
