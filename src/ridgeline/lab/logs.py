"""The server log of one boot: start, batches, timing lines, access lines, and what else a real server writes."""

from typing import Final

from ridgeline.lab.case import HORIZON_S, Case
from ridgeline.lab.counters import answered_ts
from ridgeline.lab.decoys import log_decoys
from ridgeline.lab.emit import disagg, life
from ridgeline.lab.emit.batches import batch_line, retraction_line
from ridgeline.lab.emit.model import Line, Request
from ridgeline.lab.emit.request_log import finished, received
from ridgeline.lab.emit.stamp import prefix
from ridgeline.lab.emit.startup import startup_lines
from ridgeline.lab.emit.time_stats import time_stats_line
from ridgeline.lab.front import strength
from ridgeline.lab.host import has
from ridgeline.lab.shown import Seen
from ridgeline.lab.traffic import CLIENTS, client_names

HEALTH_EVERY_S: Final = 15.0
HELD_S: Final = 30.0
"""How long decode holds the KV of a request that was aborted, seconds."""
BALANCER: Final = "10.9.9.2:51000"


def death_lines(case: Case, seen: Seen) -> list[Line]:
    """How the boot ended, if it did."""
    server = seen.server
    ts = case.base_ts + seen.gone_s
    rank = case.target if server.dp_size > 1 else 0
    left = sum(r.finished_ts is None and r.state == "open" for r in seen.requests)
    if seen.died == "cuda-oom":
        return life.cuda_oom(server, ts, rank, 2560.0, 812.38)
    if seen.died == "slots-exhausted":
        return life.slots_exhausted(server, ts, rank)
    if seen.died == "host-oom":
        return life.killed(server, ts, rank)
    if seen.died == "exception":
        return life.exception(server, ts, rank, "RuntimeError: shape '[17, 4096]' is invalid for input of size 65536")
    if seen.died == "restart":
        return life.shutdown(server, ts, left)
    return []


def failure_lines(case: Case, seen: Seen) -> list[Line]:
    """Lines of disaggregated requests that failed, and of aborts."""
    server = seen.server
    out: list[Line] = []
    mismatch = has(case, "room-mismatch")
    pages = has(case, "page-mismatch")
    peer = "10.4.0.11:8998"
    for r in seen.requests:
        if r.state != "aborted" or r.finished_ts is None:
            continue
        if r.message is not None and r.message.startswith("Grammar accept_token"):
            out.append(Line(r.finished_ts, prefix(server, r.finished_ts, r.rank or 0) + r.message))
        if r.room is None or r.message is None or "KVTransfer" not in r.message:
            continue
        ts = r.finished_ts
        if server.role == "decode":
            if mismatch:
                out.append(disagg.context_corruption(server, ts, r.rid, r.room, r.room + 13))
            if pages:
                out.append(disagg.page_mismatch(server, ts, 1, 16))
            reason = None
            if has(case, "peer-lost"):
                reason = disagg.down_reason(peer)
            elif "timed out" in r.message:
                reason = disagg.timed_out(r.room, 120.0, "WaitingForInput")
            what = "Decode handshake" if pages else "Decode transfer"
            out.append(disagg.failure(server, ts, 0, what, r.rid, r.room, reason))
        else:
            reason = disagg.timed_out(r.room, 300.0, "Bootstrapping") if "timed out" in r.message else None
            what = "Prefill bootstrap" if r.scheduled_ts is None else "Prefill transfer"
            out.append(disagg.failure(server, ts, 0, what, r.rid, r.room, reason))
    if server.role == "decode" and has(case, "peer-lost"):
        ts = case.base_ts + case.onset_s + 11.0
        hit = sum(r.state == "aborted" for r in seen.requests)
        out.append(disagg.peer_lost(server, ts, peer, hit))
    if has(case, "deferred-release") and server.role == "decode":
        out += [
            disagg.deferred_release(server, r.received_ts + HELD_S, r.room or 0, HELD_S)
            for r in seen.requests
            if r.state == "cancelled" and r.received_ts >= case.base_ts + case.onset_s
        ]
    if has(case, "staging") and server.role == "prefill":
        slow = [
            r
            for r in seen.requests
            if r.prefill_done_ts is not None and r.prefill_done_ts > case.base_ts + case.onset_s
        ]
        out += [
            disagg.staging_failed(server, r.prefill_done_ts or 0.0, r.room or 0, 0, r.prompt_tokens * 131072, 2**28)
            for r in slow[::6]
        ]
    return out


