"""Causes of the layer `routing`: one place queues while others have room."""

from __future__ import annotations

from typing import Final

from ridgeline.causes.sign import helps, must, never
from ridgeline.model.cause import Cause, Remedy, Twin

LOPSIDED: Final = must("free_places", ">=", 0.3)
OVERALL: Final = (
    "queue.arrival-overload",
    "queue.running-cap",
    "queue.burst",
    "queue.over-reservation",
    "queue.limit-rejected",
    "memory.saturation",
    "memory.retraction-storm",
    "memory.pool-misconfigured",
    "decode.batch-growth",
    "decode.prefill-interference",
    "cache.eviction",
    "cache.metric-artefact",  # a gauge that misleads slows nobody down
    "prefill.regression",
    "decode.regression",
    "prefill.prompt-mix",  # a key that brings long prompts moves the mix of the whole service
)

CAUSES: Final = (
    Cause(
        id="routing.hot-key",
        looks_like="One rank queues while others idle: a key or session sends its work to one place.",
        differs="Arrivals themselves are uneven; with even arrivals the rank or its tokens are the fault.",
        required=(LOPSIDED,),
        supporting=(
            helps("queue_pressure", ">=", 0.2),
            helps("top_key_share", ">=", 0.2),
            helps("arrival_skew", ">=", 1.3, by="tokens"),
        ),
        absent=(
            never("arrival_skew", "<", 1.15, by="requests"),
            never("missing_workers", ">=", 1),
            never("stands_still", "is", True),
        ),
        twins=(
            Twin("routing.token-skew", must("arrival_skew", ">=", 1.15, by="requests")),
            Twin("decode.slow-rank", must("arrival_skew", ">=", 1.15, by="requests")),
        ),
        explains=(*OVERALL, "routing.token-skew", "routing.stale-load", "decode.slow-rank", "queue.head-of-line"),
        scope_by=("dp_rank", "routing_key", "worker"),
        remedies=(
            Remedy(
                "mitigate-now",
                "split or re-hash the hot key, or pin it to a larger share of ranks",
                None,
                False,
                "its cache hits",
            ),
            Remedy(
                "fix",
                "balance by load with affinity as a preference only",
                "--load-balance-method total_requests",
                True,
                "cache hits",
            ),
        ),
        source_entry=("managers/data_parallel_controller.py", "the gateway"),
        route="simulate",
        statement="cause.routing.hot-key",
    ),
    Cause(
        id="routing.token-skew",
        looks_like="Ranks get equal numbers of requests and unequal work.",
        differs="Counts are even; tokens are not.",
        required=(
            LOPSIDED,
            must("arrival_skew", "<", 1.25, by="requests"),
            must("arrival_skew", ">=", 1.3, by="tokens"),
        ),
        supporting=(helps("slow_rank_ratio", "<", 1.3),),
        absent=(never("missing_workers", ">=", 1), never("stands_still", "is", True)),
        twins=(Twin("routing.hot-key", must("arrival_skew", "<", 1.25, by="requests")),),
        explains=(*OVERALL, "decode.slow-rank", "queue.head-of-line"),
        scope_by=("dp_rank", "worker"),
        remedies=(Remedy("fix", "balance by tokens instead of requests", "--load-balance-method total_tokens", True),),
        source_entry=("managers/data_parallel_controller.py",),
        route="simulate",
        statement="cause.routing.token-skew",
    ),
    Cause(
        id="routing.worker-out",
        looks_like="A worker gets nothing, the others get its share.",
        differs="The place is out of rotation, not merely less liked.",
        required=(must("missing_workers", ">=", 1),),
        supporting=(
            helps("free_places", ">=", 0.2),
            helps("event_count", ">=", 1, kinds="worker-out"),
            helps("event_count", ">=", 3, kinds="routing"),
        ),
        absent=(never("stands_still", "is", True),),
        twins=(Twin("routing.hot-key", must("missing_workers", ">=", 1)),),
        explains=(*OVERALL, "routing.hot-key", "routing.token-skew"),
        scope_by=("worker",),
        remedies=(Remedy("mitigate-now", "bring the worker back: health, registration, circuit breaker", None, False),),
        source_entry=("the gateway",),
        route="none",
        statement="cause.routing.worker-out",
    ),
    Cause(
        id="routing.stale-load",
        looks_like="Placement follows load figures that are too old.",
        differs="The snapshots' age exceeds what a decision needs; a hung rank still answers with its last.",
        required=(must("uneven_queues", ">=", 0.3), must("snapshot_age_s", ">=", 5)),
        supporting=(helps("herds", ">=", 0.4),),
        absent=(never("stands_still", "is", True),),
        twins=(Twin("routing.hot-key", must("snapshot_age_s", ">=", 5)),),
        explains=(*OVERALL, "routing.hot-key"),
        scope_by=("dp_rank", "worker"),
        remedies=(
            Remedy(
                "fix", "publish snapshots more often", "--load-snapshot-publish-interval", True, "a little overhead"
            ),
        ),
        source_entry=("managers/data_parallel_controller.py",),
        route="simulate",
        statement="cause.routing.stale-load",
    ),
)
