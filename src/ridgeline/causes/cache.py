"""Causes of the layer `cache`: prefixes that should hit do not, or only seem not to."""

from __future__ import annotations

from typing import Final

from ridgeline.causes.sign import helps, must, never
from ridgeline.model.cause import Cause, Remedy, Twin

RADIX: Final = ("mem_cache/radix_cache.py",)
LESS: Final = must("change", "<=", 0.75, of="hit_ratio")

CAUSES: Final = (
    Cause(
        id="cache.flushed",
        looks_like="The hit ratio falls at once after a flush, a restart or a weight update.",
        differs="It comes back by itself as the cache fills again.",
        required=(LESS, must("event_count", ">=", 1, kinds="cache-flushed,restart,weights-updated")),
        supporting=(helps("changes_near_onset", ">=", 1),),
        twins=(
            Twin("cache.prompt-drift", must("event_count", ">=", 1, kinds="cache-flushed,restart,weights-updated")),
        ),
        explains=("cache.prompt-drift", "prefill.prompt-mix"),
        comparative=True,
        remedies=(Remedy("prevent", "flush in quiet hours; warm the common prefixes after it", None, False),),
        source_entry=RADIX,
        route="none",
        statement="cause.cache.flushed",
    ),
    Cause(
        id="cache.prompt-drift",
        looks_like="Prompts that should share a head differ near its beginning.",
        differs="The ids themselves differ: no cache could hit.",
        required=(must("drifting_head", "not-empty", True),),
        absent=(never("hit_ratio", ">=", 0.5),),
        supporting=(
            helps("written_never_read", ">=", 1),
            helps("change", "<=", 0.75, of="hit_ratio"),
        ),
        twins=(Twin("cache.eviction", must("drifting_head", "not-empty", True)),),
        explains=("prefill.prompt-mix", "cache.disabled"),
        remedies=(Remedy("fix", "move what changes (clock, ids) to the end of the prompt", None, False),),
        source_entry=("the client's prompt",),
        route="replay",
        statement="cause.cache.prompt-drift",
    ),
    Cause(
        id="cache.eviction",
        looks_like="The same prefixes hit less because they are evicted before they return.",
        differs="Content is unchanged and the pool is near its end.",
        required=(LESS, must("usage", ">=", 0.85, stat="peak"), must("evicted_tokens", ">=", 1)),
        supporting=(helps("change", ">=", 1.5, of="evicted_tokens"),),
        absent=(
            never("event_count", ">=", 1, kinds="cache-flushed,restart,weights-updated"),
            never("slice_share", ">=", 0.8, part="queue"),
        ),
        twins=(Twin("cache.prompt-drift", must("evicted_tokens", ">=", 1)),),
        explains=("prefill.prompt-mix",),
        comparative=True,
        remedies=(
            Remedy("fix", "a larger pool, a host tier, or routing by prefix", "--enable-hierarchical-cache", True),
        ),
        source_entry=RADIX,
        route="simulate",
        statement="cause.cache.eviction",
    ),
    Cause(
        id="cache.page-misaligned",
        looks_like="Short prompts hit less than they share because only whole pages match.",
        differs="The loss is less than one page for each request, by arithmetic.",
        required=(must("page_loss", ">=", 0.3),),
        supporting=(helps("hit_ratio", "<", 0.7),),
        only_asked=("cache",),
        twins=(Twin("cache.eviction", must("page_loss", ">=", 0.3)),),
        remedies=(Remedy("fix", "a smaller page, where the kernels allow it", "--page-size", True, None, "speed"),),
        source_entry=RADIX,
        route="config",
        statement="cause.cache.page-misaligned",
    ),
    Cause(
        id="cache.scattered-routing",
        looks_like="Requests of one key are served by many ranks, each with a cold cache.",
        differs="On one rank the same requests hit.",
        required=(LESS, must("change", ">=", 1.5, of="places_per_key")),
        supporting=(helps("places_per_key", ">=", 2),),
        twins=(Twin("cache.eviction", must("change", ">=", 1.5, of="places_per_key")),),
        explains=("prefill.prompt-mix", "cache.eviction"),
        comparative=True,
        remedies=(Remedy("fix", "route by prefix or key", "--policy cache_aware", False, None, "hot spots"),),
        source_entry=("the gateway",),
        route="simulate",
        statement="cause.cache.scattered-routing",
    ),
    Cause(
        id="cache.key-split",
        looks_like="Identical prompts miss across adapters, salts or extra keys.",
        differs="They hit inside one key only.",
        required=(must("split_by_key", ">=", 0.3),),
        supporting=(helps("change", "<=", 0.75, of="hit_ratio"),),
        twins=(Twin("cache.eviction", must("split_by_key", ">=", 0.3)),),
        remedies=(Remedy("fix", "use fewer distinct keys for prompts that may share", None, False),),
        source_entry=RADIX,
        route="replay",
        statement="cause.cache.key-split",
    ),
    Cause(
        id="cache.disabled",
        looks_like="Not one token ever hits.",
        differs="Neither eviction nor a page edge can lose everything.",
        required=(must("no_reuse", "is", True),),
        supporting=(helps("cache_off", "is", True), helps("usage", "<", 0.9)),
        absent=(never("cache_off", "is", False),),
        twins=(Twin("cache.eviction", must("no_reuse", "is", True)),),
        only_asked=("cache",),
        explains=("queue.arrival-overload", "queue.burst"),
        remedies=(
            Remedy(
                "fix",
                "switch the prefix cache on, or use a cache class that serves this model",
                "--disable-radix-cache (remove)",
                True,
            ),
        ),
        source_entry=RADIX,
        route="config",
        statement="cause.cache.disabled",
    ),
    Cause(
        id="cache.metric-artefact",
        looks_like="The printed hit rate does not say what it seems to say.",
        differs="The tokens hit as they should; only the gauge misleads.",
        required=(must("misread_rate", "is", True),),
        supporting=(helps("cumulative_rate", "is", True), helps("gauge_against_hits", ">=", 0.3)),
        absent=(never("change", ">=", 1.3, of="seconds", what="ttft_s"),),
        twins=(Twin("cache.eviction", must("misread_rate", "is", True)),),
        only_asked=("cache",),
        remedies=(Remedy("fix", "read counters or cached_tokens of requests instead of the gauge", None, False),),
        source_entry=("managers/scheduler_metrics_mixin.py",),
        route="none",
        statement="cause.cache.metric-artefact",
    ),
)
