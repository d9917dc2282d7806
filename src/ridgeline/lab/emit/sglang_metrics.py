"""``/metrics`` of an SGLang server: which concept has which name and labels in which release (SIGNALS §1).

The lab counts concepts (`Counted`); this file names them. A concept a release does not have is left out, and
dimensions it does not label by are summed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ridgeline.lab.emit import buckets as b
from ridgeline.lab.emit.exposition import Family, Histogram, Labels, labelled
from ridgeline.lab.emit.model import Server

Dims = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Counted:
    """What a server has counted by one moment.

    ``gauges``: per DP rank, concept to value. ``counters`` and ``histograms``: (concept, rank or None for the
    API server, dimensions) to a number or observations per bucket.
    """

    gauges: tuple[Mapping[str, float], ...]
    counters: Mapping[tuple[str, int | None, Dims], float]
    histograms: Mapping[tuple[str, int | None, Dims], Histogram]


# concept → name per release (0.5.3, 0.5.9, 0.5.23); None: not there
GAUGES: Final[tuple[tuple[str, tuple[str | None, str | None, str | None]], ...]] = (
    ("running", ("num_running_reqs",) * 3),
    ("used_tokens", ("num_used_tokens",) * 3),
    ("usage", ("token_usage",) * 3),
    ("usage", (None, None, "full_token_usage")),
    ("swa_usage", ("swa_token_usage",) * 3),
    ("mamba_usage", (None, "mamba_usage", "mamba_usage")),
    ("sequence_tokens", (None, "decode_sum_seq_lens", "decode_sum_seq_lens")),
    ("gen_tps", ("gen_throughput",) * 3),
    ("waiting", ("num_queue_reqs",) * 3),
    ("grammar_waiting", ("num_grammar_queue_reqs",) * 3),
    ("offline", ("num_running_reqs_offline_batch", "num_running_reqs_offline_batch", None)),
    ("hit_rate", ("cache_hit_rate",) * 3),
    ("pool_tokens", (None, "max_total_num_tokens", "max_total_num_tokens")),
    ("page_size", (None, None, "page_size")),
    ("pages", (None, None, "num_pages")),
    ("context_len", (None, None, "context_len")),
    ("available_tokens", (None, None, "kv_available_tokens")),
    ("evictable_tokens", (None, None, "kv_evictable_tokens")),
    ("used_tokens", (None, None, "kv_used_tokens")),
    ("accept_length", ("spec_accept_length",) * 3),
    ("accept_rate", (None, "spec_accept_rate", "spec_accept_rate")),
    ("lora_used", (None, "lora_pool_slots_used", "lora_pool_slots_used")),
    ("lora_total", (None, "lora_pool_slots_total", "lora_pool_slots_total")),
    ("lora_utilization", (None, "lora_pool_utilization", "lora_pool_utilization")),
    (
        "bootstrap",
        ("num_prefill_prealloc_queue_reqs", "num_prefill_prealloc_queue_reqs", "num_prefill_bootstrap_queue_reqs"),
    ),
    ("inflight", ("num_prefill_inflight_queue_reqs",) * 3),
    ("prealloc", ("num_decode_prealloc_queue_reqs",) * 3),
    ("transfer", ("num_decode_transfer_queue_reqs",) * 3),
    ("pending_prealloc", (None, "pending_prealloc_token_usage", "pending_prealloc_token_usage")),
    ("prealloc_usage", (None, None, "prealloc_full_token_usage")),
    ("transfer_gb_s", ("kv_transfer_speed_gb_s", "kv_transfer_speed_gb_s", None)),
    ("transfer_ms", ("kv_transfer_latency_ms", "kv_transfer_latency_ms", None)),
    ("bootstrap_ms", (None, "kv_transfer_bootstrap_ms", None)),
    ("alloc_ms", (None, "kv_transfer_alloc_ms", None)),
    ("utilization", ("utilization",) * 3),
    ("new_token_ratio", (None, "new_token_ratio", "new_token_ratio")),
    ("graph", (None, "is_cuda_graph", "is_cuda_graph")),
)
PID_GAUGES: Final = (("retracted_now", "num_retracted_reqs"), ("paused", "num_paused_reqs"))

# concept → (name per release, dimensions each release labels by)
COUNTERS: Final[tuple[tuple[str, tuple[str | None, str | None, str | None], tuple[tuple[str, ...], ...]], ...]] = (
    ("prompt_tokens", ("prompt_tokens_total",) * 3, ((), (), ("is_streaming",))),
    ("generation_tokens", ("generation_tokens_total",) * 3, ((), (), ("is_streaming",))),
    ("requests", ("num_requests_total",) * 3, ((), (), ("is_streaming",))),
    ("cached_tokens", ("cached_tokens_total",) * 3, ((), (), ("cache_source",))),
    ("aborted", ("num_aborted_requests_total",) * 3, ((), (), ())),
    ("structured", ("num_so_requests_total",) * 3, ((), (), ())),
    ("retracted", (None, "num_retracted_requests_total", "num_retracted_requests_total"), ((), (), ())),
    ("retracted_input", (None, "num_retracted_input_tokens_total", "num_retracted_input_tokens_total"), ((), (), ())),
    (
        "retracted_output",
        (None, "num_retracted_output_tokens_total", "num_retracted_output_tokens_total"),
        ((), (), ()),
    ),
    ("realtime", (None, "realtime_tokens_total", "realtime_tokens_total"), ((), ("mode",), ("mode",))),
    ("effective", (None, None, "prefill_effective_tokens_total"), ((), (), ("mode",))),
    ("graph_passes", (None, "cuda_graph_passes_total", "cuda_graph_passes_total"), ((), ("mode",), ("mode",))),
    ("idle_s", (None, None, "scheduler_idle_seconds_total"), ((), (), ())),
    ("stage_s", (None, None, "scheduler_stage_seconds_total"), ((), (), ("category", "forward_overlap"))),
    ("bootstrap_failed", ("num_bootstrap_failed_reqs_total",) * 3, ((), (), ())),
    ("transfer_failed", ("num_transfer_failed_reqs_total",) * 3, ((), (), ())),
    (
        "http_requests",
        (None, "http_requests_total", "http_requests_total"),
        ((), ("endpoint", "method"), ("endpoint", "method")),
    ),
    (
        "http_responses",
        (None, "http_responses_total", "http_responses_total"),
        ((), ("endpoint", "method", "status_code"), ("endpoint", "method", "status_code")),
    ),
    ("cpu_s", (None, "process_cpu_seconds_total", "process_cpu_seconds_total"), ((), ("component",), ("component",))),
)
BARE: Final = frozenset({"http_requests", "http_responses", "cpu_s"})
"""Concepts whose labels are their dimensions alone."""

# concept → (name per release, bounds per release, dimensions per release)
HISTOGRAMS: Final[
    tuple[tuple[str, tuple[str | None, ...], tuple[tuple[float, ...], ...], tuple[tuple[str, ...], ...]], ...]
] = (
    ("ttft", ("time_to_first_token_seconds",) * 3, (b.TTFT,) * 3, ((), (), ("is_streaming",))),
    ("itl", ("inter_token_latency_seconds",) * 3, (b.ITL,) * 3, ((), (), ())),
    ("e2e", ("e2e_request_latency_seconds",) * 3, (b.E2E,) * 3, ((), (), ("is_streaming",))),
    ("tpot", (None, None, "request_time_per_output_token_seconds"), (b.ITL,) * 3, ((), (), ("is_streaming",))),
    ("queue", ("queue_time_seconds",) * 3, (b.QUEUE_OLD, b.QUEUE_OLD, b.QUEUE_NEW), ((), (), ())),
    ("stage", ("per_stage_req_latency_seconds",) * 3, (b.STAGE,) * 3, (("stage",),) * 3),
    ("prompt", ("prompt_tokens_histogram",) * 3, (b.TOKENS,) * 3, ((), (), ())),
    ("generation", ("generation_tokens_histogram",) * 3, (b.TOKENS,) * 3, ((), (), ())),
    ("uncached", (None, None, "uncached_prompt_tokens_histogram"), (b.TOKENS,) * 3, ((), (), ())),
    ("transfer_gb_s", (None, None, "kv_transfer_speed_gb_s"), (b.SPEED_GB_S,) * 3, ((), (), ())),
    ("transfer_ms", (None, None, "kv_transfer_latency_ms"), (b.LATENCY_MS,) * 3, ((), (), ())),
    ("bootstrap_ms", (None, None, "kv_transfer_bootstrap_ms"), (b.BOOTSTRAP_MS,) * 3, ((), (), ())),
    ("alloc_ms", (None, None, "kv_transfer_alloc_ms"), (b.BOOTSTRAP_MS,) * 3, ((), (), ())),
    ("transfer_mb", (None, None, "kv_transfer_total_mb"), (b.TOTAL_MB,) * 3, ((), (), ())),
)


def scheduler_labels(server: Server, rank: int) -> dict[str, str]:
    """What a scheduler's series carry."""
    labels = {"engine_type": server.role, "model_name": server.model, "pp_rank": "0", "tp_rank": "0"}
    if server.at > 0:
        labels["moe_ep_rank"] = "0"
    if server.dp_size > 1:
        labels["dp_rank"] = str(rank)
    return labels


