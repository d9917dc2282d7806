"""SGLang's scheduler metrics: load, memory, retraction, speculation (SIGNALS §1.4-1.6, §1.8)."""

from __future__ import annotations

from typing import Final

from ridgeline.words.metric import Metric, MetricKind, OldName
from ridgeline.words.versions import ALWAYS, Span

FROM_410: Final = Span("0.4.10")
FROM_53: Final = Span("0.5.3")
FROM_56: Final = Span("0.5.6")
FROM_59: Final = Span("0.5.9")
FROM_523: Final = Span("0.5.23")
FROZEN: Final = "Pushed by the scheduler: a stalled scheduler leaves it at its last value."


def sglang(
    name: str,
    kind: MetricKind,
    unit: str,
    word: str | None,
    meaning: str,
    span: Span = ALWAYS,
    *,
    names: tuple[OldName, ...] = (),
    labels: tuple[str, ...] = (),
    trap: str = "",
) -> Metric:
    """One SGLang metric (shorter than the full constructor)."""
    return Metric(name, "sglang", kind, unit, word, meaning, span, names, labels, trap)


# fmt: off
LOAD: Final[tuple[Metric, ...]] = (
    sglang("num_running_reqs", "gauge", "requests", "running", "requests in the decode batch",
           names=(OldName("num_requests_running", Span(until="0.4.6.post5"), note="a name of 2024"),),
           trap=FROZEN + " On a PD prefill server it is normally 0 up to 0.5.9; 0.5.23 gives the forward batch."),
    sglang("num_queue_reqs", "gauge", "requests", "waiting", "requests in the waiting queue",
           names=(OldName("queue_req", Span(until="0.4.6.post5"), note="a name of 2024"),),
           trap=FROZEN + " Leaves out grammar, bootstrap, prealloc, transfer and PD-retracted queues."),
    sglang("num_grammar_queue_reqs", "gauge", "requests", "queue_grammar", "requests waiting for a grammar to compile",
           trap="Not contained in num_queue_reqs."),
    sglang("num_paused_reqs", "gauge", "requests", "queue_paused", "requests paused for a weight update", FROM_53,
           labels=("pid",), trap="One series per process (pid label), a delta per report: aggregate first."),
    sglang("num_running_reqs_offline_batch", "gauge", "requests", None, "offline-batch requests running",
           Span("0.5.3", "0.5.9")),
    sglang("gen_throughput", "gauge", "tokens/s", "gen_tps", "tokens generated since the previous decode report",
           trap="Keeps its last value between reports; 0.5.23 falls to 0 after 30 s without a decode report."),
    sglang("utilization", "gauge", "share", "utilization", "load against a configured limit", FROM_53,
           trap="-1 on a PD prefill server. In 0.5.23 nothing sets its input, so it stays 0: do not read it."),
    sglang("max_running_requests_under_SLO", "gauge", "requests", None, "configured limit under an SLO", FROM_53,
           trap="Only where configured; never in a stock 0.5.23."),
    sglang("new_token_ratio", "gauge", "share", "new_token_ratio",
           "share of max_new_tokens that admission expects running requests still to use", FROM_56),
    sglang("decode_sum_seq_lens", "gauge", "tokens", "context_tokens", "sum of sequence lengths in the decode batch",
           FROM_59, trap=FROZEN),
    sglang("fwd_occupancy", "gauge", "percent", "occupancy", "GPU forward time as a share of wall time", FROM_523,
           trap="NaN when idle or without SGLANG_ENABLE_METRICS_DEVICE_TIMER."),
    sglang("is_cuda_graph", "gauge", "flag", "graph", "whether the last decode batch ran from a graph", FROM_56),
    sglang("cuda_graph_passes", "counter", "steps", "graph_passes", "forward passes by graph use", FROM_59,
           labels=("mode",)),
    sglang("num_streaming_sessions", "gauge", "count", None, "streaming sessions open", FROM_523),
    sglang("streaming_session_held_tokens", "gauge", "tokens", "session_tokens", "KV held by sessions", FROM_523),
    sglang("avg_request_queue_latency", "gauge", "s", None, "mean wait, old form", Span(None, "0.4.10")),
    sglang("func_latency_seconds", "histogram", "s", None, "time of instrumented functions", labels=("name",)),
    sglang("get_loads_duration_seconds", "histogram", "s", None, "cost of answering /v1/loads", FROM_523),
)

