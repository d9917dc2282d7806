"""``/metrics`` of a vLLM server (SIGNALS §15.1) from the same counted concepts."""

from typing import Final

from ridgeline.lab.emit import buckets as b
from ridgeline.lab.emit.exposition import Family, Histogram, Labels, labelled
from ridgeline.lab.emit.model import Server
from ridgeline.lab.emit.sglang_metrics import Counted, Dims, merged

GAUGES: Final = (
    ("running", "vllm:num_requests_running"),
    ("waiting", "vllm:num_requests_waiting"),
    ("usage", "vllm:kv_cache_usage_perc"),
)
COUNTERS: Final = (
    ("cache_queries", "vllm:prefix_cache_queries_total"),
    ("cache_hits", "vllm:prefix_cache_hits_total"),
    ("preempted", "vllm:num_preemptions_total"),
    ("prompt_tokens", "vllm:prompt_tokens_total"),
    ("generation_tokens", "vllm:generation_tokens_total"),
    ("cached_tokens", "vllm:prompt_tokens_cached_total"),
)
HISTOGRAMS: Final = (
    ("ttft", "vllm:time_to_first_token_seconds", b.VLLM_TTFT),
    ("itl", "vllm:inter_token_latency_seconds", b.VLLM_ITL),
    ("tpot", "vllm:request_time_per_output_token_seconds", b.VLLM_ITL),
    ("e2e", "vllm:e2e_request_latency_seconds", b.VLLM_E2E),
    ("queue", "vllm:request_queue_time_seconds", b.VLLM_E2E),
    ("inference", "vllm:request_inference_time_seconds", b.VLLM_E2E),
    ("prefill", "vllm:request_prefill_time_seconds", b.VLLM_E2E),
    ("decode", "vllm:request_decode_time_seconds", b.VLLM_E2E),
    ("prompt", "vllm:request_prompt_tokens", b.VLLM_TOKENS),
    ("generation", "vllm:request_generation_tokens", b.VLLM_TOKENS),
)
REASONS: Final = ("stop", "length", "abort", "error", "repetition")


def bounds_of(concept: str) -> tuple[float, ...]:
    """Bucket bounds of a histogram concept."""
    return next(bounds for name, _, bounds in HISTOGRAMS if name == concept)


def labels_of(server: Server, rank: int | None, dims: Dims = ()) -> Labels:
    """Model, engine index, and dimensions."""
    return labelled({"model_name": server.model, "engine": str(rank or 0)} | dict(dims))


def families(server: Server, counted: Counted) -> list[Family]:
    """Every family of the page, in a fixed order."""
    out: list[Family] = []
    for concept, name in GAUGES:
        samples = tuple((labels_of(server, k), values[concept]) for k, values in enumerate(counted.gauges))
        out.append(Family(name, "gauge", concept, samples))
    waiting = tuple(
        (labels_of(server, k, (("reason", reason),)), values["waiting"] if reason == "capacity" else 0.0)
        for k, values in enumerate(counted.gauges)
        for reason in ("capacity", "deferred")
    )
    out.append(Family("vllm:num_requests_waiting_by_reason", "gauge", "Requests waiting, by reason", waiting))
    for concept, name in COUNTERS:
        sums: dict[Labels, float] = {}
        for (what, rank, _), value in counted.counters.items():
            if what == concept:
                labels = labels_of(server, rank)
                sums[labels] = sums.get(labels, 0.0) + value
        out.append(Family(name, "counter", concept, tuple(sorted(sums.items()))))
    ended: dict[Labels, float] = {labels_of(server, k, (("finished_reason", reason),)): 0.0
                                  for k in range(server.dp_size) for reason in REASONS}  # fmt: skip
    for (what, rank, dims), value in counted.counters.items():
        if what == "ended":
            labels = labels_of(server, rank, dims)
            ended[labels] = ended.get(labels, 0.0) + value
    out.append(
        Family("vllm:request_success_total", "counter", "Requests ended, by reason", tuple(sorted(ended.items())))
    )
    for concept, name, bounds in HISTOGRAMS:
        found: dict[Labels, Histogram] = {}
        for (what, rank, _), histogram in counted.histograms.items():
            if what == concept:
                labels = labels_of(server, rank)
                found[labels] = merged(found.get(labels), histogram)
        out.append(Family(name, "histogram", concept, tuple(sorted(found.items(), key=lambda x: x[0])), bounds))
    info = {"block_size": str(server.page_size), "cache_dtype": "auto", "engine": "0", "enable_prefix_caching": "True",
            "num_gpu_blocks": str(server.pool_tokens // server.page_size)}  # fmt: skip
    out.append(Family("vllm:cache_config_info", "gauge", "Cache configuration", ((labelled(info), 1.0),)))
    return out
