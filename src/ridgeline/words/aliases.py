"""Names as the literature, old releases and habit have them → the real name of one version (`resolve`).

Whatever a user types for a metric, stage, field, argument, endpoint or batch-line key is looked up here; the
answer carries the name that this version really has, the table column, and what to beware of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from ridgeline.words.fields import FIELDS, Field
from ridgeline.words.launch import SGLANG_ARGS, choices_in, launch_arg
from ridgeline.words.logkeys import LOG_KEYS
from ridgeline.words.metrics import METRICS, Metric, canonical_metric, metric, names_for
from ridgeline.words.stages import STAGES, canonical_stage
from ridgeline.words.versions import Engine, Span

WordKind = Literal["metric", "stage", "field", "argument", "endpoint", "log-key"]


@dataclass(frozen=True, slots=True)
class Word:
    """What a name means. `canonical` is the vocabulary's own name, `real` the one this version emits.

    `real` is None where the version certainly has no such thing; `present` is None where the releases read
    cannot tell. `column` is the bundle column or shared word that holds it.
    """

    asked: str
    kind: WordKind
    canonical: str
    real: str | None
    present: bool | None
    column: str | None
    note: str = ""


# alias (lower case) → kind, canonical name, note. SIGNALS §1.3, §2.5, §7, §8.
_ALIASES: Final[dict[str, tuple[WordKind, str, str]]] = {
    "num_running": ("metric", "num_running_reqs", ""),
    "running_requests": ("metric", "num_running_reqs", ""),
    "num_waiting": ("metric", "num_queue_reqs", "the scheduler's waiting queue alone"),
    "waiting_requests": ("metric", "num_queue_reqs", "the scheduler's waiting queue alone"),
    "num_queued_reqs": ("metric", "num_queue_reqs", ""),
    "queue_length": ("metric", "num_queue_reqs", ""),
    "num_waiting_reqs": ("metric", "num_waiting_reqs", "only in /get_load and /v1/loads; PD queues included"),
    "kv_usage": ("metric", "token_usage", "locked KV only"),
    "kv_cache_usage": ("metric", "token_usage", "locked KV only"),
    "cache_hit_ratio": ("metric", "cache_hit_rate", "last prefill batch only"),
    "prefix_cache_hit_ratio": ("metric", "cache_hit_rate", "last prefill batch only"),
    "prefix_cache_hit_rate": ("metric", "cache_hit_rate", "last prefill batch only"),
    "ttft": ("metric", "time_to_first_token_seconds", ""),
    "ttft_seconds": ("metric", "time_to_first_token_seconds", ""),
    "time_to_first_token": ("metric", "time_to_first_token_seconds", ""),
    "itl": ("metric", "inter_token_latency_seconds", ""),
    "itl_seconds": ("metric", "inter_token_latency_seconds", ""),
    "inter_token_latency": ("metric", "inter_token_latency_seconds", ""),
    "tpot": ("metric", "request_time_per_output_token_seconds", "per request; 0.5.23"),
    "tpot_seconds": ("metric", "request_time_per_output_token_seconds", "per request; 0.5.23"),
    "e2e_latency_seconds": ("metric", "e2e_request_latency_seconds", ""),
    "e2e_req_latency_seconds": ("metric", "e2e_request_latency_seconds", ""),
    "queue_time": ("metric", "queue_time_seconds", "first wait only"),
    "throughput": ("metric", "gen_throughput", "of decode, last report"),
    "retractions": ("metric", "num_retracted_requests", ""),
    "retracted_requests": ("metric", "num_retracted_requests", ""),
    "preemptions": ("metric", "num_retracted_requests", "SGLang retracts, vLLM preempts"),
    "transfer_speed": ("metric", "kv_transfer_speed_gb_s", ""),
    "kv_transfer_speed": ("metric", "kv_transfer_speed_gb_s", ""),
    "kv_transfer_latency": ("metric", "kv_transfer_latency_ms", ""),
    "decode_prealloc": ("stage", "decode_bootstrap", "handshake and the wait for KV space together"),
    "decode_preallocation": ("stage", "decode_bootstrap", "handshake and the wait for KV space together"),
    "decode_transfer": ("stage", "decode_transferred", "prefill's queueing and compute are inside"),
    "prefill_transfer": ("stage", "prefill_transfer_kv_cache", ""),
    "prefill_queue": ("stage", "prefill_waiting", ""),
    "waiting_queue": ("stage", "prefill_waiting", ""),
    "loadbalancemethod": ("argument", "load_balance_method", ""),
    "load_balance_policy": ("argument", "load_balance_method", ""),
    "schedulepolicy": ("argument", "schedule_policy", ""),
    "schedule_policy": ("argument", "schedule_policy", ""),
    "conservativeness": ("argument", "schedule_conservativeness", ""),
    "mem_fraction": ("argument", "mem_fraction_static", ""),
    "max_batch_size": ("argument", "max_running_requests", ""),
    "get_internal_state": ("endpoint", "/server_info", "no such route: internal_states is inside this answer"),
    "internal_state": ("endpoint", "/server_info", "no such route: internal_states is inside this answer"),
    "get_server_info": ("endpoint", "/server_info", ""),
    "server_info": ("endpoint", "/server_info", ""),
    "get_load": ("endpoint", "/v1/loads", ""),
    "v1/loads": ("endpoint", "/v1/loads", ""),
    "loads": ("endpoint", "/v1/loads", ""),
    "get_model_info": ("endpoint", "/model_info", ""),
    "model_info": ("endpoint", "/model_info", ""),
    "health_generate": ("endpoint", "/health_generate", "a probe may pass while real requests hang"),
    "health": ("endpoint", "/health", "static up to 0.4.10: says nothing of the scheduler there"),
    "data_parallel_rank": ("field", "dp_rank_asked", ""),
    "dp_rank_requested": ("field", "dp_rank_asked", ""),
    "total_retractions": ("field", "retractions", ""),
    "num_retractions": ("field", "retractions", ""),
}

# Endpoint → (path, releases that answer it), newest first.
ENDPOINTS: Final[dict[str, tuple[tuple[str, Span], ...]]] = {
    "/v1/loads": (("/v1/loads", Span("0.5.9")), ("/get_load", Span("0.4.10", "0.5.9"))),
    "/server_info": (("/server_info", Span("0.5.6")), ("/get_server_info", Span(None, "0.5.9"))),
    "/model_info": (("/model_info", Span("0.5.9")), ("/get_model_info", Span())),
    "/health": (("/health", Span()),),
    "/health_generate": (("/health_generate", Span()),),
    "/metrics": (("/metrics", Span()),),
}
_PREFIX: Final[dict[Engine, str]] = {"sglang": "sglang:", "vllm": "vllm:", "gateway": "smg_"}
_LOADS_ONLY: Final = ("num_waiting", "num_total_", "num_active_", "num_prealloc_ready", "max_running_requests",
                      "disagg_", "queues_", "memory_", "lora_slots", "lora_utilization", "total_prefill_")  # fmt: skip


def resolve(name: str, version: str | None = None, engine: Engine = "sglang") -> Word | None:
    """What a name means in that version; None if the vocabulary has nothing of the kind.

    Accepts any spelling: literature names, either prefix, old and new names, log keys (`#queue-req`),
    arguments (`--max-running-requests`), endpoint paths, stage names, request fields.
    """
    asked = name.strip()
    key = asked.lower().strip("/").replace("-", "_") if not asked.startswith("#") else asked
    alias = _ALIASES.get(key)
    if asked.startswith("/"):
        path = "/" + key
        return _endpoint(asked, alias[1] if alias else path, version, alias[2] if alias else "")
    if alias is not None:
        kind, canonical, note = alias
        if kind == "metric":
            return _metric(asked, _same_word(metric(canonical), engine), version, note)
        if kind == "stage":
            return _stage(asked, canonical, version, note)
        if kind == "argument":
            return _argument(asked, canonical, version, engine, note)
        if kind == "endpoint":
            return _endpoint(asked, canonical, version, note)
        return _field(asked, canonical, version, note)
    if asked.startswith("--"):
        return _argument(asked, asked, version, engine, "")
    for text in (asked, _PREFIX[engine] + asked):
        entry = canonical_metric(text)
        if entry is not None:
            return _metric(asked, entry, version, "")
    if canonical_stage(asked) is not None:
        return _stage(asked, asked, version, "")
    return _log_key(asked, version) or _argument(asked, key, version, engine, "") or _field(asked, key, version, "")


def _same_word(entry: Metric, engine: Engine) -> Metric:
    """The other engine's metric for the same word, where it has one."""
    if engine == entry.engine or entry.word is None:
        return entry
    names = names_for(entry.word, engine)
    # vLLM has no hit-rate gauge since its first releases: the ratio of two counters takes its place.
    name = "prefix_cache_hits" if (entry.word, engine) == ("hit_rate", "vllm") else names[0] if names else None
    return metric(name, engine) if name else entry


