"""OTLP trace JSON of requests, one document a line, in the names of SGLang's own traces (SIGNALS §11.2).

Shape: https://opentelemetry.io/docs/specs/otlp/ (JSON encoding: camelCase, ids as hex, 64-bit integers as text).
A span is only written where both its stamps are known; the root also carries the durations that a source named.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

from ridgeline.bundle.view import View
from ridgeline.export.rows import counts, requests

SPANS_A_LINE: Final = 2_000
# The stage, and the two stamps that bound it.
STAGES: Final = (
    ("api_server_dispatch", "received_ts", "dispatched_ts"),
    ("prefill_waiting", "queued_ts", "scheduled_ts"),
    ("prefill_forward", "scheduled_ts", "prefill_done_ts"),
)
BY_ROLE: Final = {"prefill": "prefill Req", "decode": "decode Req"}
WORDS: Final = (
    ("gen_ai.usage.prompt_tokens", "prompt_tokens"), ("gen_ai.usage.completion_tokens", "completion_tokens"),
    ("gen_ai.usage.cached_tokens", "cached_tokens"), ("gen_ai.request.max_tokens", "max_new_tokens"),
    ("gen_ai.request.n", "n"), ("gen_ai.request.temperature", "temperature"),
    ("gen_ai.latency.time_to_first_token", "ttft_s"), ("gen_ai.latency.e2e", "e2e_s"),
    ("gen_ai.latency.time_in_queue", "queue_s"), ("gen_ai.latency.time_in_model_decode", "decode_s"),
    ("gen_ai.latency.time_in_model_inference", "inference_s"), ("bootstrap_room", "room"),
)  # fmt: skip
Span = dict[str, Any]


def write(view: View, out: IO[str]) -> tuple[int, int]:
    """(requests written, requests without an arrival, which have no place in time)."""
    timed, n, _ = counts(view)
    pending: dict[str, list[Span]] = {}
    written = held = 0
    for row in requests(view):
        spans = list(_spans(row))
        pending.setdefault(row["server"] or "server", []).extend(spans)
        written, held = written + 1, held + len(spans)
        if held >= SPANS_A_LINE:
            _flush(pending, out)
            held = 0
    _flush(pending, out)
    return written, n - timed


def _flush(pending: dict[str, list[Span]], out: IO[str]) -> None:
    if pending:
        parts = [
            {
                "resource": {"attributes": [_attribute("service.name", f"sglang {server}")]},
                "scopeSpans": [{"scope": {"name": "ridgeline"}, "spans": spans}],
            }
            for server, spans in sorted(pending.items())
        ]
        out.write(json.dumps({"resourceSpans": parts}, ensure_ascii=True) + "\n")
        pending.clear()


def _spans(row: Mapping[str, Any]) -> Iterator[Span]:
    rid = row["rid"] or f"request-{row['request']}"
    trace = _id(f"{row['room']}" if row["room"] is not None else f"{rid} {row['request']}", 16)
    root, thread = _id(f"root {row['request']} {rid}", 8), _id(f"thread {row['request']} {rid}", 8)
    end = row["finished_ts"] or row["last_token_ts"] or row["first_token_ts"] or row["received_ts"]
    attrs = [_attribute("module", "sglang::request"), _attribute("rid", rid)]
    attrs += [_attribute(name, row[column]) for name, column in WORDS if row[column] is not None]
    if row["finish_reason"] is not None:
        attrs.append(_attribute("gen_ai.response.finish_reasons", json.dumps([row["finish_reason"]])))
    name = f"{BY_ROLE.get(row['role'] or '', 'Req')} {rid[:8]}"
    yield {"traceId": trace, "spanId": root, "name": name, "kind": 2, **_times(row["received_ts"], end),
           "attributes": attrs}  # fmt: skip
    below = [_attribute("thread_label", "scheduler")]
    below += [_attribute("dp_rank", row["dp_rank"])] if row["dp_rank"] is not None else []
    # How often it was put back is known, when is not: OTLP writes an unknown time as 0.
    marks = [{"timeUnixNano": "0", "name": "retract"} for _ in range(min(row["retractions"] or 0, 1000))]
    yield {"traceId": trace, "spanId": thread, "parentSpanId": root, "name": "scheduler", "kind": 1,
           **_times(row["received_ts"], end), "attributes": below, "events": marks}  # fmt: skip
    for stage, start, stop in STAGES:
        if row[start] is not None and row[stop] is not None and row[stop] >= row[start]:
            yield {"traceId": trace, "spanId": _id(f"{stage} {row['request']} {rid}", 8), "parentSpanId": thread,
                   "name": stage, "kind": 1, **_times(row[start], row[stop]), "attributes": []}  # fmt: skip


def _times(start: float, end: float) -> dict[str, str]:
    return {"startTimeUnixNano": str(round(start * 1e9)), "endTimeUnixNano": str(round(max(start, end) * 1e9))}


def _id(text: str, size: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[: 2 * size]


def _attribute(key: str, value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"key": key, "value": {"boolValue": value}}
        case int():
            return {"key": key, "value": {"intValue": str(value)}}
        case float():
            return {"key": key, "value": {"doubleValue": value}}
        case _:
            return {"key": key, "value": {"stringValue": str(value)}}
