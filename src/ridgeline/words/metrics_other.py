"""vLLM's and the model gateway's metrics, mapped to the same words (SIGNALS §15.1, §8.5)."""

from __future__ import annotations

from typing import Final

from ridgeline.words.metric import Metric, MetricKind, OldName
from ridgeline.words.versions import ALWAYS


def _vllm(
    name: str,
    kind: MetricKind,
    unit: str,
    word: str | None,
    meaning: str,
    *,
    names: tuple[str, ...] = (),
    labels: tuple[str, ...] = (),
    trap: str = "",
) -> Metric:
    old = tuple(OldName(raw, note="an older vLLM name") for raw in names)
    return Metric(name, "vllm", kind, unit, word, meaning, ALWAYS, old, labels, trap)


def _smg(
    name: str, kind: MetricKind, unit: str, word: str | None, meaning: str, labels: tuple[str, ...] = ()
) -> Metric:
    return Metric(name, "gateway", kind, unit, word, meaning, ALWAYS, (), labels)


# fmt: off
VLLM_METRICS: Final[tuple[Metric, ...]] = (
    _vllm("num_requests_running", "gauge", "requests", "running", "requests in the running batch"),
    _vllm("num_requests_waiting", "gauge", "requests", "waiting", "waiting, deferred included"),
    _vllm("num_requests_waiting_by_reason", "gauge", "requests", "waiting_by_reason", "waiting by reason",
          labels=("reason",), trap="capacity or deferred (LoRA budget, KV transfer, blocked)."),
    _vllm("num_requests_kv_fetch_by_stage", "gauge", "requests", "transfer", "KV consumers: fetch stage",
          labels=("stage",)),
    _vllm("num_requests_swapped", "gauge", "requests", None, "swapped out; older releases only"),
    _vllm("kv_cache_usage_perc", "gauge", "share", "usage", "allocated blocks as a share",
          names=("gpu_cache_usage_perc",), trap="0 to 1 despite the name; the stats line prints per cent."),
    _vllm("engine_sleep_state", "gauge", "flag", None, "awake, weights offloaded, all discarded",
          labels=("sleep_state",)),
    _vllm("cache_config_info", "info", "flag", None, "cache settings as labels", trap="Value is always 1."),
    _vllm("prefix_cache_queries", "counter", "tokens", "prefix_query_tokens", "tokens looked up",
          names=("gpu_prefix_cache_queries",)),
    _vllm("prefix_cache_hits", "counter", "tokens", "prefix_hit_tokens", "tokens found",
          names=("gpu_prefix_cache_hits",), trap="A cumulative ratio hides the present: use two scrapes."),
    _vllm("gpu_prefix_cache_hit_rate", "gauge", "share", "hit_rate", "older releases only"),
    _vllm("external_prefix_cache_queries", "counter", "tokens", "external_query_tokens", "KV connector: looked up"),
    _vllm("external_prefix_cache_hits", "counter", "tokens", "external_hit_tokens", "KV connector: found",
          trap="After preemption a request finds its own KV again: a high ratio may mean thrashing."),
    _vllm("mm_cache_queries", "counter", "count", None, "multimodal cache: looked up"),
    _vllm("mm_cache_hits", "counter", "count", None, "multimodal cache: found"),
    _vllm("num_preemptions", "counter", "requests", "retractions", "requests preempted for lack of KV"),
    _vllm("prompt_tokens", "counter", "tokens", "prompt_tokens", "prompt tokens processed"),
    _vllm("generation_tokens", "counter", "tokens", "generation_tokens", "tokens generated"),
    _vllm("prompt_tokens_cached", "counter", "tokens", "cached_tokens", "prompt tokens found in cache"),
    _vllm("prompt_tokens_by_source", "counter", "tokens", None, "prompt tokens by source", labels=("source",)),
    _vllm("prompt_tokens_cached_by_source", "counter", "tokens", None, "cached by source", labels=("source",)),
    _vllm("request_success", "counter", "requests", "requests", "requests finished, by reason",
          labels=("finished_reason",), trap="abort and error are among the reasons: not all are successes."),
    _vllm("admission_rejections", "counter", "requests", "rejected", "refused at admission", labels=("reason",)),
    _vllm("time_to_first_token_seconds", "histogram", "s", "ttft_s", "arrival to first token"),
    _vllm("inter_token_latency_seconds", "histogram", "s", "itl_s", "between tokens",
          names=("time_per_output_token_seconds",)),
    _vllm("request_time_per_output_token_seconds", "histogram", "s", "tpot_s", "mean per output token"),
    _vllm("e2e_request_latency_seconds", "histogram", "s", "e2e_s", "arrival to end, frontend clock"),
    _vllm("request_queue_time_seconds", "histogram", "s", "queue_s", "queued to first scheduled",
          trap="Time after a preemption is not in it but in prefill or decode."),
    _vllm("request_inference_time_seconds", "histogram", "s", "inference_s", "first scheduled to last token"),
    _vllm("request_prefill_time_seconds", "histogram", "s", "prefill_s", "first scheduled to first token"),
    _vllm("request_decode_time_seconds", "histogram", "s", "decode_s", "first to last token"),
    _vllm("request_prompt_tokens", "histogram", "tokens", "prompt_tokens_histogram", "prompt lengths"),
    _vllm("request_generation_tokens", "histogram", "tokens", "generation_tokens_histogram", "output lengths"),
    _vllm("request_max_num_generation_tokens", "histogram", "tokens", None, "longest output of a request"),
    _vllm("request_params_n", "histogram", "count", None, "n asked for"),
    _vllm("request_params_max_tokens", "histogram", "tokens", None, "max_tokens asked for"),
    _vllm("iteration_tokens", "histogram", "tokens", None, "tokens per step", names=("iteration_tokens_total",),
          trap="A histogram whose name ends in _total."),
    _vllm("request_num_preemptions", "histogram", "count", None, "preemptions per request"),
    _vllm("request_prefill_kv_computed_tokens", "histogram", "tokens", None, "prompt tokens computed"),
    _vllm("kv_block_lifetime_seconds", "histogram", "s", None, "sampled block life"),
    _vllm("kv_block_idle_before_evict_seconds", "histogram", "s", None, "sampled idle time before eviction"),
    _vllm("kv_block_reuse_gap_seconds", "histogram", "s", None, "sampled gap between uses"),
    _vllm("spec_decode_num_drafts", "counter", "count", None, "drafts"),
    _vllm("spec_decode_num_draft_tokens", "counter", "tokens", "draft_tokens", "tokens drafted"),
    _vllm("spec_decode_num_accepted_tokens", "counter", "tokens", "accepted_tokens", "tokens accepted"),
    _vllm("spec_decode_num_accepted_tokens_per_pos", "counter", "tokens", None, "accepted by position",
          labels=("position",)),
    _vllm("nixl_xfer_time_seconds", "histogram", "s", "transfer_s", "a KV transfer"),
    _vllm("nixl_post_time_seconds", "histogram", "s", None, "posting a transfer"),
    _vllm("nixl_bytes_transferred", "histogram", "bytes", None, "bytes of a transfer"),
    _vllm("nixl_num_descriptors", "histogram", "count", None, "descriptors of a transfer"),
    _vllm("nixl_num_failed_transfers", "counter", "requests", "transfer_failed", "transfers that failed"),
    _vllm("nixl_num_failed_notifications", "counter", "count", None, "notifications that failed"),
    _vllm("nixl_num_kv_expired_reqs", "counter", "requests", "kv_expired", "KV given up before it was fetched"),
    _vllm("nixl_num_notifications_after_expiry", "counter", "count", None, "notified too late"),
    _vllm("lora_requests_info", "info", "flag", None, "adapters as labels", trap="The figures are in the labels."),
    _vllm("corrupted_requests", "counter", "requests", "corrupted", "requests with NaN in their logits"),
    _vllm("watermark_requests", "counter", "requests", None, "watermarked requests"),
    _vllm("estimated_flops_per_gpu", "counter", "flops", None, "model-based estimate"),
    _vllm("estimated_read_bytes_per_gpu", "counter", "bytes", None, "model-based estimate"),
    _vllm("estimated_write_bytes_per_gpu", "counter", "bytes", None, "model-based estimate"),
)