def _metric(asked: str, entry: Metric, version: str | None, note: str) -> Word:
    own = entry.name + ("_total" if entry.kind == "counter" else "")
    prefix = "sglang_" if entry.engine == "sglang" and entry.name.startswith(_LOADS_ONLY) else _PREFIX[entry.engine]
    present = entry.span.has(version, entry.engine) if version else True
    real: str | None = prefix + own
    if version and present is not True:
        for old in entry.names:
            if old.span.has(version, entry.engine):
                real, present = prefix + old.raw, True
    for old in entry.names if version else ():
        # The present name may be younger than the metric: then the old one is what that version emits.
        bounded = old.span.until is not None and not old.note.startswith("a name of 2024")
        if bounded and old.span.has(version, entry.engine):
            real = prefix + old.raw
    if present is False:
        real = None
    said = "; ".join(text for text in (note, entry.trap) if text)
    return Word(asked, "metric", entry.name, real, present, entry.word, said)


def _stage(asked: str, name: str, version: str | None, note: str) -> Word | None:
    stage = canonical_stage(name)
    if stage is None:
        return None
    present = stage.span.has(version) if version else True
    # The short dispatch names are those of 0.5.6 and 0.5.9.
    old = bool(version and stage.old_names and Span("0.5.6", "0.5.9").has(version))
    real = None if present is False else stage.old_names[0] if old else stage.name
    said = "; ".join(text for text in (note, stage.trap) if text)
    return Word(asked, "stage", stage.name, real, present, "stage", said)


