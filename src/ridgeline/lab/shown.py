"""From a played case to what each server saw: emit records of requests and batches, boot by boot."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.lab.case import HORIZON_S, WARM_S, Case
from ridgeline.lab.emit.meta import hash_text
from ridgeline.lab.emit.model import Batch, Request, Retraction, Server
from ridgeline.lab.emit.startup import LOAD_S
from ridgeline.lab.front import after_stalls, returned, stalls
from ridgeline.lab.people import (
    DECODE_LOG_INTERVAL,
    adapter_names,
    extra_keys,
    input_ids,
    output_ids,
    rid_of,
    schema_text,
    server_of,
)
from ridgeline.lab.play import Ran, Side
from ridgeline.lab.traffic import ENDPOINTS, client_names, tenant_keys
from ridgeline.scenario.model import PS
from ridgeline.sim.engine import params as p

Column = NDArray[Any]
FIRST_S: Final = 0.0016
"""From the scheduler's first token to its leaving the API server, seconds."""
MESSAGES: Final = {
    p.QUEUE_FULL: ("rejected", 503, "The request queue is full."),
    p.TOO_LONG: ("rejected", 400, "The input is longer than the model's context length or the KV pool."),
    p.OUT_OF_MEMORY: ("aborted", 500, "Out of memory even after retracting all other requests in the decode batch."),
    p.TIMED_OUT: ("aborted", 500, "KVTransferError: timed out"),
    p.FAILED: ("aborted", 500, "KVTransferError: transfer failed"),
    p.NO_WORKER: ("rejected", 503, "No worker available."),
}


@dataclass(frozen=True)
class Seen:
    """One server in one boot. ``rows``: engine log rows per DP rank; ``index``: the request number of each request.

    ``up_s`` and ``gone_s``: when it could first take requests and when it ended, in virtual seconds.
    """

    server: Server
    up_s: float
    gone_s: float
    requests: list[Request]
    index: list[int]
    rows: list[Column]
    batches: list[Batch]
    retractions: list[Retraction]
    died: str | None


def accept_at(case: Case, settings_accept: float, t: float) -> float:
    """Mean accepted length at a moment."""
    if case.healthy or not case.onset_s <= t < case.end_s:
        return settings_accept
    for change in case.fault.changes:
        if change.parameter == "accept_length":
            return max(1.0, settings_accept * case.strength(change.times))
    return settings_accept


BUSY: Final = 96.0
"""Per cent of a step in which the device runs where the scheduler's own work hides behind it."""


def occupancy_at(case: Case, server: Server, t: float, step_s: float) -> float | None:
    """What the device timer (0.5.23, switched on here) says of the steps before ``t``, per cent."""
    if server.version != "0.5.23" or server.engine != "sglang":
        return None
    idle = 0.0
    if case.fault.cause == "queue.scheduler-overhead" and not case.healthy and case.onset_s <= t < case.end_s:
        idle = sum(case.strength(change.plus) for change in case.fault.changes)
    noise = (hash_text(f"{case.seed}:{round(t * 1000)}") % 300) / 100
    return max(2.0, BUSY * max(step_s - idle, 0.0) / max(step_s, 1e-6) - noise)


def present(enter: Column, leave: Column, t: Column) -> Column:
    """How many are in at each moment of ``t``; a NaN leave never happened."""
    a = np.sort(enter[~np.isnan(enter)])
    b = np.sort(leave[~np.isnan(leave) & ~np.isnan(enter)])
    count: Column = np.searchsorted(a, t, "right") - np.searchsorted(b, t, "right")
    return np.maximum(count, 0)


def wall(case: Case, value: float) -> float | None:
    """Virtual seconds as wall seconds; NaN as None."""
    return None if value != value else case.base_ts + float(value)


def finish_of(gen: int, asked: int, context: int, prompt: int) -> str:
    """stop | length, as the limits say."""
    limit = asked if asked > 0 else context - prompt - 1
    return "length" if gen >= limit else "stop"


def address_of(client: int, serial: int) -> str:
    """Where a request's connection comes from."""
    return f"10.9.{client}.{1 + serial % 5}:{40000 + serial % 20000}"


