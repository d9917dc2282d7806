"""The log of a vLLM server: statistics every ten seconds, requests, access lines, the end."""

import numpy as np

from ridgeline.lab.case import HORIZON_S, Case
from ridgeline.lab.counters import answered_ts
from ridgeline.lab.decoys import log_decoys
from ridgeline.lab.emit import vllm_log
from ridgeline.lab.emit.model import Line
from ridgeline.lab.shown import Seen, present
from ridgeline.scenario.model import PS
from ridgeline.sim.engine import params as p


def stats_lines(case: Case, seen: Seen) -> list[Line]:
    """One line per engine every ten seconds while it does something."""
    out: list[Line] = []
    server = seen.server
    for rank, rows in enumerate(seen.rows):
        t = rows["t"] / PS
        prefill, step = rows["kind"] == p.LOG_PREFILL, rows["kind"] == p.LOG_DECODE
        mine = [r for r in seen.requests if (r.rank or 0) == rank and r.queued_ts is not None]
        queued = np.array([r.queued_ts - case.base_ts for r in mine if r.queued_ts is not None])
        start = np.array([np.nan if r.scheduled_ts is None else r.scheduled_ts - case.base_ts for r in mine])
        leave = np.array([np.nan if r.completed_ts is None else r.completed_ts - case.base_ts for r in mine])
        cached = np.array([r.cached_tokens for r in mine], np.float64)
        prompts = np.array([r.prompt_tokens for r in mine], np.float64)
        hits = queries = 0.0
        for moment in np.arange(max(seen.up_s, 0.0) + 10.0, min(seen.gone_s, HORIZON_S), 10.0).tolist():
            inside = (t > moment - 10.0) & (t <= moment)
            running = int(present(start, leave, np.array([moment]))[0])
            waiting = int(present(queued, start, np.array([moment]))[0])
            new = float(rows["v1"][inside & prefill].sum())
            looked_up = (start > moment - 10.0) & (start <= moment)
            hits += float(cached[looked_up].sum())
            queries += float(prompts[looked_up].sum())
            tokens = float(rows["v1"][inside & step].sum())
            if not inside.any() and not running and not waiting:
                continue
            before = np.flatnonzero(t <= moment)
            used = float(rows["v8"][before[-1]]) if len(before) and running else 0.0
            put_back = int(rows["v0"][inside & (rows["kind"] == p.LOG_PREEMPT)].sum())
            out.append(
                vllm_log.stats_line(
                    server,
                    vllm_log.Stats(case.base_ts + moment, rank, new / 10, tokens / 10, running, waiting, put_back,
                                   used / server.pool_tokens, hits / queries if queries else 0.0),
                )
            )  # fmt: skip
    return out


def vllm_lines(case: Case, seen: Seen) -> list[Line]:
    """The log of one boot after its start, unsorted."""
    server = seen.server
    lines = stats_lines(case, seen) + log_decoys(case, seen)
    for r in seen.requests:
        lines += [vllm_log.received_line(server, r), vllm_log.added_line(server, r)]
        ts = answered_ts(r)
        if ts is not None:
            lines.append(vllm_log.access_line(ts, r.client, r.endpoint, r.status))
        if r.state == "cancelled":
            lines.append(vllm_log.aborted_line(server, r.received_ts + 1.5, r.rid))
    end = case.base_ts + min(seen.gone_s, HORIZON_S)
    kept = [line for line in lines if line.ts < end]
    if seen.died == "exception":
        kept += vllm_log.died_lines(
            server, case.base_ts + seen.gone_s, "RuntimeError: shape '[17, 4096]' is invalid for input"
        )
    return kept
