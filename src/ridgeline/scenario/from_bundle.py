"""A view's requests → traffic: arrivals, lengths, limits, prefix evidence, and what was observed of each.

Server rows are the requests; a client's row of the same request fills what they lack. Three kinds of requests never
leave a finished record and yet held memory: those refused after a retraction, those whose client left, and the parts
of an n > 1 request; they are put back from what the client and the request log say. Requests turned away at the door
(no token, no stamp) are left out and counted in a note.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.bundle.view import View
from ridgeline.model.errors import InputError
from ridgeline.scenario.model import PS, make
from ridgeline.scenario.prefixes import heads_of, segments_of
from ridgeline.scenario.traffic import OBSERVED, Floats, Traffic

REQUESTS_SQL: Final = """
    SELECT
        rid, client_rid, parent_rid, choice, server, role, probe, state, endpoint, n, prompt_tokens, prompt_chars,
        max_new_tokens, params_logged, ignore_eos, priority, routing_key, lora, dp_rank_asked, dp_rank,
        completion_tokens, cached_tokens, retractions, received_ts, dispatched_ts, queued_ts, scheduled_ts,
        prefill_done_ts, first_token_ts, last_token_ts, finished_ts, queue_s, ttft_s, prefill_s, decode_s, tpot_s,
        e2e_s, forward_s, request
    FROM requests
    WHERE received_ts IS NOT NULL AND role IS DISTINCT FROM 'gateway'
    ORDER BY received_ts, request
"""
GROUPS_SQL: Final = """
    SELECT request, max(number)
    FROM request_attrs
    WHERE name = 'prefix_group' AND number IS NOT NULL
    GROUP BY request
"""
HASHES_SQL: Final = """
    SELECT rid, grain, hashes
    FROM prompts
    WHERE hashes IS NOT NULL AND grain > 0 AND unit IS DISTINCT FROM 'chars'
"""
CONTEXT_SQL: Final = "SELECT max(context_len), max(engine) FROM servers"

BOOTS_SQL: Final = "SELECT DISTINCT boot_ts FROM servers WHERE boot_ts IS NOT NULL ORDER BY boot_ts DESC"
FEWEST_SINCE_BOOT: Final = 40
"""Requests that a server's last life must have taken to be looked at alone."""

