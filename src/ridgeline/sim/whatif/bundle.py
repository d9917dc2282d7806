"""A simulated run as a bundle: `diagnose`, `sources` and `compare` read it as they read production.

Rows are those that the server's request log and batch lines would have given: requests, batches, servers, config,
retractions. Moments count from the first arrival of the traffic that was sampled, or from the first of January 2026.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.bundle.store import write_bundle
from ridgeline.bundle.view import view_of
from ridgeline.sim.engine import params as p
from ridgeline.sim.service import Service
from ridgeline.sim.settings import Settings, as_dict
from ridgeline.sim.summary import Moments, moments
from ridgeline.sim.timing import PS
from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.passes import charged, passes_of
from ridgeline.sim.whatif.run import effective, hooks_of
from ridgeline.sim.whatif.variants import plain

NO_DATE: Final = 1_767_225_600.0
"""Wall clock of time zero where the scenario has none."""
STATES: Final = {
    "open": "unfinished", "finished": "finished", "cancelled": "aborted", "queue-full": "rejected",
    "too-long": "rejected", "out-of-memory": "aborted", "timed-out": "aborted", "failed": "error",
    "no-worker": "rejected",
}  # fmt: skip
SOURCE: Final = {"source": 1, "line": None}
Row = dict[str, Any]


def write_run(basis: Basis, settings: Settings, out: Path, policies: Sequence[str] = (), seed: int = 0) -> None:
    """Simulate once more with every batch logged, and write the bundle.

    Raises:
        InputError: ``out`` holds something else, or cannot be written.
    """
    passes = passes_of(basis.scenario, basis.traffic, basis.settings, basis.way.request_s)
    scenario = charged(basis.burdened(), passes, settings)
    service = Service(
        effective(settings, basis.pool_held),
        basis.model,
        (),
        seed,
        hooks_of(policies),
        logging=True,
        room=max(scenario.n, 1),
    )
    service.push(scenario)
    service.run()
    origin = basis.traffic.origin_ts if basis.traffic else NO_DATE
    requests = request_rows(service, basis, origin)
    log = service.drain_log()
    batches = batch_rows(log, settings, origin)
    stamps = [row["received_ts"] for row in requests]
    tables: Mapping[str, Sequence[Row]] = {
        "sources": [{"source": 1, "path": "simulation", "kind": "simulation", "confidence": "certain",
                     "rows": len(requests) + len(batches), "unparsed": 0, "unparsed_errors": 0,
                     "from_ts": min(stamps, default=None), "to_ts": max(stamps, default=None), "clock": "wall",
                     "notes": [f"simulated, not recorded; time model: {basis.model.label}"]}],
        "servers": server_rows(settings, origin),
        "config": config_rows(settings),
        "records": [{**row, "kind": "simulation", "event": "finished"} for row in requests],
        "requests": requests,
        "batches": batches,
        "events": retraction_rows(log, settings, origin),
    }  # fmt: skip
    write_bundle(view_of(tables), (), out, keep_text=True)


def place_of(settings: Settings, worker: int) -> tuple[str, str]:
    """(name, role) of a server."""
    name = f"simulated-{worker}"
    if not settings.decode_workers:
        return name, "unified"
    return name, "decode" if worker >= settings.workers - settings.decode_workers else "prefill"


def server_rows(settings: Settings, origin: float) -> list[Row]:
    """One boot of each server."""
    return [
        {"server": name, "role": role, "engine": settings.engine, "version": settings.version, "boot_ts": origin - 60,
         "dp_size": settings.dp_size, "page_size": settings.page_size, "pool_tokens": settings.max_total_num_tokens,
         "max_running": settings.max_running_requests, "max_prefill_tokens": settings.max_prefill_tokens,
         "chunked_prefill_size": settings.chunked_prefill_size, "context_len": settings.context_length, **SOURCE}
        for name, role in (place_of(settings, w) for w in range(settings.workers))
    ]  # fmt: skip


def config_rows(settings: Settings) -> list[Row]:
    """Every setting, as launch arguments."""
    return [
        {"server": place_of(settings, w)[0], "key": key, "value": plain(value), "origin": "simulation", **SOURCE}
        for w in range(settings.workers)
        for key, value in as_dict(settings).items()
        if key not in ("engine", "version", "workers", "decode_workers")
    ]


def request_rows(service: Service, basis: Basis, origin: float) -> list[Row]:
    """One row of each request and side."""
    rows, told = service.requests(), moments(service, basis.way)
    out: list[Row] = []
    for side in range(service.each):
        out += side_rows(service, rows[side :: service.each], told, basis, origin, side)
    for number, row in enumerate(out, 1):
        row["request"] = number
    return out


def side_rows(
    service: Service, rows: NDArray[Any], told: Moments, basis: Basis, origin: float, side: int
) -> list[Row]:  # fmt: skip
    """The requests as one side saw them."""
    scenario, settings, way = basis.scenario, service.settings, basis.way
    arrival = scenario["arrival_ps"] / PS
    out: list[Row] = []
    for i, row in enumerate(rows):
        worker = int(row["worker"])
        if worker < 0:
            worker = 0
        name, role = place_of(settings, worker)
        state = STATES[p.OUTCOMES[int(row["outcome"])]]
        at = {k: origin + int(row[k]) / PS if 0 < int(row[k]) < p.FOREVER // 2 else None
              for k in ("queued", "start", "first", "finish")}  # fmt: skip
        received = origin + float(arrival[i])
        finished = None if at["finish"] is None else at["finish"] + way.back_s
        first = None if at["first"] is None else at["first"] + way.back_first_s
        done = state == "finished"
        rank = int(row["rank"]) % settings.dp_size if int(row["rank"]) >= 0 else None
        asked = int(scenario["dp_rank"][i])
        spans = ("ttft_s", "tpot_s", "e2e_s") if side == service.each - 1 else ()
        values = {k: none_or(told.values[k][i]) for k in spans}
        forward = None if at["finish"] is None or at["start"] is None else at["finish"] - at["start"]
        out.append({
            "rid": f"sim-{i:08d}", "room": i + 1 if service.each == 2 else None, "server": name, "role": role,
            "probe": False, "stream": True, "prompt_tokens": int(row["prompt"]), "params_logged": True,
            "max_new_tokens": int(scenario["max_new_tokens"][i]), "ignore_eos": bool(scenario["ignore_eos"][i]),
            "priority": int(scenario["priority"][i]), "routing_key": named("key", scenario["routing_key"][i]),
            "lora": named("adapter", scenario["lora"][i]), "dp_rank_asked": asked if asked >= 0 else None,
            "dp_rank": rank, "state": state, "finish_reason": reason_of(row, done),
            "completion_tokens": int(row["gen"]) if done else None, "cached_tokens": int(row["cached"]),
            "retractions": int(row["retractions"]), "received_ts": received, "queued_ts": at["queued"],
            "scheduled_ts": at["start"], "prefill_done_ts": at["first"], "first_token_ts": first,
            "last_token_ts": at["finish"] if done else None, "finished_ts": finished,
            "queue_s": gap(at["queued"], at["start"]), "prefill_s": gap(at["start"], at["first"]),
            "decode_s": gap(at["first"], at["finish"]) if done else None, "forward_s": forward if done else None,
            "pre_queue_s": gap(received, at["queued"]), "return_s": way.back_s if done else None, **values,
            "clock": "wall", "censored": state == "unfinished", "conflicts": 0, "kinds": ["simulation"], "source": 1,
            "line": i + 1,
        })  # fmt: skip
    return out


def none_or(value: float) -> float | None:
    """NaN as None."""
    return None if value != value else float(value)


def gap(since: float | None, until: float | None) -> float | None:
    """Seconds between two moments; None where one is unknown or they are in the wrong order."""
    return until - since if since is not None and until is not None and until >= since else None


def named(what: str, number: int) -> str | None:
    """A name for a number; 0 is none."""
    return f"{what}-{int(number)}" if number else None


def reason_of(row: Any, done: bool) -> str | None:
    """Why it ended."""
    if done:
        return "length" if int(row["gen"]) >= int(row["max_new"]) else "stop"
    return None if p.OUTCOMES[int(row["outcome"])] == "open" else "abort"


def batch_rows(log: NDArray[Any], settings: Settings, origin: float) -> list[Row]:
    """Prefill lines, and every so many decode steps one decode line, rank by rank."""
    out: list[Row] = []
    for rank in np.unique(log["rank"]).tolist():
        mine = log[log["rank"] == rank]
        decode = mine["kind"] == p.LOG_DECODE
        tokens = np.cumsum(np.where(decode, mine["v1"], 0))
        keep = (mine["kind"] == p.LOG_PREFILL) | (decode & (mine["v4"] % settings.decode_log_interval == 0))
        name, role = place_of(settings, rank // settings.dp_size)
        before = 0
        since: float | None = None
        since_prefill: float | None = None
        speed: float | None
        for at in np.flatnonzero(keep).tolist():
            row, now = mine[at], int(mine["t"][at]) / PS
            line: Row = {
                "server": name, "role": role, "ts": origin + now, "dp_rank": rank % settings.dp_size,
                "waiting": int(row["v6"]), "tokens": int(row["v8"]), "copies": 1,
                "usage": round(int(row["v8"]) / settings.max_total_num_tokens, 4), "shape": "simulation",
                "source": 1, "line": None,
            }  # fmt: skip
            if mine["kind"][at] == p.LOG_PREFILL:
                new = int(row["v1"])
                speed = None if since_prefill is None or now <= since_prefill else new / (now - since_prefill)
                since_prefill = now
                line |= {"kind": "prefill", "new_seq": int(row["v0"]), "new_tokens": new, "running": int(row["v3"]),
                         "cached_tokens": int(row["v2"]), "pending_tokens": int(row["v7"]),
                         "input_tps": speed}  # fmt: skip
            else:
                speed = None if since is None or now <= since else float(tokens[at] - before) / (now - since)
                before, since = int(tokens[at]), now
                line |= {"kind": "decode", "running": int(row["v0"]), "gen_tps": speed}
            out.append(line)
    return sorted(out, key=lambda r: (r["ts"], r["server"], r["dp_rank"], r["kind"]))


def retraction_rows(log: NDArray[Any], settings: Settings, origin: float) -> list[Row]:
    """Rounds in which running requests were put back."""
    rows = log[(log["kind"] == p.LOG_RETRACT) & (log["v0"] > 0)]
    return [
        {"server": place_of(settings, int(row["rank"]) // settings.dp_size)[0], "ts": origin + int(row["t"]) / PS,
         "kind": "retraction", "severity": "warning", "dp_rank": int(row["rank"]) % settings.dp_size, "copies": 1,
         "count": int(row["v0"]), "text": "requests put back", **SOURCE}
        for row in rows
    ]  # fmt: skip