GATEWAY_METRICS: Final[tuple[Metric, ...]] = (
    _smg("http_requests", "counter", "requests", "http_requests", "requests received"),
    _smg("http_request_duration_seconds", "histogram", "s", "gateway_e2e_s", "as the gateway sees it"),
    _smg("http_responses", "counter", "requests", "http_responses", "answers", ("status_code", "error_code")),
    _smg("http_connections_active", "gauge", "count", None, "connections open"),
    _smg("http_rate_limit", "counter", "requests", None, "rate limiter", ("result",)),
    _smg("http_inflight_request_age_count", "gauge", "requests", None, "requests in flight by age"),
    _smg("router_requests", "counter", "requests", None, "requests routed"),
    _smg("router_request_duration_seconds", "histogram", "s", None, "routing and answer"),
    _smg("router_request_errors", "counter", "requests", "gateway_errors", "errors", ("error_type",)),
    _smg("router_stage_duration_seconds", "histogram", "s", "gateway_stage_s", "stages of the gateway"),
    _smg("router_upstream_responses", "counter", "requests", None, "answers of workers"),
    _smg("router_ttft_seconds", "histogram", "s", "gateway_ttft_s", "gRPC only"),
    _smg("router_tpot_seconds", "histogram", "s", None, "gRPC only"),
    _smg("router_tokens", "counter", "tokens", None, "gRPC only"),
    _smg("router_generation_duration_seconds", "histogram", "s", None, "gRPC only"),
    _smg("worker_pool_size", "gauge", "count", "workers", "workers known"),
    _smg("worker_connections_active", "gauge", "count", None, "connections per worker", ("worker",)),
    _smg("worker_requests_active", "gauge", "requests", "worker_active", "in flight per worker", ("worker",)),
    _smg("worker_routing_keys_active", "gauge", "keys", "worker_keys", "keys per worker", ("worker",)),
    _smg("worker_health", "gauge", "flag", "worker_health", "1 healthy, 0 not, -1 removed", ("worker",)),
    _smg("worker_health_checks", "counter", "count", None, "probes"),
    _smg("worker_selection", "counter", "requests", "worker_selected", "picks", ("policy",)),
    _smg("worker_errors", "counter", "count", "worker_errors", "errors of workers"),
    _smg("worker_cb_state", "gauge", "flag", "circuit_breaker", "0 closed, 1 open, 2 half-open, -1 removed"),
    _smg("worker_cb_transitions", "counter", "count", None, "circuit-breaker changes"),
    _smg("worker_cb_outcomes", "counter", "count", None, "circuit-breaker outcomes"),
    _smg("worker_cb_consecutive_failures", "gauge", "count", None, "failures in a row"),
    _smg("worker_cb_consecutive_successes", "gauge", "count", None, "successes in a row"),
    _smg("worker_retries", "counter", "count", "retries", "attempts repeated"),
    _smg("worker_retries_exhausted", "counter", "count", "retries_exhausted", "given up"),
    _smg("worker_retry_backoff_seconds", "histogram", "s", None, "pause before a retry", ("attempt",)),
    _smg("prefix_hash_policy_branch", "counter", "requests", "policy_branch", "which rule picked", ("branch",)),
    _smg("consistent_hashing_policy_branch", "counter", "requests", "policy_branch", "which rule picked", ("branch",)),
    _smg("manual_policy_branch", "counter", "requests", "policy_branch", "which rule picked", ("branch",)),
)