def level_two(case: Case) -> bool:
    """Whether the request logger of this case writes token ids (decided by seed alone)."""
    # the text form of 0.5.3 with ids would be tens of megabytes of one-line reprs
    return case.version != "0.5.3" and not case.pd and case.unit("level") < 0.25


def build_requests(
    ran: Ran, k: int, side: Side, role: str, server: Server, mine: Column, done: Column
) -> list[Request]:
    """Records of one server's requests; ``done``: when the last piece left the API server (virtual seconds)."""
    case, rows, path = ran.case, ran.rows, ran.path
    keys, clients, adapters, extras = tenant_keys(case), client_names(case), adapter_names(case), extra_keys(case)
    settings = ran.boots[k].settings
    ids = level_two(case)
    windows = stalls(case)
    s, c = side.stamp, side.count
    first_seen = after_stalls(s["first"] + FIRST_S, windows)
    aborts_here = any(f.what == "abort" for f in case.fault.front) and not case.healthy
    out: list[Request] = []
    for i in mine.tolist():
        outcome = int(c["outcome"][i])
        gen = int(c["gen"][i])
        storage = int(rows["storage_tokens"][i])
        started = s["start"][i] == s["start"][i]
        prompt = int(rows["prefix_tokens"][i] + rows["unique_tokens"][i])
        asked = int(rows["max_new"][i])
        state, status, message, finish = "open", 200, None, None
        finished = done[i]
        if ran.boot[i] == -2:
            state, status, message = "rejected", 400, "temperature must be non-negative"
            finished = float("nan")
        elif outcome == p.FINISHED:
            state, finish = "finished", finish_of(gen, asked, settings.context_length, prompt)
            if role == "prefill":
                finish = "length"
        elif outcome == p.CANCELLED:
            state, finished = "cancelled", float("nan")
            if aborts_here and bool(rows["affected"][i]):
                state, status, finish = "aborted", 500, "abort"
                message = (
                    f"Grammar accept_token failed for req {rid_of(case, int(rows['serial'][i]))} with token 128009"
                )
                finished = s["finish"][i] + 0.002
        elif outcome in MESSAGES:
            state, status, message = MESSAGES[outcome]
            finish, finished = "abort", s["finish"][i] + 0.002
        dispatched = s["dispatch"][i]
        queued = s["queued"][i]
        entry = queued if role != "unified" else float("nan")
        boot_done = alloc_done = moved = float("nan")
        mb = rate = None
        accept = None
        if settings.speculative_num_draft_tokens and started:
            accept = round(accept_at(case, settings.speculative_accept_length, float(s["start"][i])), 3)
        scheduled, prefilled = s["start"][i], s["first"][i]
        if role == "prefill" and ran.back is not None:
            boot_done = min(max(ran.back.stamp["start"][i], queued), scheduled) if started else float("nan")
            queued = boot_done
            moved = s["finish"][i] if outcome == p.FINISHED else float("nan")
            if moved == moved:
                mb = prompt * settings.kv_bytes_per_token / 2**20
                rate = mb / 1024 / max(moved - prefilled, 1e-4)
        elif role == "decode":
            boot_done = min(entry + settings.handshake_s, s["start"][i]) if started else float("nan")
            alloc_done = s["start"][i]
            # the engine joins a transferred request at its next iteration: transfer and last wait end together
            moved = s["first"][i] - 0.0004 if prefilled == prefilled else float("nan")
            scheduled, queued = prefilled, moved
        tokens = input_ids(int(rows["tenant"][i]), int(rows["prefix_tokens"][i]), int(rows["unique_tokens"][i]),
                           int(rows["drift"][i]), i) if ids else None  # fmt: skip
        out.append(
            Request(
                rid=rid_of(case, int(rows["serial"][i])),
                role=role,
                rank=int(c["rank"][i]) - int(c["worker"][i]) * case.dp_size
                if case.dp_size > 1 and c["rank"][i] >= 0
                else None,
                asked_rank=int(rows["rank"][i]) if rows["rank"][i] >= 0 and not rows["placed"][i] else None,
                endpoint=ENDPOINTS[int(rows["endpoint"][i])],
                client=address_of(int(rows["client"][i]), int(rows["serial"][i])),
                client_name=clients[int(rows["client"][i])],
                stream=bool(rows["stream"][i]),
                prompt_tokens=prompt,
                completion_tokens=(1 if role == "prefill" else gen) if started else 0,
                cached_tokens=int(c["cached"][i]) + (storage if started else 0),
                max_new_tokens=asked if asked > 0 else None,
                ignore_eos=bool(rows["ignore_eos"][i]),
                temperature=-1.0 if ran.boot[i] == -2 else 0.7,
                state=state,
                finish=finish,
                message=message,
                status=status,
                received_ts=case.base_ts + float(path.received_s[i]),
                tokenized_ts=wall(case, dispatched - 0.0003),
                dispatched_ts=wall(case, dispatched),
                queued_ts=wall(case, queued),
                scheduled_ts=wall(case, scheduled),
                prefill_done_ts=wall(case, prefilled),
                first_token_ts=wall(case, min(first_seen[i], finished) if finished == finished else first_seen[i]),
                completed_ts=wall(case, s["finish"][i]) if outcome == p.FINISHED else None,
                finished_ts=wall(case, finished),
                queue_s=max(0.0, float(scheduled - queued)) if scheduled == scheduled and queued == queued else 0.0,
                retractions=int(c["retractions"][i]),
                room=10_000_000_000 + int(rows["serial"][i]) if case.pd else None,
                lora=adapters[int(rows["lora"][i])] or None,
                routing_key=keys[int(rows["tenant"][i])],
                priority=int(rows["priority"][i]) if rows["priority"][i] >= 0 else None,
                schema=schema_text(case, int(rows["schema"][i])),
                extra_key=extras[int(rows["space"][i])] or None,
                modality="image" if rows["image"][i] else None,
                input_ids=tokens,
                output_ids=output_ids(int(rows["serial"][i]), gen) if ids else None,
                storage_wait_s=float(rows["storage_us"][i]) / 1e6 if started else 0.0,
                storage_tokens=storage if started else 0,
                accept_length=accept,
                bootstrap_entry_ts=wall(case, entry),
                bootstrap_done_ts=wall(case, boot_done),
                alloc_done_ts=wall(case, alloc_done),
                transfer_done_ts=wall(case, moved),
                transfer_mb=mb,
                transfer_gb_s=rate,
                trace=int(rows["serial"][i]) % 8 == 0,
            )
        )
    return out