def _argument(asked: str, name: str, version: str | None, engine: Engine, note: str) -> Word | None:
    entry = launch_arg(name, engine)
    if entry is None:
        return None
    present = entry.span.has(version, engine) if version else True
    words = choices_in(entry, version)
    said = "; ".join(text for text in (note, entry.meaning, ("one of " + ", ".join(words)) if words else "") if text)
    return Word(asked, "argument", entry.name, None if present is False else entry.flag, present, "config", said)


def _endpoint(asked: str, canonical: str, version: str | None, note: str) -> Word | None:
    routes = ENDPOINTS.get(canonical)
    if routes is None:
        return None
    if version is None:
        return Word(asked, "endpoint", canonical, routes[0][0], True, None, note)
    answers = [(path, span.has(version)) for path, span in routes]
    for wanted in (True, None):
        for path, has in answers:
            if has is wanted:
                return Word(asked, "endpoint", canonical, path, wanted, None, note)
    return Word(asked, "endpoint", canonical, None, False, None, note)


def _fits(field: Field, version: str | None) -> bool | None:
    return field.span.has(version) if version else True


def _field(asked: str, name: str, version: str | None, note: str) -> Word | None:
    """A request field or meta_info key, asked for by its raw name or by its column."""
    everything = [field for kind in ("request", "sampling", "meta") for field in FIELDS[kind]]
    wanted = next((f.column for f in everything if f.raw == name), None) or name
    fields = [field for field in everything if field.column == wanted]
    if not fields:
        return None
    best = next((f for f in fields if _fits(f, version)), None) or next(
        (f for f in fields if _fits(f, version) is None), None
    )
    said = "; ".join(text for text in (note, best.note if best else "") if text)
    return Word(asked, "field", wanted, best.raw if best else None, _fits(best, version) if best else False, wanted,
                said)  # fmt: skip


def _log_key(asked: str, version: str | None) -> Word | None:
    keys = [key for key in LOG_KEYS if key.raw == asked]
    if not keys:
        return None
    column = keys[0].column
    if len({key.column for key in keys}) > 1:
        note = "; ".join(f"{key.only} server: {key.column}" for key in keys)
        present = any(key.span.has(version) for key in keys) if version else True
        return Word(asked, "log-key", asked, asked if present else None, present, None, note)
    same = [key for key in LOG_KEYS if key.column == column and key.only == keys[0].only and column is not None]
    real = next((key.raw for key in (*keys, *same) if not version or key.span.has(version)), None)
    present_here = keys[0].span.has(version) if version else True
    return Word(asked, "log-key", column or asked, real, True if real else present_here, column, keys[0].note)


def known_names() -> tuple[str, ...]:
    """Every alias, stage, metric and argument name, sorted: for a "did you mean"."""
    names = {*_ALIASES, *(s.name for s in STAGES), *(m.name for m in METRICS), *(a.name for a in SGLANG_ARGS)}
    return tuple(sorted(names))