MOST_TOKENS: Final = (1 << 24) - 1
"""A count beyond this is damage, not a request."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """One request as the simulator needs it, with the row it was observed in (None: a part nobody recorded)."""

    rid: str
    arrival_ts: float
    prompt: int
    output: int
    max_new: int
    cancel_ts: float | None
    measured: bool
    row: Row | None
    client: Row | None
    guessed: bool = False  # its prompt length is that of its like
    part: bool = False  # of an n > 1 request, entering the scheduler later than its parent arrived


def traffic_of(view: View, whole: bool = False, side: str = "decode", infer: bool = False) -> Traffic:
    """The traffic of the busiest server that the view shows, or of all its servers together (``whole``).

    Of a server that was restarted, the last life. ``side``: which requests stand for a disaggregated service.
    ``infer``: where nothing better is known, take which prompts share a prefix from their routing keys and hits: a
    what-if on the cache needs to know, while a fit is better off with the hits themselves.

    Raises:
        InputError: no request has both an arrival and lengths.
    """
    rows = view.arrow(REQUESTS_SQL).to_pylist()
    notes: list[str] = []
    everyone = [row for row in rows if row["role"] != "client"]
    clients = [row for row in rows if row["role"] == "client"]
    servers = one_service(everyone, notes, whole, side)
    if len(servers) < len(everyone):
        # a client's row of a request that went elsewhere is no request of this server
        kept = {row["request"] for row in servers}
        here = {key for row in servers for key in keys_of(row)}
        away = {key for row in everyone if row["request"] not in kept for key in keys_of(row)} - here
        clients = [row for row in clients if not away.intersection(keys_of(row))]
    since = last_life([boot for (boot,) in view.query(BOOTS_SQL)], servers, notes)
    servers = [row for row in servers if row["received_ts"] >= since]
    clients = [row for row in clients if row["received_ts"] >= since]
    heads: dict[str, int] = {}
    if infer:
        heads = heads_of([row["routing_key"] for row in everyone], [row["cached_tokens"] for row in everyone])
    if side == "decode":
        servers = with_prefill(servers, everyone)
    context, engine = view.one(CONTEXT_SQL)
    asked = collect(servers, clients, context, engine, notes)
    if not asked:
        raise InputError("no request has an arrival, a prompt length and an output length: nothing to simulate")
    asked.sort(key=lambda a: (a.arrival_ts, a.rid))
    groups = dict(view.query(GROUPS_SQL))
    hashes = {rid: (grain, tuple(values)) for rid, grain, values in view.query(HASHES_SQL)}
    return assemble(asked, groups, hashes, heads, notes)


def with_prefill(rows: list[Row], everyone: list[Row]) -> list[Row]:
    """Rows of the decode side with what only the prefill side knows: what it found cached, and how long it waited."""
    other = {row["rid"]: row for row in everyone if row["role"] == "prefill" and row["rid"] is not None}
    if not other:
        return rows
    out = []
    for row in rows:
        seen = other.get(row["rid"]) if row["role"] == "decode" else None
        known = {k: seen[k] for k in ("cached_tokens", "queue_s") if seen[k] is not None} if seen else {}
        out.append({**row, **known, "queued_ts": None} if seen else row)
    return out


def keys_of(row: Row) -> list[str]:
    """The ids by which one request is known on either side."""
    return [row[name] for name in ("rid", "client_rid", "parent_rid") if row[name] is not None]


def last_life(boots: Sequence[float], rows: Sequence[Row], notes: list[str]) -> float:
    """When the last boot with enough requests took its first; before any request where the service never restarted."""
    for boot in boots:
        since = sum(row["received_ts"] >= boot for row in rows)
        if since == len(rows):
            break
        if since >= FEWEST_SINCE_BOOT:
            notes.append(f"{len(rows) - since} requests came before the last restart: left out")
            return boot
    return -math.inf


def one_service(rows: list[Row], notes: list[str], whole: bool, side: str) -> list[Row]:
    """Rows of the one server (or one side of a disaggregated pair) that saw most requests; of all, where ``whole``."""
    apart = [row for row in rows if row["role"] == side]
    if apart:
        if whole or side == "decode":
            notes.append(f"prefill and decode are apart: the {side} side's requests are the traffic")
        rows = apart
    names = sorted({str(row["server"]) for row in rows})
    if len(names) <= 1 or whole:
        return rows
    busiest = max(names, key=lambda name: (sum(str(row["server"]) == name for row in rows), name))
    notes.append(f"{len(names)} servers: only {busiest}, the one with most requests, is taken")
    return [row for row in rows if str(row["server"]) == busiest]


def collect(
    servers: list[Row], clients: list[Row], context: int | None, engine: str | None, notes: list[str]
) -> list[Asked]:
    """Every request that put work on the engine."""
    by_id: dict[str, Row] = {}
    for row in clients:
        for key in (row["client_rid"], row["rid"]):
            if key is not None:
                by_id.setdefault(key, row)
    rate = tokens_per_char([*servers, *clients])
    outputs = [row["completion_tokens"] for row in [*servers, *clients] if row["completion_tokens"]]
    usual = int(statistics.median(outputs)) if outputs else 1
    sizes = Sizes(rate, usual, context, usual_prompts(servers or clients))
    asked: list[Asked] = []
    seen: set[int] = set()
    turned_away = unknown = hidden = 0
    parts: dict[str, int] = {}
    for row in servers:
        client = next((by_id[k] for k in (row["rid"], row["client_rid"], row["parent_rid"]) if k in by_id), None)
        if client is not None:
            seen.add(client["request"])
            if row["choice"] is not None:
                parts[client["rid"]] = parts.get(client["rid"], 0) + 1
        if refused_at_the_door(row):
            turned_away += 1
            continue
        one = request_of(row, client, sizes)
        if one is None:
            unknown += 1
            continue
        asked.append(one)
    for row in clients:
        missing = (row["n"] or 1) - parts.get(row["rid"], 0)
        alone = row["request"] not in seen
        if alone and (refused_at_the_door(row) or (servers and row["state"] == "error")):
            turned_away += 1
            continue
        if not alone and ((row["n"] or 1) == 1 or row["rid"] not in parts or missing <= 0):
            continue
        one = request_of(row, row, sizes)
        if one is None:
            unknown += 1
            continue
        share = replace(one, output=max(1, one.output // max(1, row["n"] or 1)))
        if alone:
            asked.append(share if (row["n"] or 1) > 1 else one)
            missing -= 1
        # vLLM writes one part of an n > 1 request; its siblings ran beside it all the same
        asked.extend(
            replace(share, rid=f"{one.rid}#{k}", measured=False, row=None, client=None) for k in range(missing)
        )
        hidden += max(0, missing)
    if turned_away:
        notes.append(f"{turned_away} requests were turned away at the door (queue full, lost connections): left out")
    if unknown:
        notes.append(f"{unknown} requests name no prompt length: left out")
    guessed = sum(one.guessed for one in asked)
    if guessed:
        notes.append(f"{guessed} requests had not ended and name no prompt length: that of their like stands for it")
    if hidden:
        notes.append(f"{hidden} parts of n > 1 requests left no record: put back beside their sibling")
    if engine == "sglang" and any(row["max_new_tokens"] is None and not row["params_logged"] for row in servers):
        notes.append("max_new_tokens is not in the logs: the output length stands for it (log requests at level 1)")
    return asked


def refused_at_the_door(row: Row) -> bool:
    """Rejected or failed before the scheduler computed anything for it."""
    stamped = row["scheduled_ts"] is not None or row["first_token_ts"] is not None
    return row["state"] == "rejected" and not stamped and not row["completion_tokens"]


def tokens_per_char(rows: Sequence[Row]) -> float | None:
    """Median prompt tokens per prompt character."""
    rates = [r["prompt_tokens"] / r["prompt_chars"] for r in rows if r["prompt_tokens"] and r["prompt_chars"]]
    return statistics.median(rates) if rates else None


@dataclass(frozen=True)
class Sizes:
    """What stands for lengths that a row does not name: tokens per character, the usual output, the context, and the
    median prompt of those that ask for as many new tokens (under None: of all)."""

    rate: float | None
    output: int
    context: int | None
    prompts: dict[int | None, int]


def usual_prompts(rows: Sequence[Row]) -> dict[int | None, int]:
    """Median prompt per max_new_tokens, and of all under None."""
    found: dict[int | None, list[int]] = {}
    for row in rows:
        if (row["prompt_tokens"] or 0) > 0:
            for key in {None, row["max_new_tokens"]}:
                found.setdefault(key, []).append(row["prompt_tokens"])
    return {key: int(statistics.median(values)) for key, values in found.items()}


def request_of(row: Row, client: Row | None, sizes: Sizes) -> Asked | None:
    """The request behind one row; None where not even its prompt length is known.

    One that was still being served when the evidence ends holds its place all the same: its prompt is taken as usual,
    and it goes on to its limit.
    """
    rate, usual, context = sizes.rate, sizes.output, sizes.context
    both = (row, client or row)
    prompt = next((r["prompt_tokens"] for r in both if (r["prompt_tokens"] or 0) > 0), None)
    if prompt is None and rate is not None:
        chars = next((r["prompt_chars"] for r in both if r["prompt_chars"]), None)
        prompt = max(1, round(chars * rate)) if chars else None
    arrival = float(row["received_ts"])
    guessed = prompt is None and row["state"] in ("received", "unfinished") and not row["probe"]
    if guessed:
        prompt = sizes.prompts.get(row["max_new_tokens"], sizes.prompts.get(None))
    if prompt is None or prompt > MOST_TOKENS or not math.isfinite(arrival):
        return None
    if client is not None and arrival == int(arrival):
        arrival = float(client["received_ts"])  # a log that knows whole seconds only
    # SGLang first computes the shared prompt of n > 1, then hands the parts to the scheduler
    part = row["choice"] is not None and row["queued_ts"] is not None and row["queued_ts"] > arrival + 0.001
    if part:
        arrival = float(row["queued_ts"])
    finished = row["state"] == "finished"
    output = next((r["completion_tokens"] for r in both if r["completion_tokens"] is not None), None)
    limit = next((r["max_new_tokens"] for r in both if r["max_new_tokens"]), None)
    if limit is None:
        open_end = bool(row["params_logged"]) and context is not None
        limit = max(1, (context or 0) - prompt - 1) if open_end else max(output or usual, 1)
    cancel: float | None = None
    ends = [r["finished_ts"] for r in both if r["finished_ts"] is not None]
    if output is None or (output == 0 and not finished):
        output = limit
        if not finished and ends:
            cancel = max(float(min(ends)), arrival)
    elif row["state"] == "rejected" and ends:
        cancel = max(float(min(ends)), arrival)  # retracted into a full queue: it is gone from then on
    return Asked(
        str(row["rid"]), arrival, int(prompt), between(output), between(max(limit, output)), cancel,
        measured=finished and not row["probe"], row=row, client=client, part=part, guessed=guessed,
    )  # fmt: skip


def between(tokens: int) -> int:
    """A token count that a request can have."""
    return min(max(int(tokens), 1), MOST_TOKENS)


def stamps_of(one: Asked, origin: float) -> dict[str, float]:
    """What was observed of a request, by the names of `OBSERVED`; NaN where nobody said."""
    out = dict.fromkeys(OBSERVED, float("nan"))
    row = one.row
    if row is None:
        return out
    other = one.client or row

    def of(name: str, fallback: bool = True) -> float:
        value = row[name] if row[name] is not None else (other[name] if fallback else None)
        return float("nan") if value is None else float(value)

    for name in ("queue_s", "cached_tokens", "retractions", "dp_rank"):
        out[name] = of(name)
    if one.measured:
        out["tpot_s"] = of("tpot_s")
        if not one.part:
            out["ttft_s"], out["e2e_s"] = of("ttft_s"), of("e2e_s")
    scheduled = of("scheduled_ts", False)
    queued = of("queued_ts", False)
    first = of("prefill_done_ts", False)
    if np.isnan(first):
        first = of("first_token_ts", False)
    if np.isnan(scheduled) and row["prefill_s"] is not None:
        scheduled = first - float(row["prefill_s"])
    last = of("last_token_ts", False)
    if row["forward_s"] is not None and not row["retractions"]:
        if np.isnan(scheduled):
            scheduled = of("finished_ts", False) - float(row["forward_s"])  # the way back is a few milliseconds
        last = scheduled + float(row["forward_s"])
    if np.isnan(last) and row["decode_s"] is not None:
        last = first + float(row["decode_s"])
    if np.isnan(queued):
        queued = scheduled - out["queue_s"]
    out["queued"], out["scheduled"] = queued - origin, scheduled - origin
    out["first"], out["last"] = first - origin, last - origin
    return out


def usual_where_guessed(cached: Floats, guessed: NDArray[np.bool_]) -> Floats:
    """Cached tokens, with the median for requests that never got to tell theirs."""
    known = cached[~np.isnan(cached)]
    if len(known) == 0 or not guessed.any():
        return cached
    return np.where(guessed & np.isnan(cached), float(np.median(known)), cached)


def shared_groups(asked: Sequence[Asked], groups: dict[int, float]) -> list[int | None]:
    """Numbers of the prefix groups: the client's group, apart for each endpoint (their templates begin differently)."""
    keys: list[str | None] = []
    for one in asked:
        rows = [row for row in (one.row, one.client) if row is not None]
        group = next((groups[row["request"]] for row in rows if row["request"] in groups), None)
        endpoint = next((row["endpoint"] for row in reversed(rows) if row["endpoint"] is not None), "")
        keys.append(None if group is None else f"{group} {endpoint}")
    return [number or None for number in number_of(keys)]


