"""What a server counts, from the requests and engine rows it saw."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.lab.case import Case
from ridgeline.lab.emit.model import Request
from ridgeline.lab.emit.sglang_metrics import Dims
from ridgeline.lab.emit.spans import scheduler_stages
from ridgeline.lab.shown import Seen
from ridgeline.lab.tally import Tally
from ridgeline.scenario.model import PS
from ridgeline.sim.engine import params as p

Column = NDArray[Any]
OBSERVED: Final = frozenset(
    {"request_process", "prefill_forward", "prefill_bootstrap", "prefill_transfer_kv_cache", "decode_prepare",
     "decode_bootstrap", "decode_transferred", "decode_waiting"}
)  # fmt: skip
"""Stages 0.5.23 observes; older releases observe ``prefill_waiting`` as well."""


def since(base: float, values: list[float | None]) -> Column:
    """Wall stamps as virtual seconds, None as NaN."""
    return np.array([np.nan if v is None else v - base for v in values], np.float64)


def ended(r: Request) -> bool:
    """Whether it counts as a finished request."""
    return r.state == "finished"


def count_requests(tally: Tally, case: Case, seen: Seen) -> None:
    """What the API server counts per request."""
    base = case.base_ts
    server = seen.server
    for streaming in (True, False):
        mine = [r for r in seen.requests if r.stream == streaming]
        dims = (("is_streaming", "true" if streaming else "false"),)
        if not mine:
            continue
        received = since(base, [r.received_ts for r in mine])
        first = since(base, [r.first_token_ts if r.state != "aborted" else None for r in mine])
        finished = since(base, [r.finished_ts if ended(r) else None for r in mine])
        tokens = np.array([r.completion_tokens for r in mine], np.float64)
        rank = 0 if server.engine == "vllm" else None
        if server.role != "prefill":
            tally.observe("ttft", rank, first, first - received, dims=dims)
            tally.observe(
                "tpot",
                rank,
                finished,
                np.where(tokens > 1, (finished - first) / np.maximum(tokens - 1, 1), np.nan),
                dims=dims,
            )
        tally.observe("e2e", rank, finished, finished - received, dims=dims)
        tally.count("prompt_tokens", rank, finished, [r.prompt_tokens for r in mine], dims)
        tally.count("generation_tokens", rank, finished, tokens, dims)
        tally.count("requests", rank, finished, 1.0, dims)
        tally.observe("prompt", rank, finished, [r.prompt_tokens for r in mine])
        tally.observe("uncached", rank, finished, [r.prompt_tokens - r.cached_tokens for r in mine])
        tally.observe("generation", rank, finished, tokens)
        device = [r.cached_tokens - r.storage_tokens for r in mine]
        tally.count("cached_tokens", rank, finished, device, (("cache_source", "device"),))
        if any(r.storage_tokens for r in mine):
            tally.count(
                "cached_tokens", rank, finished, [r.storage_tokens for r in mine], (("cache_source", "storage"),)
            )
        for reason in ("stop", "length"):
            these = since(base, [r.finished_ts if r.finish == reason and ended(r) else None for r in mine])
            tally.count("ended", 0, these, 1.0, (("finished_reason", reason),))
    gone = since(
        base,
        [
            r.received_ts + 1.0 if r.state == "cancelled" else r.finished_ts if r.state == "aborted" else None
            for r in seen.requests
        ],
    )
    tally.count("aborted", None, gone)
    tally.count("ended", 0, gone, 1.0, (("finished_reason", "abort"),))
    with_schema = since(base, [r.finished_ts if r.schema and ended(r) else None for r in seen.requests])
    tally.count("structured", None, with_schema)
    for endpoint in sorted({r.endpoint for r in seen.requests}):
        path: Dims = (("endpoint", endpoint), ("method", "POST"))
        those = [r for r in seen.requests if r.endpoint == endpoint]
        tally.count("http_requests", None, since(base, [r.received_ts for r in those]), 1.0, path)
        for status in sorted({r.status for r in those}):
            answered = [answered_ts(r) if r.status == status else None for r in those]
            tally.count("http_responses", None, since(base, answered), 1.0, (*path, ("status_code", str(status))))


def answered_ts(r: Request) -> float | None:
    """When its response began: the first piece of a stream, else the whole."""
    if r.state == "rejected" and r.finished_ts is None:
        return r.received_ts + 0.002
    if r.finish == "abort" or not r.stream:
        return r.finished_ts
    return r.first_token_ts


def count_ranks(tally: Tally, case: Case, seen: Seen) -> None:
    """What schedulers observe per request: queue time, stages, transfers."""
    base = case.base_ts
    server = seen.server
    by_rank: dict[int, list[Request]] = {}
    for r in seen.requests:
        if r.queued_ts is not None or r.bootstrap_entry_ts is not None:
            by_rank.setdefault(r.rank or 0, []).append(r)
    for rank, mine in sorted(by_rank.items()):
        scheduled = since(base, [r.scheduled_ts for r in mine])
        tally.observe("queue", rank, scheduled, [r.queue_s for r in mine])
        done = since(base, [r.completed_ts for r in mine])
        first = since(base, [r.prefill_done_ts for r in mine])
        tally.observe("inference", rank, done, done - scheduled)
        tally.observe("prefill", rank, done, first - scheduled)
        tally.observe("decode", rank, done, done - first)
        stages: dict[str, tuple[list[float], list[float]]] = {}
        for r in mine:
            for name, began, end in scheduler_stages(r):
                if name in OBSERVED or (name == "prefill_waiting" and server.version != "0.5.23"):
                    at, took = stages.setdefault(name, ([], []))
                    at.append(end - base)
                    took.append(end - began)
        for name, (at, took) in sorted(stages.items()):
            tally.observe("stage", rank, at, took, dims=(("stage", name),))
        if server.role == "prefill":
            moved = since(base, [r.transfer_done_ts for r in mine])
            tally.observe("transfer_gb_s", rank, moved, [r.transfer_gb_s or np.nan for r in mine])
            tally.observe("transfer_ms", rank, moved, (moved - first) * 1e3)
            tally.observe("transfer_mb", rank, moved, [r.transfer_mb or np.nan for r in mine])
        if server.role != "unified":
            start = since(base, [r.bootstrap_entry_ts for r in mine])
            agreed = since(base, [r.bootstrap_done_ts for r in mine])
            tally.observe("bootstrap_ms", rank, agreed, (agreed - start) * 1e3)
            given = since(base, [r.alloc_done_ts for r in mine])
            tally.observe("alloc_ms", rank, given, (given - agreed) * 1e3)
        failed = [
            r.finished_ts if r.state == "aborted" and r.message and "KVTransfer" in r.message else None for r in mine
        ]
        waiting = "timed out" if server.role == "prefill" else "handshake"
        early = [f if r.message and waiting in r.message else None for f, r in zip(failed, mine, strict=True)]
        late = [f if not (r.message and waiting in r.message) else None for f, r in zip(failed, mine, strict=True)]
        tally.count("bootstrap_failed", rank, since(base, early))
        tally.count("transfer_failed", rank, since(base, late))


def count_steps(tally: Tally, case: Case, seen: Seen) -> None:
    """What schedulers count per step: tokens, gaps, graph passes, time by stage of the loop."""
    overhead = next((c for c in case.fault.changes if case.fault.cause == "queue.scheduler-overhead"), None)
    extra = case.strength(overhead.plus) if overhead is not None and not case.healthy else 0.0
    graph_off = any(h.what == "graph-off" for h in case.fault.host) and not case.healthy
    for rank, rows in enumerate(seen.rows):
        if len(rows) == 0:
            continue
        t = rows["t"] / PS
        prefill = rows["kind"] == p.LOG_PREFILL
        step = rows["kind"] == p.LOG_DECODE
        tally.count("realtime", rank, t[prefill], rows["v1"][prefill], (("mode", "prefill_compute"),))
        tally.count("realtime", rank, t[prefill], rows["v2"][prefill], (("mode", "prefill_cache"),))
        tally.count("realtime", rank, t[step], rows["v1"][step], (("mode", "decode"),))
        tally.count("effective", rank, t[prefill], rows["v1"][prefill], (("mode", "input"),))
        tally.count("effective", rank, t[prefill], rows["v2"][prefill], (("mode", "device_hit"),))
        tally.count("effective", rank, t[:1], 0.0, (("mode", "host_hit"),))
        storage = [(r.scheduled_ts - case.base_ts, r.storage_tokens) for r in seen.requests
                   if r.scheduled_ts is not None and r.storage_tokens and (r.rank or 0) == rank]  # fmt: skip
        tally.count(
            "effective",
            rank,
            [a for a, _ in storage] or t[:1],
            [b for _, b in storage] or 0.0,
            (("mode", "storage_hit"),),
        )
        on = (t >= case.onset_s) & (t < case.end_s)
        plain = step & ((rows["v0"] > 64) | (on & graph_off))
        tally.count("graph_passes", rank, t[step & ~plain], 1.0, (("mode", "decode_cuda_graph"),))
        tally.count("graph_passes", rank, t[plain], 1.0, (("mode", "decode_none"),))
        tally.count("graph_passes", rank, t[prefill], 1.0, (("mode", "prefill_none"),))
        scheduled = [r for r in seen.requests if r.scheduled_ts is not None and (r.rank or 0) == rank]
        looked_up = since(case.base_ts, [r.scheduled_ts for r in scheduled])
        tally.count("cache_queries", rank, looked_up, [r.prompt_tokens for r in scheduled])
        tally.count("cache_hits", rank, looked_up, [r.cached_tokens for r in scheduled])
        put_back = rows["kind"] == p.LOG_RETRACT
        tally.count("retracted", rank, t[put_back], rows["v0"][put_back])
        tally.count("retracted_input", rank, t[put_back], rows["v0"][put_back] * 700.0)
        tally.count("retracted_output", rank, t[put_back], rows["v0"][put_back] * 60.0)
        preempted = rows["kind"] == p.LOG_PREEMPT
        tally.count("preempted", rank, t[preempted], rows["v0"][preempted])
        if step.any():
            mixed = prefill & (rows["v5"] > 0)
            ends = np.concatenate([t[step], t[mixed] + rows["v4"][mixed] / PS])
            order = np.argsort(ends, kind="stable")
            running = np.concatenate([rows["v0"][step], rows["v3"][mixed]])[order]
            alive = running if mixed.any() else rows["v1"][step]
            ends = ends[order]
            gaps = np.diff(ends, prepend=ends[0])
            # a step after idleness begins a stream rather than continuing one
            idle_before = np.concatenate([[True], running[:-1] == 0])
            tally.observe(
                "itl",
                None if seen.server.engine == "sglang" else rank,
                ends,
                np.where(idle_before, np.nan, gaps),
                alive,
            )
        busy = np.where(prefill, rows["v4"], np.where(step, rows["v3"], 0)) / PS
        slow = np.where(on & (prefill | step), np.minimum(extra, busy), 0.0)
        tally.count("stage_s", rank, t, busy - slow, (("category", "run_batch"), ("forward_overlap", "none")))
        for name, share, part in (("process_batch_result", 0.03, 0.55), ("get_next_batch_to_run", 0.02, 0.35),
                                  ("process_input_requests", 0.004, 0.06), ("recv_requests", 0.006, 0.02),
                                  ("other", 0.004, 0.02)):  # fmt: skip
            tally.count(
                "stage_s", rank, t, share * busy + part * slow, (("category", name), ("forward_overlap", "none"))
            )
        span = np.diff(t, prepend=t[0])
        unused = np.maximum(span - busy, 0.0)
        tally.count("idle_s", rank, t, unused)
        tally.count("stage_s", rank, t, unused, (("category", "idle"), ("forward_overlap", "none")))
    tokens = since(case.base_ts, [r.finished_ts for r in seen.requests if ended(r)])
    work = np.array([0.0004 * r.completion_tokens for r in seen.requests if ended(r)])
    tally.count("cpu_s", None, tokens, work, (("component", "detokenizer"),))
    tally.count("cpu_s", None, tokens, work + 0.004, (("component", "tokenizer"),))


def tally_of(case: Case, seen: Seen) -> Tally:
    """Everything one boot of one server counts."""
    tally = Tally()
    count_requests(tally, case, seen)
    count_ranks(tally, case, seen)
    count_steps(tally, case, seen)
    return tally
