"""Causes of the layer `cache`: prefixes that should hit do not, or only seem not to."""

from __future__ import annotations

from typing import Final

from ridgeline.causes.sign import helps, must, never
from ridgeline.model.cause import Cause, Remedy, Twin

RADIX: Final = ("mem_cache/radix_cache.py",)
LESS: Final = must("change", "<=", 0.8, of="hit_ratio")
# The share also falls where prompts only grew: then a request finds as much as before.
AS_MUCH: Final = never("change", ">", 0.9, of="cached_each")
# What follows when more has to be computed for each request: longer prefills, longer stays, fuller batches.
FOLLOWS: Final = (
    "prefill.prompt-mix",
    "prefill.regression",
    "decode.batch-growth",
    "decode.prefill-interference",
    "queue.arrival-overload",
    "queue.burst",
    "queue.running-cap",
    "memory.saturation",
    "memory.retraction-storm",
    "frontend.blocked-loop",
    "decode.slow-rank",
)

CAUSES: Final = (
    Cause(
        id="cache.flushed",
        looks_like="The hit ratio falls at once after a flush, a restart or a weight update.",
        differs="It comes back by itself as the cache fills again.",
        required=(LESS, must("flush_explains", "is", True)),
        supporting=(helps("changes_near_onset", ">=", 1),),
        absent=(
            AS_MUCH,
            never("setting_changed", "is", True, setting="disable_radix_cache"),
            never("setting_changed", "is", True, setting="page_size"),
        ),
        twins=(Twin("cache.prompt-drift", must("flush_explains", "is", True)),),
        explains=("cache.prompt-drift", *FOLLOWS),
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
        required=(must("content_changed", "is", True),),
        # One caller's prompts may be a small part of all: the whole ratio then falls but little.
        absent=(never("change", ">", 0.97, of="hit_ratio"), never("hit_ratio", ">=", 0.9)),
        supporting=(
            helps("written_never_read", ">=", 1),
            helps("change", "<=", 0.75, of="hit_ratio"),
        ),
        twins=(
            Twin("cache.eviction", must("content_told", "is", True), decides=True),
            Twin("cache.key-split", must("drifting_head", "not-empty", True)),
        ),
        explains=("cache.disabled", *FOLLOWS),
        remedies=(Remedy("fix", "move what changes (clock, ids) to the end of the prompt", None, False),),
        source_entry=("the client's prompt",),
        route="replay",
        statement="cause.cache.prompt-drift",
    ),
    Cause(
        id="cache.eviction",
        looks_like="The same prefixes hit less because they are evicted before they return.",
        differs="Content is unchanged and the pool is near its end.",
        required=(LESS, must("evicting", "is", True)),
        supporting=(helps("evicted_tokens", ">=", 1), helps("change", ">=", 1.2, of="usage", stat="peak")),
        absent=(
            AS_MUCH,
            never("flush_explains", "is", True),
            never("setting_changed", "is", True, setting="disable_radix_cache"),
            never("setting_changed", "is", True, setting="page_size"),
            never("keys_split", "is", True),
            never("scattered", "is", True),
            never("evicted_tokens", "<", 1),
            # More to serve fills the pool, and evictions follow from that.
            never("change", ">=", 1.2, of="arrival_rate"),
            never("change", ">=", 1.5, of="output_tokens"),
            # KV that nobody gives back takes the room of cached prefixes as well.
            never("change", ">=", 1.4, of="tokens_per_running"),
        ),
        twins=(Twin("cache.prompt-drift", must("evicted_tokens", ">=", 1)),),
        explains=FOLLOWS,
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
        required=(must("pages_bite", "is", True),),
        supporting=(helps("hit_ratio", "<", 0.7),),
        only_asked=("cache",),
        twins=(Twin("cache.eviction", must("pages_bite", "is", True)),),
        explains=FOLLOWS,
        remedies=(Remedy("fix", "a smaller page, where the kernels allow it", "--page-size", True, None, "speed"),),
        source_entry=RADIX,
        route="config",
        statement="cause.cache.page-misaligned",
    ),
    Cause(
        id="cache.scattered-routing",
        looks_like="Requests of one key are served by many ranks, each with a cold cache.",
        differs="On one rank the same requests hit.",
        required=(LESS, must("scattered", "is", True)),
        supporting=(helps("places_per_key", ">=", 1.5),),
        absent=(
            AS_MUCH,
            never("setting_changed", "is", True, setting="disable_radix_cache"),
            never("setting_changed", "is", True, setting="page_size"),
        ),
        twins=(Twin("cache.eviction", must("scattered", "is", True)),),
        explains=("cache.eviction", "cache.flushed", *FOLLOWS),
        scope_by=("worker", "dp_rank"),
        comparative=True,
        remedies=(
            Remedy("fix", "route by prefix or key at the gateway", "--policy cache_aware", False, None, "hot spots"),
        ),
        source_entry=("the gateway",),
        route="simulate",
        statement="cause.cache.scattered-routing",
    ),
    Cause(
        id="cache.key-split",
        looks_like="Identical prompts miss across adapters, salts or extra keys.",
        differs="They hit inside one key only.",
        required=(must("keys_split", "is", True),),
        supporting=(helps("change", "<=", 0.75, of="hit_ratio"),),
        twins=(Twin("cache.eviction", must("keys_split", "is", True)),),
        explains=("cache.prompt-drift", *FOLLOWS),
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
        explains=("cache.flushed", "cache.prompt-drift", *FOLLOWS),
        remedies=(
            Remedy(
                "fix",
                "start without this flag; where it is not set, use a cache class that serves this model",
                "--disable-radix-cache",
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