def queue_counts(side: Side, mine: Column, role: str, t: Column) -> dict[str, Column]:
    """Lengths of the queues of a disaggregated role at moments ``t``."""
    s = {name: side.stamp[name][mine] for name in ("queued", "start", "first", "finish")}
    if role == "prefill":
        left = np.where(np.isnan(s["start"]), s["finish"], s["start"])
        return {"before": present(s["queued"], left, t), "inflight": present(s["first"], s["finish"], t)}
    left = np.where(np.isnan(s["start"]), s["finish"], s["start"])
    joined = np.where(np.isnan(s["first"]), s["finish"], s["first"])
    return {"prealloc": present(s["queued"], left, t), "transfer": present(s["start"], joined, t)}


def build_batches(
    ran: Ran, side: Side, server: Server, settings: Any, rank: int, rows: Column, mine: Column
) -> list[Batch]:
    """The batches a rank's log tells of: every prefill, and every fortieth decode step."""
    case = ran.case
    if len(rows) == 0:
        return []
    t = rows["t"] / PS
    kind = rows["kind"]
    graph_off = any(h.what == "graph-off" for h in case.fault.host) and not case.healthy
    is_decode = kind == p.LOG_DECODE
    tokens = np.cumsum(np.where(is_decode, rows["v1"], 0))
    keep = (kind == p.LOG_PREFILL) | (is_decode & (rows["v4"] % DECODE_LOG_INTERVAL == 0))
    apart = queue_counts(side, mine, server.role, t) if server.role != "unified" else {}
    out: list[Batch] = []
    last_prefill, last_tokens, last_decode, before = t[0] - 1.0, 0, t[0] - 1.0, 0
    for at in np.flatnonzero(keep).tolist():
        row = rows[at]
        now = float(t[at])
        used = int(row["v8"])
        if kind[at] == p.LOG_PREFILL:
            new = int(row["v1"])
            tps = (new if server.version == "0.5.23" else last_tokens) / max(now - last_prefill, 1e-3)
            last_prefill, last_tokens = now, new
            bootstrap = max(0, int(apart["before"][at]) - int(row["v6"])) if server.role == "prefill" else 0
            out.append(
                Batch(
                    case.base_ts + now,
                    rank,
                    "prefill",
                    int(row["v3"]),
                    int(row["v6"]),
                    used,
                    tps,
                    False,
                    new_seq=int(row["v0"]),
                    new_tokens=new,
                    cached_tokens=int(row["v2"]),
                    pending_tokens=int(row["v7"]),
                    bootstrap=bootstrap,
                    inflight=int(apart["inflight"][at]) if server.role == "prefill" else 0,
                )
            )
            continue
        tps = float(tokens[at] - before) / max(now - last_decode, 1e-3)
        before, last_decode = int(tokens[at]), now
        accept = None
        if settings.speculative_num_draft_tokens:
            accept = accept_at(case, settings.speculative_accept_length, now)
        running = int(row["v0"])
        graph = running <= 64 and not (graph_off and case.onset_s <= now < case.end_s)
        out.append(
            Batch(case.base_ts + now, rank, "decode", running, int(row["v6"]), used, tps, graph,
                  prealloc=int(apart["prealloc"][at]) if server.role == "decode" else 0,
                  transfer=int(apart["transfer"][at]) if server.role == "decode" else 0,
                  accept_length=accept, draft_tokens=settings.speculative_num_draft_tokens,
                  occupancy=occupancy_at(case, server, now, running / max(tps, 1e-3)))
        )  # fmt: skip
    return out