def base_labels(server: Server, concept: str, rank: int | None) -> dict[str, str]:
    """Labels before dimensions."""
    if concept in BARE:
        return {}
    if rank is not None:
        return scheduler_labels(server, rank)
    labels = {"model_name": server.model}
    return labels | {"engine_type": server.role} if server.at == 2 else labels


def kept(dims: Dims, names: Iterable[str]) -> dict[str, str]:
    """The dimensions a release labels by."""
    wanted = frozenset(names)
    return {k: v for k, v in dims if k in wanted}


def bounds_of(server: Server, concept: str) -> tuple[float, ...]:
    """Bucket bounds of a histogram concept in the server's release."""
    return next(bounds[server.at] for name, _, bounds, _ in HISTOGRAMS if name == concept)


def merged(a: Histogram | None, more: Histogram) -> Histogram:
    """Two histograms of the same bounds as one."""
    if a is None:
        return more
    return Histogram(tuple(x + y for x, y in zip(a.counts, more.counts, strict=True)), a.total + more.total)


def families(server: Server, counted: Counted) -> list[Family]:
    """Every family of the server's page, in a fixed order."""
    at = server.at
    out: list[Family] = []
    for concept, names in GAUGES:
        name = names[at]
        samples = tuple(
            (labelled(scheduler_labels(server, rank)), values[concept])
            for rank, values in enumerate(counted.gauges) if concept in values
        )  # fmt: skip
        if name is not None:
            out.append(Family(f"sglang:{name}", "gauge", HELP.get(concept, concept), samples))
    for concept, name in PID_GAUGES:
        samples = tuple(
            (labelled(scheduler_labels(server, rank) | {"pid": str(server.pid + 60 + rank)}), values.get(concept, 0.0))
            for rank, values in enumerate(counted.gauges)
        )
        out.append(Family(f"sglang:{name}", "gauge", concept, samples))
    if at == 1:
        info = {"page_size": str(server.page_size), "num_pages": str(server.pool_tokens // server.page_size)}
        out.append(Family("sglang:cache_config_info", "gauge", "Cache geometry", ((labelled(info), 1.0),)))
    for concept, counter_names, dims_of in COUNTERS:
        name = counter_names[at]
        if name is None:
            continue
        sums: dict[Labels, float] = {}
        for (what, rank, dims), value in counted.counters.items():
            if what == concept:
                labels = labelled(base_labels(server, concept, rank) | kept(dims, dims_of[at]))
                if concept == "cached_tokens" and at == 1:
                    labels = labelled(dict(labels) | {"cache_source": "total"})
                sums[labels] = sums.get(labels, 0.0) + value
        out.append(Family(f"sglang:{name}", "counter", HELP.get(concept, concept), tuple(sorted(sums.items()))))
    for concept, histogram_names, bounds, dims_of in HISTOGRAMS:
        name = histogram_names[at]
        if name is None:
            continue
        found: dict[Labels, Histogram] = {}
        for (what, rank, dims), histogram in counted.histograms.items():
            if what == concept:
                labels = labelled(base_labels(server, concept, rank) | kept(dims, dims_of[at]))
                found[labels] = merged(found.get(labels), histogram)
        out.append(
            Family(
                f"sglang:{name}",
                "histogram",
                HELP.get(concept, concept),
                tuple(sorted(found.items(), key=lambda x: x[0])),
                bounds[at],
            )
        )
    return out


HELP: Final = {
    "running": "Requests in the running batch",
    "waiting": "Requests in the waiting queue",
    "usage": "Share of the KV pool in use",
    "ttft": "Time to first token",
    "itl": "Time between tokens",
    "e2e": "Time from receipt to the end",
    "queue": "Wait before the first forward",
    "stage": "Time per stage of a request",
}
