"""Plain JSON records with times, one request each: whatever a team's own load generator wrote.

Keys are taken by their usual names (below). Two sides of a disaggregated pair in one record (`decode_*`, `prefill_*`)
give one row: sent when the first side was, answered by decode. A planned time beside the actual one tells how far the
generator itself lagged (`send_lag_s`).
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from ridgeline.signals.client.record import (
    RELATIVE_LAG,
    WALL_FROM,
    count,
    ended,
    error_text,
    first_of,
    gaps,
    number,
    per_token,
    stamp,
    timed,
)
from ridgeline.signals.rows import Reading

SERVER_IDS: Final = ("server_ids", "server_id", "response_id")
OWN_IDS: Final = ("client_rid", "rid", "request_id", "x_request_id", "id")
SENT: Final = ("send_ts", "sent_ts", "start_ts", "start_time", "request_start", "start", "prefill_send_ts")
FIRST: Final = ("first_chunk_ts", "first_token_ts", "first_token_time", "decode_first_ts")
LAST: Final = ("last_chunk_ts", "last_token_ts", "last_token_time", "decode_last_ts")
END: Final = ("end_ts", "end_time", "finish_ts", "finished_ts", "request_end", "decode_end_ts")
PROMPT: Final = ("prompt_tokens", "input_tokens", "prompt_len", "input_len", "isl")
OUTPUT: Final = ("completion_tokens", "output_tokens", "output_len", "osl")
LIMITS: Final = ("max_tokens", "max_new_tokens", "max_completion_tokens")
ERRORS: Final = ("stream_error", "error", "error_body", "exception")
STATUS: Final = ("status", "status_code", "http_status", "decode_status")
# Durations a record may state itself: (key, seconds per unit), used where no times give them.
TTFTS: Final = (("ttft_s", 1.0), ("ttft_ms", 1e-3), ("ttft", 1.0), ("time_to_first_token", 1.0))
E2ES: Final = (
    ("e2e_s", 1.0),
    ("latency_s", 1.0),
    ("e2e_ms", 1e-3),
    ("latency_ms", 1e-3),
    ("latency", 1.0),
    ("e2e", 1.0),
)
GAPS: Final = (("itl_ms", 1e-3), ("itl_s", 1.0), ("itl", 1.0), ("itls", 1.0), ("inter_token_latencies", 1.0))
MAX_GAPS: Final = (("max_gap_ms", 1e-3), ("max_gap_s", 1.0))
CHUNK_TIMES: Final = ("chunk_ts", "chunk_times", "token_times")
PLANNED: Final = ("planned_ts", "scheduled_ts", "intended_ts", "planned_at")


def _words(text: str) -> list[str]:
    return text.split()


# Never kept as an attribute: texts, counters of the file itself, and what has a column.
SILENT: Final = frozenset(
    (
        *SERVER_IDS,
        *OWN_IDS,
        *SENT,
        *FIRST,
        *LAST,
        *END,
        *PROMPT,
        *OUTPUT,
        *LIMITS,
        *ERRORS,
        *STATUS,
        *PLANNED,
        *(name for table in (TTFTS, E2ES, GAPS, MAX_GAPS) for name, _ in table),
        *_words(
            "i index prompt prompt_text text output generated_text response "
            "messages resp_headers_ts success aborted client_aborted endpoint stream n "
            "prompt_chars room bootstrap_room priority finish_reason chunks decode_id decode_chunks "
            "decode_send_ts prefill_id prefill_status prefill_chunks prefill_first_ts prefill_last_ts prefill_end_ts"
        ),
    )
)
ATTR_LIMIT: Final = 20
ATTR_CHARS: Final = 120


def record_of(values: Mapping[str, Any], reading: Reading) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """(columns, attributes) of one record; None where it holds no time, duration, status or length of a request."""
    sent, first, last, end = (stamp(first_of(values, names), reading) for names in (SENT, FIRST, LAST, END))
    other = stamp(values.get("decode_send_ts"), reading)
    if sent is not None and other is not None and "prefill_send_ts" in values:
        sent = min(sent, other)
    usage = _mapping(first_of(values, ("usage", "decode_usage")))
    meta = _mapping(first_of(values, ("meta_info", "decode_meta")))
    status = count(first_of(values, STATUS))
    if all(found is None for found in (sent, end, status)) and _duration(values, (*TTFTS, *E2ES)) is None:
        return None
    made = timed(sent, first, last, end, reading)
    for column, table in (("ttft_s", TTFTS), ("e2e_s", E2ES)):
        if made[column] is None:
            made[column] = _duration(values, table)
    made |= _identity(values)
    made |= _lengths(values, usage, meta)
    chunks = count(first_of(values, ("chunks", "decode_chunks")))
    made["chunks"] = chunks or None
    made["tpot_s"] = per_token(first, last, made["completion_tokens"])
    made |= _gaps(values, chunks, reading)
    made |= _ending(values, meta, status, end)
    return made, _attributes(values, sent)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _duration(values: Mapping[str, Any], table: tuple[tuple[str, float], ...]) -> float | None:
    found = ((number(values.get(name)), unit) for name, unit in table)
    return next((value * unit for value, unit in found if value is not None and value >= 0), None)


def _identity(values: Mapping[str, Any]) -> dict[str, Any]:
    """The server's id where the client saw it, the client's own beside it where it differs."""
    own = _id(first_of(values, OWN_IDS))
    server = first_of(values, SERVER_IDS)
    server = _id(server[0] if isinstance(server, list) and server else server)
    rid = server or own
    endpoint = values.get("endpoint")
    stream = values.get("stream")
    return {
        "rid": rid,
        "client_rid": own if own != rid else None,
        "room": count(first_of(values, ("room", "bootstrap_room"))),
        "endpoint": endpoint if isinstance(endpoint, str) else None,
        "stream": stream if isinstance(stream, bool) else None,
        "n": count(values.get("n")),
        "priority": count(values.get("priority")),
    }


def _id(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) or None


def _lengths(values: Mapping[str, Any], usage: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    details = _mapping(usage.get("prompt_tokens_details"))
    limit = [name for name in LIMITS if name in values]
    return {
        # 0 stands in the usage of a request that was refused: no prompt has no tokens
        "prompt_tokens": _either(usage.get("prompt_tokens"), first_of(values, PROMPT), meta.get("prompt_tokens"))
        or None,
        "completion_tokens": _either(
            usage.get("completion_tokens"), first_of(values, OUTPUT), meta.get("completion_tokens")
        ),
        "cached_tokens": _either(details.get("cached_tokens"), values.get("cached_tokens"), meta.get("cached_tokens")),
        "reasoning_tokens": _either(usage.get("reasoning_tokens"), values.get("reasoning_tokens")),
        "prompt_chars": count(values.get("prompt_chars")),
        "max_new_tokens": count(first_of(values, limit)),
        "params_logged": True if limit else None,
    }


def _either(*values: Any) -> int | None:
    return next((found for value in values if (found := count(value)) is not None), None)


def _gaps(values: Mapping[str, Any], chunks: int | None, reading: Reading) -> dict[str, Any]:
    made: dict[str, Any] = {}
    times = first_of(values, CHUNK_TIMES)
    if isinstance(times, list):
        at = [found for value in times if (found := stamp(value, reading)) is not None]
        made |= gaps([b - a for a, b in pairwise(at)], 1.0, chunks, reading)
    for name, unit in GAPS:
        if not made:
            made |= gaps(values.get(name), unit, chunks, reading)
    longest = _duration(values, MAX_GAPS)
    if longest is not None:
        made["itl_max_s"] = longest
    return made


def _ending(
    values: Mapping[str, Any], meta: Mapping[str, Any], status: int | None, end: float | None
) -> dict[str, Any]:
    reason = first_of(values, ("finish_reason",))
    reason = meta.get("finish_reason") if reason is None else reason
    error = next((text for name in ERRORS if (text := error_text(values.get(name)))), None)
    stopped = meta.get("finish_reason")
    if error is None and isinstance(stopped, dict) and stopped.get("type") == "abort":
        error = error_text(stopped) or "abort"
    reason = reason.get("type") if isinstance(reason, dict) else reason
    if error is None and values.get("success") is False:
        error = "not successful"
    aborted = values.get("client_aborted") is True or values.get("aborted") is True or reason == "abort"
    done = reason is not None or end is not None or values.get("success") is True
    made = ended(status, error, aborted, done)
    made["finish_reason"] = str(reason)[:40] if reason is not None else None
    return made


def _attributes(values: Mapping[str, Any], sent: float | None) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in sorted(values):
        value = values[name]
        plain = isinstance(value, bool | int) or (isinstance(value, str) and len(value) <= ATTR_CHARS)
        if name not in SILENT and plain and len(made) < ATTR_LIMIT:
            made[name] = value
    planned = number(first_of(values, PLANNED))
    if planned is not None and sent is not None:
        # A plan in seconds from the start of the run is compared with the run's own start later.
        same = (planned >= WALL_FROM) == (sent >= WALL_FROM)
        made["send_lag_s" if same else RELATIVE_LAG] = sent - planned
    return made
