"""Rows of servers and clients → the requests that put work on the engine.

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


def collect(
    servers: list[Row], clients: list[Row], context: int | None, engine: str | None, notes: list[str],
    refused: bool = False,
) -> list[Asked]:  # fmt: skip
    """Every request that put work on the engine; with ``refused`` also those that a full queue turned away at the
    door, as they would have been served."""
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
        at_the_door = refused_at_the_door(row)
        if at_the_door and not refused:
            turned_away += 1
            continue
        one = as_served(row, client, sizes) if at_the_door else request_of(row, client, sizes)
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
    guessed = prompt is None and row["state"] in ("received", "unfinished", "rejected") and not row["probe"]
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


def as_served(row: Row, client: Row | None, sizes: Sizes) -> Asked | None:
    """A request that a full queue turned away, as it would have been served: nobody took it back, and its answer would
    have been as long as usual."""
    one = request_of({**row, "completion_tokens": None, "finished_ts": None}, client and {**client, "completion_tokens":
                     None, "finished_ts": None}, sizes)  # fmt: skip
    return one and replace(one, output=min(one.output, sizes.output), cancel_ts=None, row=row, client=client)


def between(tokens: int) -> int:
    """A token count that a request can have."""
    return min(max(int(tokens), 1), MOST_TOKENS)
