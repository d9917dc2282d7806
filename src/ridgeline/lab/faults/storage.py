"""Faults of the storage tier behind the prefix cache."""

from typing import Final

from ridgeline.lab.faults.model import Fault, Traffic

TIER = (("enable_hierarchical_cache", True), ("hicache_storage_backend", "mooncake"))

FAULTS: Final = (
    Fault(
        "storage.tier-stall", "storage.tier-stall",
        "Prefetches from the storage tier take seconds; requests are passed over in the queue until they end.",
        "prefill_waiting", "none", traffic=(Traffic("storage_wait", (1.5, 4.0, 9.0)),),
        settings=TIER, versions=("0.5.23",), rules_out=("queue.arrival-overload", "queue.running-cap"),
    ),
    Fault(
        "storage.tier-miss", "storage.tier-miss",
        "The storage tier no longer has what it used to: prompts that came from it are computed again.",
        "prefill_forward", "none",
        traffic=(Traffic("storage_hits", (0.75, 0.75, 0.75), always=True), Traffic("storage_lost", (1, 1, 1))),
        settings=TIER, versions=("0.5.23",), rules_out=("cache.prompt-drift",),
    ),
)  # fmt: skip
