"""Requests in order of arrival → columns, segments of shared prefixes, and what was observed of each."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.asked import Asked
from ridgeline.scenario.model import PS, make
from ridgeline.scenario.prefixes import segments_of
from ridgeline.scenario.traffic import OBSERVED, Floats, Traffic


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
    cache_off: bool = False,
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
        cache_off,
    )
    if cache_off and prefix == "groups":
        notes.append("the prefix cache was off: what prompts of a group share is taken as long as the shortest of them")
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
