"""One request root span, with the spans below it → one `records` row (and, for vLLM, stages without times)."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from ridgeline.signals.span import Span, seconds, whole

PROBE: Final = "HEALTH_CHECK"
NOT_CLOSED: Final = "unclosed span"
# With one of these on a root the request's parameters were written out: a missing max_tokens then means "none set".
PARAMETERS: Final = frozenset({"gen_ai.request.temperature", "gen_ai.request.max_tokens", "gen_ai.request.top_p"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a span stands in its tree; every part is None where the tree does not tell."""

    root: Span | None = None
    rid: str | None = None
    room: int | None = None
    role: str | None = None
    probe: bool | None = None
    level: str = "other"  # root | thread | slice | other
    dp_rank: int | None = None
    tp_rank: int | None = None
    stage: str | None = None

    def below(self, level: str, **changes: Any) -> "Place":
        """The place of a child: what it does not change it shares with its parent."""
        known = {name: value for name, value in changes.items() if value is not None}
        return replace(self, level=level, stage=known.pop("stage", None), **known)


def is_request(span: Span) -> bool:
    """True for the root span of one request of SGLang (`module`) or vLLM (`llm_request`)."""
    attrs = span.attrs
    if attrs.get("module") == "sglang::request" or span.name == "llm_request":
        return True
    return "rid" in attrs and "gen_ai.latency.e2e" in attrs


def request_id(span: Span) -> tuple[str | None, bool]:
    """(rid, is it a probe). The engine cuts prefixes off the attribute `rid`; gen_ai.request.id has the whole one."""
    rid, full = span.attrs.get("rid"), span.attrs.get("gen_ai.request.id")
    ident = full if full and (not rid or str(full).endswith(str(rid))) else rid or full
    return (str(ident) if ident else None), bool(ident) and str(ident).startswith(PROBE)


