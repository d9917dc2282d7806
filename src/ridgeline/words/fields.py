"""Request fields, meta_info keys, time-stats keys, load fields and trace attributes → canonical columns.

Columns are those of `model.tables`. A key may have no column: it is then known and deliberately not kept.
`scale` turns the source's unit into the column's (milliseconds into seconds, and so on).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ridgeline.words.versions import ALWAYS, Span


@dataclass(frozen=True, slots=True)
class Field:
    """One key of one kind of record. `clock` is set where the value is a time that is not wall seconds."""

    raw: str
    column: str | None
    scale: float = 1.0
    span: Span = ALWAYS
    clock: str | None = None
    note: str = ""


_FROM_523: Final = Span("0.5.23")
_IN_56_59: Final = Span("0.5.6", "0.5.9")
_MS: Final = 1e-3

# fmt: off
# obj of request.received/finished, request_parameters of the exporter, GenerateReqInput of a dump.
REQUEST_FIELDS: Final[tuple[Field, ...]] = (
    Field("rid", "rid", note="may be a list: n > 1 or a batch; the parts get rids of their own"),
    Field("stream", "stream"),
    Field("n", "n"),
    Field("return_logprob", "logprobs"),
    Field("logprobs", "logprobs"),
    Field("lora_path", "lora", note="may be a list"),
    Field("lora_id", None),
    Field("bootstrap_room", "room", note="room 0 with the fake host is a health check"),
    Field("routed_dp_rank", "dp_rank_asked", span=_FROM_523),
    Field("data_parallel_rank", "dp_rank_asked", span=Span("0.4.10")),
    Field("disagg_prefill_dp_rank", None, span=_FROM_523),
    Field("routing_key", "routing_key", span=Span("0.5.9")),
    Field("extra_key", "extra_key"),
    Field("cache_salt", "extra_key", span=_FROM_523, note="its own namespace beside extra_key"),
    Field("session_id", "session_id", span=_FROM_523),
    Field("conversation_id", "session_id"),
    Field("priority", "priority"),
    Field("user", "user"),
    Field("require_reasoning", "reasoning"),
    Field("received_time", None, clock="varies", note="monotonic in 0.5.23, wall in 0.5.9: not a stamp to trust"),
    Field("received_time_perf", None, clock="monotonic"),
    Field("model", None),
    Field("tools", "tools_set", note="true where not empty"),
    Field("tool_choice", None),
    Field("response_format", "schema_set", note="true for json_schema, json_object, structural_tag"),
    Field("max_tokens", "max_new_tokens"),
    Field("max_completion_tokens", "max_new_tokens"),
    Field("temperature", "temperature"),
    Field("ignore_eos", "ignore_eos"),
    Field("stop", "stop_set", note="true where not empty"),
)

# sampling_params inside obj.
SAMPLING_FIELDS: Final[tuple[Field, ...]] = (
    Field("max_new_tokens", "max_new_tokens"),
    Field("max_tokens", "max_new_tokens"),
    Field("max_completion_tokens", "max_new_tokens"),
    Field("temperature", "temperature"),
    Field("ignore_eos", "ignore_eos"),
    Field("n", "n"),
    Field("stop", "stop_set", note="true where not empty"),
    Field("stop_token_ids", "stop_set", note="true where not empty"),
    Field("stop_regex", "stop_set", note="true where not empty"),
    Field("regex", "regex_set", note="also schema_set"),
    Field("json_schema", "schema_set", note="hash it into schema_hash"),
    Field("ebnf", "schema_set"),
    Field("structural_tag", "schema_set"),
    Field("logprobs", "logprobs"),
)

# out.meta_info, and the same keys at the top of an exporter record.
META_FIELDS: Final[tuple[Field, ...]] = (
    Field("id", "rid"),
    Field("prompt_tokens", "prompt_tokens", note="missing when aborted in the queue: unknown, not 0"),
    Field("completion_tokens", "completion_tokens"),
    Field("cached_tokens", "cached_tokens"),
    Field("reasoning_tokens", "reasoning_tokens", span=_FROM_523),
    Field("num_retractions", "retractions", span=_FROM_523),
    Field("total_retractions", "retractions", span=Span(None, "0.5.9")),
    Field("dp_rank", "dp_rank", span=_FROM_523, note="the rank that served it; null without DP"),
    Field("e2e_latency", "e2e_s"),
    Field("queue_time", "queue_s", note="metrics on; 0.5.9: first wait, 0.5.23: sum of all waits"),
    Field("first_token_latency", "ttft_s", span=_FROM_523),
    Field("inference_time", "inference_s", span=_IN_56_59),
    Field("request_received_ts", "received_ts"),
    Field("request_sent_to_scheduler_ts", "dispatched_ts", span=_IN_56_59),
    Field("api_server_dispatch_finish_ts", "dispatched_ts", span=_FROM_523),
    Field("forward_entry_time", "scheduled_ts", span=_FROM_523, note="wall seconds"),
    Field("prefill_finished_time", "prefill_done_ts", span=_FROM_523, note="wall seconds; absent on PD decode"),
    Field("prefill_finished_ts", "prefill_done_ts", span=_IN_56_59),
    Field("decode_finished_ts", "finished_ts", span=_IN_56_59, note="equals received + e2e_latency"),
    Field("request_finished_ts", "finished_ts", span=_FROM_523),
    Field("response_sent_to_client_ts", "response_sent_ts", note="the first chunk when streaming"),
    Field("prefill_launch_delay", None, span=_IN_56_59),
    Field("prefill_launch_latency", None, span=_IN_56_59),
    Field("storage_prefetch_wait", "storage_wait_s", span=_FROM_523, note="null: not measured"),
    Field("storage_staging_wait", None, span=_FROM_523),
    Field("decode_throughput", None, note="tokens/s after the first; 0.5.9 divides N, 0.5.23 N-1"),
    Field("spec_accept_length", "spec_accept_length"),
    Field("spec_accept_rate", None),
    Field("spec_verify_ct", None),
    Field("weight_version", None),
)

# cached_tokens_details inside meta_info: present only when something was cached.
CACHED_DETAILS: Final[tuple[Field, ...]] = (
    Field("device", "cached_device_tokens"),
    Field("host", "cached_host_tokens"),
    Field("storage", "cached_storage_tokens"),
)

# ReqTimeStats: keys of the head, then of the body (durations print in ms).
TIME_STATS_HEAD: Final[tuple[Field, ...]] = (
    Field("rid", "rid"),
    Field("bootstrap_room", "room"),
    Field("input_len", "prompt_tokens"),
    Field("input len", "prompt_tokens", span=Span(None, "0.5.9")),
    Field("cached_input_len", "cached_tokens", span=_FROM_523),
    Field("output_len", "completion_tokens"),
    Field("output len", "completion_tokens", span=Span(None, "0.5.9")),
    Field("attempts", "attempts", span=_FROM_523),
    Field("type", "role"),
)
TIME_STATS_BODY: Final[tuple[Field, ...]] = (
    Field("queue_duration", "queue_s", _MS, note="0.5.23: all waits; before: wrong or negative after a retraction"),
    Field("forward_duration", "forward_s", _MS, note="first forward to completion, re-queues and decode included"),
    Field("bootstrap_queue_duration", "bootstrap_s", _MS, note="holds alloc_wait and bootstrap in 0.5.6-0.5.9"),
    Field("bootstrap_duration", "bootstrap_s", _MS),
    Field("bootstrap", None, _MS, span=_IN_56_59, note="the part inside the queue duration"),
    Field("alloc_wait", "alloc_wait_s", _MS, span=_IN_56_59),
    Field("alloc_wait_duration", "alloc_wait_s", _MS, span=_FROM_523),
    Field("other", None, _MS, span=_IN_56_59),
    Field("prealloc_duration", "prealloc_s", _MS, span=Span(None, "0.5.3")),
    Field("prealloc_queue_duration", "prealloc_s", _MS),
    Field("transfer_duration", "transfer_s", _MS, note="decode: holds prefill's queueing and compute"),
    Field("transfer_speed", "transfer_gb_s"),
    Field("transfer_total", "transfer_mb"),
    Field("#retries", "attempts", span=Span("0.5.9", "0.5.9")),
    Field("start_time", None, clock="varies", note="wall up to 0.4.10, monotonic in 0.5.3"),
    Field("start", None, clock="monotonic", span=_IN_56_59),
    Field("entry_time", "queued_ts", span=_FROM_523,
          note="wall; last waiting-queue entry (unified), bootstrap or prealloc entry (PD): no queue entry there"),
    Field("bootstrap_done_time", None, span=_FROM_523, note="wall"),
)

# One element of `loads` in /v1/loads and of /get_load → columns of the table `loads`.
LOAD_FIELDS: Final[tuple[Field, ...]] = (
    Field("timestamp", "snapshot_ts"),
    Field("ts_tic", None, clock="monotonic", span=Span("0.5.9", "0.5.9")),
    Field("dp_rank", "dp_rank"),
    Field("num_running_reqs", "running"),
    Field("num_waiting_reqs", "waiting", note="PD queues included: not num_queue_reqs"),
    Field("num_waiting_uncached_tokens", "waiting_uncached_tokens", span=_FROM_523),
    Field("num_used_tokens", "used_tokens"),
    Field("num_total_tokens", "total_tokens", span=_FROM_523),
    Field("num_tokens", "total_tokens", span=Span("0.5.3", "0.5.9"), note="/get_load"),
    Field("max_total_num_tokens", "pool_tokens"),
    Field("max_running_requests", "max_running"),
    Field("token_usage", "usage", note="leaves mamba out, unlike /metrics"),
    Field("gen_throughput", "gen_tps"),
    Field("cache_hit_rate", "hit_rate"),
    Field("utilization", "utilization", note="0 in 0.5.23, always"),
    Field("disaggregation.mode", "role", note='"null" is unified'),
    Field("disaggregation.prefill_bootstrap_queue_reqs", "bootstrap"),
    Field("disaggregation.prefill_prealloc_queue_reqs", "bootstrap", span=Span("0.5.9", "0.5.9")),
    Field("disaggregation.prefill_inflight_queue_reqs", "inflight"),
    Field("disaggregation.decode_prealloc_queue_reqs", "prealloc"),
    Field("disaggregation.decode_transfer_queue_reqs", "transfer"),
    Field("disaggregation.decode_retracted_queue_reqs", "decode_retracted"),
    Field("disaggregation.kv_transfer_speed_gb_s", "transfer_gb_s", note="last value, prefill role"),
    Field("disaggregation.kv_transfer_latency_ms", "transfer_ms", note="last value, prefill role"),
    Field("queues.waiting", "queue_waiting"),
    Field("queues.grammar", "queue_grammar"),
    Field("queues.paused", "queue_paused"),
    Field("queues.retracted", "queue_retracted", note="last reporting window"),
    Field("queues.prealloc_ready", "prealloc_ready"),
    Field("speculative.accept_length", "accept_length"),
    Field("lora.slots_used", "lora_used"),
    Field("lora.slots_total", "lora_total"),
)

# Attributes of SGLang's root spans and vLLM's llm_request spans.
SPAN_ATTRIBUTES: Final[tuple[Field, ...]] = (
    Field("rid", "rid"),
    Field("bootstrap_room", "room", note="hexadecimal text"),
    Field("gen_ai.request.id", "rid"),
    Field("gen_ai.request.max_tokens", "max_new_tokens"),
    Field("gen_ai.request.temperature", "temperature"),
    Field("gen_ai.request.n", "n"),
    Field("gen_ai.usage.prompt_tokens", "prompt_tokens"),
    Field("gen_ai.usage.completion_tokens", "completion_tokens"),
    Field("gen_ai.usage.cached_tokens", "cached_tokens"),
    Field("gen_ai.response.finish_reasons", "finish_reason", note="JSON text"),
    Field("gen_ai.latency.time_to_first_token", "ttft_s"),
    Field("gen_ai.latency.e2e", "e2e_s"),
    Field("gen_ai.latency.time_in_queue", "queue_s", note="vLLM; SGLang defines it and sets it nowhere"),
    Field("gen_ai.latency.time_in_model_prefill", "prefill_s", note="SGLang: from dispatch, so the queue is inside"),
    Field("gen_ai.latency.time_in_model_decode", "decode_s"),
    Field("gen_ai.latency.time_in_model_inference", "inference_s"),
)

# vLLM's per-request records (queued_ts and later are engine-core monotonic).
VLLM_RECORD: Final[tuple[Field, ...]] = (
    Field("request_id", "rid"),
    Field("input_toks", "prompt_tokens"),
    Field("output_toks", "completion_tokens"),
    Field("arrival_time", "received_ts"),
    Field("queued_ts", "queued_ts", clock="monotonic"),
    Field("scheduled_ts", "scheduled_ts", clock="monotonic"),
    Field("first_token_ts", "first_token_ts", clock="monotonic"),
    Field("last_token_ts", "last_token_ts", clock="monotonic"),
)

FIELDS: Final[dict[str, tuple[Field, ...]]] = {
    "request": REQUEST_FIELDS,
    "sampling": SAMPLING_FIELDS,
    "meta": META_FIELDS,
    "cached-details": CACHED_DETAILS,
    "time-stats-head": TIME_STATS_HEAD,
    "time-stats-body": TIME_STATS_BODY,
    "load": LOAD_FIELDS,
    "span": SPAN_ATTRIBUTES,
    "vllm-record": VLLM_RECORD,
}
_INDEX: Final = {(kind, field.raw): field for kind, fields in FIELDS.items() for field in fields}

# rids that are not users' requests.
PROBE_RID_PREFIXES: Final = ("HEALTH_CHECK",)
# Host that warm-up and health requests name as their prefill peer; their room is 0.
FAKE_BOOTSTRAP_HOST: Final = "2.2.2.2"


def field(kind: str, raw: str) -> Field | None:
    """What a key means in one kind of record (a key of `FIELDS`); None if it is not in the vocabulary."""
    return _INDEX.get((kind, raw))