MEMORY: Final[tuple[Metric, ...]] = (
    sglang("token_usage", "gauge", "share", "usage", "locked KV as a share of the pool", ALWAYS,
           trap="Never counts evictable cache; rounded to 0.01; 0.5.23 is the maximum over full, swa and mamba."),
    sglang("full_token_usage", "gauge", "share", "full_usage", "locked share of the full-attention pool", FROM_523),
    sglang("swa_token_usage", "gauge", "share", "swa_usage", "locked share of the sliding-window pool", FROM_53,
           trap="0 where the model has no such pool: 0 is not a measurement then."),
    sglang("mamba_usage", "gauge", "share", "mamba_usage", "used share of the SSM state pool", FROM_56,
           trap="0 where the model has no such pool."),
    sglang("num_used_tokens", "gauge", "tokens", "used_tokens", "capacity less free and evictable",
           trap="Hybrid sliding window: the larger of the two pools. Evictable cache is not used."),
    sglang("kv_available_tokens", "gauge", "tokens", "free_tokens", "free KV", FROM_523),
    sglang("kv_evictable_tokens", "gauge", "tokens", "evictable_tokens", "cache that nothing locks", FROM_523),
    sglang("kv_used_tokens", "gauge", "tokens", "locked_tokens", "KV locked by requests", FROM_523,
           trap="available + evictable + used may be less than the pool: session-held or protected tokens."),
    sglang("swa_available_tokens", "gauge", "tokens", None, "free in the sliding-window pool", FROM_523),
    sglang("swa_evictable_tokens", "gauge", "tokens", None, "evictable in the sliding-window pool", FROM_523),
    sglang("swa_used_tokens", "gauge", "tokens", "swa_tokens", "locked in the sliding-window pool", FROM_523),
    sglang("mamba_available_tokens", "gauge", "slots", None, "free SSM state slots", FROM_523),
    sglang("mamba_evictable_tokens", "gauge", "slots", None, "evictable SSM state slots", FROM_523),
    sglang("mamba_used_tokens", "gauge", "slots", "mamba_slots", "SSM state slots in use", FROM_523,
           trap="Unit is state slots, not tokens."),
    sglang("max_total_num_tokens", "gauge", "tokens", "pool_tokens", "capacity of the KV pool", FROM_56),
    sglang("max_total_num_tokens_swa", "gauge", "tokens", None, "capacity of the sliding-window pool", FROM_523),
    sglang("page_size", "gauge", "tokens", "page_size", "tokens per KV page", FROM_523),
    sglang("num_pages", "gauge", "pages", None, "pages in the pool", FROM_523),
    sglang("cache_config_info", "info", "flag", None, "page_size and num_pages as labels", Span("0.5.9", "0.5.9"),
           labels=("page_size", "num_pages"), trap="Value is always 1; the figures are in the labels."),
    sglang("context_len", "gauge", "tokens", "context_len", "longest context allowed", FROM_523),
    sglang("weight_memory_usage_gb", "gauge", "GB", "weight_gb", "weights", FROM_523),
    sglang("kv_cache_memory_usage_gb", "gauge", "GB", "kv_cache_gb", "KV pool", FROM_523),
    sglang("graph_memory_usage_gb", "gauge", "GB", None, "captured graphs", FROM_523, labels=("phase",)),
    sglang("startup_available_gpu_memory_gb", "gauge", "GB", None, "free device memory after start", FROM_523),
    sglang("pending_prealloc_token_usage", "gauge", "share", None, "declared only", FROM_56,
           trap="No code sets it in the releases read: always 0. Do not read it."),
    sglang("prealloc_full_token_usage", "gauge", "share", "prealloc_usage",
           "pool share held by decode requests whose transfer is pending", FROM_523),
    sglang("prealloc_swa_token_usage", "gauge", "share", None, "same for the sliding-window pool", FROM_523),
)

RETRACTION: Final[tuple[Metric, ...]] = (
    sglang("num_retracted_requests", "counter", "requests", "retractions", "requests put back for lack of KV", FROM_59,
           names=(OldName("total_retracted_reqs", Span("0.4.10", "0.4.10"), "gauge", "cumulative gauge"),),
           trap="0.5.3 and 0.5.6 have only the gauge num_retracted_reqs and the log lines."),
    sglang("num_retracted_reqs", "gauge", "requests", "retracted_now", "put back since the previous report", FROM_53,
           labels=("pid",),
           trap="Reset at every report and split by pid: scrapes miss it. Read num_retracted_requests_total (0.5.9+)."),
    sglang("num_retracted_input_tokens", "counter", "tokens", None, "prompt work lost to retraction", FROM_59),
    sglang("num_retracted_output_tokens", "counter", "tokens", None, "decode work lost to retraction", FROM_59),
    sglang("num_retractions", "histogram", "count", None, "retractions per finished request", Span("0.5.6", "0.5.9")),
)