def record_of(
    span: Span, place: Place, members: Iterable[tuple[Span, Place]], steps: "array[int] | None"
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The columns of one `records` row, and stage rows that only a root of vLLM can give.

    `steps` are start/end pairs of decode steps in nanoseconds. SGLang's time_in_model_prefill counts from dispatch
    to the first token and so contains queueing: it is not taken as prefill time. vLLM's begins when scheduled.
    """
    attrs, get = span.attrs, span.attrs.get
    vllm = "rid" not in attrs
    ttft = seconds(get("gen_ai.latency.time_to_first_token"))
    e2e = seconds(get("gen_ai.latency.e2e"))
    start = span.start_ts
    finish = _finish(get("gen_ai.response.finish_reasons"))
    record: dict[str, Any] = {
        "kind": "span",
        "rid": place.rid,
        "room": place.room,
        "trace_id": span.trace or None,
        "role": place.role,
        "probe": place.probe,
        "dp_rank": place.dp_rank,
        "n": whole(get("gen_ai.request.n")),
        "prompt_tokens": whole(get("gen_ai.usage.prompt_tokens", get("gen_ai.usage.input_tokens"))),
        "completion_tokens": whole(get("gen_ai.usage.completion_tokens", get("gen_ai.usage.output_tokens"))),
        "cached_tokens": whole(get("gen_ai.usage.cached_tokens")),
        "max_new_tokens": whole(get("gen_ai.request.max_tokens")),
        "params_logged": True if PARAMETERS & attrs.keys() else None,
        "temperature": seconds(get("gen_ai.request.temperature")),
        "finish_reason": finish,
        "state": "finished" if finish or vllm else None,
        "received_ts": start,
        "first_token_ts": start + ttft if start is not None and ttft is not None else None,
        "finished_ts": start + e2e if start is not None and e2e is not None else span.end_ts,
        "ttft_s": ttft,
        "e2e_s": e2e,
        "decode_s": seconds(get("gen_ai.latency.time_in_model_decode")),
        "inference_s": seconds(get("gen_ai.latency.time_in_model_inference")),
        "queue_s": seconds(get("gen_ai.latency.time_in_queue")),
        "prefill_s": seconds(get("gen_ai.latency.time_in_model_prefill")) if vllm else None,
        "clock": "wall",
    }
    if finish == "abort":
        record["state"] = "aborted"
    _from_members(record, members)
    if steps:
        _gaps(record, steps)
    return record, _duration_stages(record) if vllm else []


def _from_members(record: dict[str, Any], members: Iterable[tuple[Span, Place]]) -> None:
    """Fill the record from thread and stage spans of the lowest TP rank that has them."""
    found: dict[str, tuple[Span, int]] = {}
    last: dict[str, int] = {}
    retractions: dict[str, int] = {}
    for span, place in sorted(members, key=lambda m: (m[1].tp_rank or 0, m[0].start_ns, m[0].line)):
        rank = place.tp_rank or 0
        key = span.parent if place.level == "slice" else span.span
        retractions[key] = retractions.get(key, 0) + sum(name == "retract" for _, name, _ in span.marks)
        if place.level == "thread":
            if place.dp_rank is not None and record["dp_rank"] is None:
                record["dp_rank"] = place.dp_rank
            reason = span.attrs.get("reason") or span.attrs.get("abort_info") or span.attrs.get("message")
            if span.error and record["state"] is None:
                text = str(reason) if reason else span.status
                record["state"] = "unfinished" if NOT_CLOSED in text else "aborted"
                record["abort_message"] = text or None
        elif place.level == "slice" and found.setdefault(span.name, (span, rank))[1] == rank:
            last[span.name] = max(last.get(span.name, 0), span.end_ns)
    if any(place.level == "thread" for _, place in members):
        record["retractions"] = max(retractions.values(), default=0)
    for name, column in DURATIONS.get(record["role"], ()):
        if name in found and record.get(column) is None:
            span = found[name][0]
            record[column] = (span.end_ns - span.start_ns) / 1e9 if span.end_ts and span.start_ts else None
    waiting, forward = found.get("prefill_waiting"), found.get("prefill_forward")
    if waiting:
        record["queued_ts"] = waiting[0].start_ts
    if forward:
        record["scheduled_ts"] = forward[0].start_ts
        record["prefill_done_ts"] = last["prefill_forward"] / 1e9 or None
    dispatch = found.get("api_server_dispatch") or found.get("dispatch")
    if dispatch:
        record["dispatched_ts"] = dispatch[0].end_ts


def _gaps(record: dict[str, Any], steps: "array[int]") -> None:
    """Longest and median gap between the ends of decode steps, as the scheduler saw them."""
    ends = sorted(steps[1::2])
    points = [min(steps[::2]), *ends]
    gaps = sorted(b - a for a, b in zip(points, ends, strict=False))
    record["itl_max_s"], record["itl_p50_s"] = gaps[-1] / 1e9, gaps[len(gaps) // 2] / 1e9
    record["last_token_ts"] = ends[-1] / 1e9


def _duration_stages(record: dict[str, Any]) -> list[dict[str, Any]]:
    shared = {name: record[name] for name in ("rid", "room", "role", "dp_rank", "probe", "clock")}
    pairs = (("prefill_waiting", "queue_s"), ("prefill_forward", "prefill_s"), ("decode_forward", "decode_s"))
    return [
        {**shared, "stage": stage, "duration_s": record[column], "basis": "duration-only"}
        for stage, column in pairs
        if record[column] is not None
    ]


def _finish(value: Any) -> str | None:
    """The first finish reason of a JSON list, a list or plain text."""
    if isinstance(value, str) and value[:1] in {"[", "{"}:
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return str(value)[:60]
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = value.get("type")
    return str(value)[:60] if value else None


DURATIONS: Final = {
    "unified": (("tokenize", "tokenize_s"), ("api_server_dispatch", "dispatch_s"), ("prefill_waiting", "queue_s")),
    "prefill": (
        ("tokenize", "tokenize_s"),
        ("api_server_dispatch", "dispatch_s"),
        ("prefill_bootstrap", "bootstrap_s"),
        ("prefill_waiting", "queue_s"),
        ("prefill_forward", "prefill_s"),
        ("prefill_transfer_kv_cache", "transfer_s"),
    ),
    "decode": (
        ("tokenize", "tokenize_s"),
        ("api_server_dispatch", "dispatch_s"),
        ("decode_bootstrap", "prealloc_s"),
        ("decode_transferred", "transfer_s"),
        ("decode_waiting", "queue_s"),
    ),
}
