"""A view's requests → traffic: which server's rows stand for it, since when, and what they come to."""

import math
from collections.abc import Sequence
from typing import Final

from ridgeline.bundle.view import View
from ridgeline.model.errors import InputError
from ridgeline.scenario.asked import Row, collect
from ridgeline.scenario.assembled import assemble
from ridgeline.scenario.prefixes import heads_of
from ridgeline.scenario.traffic import Traffic

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

CACHE_OFF_SQL: Final = """
    SELECT coalesce(bool_or(
        (replace(key, '-', '_') = 'disable_radix_cache' AND lower(value) IN ('true', '1'))
        OR (replace(key, '-', '_') = 'enable_prefix_caching' AND lower(value) IN ('false', '0'))
    ), false)
    FROM config
"""
BOOTS_SQL: Final = "SELECT DISTINCT boot_ts FROM servers WHERE boot_ts IS NOT NULL ORDER BY boot_ts DESC"
FEWEST_SINCE_BOOT: Final = 40
"""Requests that a server's last life must have taken to be looked at alone."""


def traffic_of(
    view: View, whole: bool = False, side: str = "decode", infer: bool = False, refused: bool = False
) -> Traffic:
    """The traffic of the busiest server that the view shows, or of all its servers together (``whole``).

    Of a server that was restarted, the last life. ``side``: which requests stand for a disaggregated service.
    ``infer``: where nothing better is known, take which prompts share a prefix from their routing keys and hits: a
    what-if on the cache needs to know, while a fit is better off with the hits themselves. ``refused``: with those that
    a full queue turned away, as they would have been served (never measured).

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
    asked = collect(servers, clients, context, engine, notes, refused)
    if not asked:
        raise InputError("no request has an arrival, a prompt length and an output length: nothing to simulate")
    asked.sort(key=lambda a: (a.arrival_ts, a.rid))
    groups = dict(view.query(GROUPS_SQL))
    hashes = {rid: (grain, tuple(values)) for rid, grain, values in view.query(HASHES_SQL)}
    (cache_off,) = view.one(CACHE_OFF_SQL)
    return assemble(asked, groups, hashes, heads, notes, cache_off)


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
