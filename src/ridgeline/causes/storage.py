"""Causes of the layer `storage`: host and external tiers of the cache."""

from __future__ import annotations

from typing import Final

from ridgeline.causes.sign import helps, hint, must
from ridgeline.model.cause import Cause, Remedy, Twin

CAUSES: Final = (
    Cause(
        id="storage.tier-stall",
        looks_like="Requests wait for their prefix to come back from a slower tier.",
        differs="They hit, and the hit is what costs the time.",
        required=(must("slice_share", ">=", 0.2, part="storage"),),
        supporting=(
            hint("hits_cost_time", "is", True),
            helps("hit_ratio", ">=", 0.3),
            helps("event_count", ">=", 1, kinds="storage"),
        ),
        twins=(Twin("storage.tier-miss", must("slice_share", ">=", 0.2, part="storage")),),
        explains=("queue.slot-leak", "queue.over-reservation"),  # who waits for a tier is not admitted: nothing is lost
        remedies=(
            Remedy("fix", "bound the prefetch, or recompute short prefixes", "--hicache-storage-prefetch-policy", True),
        ),
        source_entry=("mem_cache/hiradix_cache.py",),
        route="none",
        statement="cause.storage.tier-stall",
    ),
    Cause(
        id="storage.tier-miss",
        looks_like="The external tier fails to keep or give back what was stored.",
        differs="Requests are served; they only hit less.",
        required=(must("tier_lost", "is", True), must("change", "<=", 0.9, of="hit_ratio")),
        supporting=(hint("event_count", ">=", 1, kinds="storage"), helps("slice_share", "<", 0.2, part="storage")),
        twins=(Twin("cache.prompt-drift", must("tier_lost", "is", True)),),
        explains=(
            "cache.prompt-drift",
            "cache.eviction",
            "prefill.prompt-mix",
            "prefill.regression",
            "decode.batch-growth",
            "decode.prefill-interference",
            "queue.arrival-overload",
            "queue.burst",
        ),
        comparative=True,
        remedies=(Remedy("fix", "check the store's capacity and its links", None, False),),
        source_entry=("mem_cache/storage/",),
        route="none",
        statement="cause.storage.tier-miss",
    ),
)