def build_retractions(case: Case, rank: int, rows: Column) -> list[Retraction]:
    """Rounds of retraction a rank's log tells of."""
    out: list[Retraction] = []
    for at in np.flatnonzero(rows["kind"] == p.LOG_RETRACT).tolist():
        gained = max(0, int(rows["v8"][at - 1]) - int(rows["v8"][at])) if at else 0
        after = int(rows["v1"][at]) / 1e9
        before = max(0.0001, after * 0.6)
        count = int(rows["v0"][at])
        if count:
            out.append(Retraction(case.base_ts + float(rows["t"][at]) / PS, rank, count, gained, before, after))
    return out


def seen(ran: Ran) -> list[Seen]:
    """Every server of the case in every boot, workers in order within a boot."""
    case = ran.case
    out: list[Seen] = []
    completed = [np.where(side.count["outcome"] == p.FINISHED, side.stamp["finish"], np.nan)
                 for side in (ran.front, ran.back) if side is not None]  # fmt: skip
    done = [returned(case, ran.rows, completed[0], ran.front.count["gen"], ran.front.count["worker"])]
    if ran.back is not None:
        done.append(returned(case, ran.rows, completed[1], ran.back.count["gen"], ran.back.count["worker"]))
    for k, life in enumerate(ran.boots):
        up = life.from_s if k else -WARM_S
        ends = life.to_s
        for w in range(case.workers):
            server = server_of(case, life, k, w, case.base_ts + up - LOAD_S)
            side_at = 1 if case.pd and server.role == "decode" else 0
            side = ran.back if side_at and ran.back is not None else ran.front
            took = (ran.boot == k) & (side.count["worker"] == w) & ~np.isnan(side.stamp["dispatch"])
            if w == 0 and side_at == 0:
                took |= (ran.boot == -2) & (ran.path.received_s >= life.from_s) & (ran.path.received_s < life.to_s)
            mine = np.flatnonzero(took)
            log = ran.logs[k]
            rows = [log[log["rank"] == w * case.dp_size + r] for r in range(case.dp_size)]
            batches: list[Batch] = []
            retractions: list[Retraction] = []
            for r, own in enumerate(rows):
                on_rank = mine[side.count["rank"][mine] == w * case.dp_size + r]
                batches += build_batches(ran, side, server, life.settings, r, own, on_rank)
                retractions += build_retractions(case, r, own)
            died = ran.stop[1] if ran.stop is not None and k == 0 else None
            if died is None and k + 1 < len(ran.boots):
                died = "restart"
            out.append(
                Seen(server, up, ends, build_requests(ran, k, side, server.role, server, mine, done[side_at]),
                     mine.tolist(), rows, batches, retractions, died if ends < HORIZON_S else None)
            )  # fmt: skip
    return out