WORK: Final[tuple[Metric, ...]] = (
    sglang("realtime_tokens", "counter", "tokens", "realtime_tokens", "tokens as they are computed", FROM_59,
           labels=("mode",), trap="Includes the second prefill of retracted requests."),
    sglang("prefill_effective_tokens", "counter", "tokens", "prefill_tokens", "prompt tokens by where they came from",
           FROM_523, labels=("mode",), trap="Modes input, device_hit, host_hit, storage_hit; sum all for a hit ratio."),
    sglang("forward_execution_seconds", "counter", "s", "forward_s", "GPU busy time", FROM_523, labels=("category",),
           names=(OldName("gpu_execution_seconds_total", Span("0.5.9", "0.5.9")),),
           trap="Only with SGLANG_ENABLE_METRICS_DEVICE_TIMER; absent means not measured."),
    sglang("dp_cooperation_realtime_tokens", "counter", "tokens", None, "tokens by how many ranks were prefilling",
           FROM_59, labels=("mode", "num_prefill_ranks")),
    sglang("dp_cooperation_forward_execution_seconds", "counter", "s", None,
           "GPU time by how many ranks were prefilling", FROM_523, labels=("category", "num_prefill_ranks"),
           names=(OldName("dp_cooperation_gpu_execution_seconds_total", Span("0.5.9", "0.5.9")),)),
    sglang("scheduler_idle_seconds", "counter", "s", "idle_s", "time with nothing runnable or queued", FROM_523),
    sglang("scheduler_process_cpu_seconds", "counter", "s", "scheduler_cpu_s", "CPU of the scheduler process",
           FROM_523),
    sglang("scheduler_stage_seconds", "counter", "s", "scheduler_stage_s", "scheduler loop by stage, wall time",
           FROM_523, labels=("category", "forward_overlap")),
    sglang("process_cpu_seconds", "counter", "s", "process_cpu_s", "CPU by component", FROM_59, labels=("component",)),
    sglang("estimated_flops_per_gpu", "counter", "flops", None, "model-based estimate", FROM_523),
    sglang("estimated_read_bytes_per_gpu", "counter", "bytes", None, "model-based estimate", FROM_523),
    sglang("estimated_write_bytes_per_gpu", "counter", "bytes", None, "model-based estimate", FROM_523),
)

SPECULATION: Final[tuple[Metric, ...]] = (
    sglang("spec_accept_length", "gauge", "tokens", "accept_length", "tokens per verify step, bonus included",
           trap="0 when speculation is off: 0 is not a measurement then."),
    sglang("spec_accept_rate", "gauge", "share", "accept_rate", "accepted drafts as a share", FROM_56,
           trap="0 when speculation is off."),
    sglang("spec_cap_length", "gauge", "tokens", None, "cap on the draft", FROM_523),
    sglang("spec_block_accept_length", "gauge", "tokens", None, "accepted by block verification", FROM_523),
    sglang("spec_num_steps", "gauge", "count", None, "draft steps", FROM_523),
    sglang("spec_num_draft_tokens", "gauge", "tokens", None, "draft tokens per step", FROM_523),
    sglang("spec_verify_calls", "counter", "count", None, "verify calls, added at finish", FROM_523),
)

PARALLEL: Final[tuple[Metric, ...]] = (
    sglang("dp_attention_tokens", "counter", "tokens", "dp_tokens", "tokens run, and lag behind the busiest rank",
           FROM_523, labels=("kind",),
           trap="Unit is rows on speculative steps. imbalance/(imbalance+scheduled) is lost."),
    sglang("dp_attention_steps", "counter", "steps", "dp_steps", "active and idle steps", FROM_523,
           labels=("rank_state",)),
    sglang("dp_attention_pairs", "counter", "count", None, "query-key pairs (context skew)", FROM_523,
           labels=("kind",)),
    sglang("dp_attention_token_imbalance_ratio", "histogram", "count", "dp_imbalance", "max over mean tokens per step",
           FROM_523, trap="Only DP rank 0 reports it."),
    sglang("dp_attention_sync_wait_seconds", "histogram", "s", "dp_sync_wait_s", "wait in the cross-rank gather",
           FROM_523),
    sglang("num_unique_running_routing_keys", "gauge", "keys", None, "routing keys in the running batch", FROM_59,
           trap="Only recomputed when every request of the batch has a key."),
    sglang("routing_key_running_req_count", "gaugehistogram", "requests", None, "running requests per key", FROM_59,
           labels=("gt", "le"), trap="Buckets are not cumulative (gt < v <= le)."),
    sglang("routing_key_all_req_count", "gaugehistogram", "requests", None, "all requests per key", FROM_59,
           labels=("gt", "le"), trap="Buckets are not cumulative (gt < v <= le)."),
    sglang("routing_keys_active", "gauge", "keys", "routing_keys", "distinct keys among requests in flight", FROM_59),
    sglang("prefill_delayer_wait_forward_passes", "histogram", "steps", None, "passes a prefill was held", FROM_59),
    sglang("prefill_delayer_wait_seconds", "histogram", "s", None, "time a prefill was held", FROM_59),
    sglang("prefill_delayer_outcomes", "counter", "count", None, "decisions of the delayer", FROM_59,
           labels=("input_estimation", "output_allow", "output_reason", "actual_execution")),
    sglang("eplb_balancedness", "summary", "share", None, "expert balance", FROM_59, labels=("forward_mode",)),
    sglang("eplb_gpu_physical_count", "histogram", "count", None, "tokens per physical expert", FROM_56,
           labels=("layer",)),
    sglang("lora_pool_slots_used", "gauge", "slots", "lora_used", "adapters in the running batch", FROM_59),
    sglang("lora_pool_slots_total", "gauge", "slots", "lora_total", "adapter slots", FROM_59),
    sglang("lora_pool_utilization", "gauge", "share", None, "adapter slots in use", FROM_59,
           names=(OldName("lora_pool_slots_utilization"),)),
)

SCHEDULER_METRICS: Final = (*LOAD, *MEMORY, *RETRACTION, *WORK, *SPECULATION, *PARALLEL)
