"""Faults of the prefix cache layer."""

from typing import Final

from ridgeline.lab.faults.model import SGLANG, Fault, Host, Traffic

LONG = (Traffic("prefix_tokens", (1500, 1500, 1500), always=True), Traffic("few_groups", (6, 6, 6), always=True))

FAULTS: Final = (
    Fault(
        "cache.flushed", "cache.flushed",
        "The prefix cache is emptied again and again (weights updated at run time); hits recover in between.",
        "prefill_forward", "none", traffic=(*LONG, Traffic("flushes", (12.0, 8.0, 5.0))), host=(Host("flushes", (12.0, 8.0, 5.0)),), versions=SGLANG,
        settings=(("max_total_num_tokens", 160_000),), rules_out=("cache.prompt-drift", "cache.eviction"),
    ),
    Fault(
        "cache.prompt-drift", "cache.prompt-drift",
        "A template change put a changing value near the start of the prompt: nothing after it can be shared.",
        "prefill_forward", "simulate", scope=("client",), by="client",
        traffic=(*LONG, Traffic("drift", (1, 1, 1))),
        settings=(("max_total_num_tokens", 200_000),), rules_out=("cache.eviction", "cache.flushed"),
    ),
    Fault(
        "cache.prompt-drift/counter", "cache.prompt-drift",
        "Each prompt now begins with a running number.",
        "prefill_forward", "simulate", scope=("client",), by="client",
        traffic=(*LONG, Traffic("drift", (2, 2, 2))),
        settings=(("max_total_num_tokens", 200_000),), rules_out=("cache.eviction", "cache.flushed"),
    ),
    Fault(
        "cache.key-split", "cache.key-split",
        "Requests carry a per-user extra key: the same tokens live in separate namespaces.",
        "prefill_forward", "simulate", scope=("extra_key",), by="extra_key",
        traffic=(*LONG, Traffic("split_keys", (40, 120, 400))),
        settings=(("max_total_num_tokens", 200_000),), versions=SGLANG,
        rules_out=("cache.prompt-drift", "cache.eviction"),
    ),
    Fault(
        "cache.page-misaligned", "cache.page-misaligned",
        "A restart brought a page size just above the shared prefixes: the part of a page at their end is lost.",
        "prefill_forward", "simulate",
        traffic=(Traffic("prefix_tokens", (1000, 1000, 1000), always=True), Traffic("few_groups", (6, 6, 6), always=True)),
        settings=(("max_total_num_tokens", 163_840),), deploy=(("page_size", (256, 512, 1024)),), versions=SGLANG,
        rules_out=("cache.prompt-drift", "cache.eviction"),
    ),
    Fault(
        "cache.eviction", "cache.eviction",
        "More prefixes are in use than the pool can keep: they are evicted before they come back.",
        "prefill_forward", "simulate",
        traffic=(*LONG, Traffic("groups", (32, 44, 64))),
        settings=(("max_total_num_tokens", 60_000),), rules_out=("cache.prompt-drift", "cache.flushed"),
    ),
    Fault(
        "cache.scattered-routing", "cache.scattered-routing",
        "The gateway no longer keeps a prefix on one worker; every worker computes every prefix.",
        "prefill_forward", "simulate", scope=("worker",),
        traffic=(Traffic("prefix_tokens", (2200, 2200, 2200), always=True), Traffic("few_groups", (24, 24, 24), always=True)),
        settings=(("max_total_num_tokens", (52_000, 48_000, 44_000)), ("router", "cache_aware")),
        deploy=(("router", "random"),),
        needs=("workers",), versions=SGLANG, rules_out=("cache.prompt-drift",),
    ),
    Fault(
        "cache.disabled", "cache.disabled",
        "A restart turned the prefix cache off.",
        "prefill_forward", "config", traffic=(Traffic("prefix_tokens", (600, 800, 1000), always=True), Traffic("few_groups", (6, 6, 6), always=True)),
        deploy=(("disable_radix_cache", True),),
        settings=(("max_total_num_tokens", 160_000),), versions=SGLANG, rules_out=("cache.eviction", "cache.prompt-drift"),
    ),
    Fault(
        "cache.metric-artefact", "cache.metric-artefact",
        "The scraped hit-rate gauge reads zero because every decode report overwrites it; requests do hit.",
        "none", "none", traffic=LONG, settings=(("max_total_num_tokens", 160_000),), versions=("0.5.3", "0.5.9"),
        host=(Host("no-exporter"),), harmless=True, rules_out=("cache.eviction", "cache.prompt-drift"),
    ),
)  # fmt: skip