def number_of(texts: Sequence[str | None]) -> list[int]:
    """Texts as small numbers from 1 in order of appearance; 0 for none."""
    ids: dict[str, int] = {}
    return [0 if text is None else ids.setdefault(text, len(ids) + 1) for text in texts]


def assemble(
    asked: Sequence[Asked],
    groups: dict[int, float],
    hashes: dict[str, tuple[int, tuple[int, ...]]],
    heads: dict[str, int],
    notes: list[str],
) -> Traffic:
    """Columns and segments of requests that are in order of arrival."""
    origin = asked[0].arrival_ts
    stamps = [stamps_of(one, origin) for one in asked]
    observed: dict[str, Floats] = {name: np.array([s[name] for s in stamps]) for name in OBSERVED}
    names = [str(one.row["server"]) if one.row and one.row["server"] is not None else None for one in asked]
    places = {name: number for number, name in enumerate(sorted({n for n in names if n is not None}))}
    observed["server"] = np.array([np.nan if name is None else float(places[name]) for name in names])

    def column(name: str, default: int) -> list[int]:
        return [default if a.row is None or a.row[name] is None else int(a.row[name]) for a in asked]

    ids = [[k for k in (a.rid.split("#")[0], *((a.client["rid"], a.client["client_rid"]) if a.client else ())) if k]
           for a in asked]  # fmt: skip
    prefix, segments = segments_of(
        [a.prompt for a in asked],
        usual_where_guessed(observed["cached_tokens"], np.array([a.guessed for a in asked])),
        shared_groups(asked, groups),
        [next((hashes[k] for k in keys if k in hashes), None) for keys in ids],
        [a.row["routing_key"] if a.row else None for a in asked],
        heads,
    )
    if prefix == "keys":
        notes.append("which prompts share a prefix is inferred: requests of one routing key hit equally far")
    if prefix == "none":
        notes.append("nothing shows which prompts share a prefix: sharing is ignored, the pool's effective size fitted")
    scenario = make(
        {
            "arrival_ps": np.array([round((a.arrival_ts - origin) * PS) for a in asked]),
            "input_tokens": np.array([a.prompt for a in asked]),
            "output_tokens": np.array([a.output for a in asked]),
            "max_new_tokens": np.array([a.max_new for a in asked]),
            "cancel_ps": np.array(
                [0 if a.cancel_ts is None else max(1, round((a.cancel_ts - origin) * PS)) for a in asked]
            ),
            "ignore_eos": np.array(column("ignore_eos", 0)),
            "priority": np.array(column("priority", 0)),
            "dp_rank": np.array(column("dp_rank_asked", -1)),
            "routing_key": np.array(number_of([a.row["routing_key"] if a.row else None for a in asked])),
            "lora": np.array(number_of([a.row["lora"] if a.row else None for a in asked])),
        },
        segments,
        source="the requests of the evidence",
    )
    return Traffic(
        scenario,
        tuple(a.rid for a in asked),
        origin,
        observed,
        np.array([a.measured for a in asked], np.bool_),
        tuple(str(a.row["state"]) if a.row else "hidden" for a in asked),
        prefix,
        tuple(notes),
    )
