"""SGLang's request, disaggregation, cache-tier and server metrics (SIGNALS §1.5-1.10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ridgeline.words.metric import Metric, OldName
from ridgeline.words.metrics_scheduler import FROM_53, FROM_56, FROM_59, FROM_523, sglang
from ridgeline.words.versions import Span

AT_FINISH: Final = "Moves only when a request finishes, not as tokens are computed."


def _was_gauge(metric: Metric) -> Metric:
    return replace(metric, old_kind="gauge", old_kind_until="0.5.9")


# fmt: off
TOKENS: Final[tuple[Metric, ...]] = (
    sglang("prompt_tokens", "counter", "tokens", "prompt_tokens", "prompt tokens of finished requests",
           labels=("is_streaming",), trap=AT_FINISH),
    sglang("generation_tokens", "counter", "tokens", "generation_tokens", "output tokens of finished requests",
           labels=("is_streaming",), trap=AT_FINISH),
    sglang("num_requests", "counter", "requests", "requests", "requests finished", labels=("is_streaming",),
           trap=AT_FINISH),
    sglang("cached_tokens", "counter", "tokens", "cached_tokens", "prompt tokens found in cache, at finish",
           labels=("cache_source",), trap=AT_FINISH + " cache_source total means no breakdown."),
    sglang("cache_hit_rate", "gauge", "share", "hit_rate", "cached over cached plus new, last prefill batch",
           trap="One batch only; up to 0.5.9 every decode report writes 0; in 2024 it was in per cent."),
    sglang("num_so_requests", "counter", "requests", None, "structured-output requests"),
    sglang("num_aborted_requests", "counter", "requests", "aborted", "requests aborted at the API server",
           Span("0.4.10"), trap="Misses queue-full aborts, most of which go out as HTTP 200 with an error inside."),
    sglang("new_seq", "gauge", "requests", "new_seq", "sequences in the last prefill batch", Span(None, "0.4.6.post5"),
           trap="A name of 2024."),
    sglang("new_token", "gauge", "tokens", "new_tokens", "tokens computed in the last prefill batch",
           Span(None, "0.4.6.post5"), trap="A name of 2024."),
    sglang("cached_token", "gauge", "tokens", "batch_cached_tokens", "cached tokens of the last prefill batch",
           Span(None, "0.4.6.post5"), trap="A name of 2024."),
    sglang("prompt_tokens_histogram", "histogram", "tokens", "prompt_tokens_histogram", "prompt lengths"),
    sglang("generation_tokens_histogram", "histogram", "tokens", "generation_tokens_histogram", "output lengths"),
    sglang("uncached_prompt_tokens_histogram", "histogram", "tokens", None, "prompt tokens not in cache", FROM_523),
)

LATENCY: Final[tuple[Metric, ...]] = (
    sglang("time_to_first_token_seconds", "histogram", "s", "ttft_s", "created to first output",
           labels=("is_streaming",),
           trap="First bucket 0.1 s. 0.5.23: non-streaming uses prefill-finish time; aborts are not observed."),
    sglang("inter_token_latency_seconds", "histogram", "s", "itl_s", "gap between deliveries per token",
           trap="Coalesced chunks are divided evenly over their tokens: hides single pauses."),
    sglang("request_time_per_output_token_seconds", "histogram", "s", "tpot_s", "mean per output token", FROM_523,
           names=(OldName("time_per_output_token_seconds", Span(None, "0.4.6.post5"), note="before 0.4.6"),),
           trap="Only stop and length finishes."),
    sglang("e2e_request_latency_seconds", "histogram", "s", "e2e_s", "created to finished",
           labels=("is_streaming",)),
    sglang("queue_time_seconds", "histogram", "s", "queue_s", "wait before the first forward", FROM_53,
           trap="First wait only: waits after a retraction are not in it. Below 0.1 s blind before 0.5.23."),
    sglang("per_stage_req_latency_seconds", "histogram", "s", "stage_s", "time in one stage", FROM_53,
           labels=("stage",), trap="0.5.3-0.5.9: time since the previous stage tick, not a pair of stamps."),
    sglang("grammar_compilation_time_seconds", "histogram", "s", "grammar_s", "grammar compilation", FROM_53),
    sglang("grammar_schema_count", "histogram", "count", None, "schemas per grammar", FROM_53),
    sglang("grammar_ebnf_size", "histogram", "count", None, "size of an EBNF grammar", FROM_53),
    sglang("grammar_tree_traversal_time_avg", "histogram", "s", None, "grammar tree traversal, mean", FROM_53),
    sglang("grammar_tree_traversal_time_max", "histogram", "s", None, "grammar tree traversal, longest", FROM_53),
    sglang("num_grammar", "counter", "count", "grammars", "grammars asked for", FROM_53),
    sglang("num_grammar_cache_hit", "counter", "count", "grammar_hits", "grammars found compiled", FROM_53),
    sglang("num_grammar_aborted", "counter", "count", None, "grammars aborted", FROM_53),
    sglang("num_grammar_timeout", "counter", "count", None, "grammars that timed out", FROM_56),
)

DISAGG: Final[tuple[Metric, ...]] = (
    sglang("num_prefill_bootstrap_queue_reqs", "gauge", "requests", "bootstrap", "prefill: waiting for the handshake",
           names=(OldName("num_prefill_prealloc_queue_reqs", Span(None, "0.5.9"), note="says prealloc, is bootstrap"),),
           trap="Contains decode's wait for KV: a full decode node shows up here."),
    sglang("num_prefill_inflight_queue_reqs", "gauge", "requests", "inflight", "prefill: KV being sent",
           names=(OldName("num_prefill_infight_queue_reqs", Span(None, "0.4.10"), note="sic"),)),
    sglang("num_decode_prealloc_queue_reqs", "gauge", "requests", "prealloc", "decode: waiting for KV space"),
    sglang("num_decode_transfer_queue_reqs", "gauge", "requests", "transfer", "decode: waiting for KV to arrive",
           trap="Flat while any decode request is retracted: neither prealloc nor transfer polling runs then."),
    sglang("num_decode_host_receive_queue_reqs", "gauge", "requests", "host_receive", "KV received into host memory",
           FROM_523),
    sglang("num_decode_host_receive_reqs", "counter", "requests", None, "KV received into host memory", FROM_523),
    sglang("num_decode_deferred_kv_release_reqs", "gauge", "requests", None, "failed, KV held until drained",
           FROM_523),
    sglang("decode_deferred_kv_release_seconds", "histogram", "s", None, "time such KV was held", FROM_523),
    sglang("decode_deferred_kv_release", "counter", "count", None, "how such holds ended", FROM_523,
           labels=("outcome",)),
    sglang("num_bootstrap_failed_reqs", "counter", "requests", "bootstrap_failed", "handshakes that failed"),
    sglang("num_transfer_failed_reqs", "counter", "requests", "transfer_failed", "KV transfers that failed",
           trap="May include client aborts."),
    sglang("num_prefill_retries", "counter", "count", None, "optimistic prefill tried again", FROM_59),
    sglang("failed_session_recoveries", "counter", "count", None, "mooncake sessions recovered", FROM_523),
    _was_gauge(sglang("kv_transfer_speed_gb_s", "histogram", "GB/s", "transfer_gb_s", "prefill side, per transfer",
                      FROM_53, trap="GB of 1024 MiB. Small prompts cannot move many bytes: not the link's speed.")),
    _was_gauge(sglang("kv_transfer_latency_ms", "histogram", "ms", "transfer_ms", "prefill side, per transfer", FROM_53,
                      trap="Without a figure of the backend: only the tail after the last chunk.")),
    _was_gauge(sglang("kv_transfer_bootstrap_ms", "histogram", "ms", "bootstrap_ms", "handshake", FROM_56)),
    _was_gauge(sglang("kv_transfer_alloc_ms", "histogram", "ms", "alloc_ms", "wait for KV on decode", FROM_56)),
    _was_gauge(sglang("kv_transfer_total_mb", "histogram", "MB", "transfer_mb", "size of a transfer", FROM_59)),
)

TIERS: Final[tuple[Metric, ...]] = (
    sglang("evicted_tokens", "counter", "tokens", "evicted_tokens", "tokens evicted from the device", FROM_56,
           trap="Counted per TP rank: read one rank, do not sum."),
    sglang("eviction_duration_seconds", "histogram", "s", None, "time of an eviction", FROM_56),
    sglang("load_back_tokens", "counter", "tokens", "load_back_tokens", "host to device", FROM_56, labels=("pool",)),
    sglang("load_back_duration_seconds", "histogram", "s", "load_back_s", "time of a load-back", FROM_56),
    sglang("load_back_bytes", "counter", "bytes", None, "host to device", FROM_523),
    sglang("hicache_backup_tokens", "counter", "tokens", None, "device to host", FROM_523, labels=("pool",)),
    sglang("hicache_backup_bytes", "counter", "bytes", None, "device to host", FROM_523),
    sglang("hicache_backup_duration_seconds", "histogram", "s", None, "time of a backup", FROM_523),
    sglang("hicache_dropped_tokens", "counter", "tokens", None, "destroyed without a host copy", FROM_523,
           labels=("reason", "pool")),
    sglang("hicache_host_used_tokens", "gauge", "tokens", "host_used_tokens", "host tier in use", FROM_523),
    sglang("hicache_host_total_tokens", "gauge", "tokens", "host_pool_tokens", "host tier capacity", FROM_523),
    sglang("hicache_host_mamba_used_states", "gauge", "slots", None, "host states in use", FROM_523),
    sglang("hicache_host_mamba_total_states", "gauge", "slots", None, "host states", FROM_523),
    sglang("prefetched_tokens", "counter", "tokens", "prefetched_tokens", "storage to host", FROM_53),
    sglang("backuped_tokens", "counter", "tokens", None, "host to storage (spelt so)", FROM_53),
    sglang("prefetch_pgs", "histogram", "pages", None, "pages per storage read", FROM_53),
    sglang("backup_pgs", "histogram", "pages", None, "pages per storage write", FROM_53),
    sglang("prefetch_bandwidth", "histogram", "GB/s", "prefetch_gb_s", "storage read speed", FROM_53),
    sglang("backup_bandwidth", "histogram", "GB/s", None, "storage write speed", FROM_53),
    sglang("storage_prefetch_hit_tokens", "counter", "tokens", "storage_hit_tokens", "found in storage", FROM_523),
    sglang("storage_prefetch_unfulfilled_tokens", "counter", "tokens", "storage_miss_tokens",
           "wanted from storage and not got", FROM_523, labels=("reason",)),
    sglang("storage_prefetch_deferred_tokens", "counter", "tokens", None, "put off", FROM_523, labels=("reason",)),
    sglang("hicache_backup_dropped_tokens", "counter", "tokens", None, "backups dropped", FROM_523),
    sglang("hicache_prefetch_aux_alloc_failed_tokens", "counter", "tokens", None, "no room for a prefetch", FROM_523),
)

SERVER: Final[tuple[Metric, ...]] = (
    sglang("http_requests", "counter", "requests", "http_requests", "HTTP requests received", FROM_59,
           labels=("endpoint", "method")),
    sglang("http_requests_active", "gauge", "requests", "http_active", "HTTP requests in flight", FROM_59,
           labels=("endpoint", "method")),
    sglang("http_responses", "counter", "requests", "http_responses", "HTTP answers by status", FROM_59,
           labels=("endpoint", "status_code", "method"),
           trap="Errors inside a stream still count as 200."),
    sglang("startup_time_seconds", "gauge", "s", None, "start-up by phase", FROM_523, labels=("phase",)),
    sglang("engine_startup_time", "gauge", "s", None, "whole start-up", Span("0.5.3", "0.5.9")),
    sglang("engine_load_weights_time", "gauge", "s", None, "loading weights", Span("0.5.3", "0.5.9")),
    sglang("startup_cuda_graph_time_seconds", "gauge", "s", None, "graph capture", FROM_523, labels=("phase",)),
    sglang("weight_load_duration_seconds", "histogram", "s", None, "a weight load", FROM_523, labels=("source",)),
    sglang("startup_latency_breakdown_seconds_max", "gauge", "s", None, "start-up by step", FROM_53,
           labels=("context",)),
)

# GET /v1/loads?format=prometheus: prefix `sglang_`, one series per dp_rank, a snapshot that may be old.
SNAPSHOT: Final = "A snapshot: a dead or stuck scheduler's last one is still answered. Check loads_timestamp."
_N = OldName
LOADS: Final[tuple[Metric, ...]] = (
    sglang("loads_timestamp", "gauge", "s", "snapshot_ts", "wall time of the snapshot", FROM_59,
           names=(_N("timestamp"),)),
    sglang("num_waiting_reqs", "gauge", "requests", "waiting_all", "waiting, PD queues included", FROM_53,
           trap=SNAPSHOT + " Not num_queue_reqs: adds bootstrap or prealloc, transfer and retracted."),
    sglang("num_waiting_uncached_tokens", "gauge", "tokens", "waiting_uncached_tokens", "still to prefill", FROM_523),
    sglang("num_total_tokens", "gauge", "tokens", "total_tokens", "used plus queued requests without KV", FROM_523),
    sglang("num_active_tokens", "gauge", "tokens", None, "tokens of active requests", FROM_523),
    sglang("num_prealloc_ready_tokens", "gauge", "tokens", None, "ready for preallocation", FROM_523),
    sglang("num_total_reqs", "gauge", "requests", None, "running plus waiting", Span("0.5.9", "0.5.9")),
    sglang("max_running_requests", "gauge", "requests", "max_running", "cap of one DP rank", FROM_59),
    sglang("total_prefill_uncached_tokens", "gauge", "tokens", None, "prompt tokens computed so far", FROM_523),
    sglang("total_prefill_busy_us", "gauge", "us", None, "time in prefill so far", FROM_523),
    sglang("disagg_prefill_bootstrap_queue_reqs", "gauge", "requests", "bootstrap", "prefill: handshake", FROM_59,
           names=(_N("disagg_prefill_prealloc_queue_reqs", Span("0.5.9", "0.5.9")),)),
    sglang("disagg_prefill_inflight_queue_reqs", "gauge", "requests", "inflight", "prefill: sending", FROM_59),
    sglang("disagg_decode_prealloc_queue_reqs", "gauge", "requests", "prealloc", "decode: space", FROM_59),
    sglang("disagg_decode_transfer_queue_reqs", "gauge", "requests", "transfer", "decode: arriving", FROM_59),
    sglang("disagg_decode_retracted_queue_reqs", "gauge", "requests", "decode_retracted", "decode: put back", FROM_59),
    sglang("disagg_kv_transfer_speed_gb_s", "gauge", "GB/s", "transfer_gb_s", "last value", FROM_59),
    sglang("disagg_kv_transfer_latency_ms", "gauge", "ms", "transfer_ms", "last value", FROM_59),
    sglang("queues_waiting", "gauge", "requests", "queue_waiting", "waiting queue alone", FROM_59),
    sglang("queues_grammar", "gauge", "requests", "queue_grammar", "grammar queue", FROM_59),
    sglang("queues_paused", "gauge", "requests", "queue_paused", "paused", FROM_59),
    sglang("queues_retracted", "gauge", "requests", "queue_retracted", "last reporting window only", FROM_59),
    sglang("queues_prealloc_ready", "gauge", "requests", "prealloc_ready", "ready for preallocation", FROM_523),
    sglang("memory_weight_gb", "gauge", "GB", "weight_gb", "weights", FROM_59),
    sglang("memory_kv_cache_gb", "gauge", "GB", "kv_cache_gb", "KV pool", FROM_59),
    sglang("memory_graph_gb", "gauge", "GB", None, "graphs", FROM_59),
    sglang("memory_token_capacity", "gauge", "tokens", "pool_tokens", "pool capacity", FROM_59),
    sglang("lora_slots_used", "gauge", "slots", "lora_used", "adapters in the running batch", FROM_59),
    sglang("lora_slots_total", "gauge", "slots", "lora_total", "adapter slots", FROM_59),
    sglang("lora_utilization", "gauge", "share", None, "adapter slots in use", FROM_59),
)

REQUEST_METRICS: Final = (*TOKENS, *LATENCY, *DISAGG, *TIERS, *SERVER, *LOADS)