def health_lines(case: Case, seen: Seen) -> list[Line]:
    """A balancer asks for health; a server whose scheduler stands still fails after twenty seconds."""
    server = seen.server
    out: list[Line] = []
    hang_from = case.onset_s if has(case, "watchdog") else None
    t = max(0.0, seen.up_s) + 3.0
    while t < min(seen.gone_s, HORIZON_S):
        ts = case.base_ts + t
        if hang_from is not None and t > hang_from:
            out.append(life.health_failed(server, ts + 20, case.base_ts + hang_from))
            out.append(life.access_line(server, ts + 20, BALANCER, "GET", "/health", 503))
        else:
            out.append(life.access_line(server, ts, BALANCER, "GET", "/health", 200))
        t += HEALTH_EVERY_S
    if hang_from is not None:
        out += life.watchdog(server, case.base_ts + hang_from + 300.0, case.target if server.dp_size > 1 else 0)
    return out


def access_lines(seen: Seen) -> list[Line]:
    """One per request that was answered."""
    out: list[Line] = []
    for r in seen.requests:
        ts = answered_ts(r)
        if ts is not None:
            out.append(life.access_line(seen.server, ts, r.client, "POST", r.endpoint, r.status))
    return out


def backlog_lines(case: Case, seen: Seen) -> list[Line]:
    """Streams nobody takes (0.5.23)."""
    slow = strength(case, "slow_client")
    if not slow or seen.server.version != "0.5.23":
        return []
    out: list[Line] = []
    for r in seen.requests:
        inside = r.completed_ts is not None and r.completed_ts - case.base_ts >= case.onset_s
        if inside and r.stream and r.completion_tokens > 30 and r.client_name == affected_client(case, seen):
            out.append(
                life.backlog(seen.server, r.completed_ts or 0.0, r.rid, max(2, int(r.completion_tokens * slow * 4)))
            )
    return out


def affected_client(case: Case, seen: Seen) -> str | None:
    """The client of the affected class (the most frequent one where the class is everyone)."""
    return client_names(case)[int(case.rng("class").integers(0, CLIENTS))]


def server_lines(case: Case, seen: Seen) -> list[str]:
    """The whole log of one boot, in order of time."""
    server = seen.server
    end = case.base_ts + min(seen.gone_s, HORIZON_S)
    lines = startup_lines(server)
    lines += [batch_line(server, b) for b in seen.batches]
    lines += [retraction_line(server, r) for r in seen.retractions]
    lines += [time_stats_line(server, r) for r in seen.requests if r.completed_ts is not None]
    lines += access_lines(seen) + failure_lines(case, seen) + health_lines(case, seen) + backlog_lines(case, seen)
    if server.version == "0.5.3":
        lines += request_lines(seen.requests, seen)
    if case.fault.cause == "cache.flushed" and not case.healthy:
        every = case.strength(next(h.amount for h in case.fault.host if h.what == "flushes"))
        t = case.onset_s
        while t < HORIZON_S:
            lines += [life.flushed(server, case.base_ts + t, k) for k in range(server.dp_size)]
            t += every
    if has(case, "deploy-note"):
        ts = case.base_ts + case.onset_s - 1.5
        lines.append(
            Line(ts, f"{prefix(server, ts, 0)}Update engine weights online from disk begin. avail mem=11.02 GB")
        )
    lines += log_decoys(case, seen)
    kept = [line for line in lines if line.ts < end + 0.001]
    died = death_lines(case, seen)
    if seen.died == "restart":
        kept = [line for line in lines if line.ts < case.base_ts + seen.gone_s + 8.0]
    return [line.text for line in sorted([*kept, *died], key=lambda line: line.ts)]


def request_lines(requests: list[Request], seen: Seen) -> list[Line]:
    """Request-logger events of one boot, unsorted."""
    out = [received(seen.server, r) for r in requests]
    return out + [finished(seen.server, r) for r in requests if r.finished_ts is not None]
