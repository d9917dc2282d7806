"""Causes of the layer `memory`: the KV pool, slots, device and host memory."""

from __future__ import annotations

from typing import Final

from ridgeline.causes.sign import helps, must, never
from ridgeline.model.cause import Cause, Remedy, Twin

QUEUED: Final = must("queued", "is", True)
RAISE: Final = Remedy(
    "fix",
    "give the pool more of the device",
    "--mem-fraction-static (raise)",
    True,
    None,
    "CUDA OOM outside the pool when nothing is left for activations",
)

CAUSES: Final = (
    Cause(
        id="memory.saturation",
        looks_like="Requests wait because the pool is full of running requests' KV.",
        differs="The pool is full and hardly anyone is put back; with retractions it is a storm.",
        required=(QUEUED, must("pool_full", "is", True)),
        supporting=(
            helps("retractions_per_min", "<", 4),
            helps("slice_share", ">=", 0.3, part="queue"),
            helps("slack_share", "<", 0.3, usage_below=0.8),
            helps("usage_when_queued", ">=", 0.9),
        ),
        absent=(
            never("retractions_per_min", ">=", 4),
            never("stands_still", "is", True),
            never("free_places", ">=", 0.3),
        ),
        twins=(
            Twin("queue.running-cap", must("pool_full", "is", True)),
            Twin("memory.pool-misconfigured", must("pool_too_small", "is", False)),
            Twin("memory.leak", must("leaked", "!=", True)),
        ),
        explains=(
            "queue.arrival-overload",
            "queue.burst",
            "queue.limit-rejected",
            "queue.running-cap",
            "cache.eviction",
            "decode.batch-growth",
            "queue.over-reservation",
        ),
        remedies=(
            RAISE,
            Remedy(
                "mitigate-now", "lower the running limit or shed load", "--max-running-requests", True, "throughput"
            ),
            Remedy("fix", "a smaller KV type, or more replicas", "--kv-cache-dtype fp8_e5m2", True, None, "quality"),
        ),
        source_entry=("managers/schedule_policy.py", "mem_cache/memory_pool.py"),
        route="simulate",
        statement="cause.memory.saturation",
    ),
    Cause(
        id="memory.retraction-storm",
        looks_like="Running requests are put back again and again and computed anew.",
        differs="The pool not only is full: work already done is thrown away.",
        required=(must("retractions", ">=", 2), must("retractions_per_min", ">=", 4)),
        supporting=(
            helps("usage", ">=", 0.9, stat="peak"),
            helps("queue_pressure", ">=", 0.2),
            helps("change", ">=", 1.2, of="seconds", what="e2e_s"),
        ),
        absent=(
            never("unlimited_outputs", ">=", 0.3),
            never("stands_still", "is", True),
        ),
        twins=(Twin("memory.saturation", must("retractions_per_min", ">=", 4)),),
        explains=(
            "memory.saturation",
            "queue.burst",
            "queue.limit-rejected",
            "queue.arrival-overload",
            "cache.metric-artefact",
            "memory.pool-misconfigured",
            "prefill.regression",
            "decode.regression",
            "decode.batch-growth",
            "decode.prefill-interference",
            "queue.over-reservation",
        ),
        remedies=(
            Remedy(
                "mitigate-now", "admit less at once", "--schedule-conservativeness (raise)", True, "running requests"
            ),
            RAISE,
        ),
        source_entry=("managers/schedule_batch.py", "managers/scheduler.py"),
        route="simulate",
        statement="cause.memory.retraction-storm",
    ),
    Cause(
        id="memory.leak",
        looks_like="Locked KV stays although nothing runs or waits.",
        differs="Only usage at idle tells: load, however high, is no leak.",
        required=(must("leaked", "is", True),),
        supporting=(
            helps("event_count", ">=", 1, kinds="pool-leak-check"),
            helps("usage", ">=", 0.3),
            helps("idle_usage", ">=", 0.1),
        ),
        absent=(never("stands_still", "is", True),),
        twins=(Twin("memory.saturation", must("leaked", "is", True)),),
        explains=(
            "memory.saturation",
            "memory.retraction-storm",
            "memory.pool-misconfigured",
            "queue.over-reservation",
            "queue.arrival-overload",
            "queue.burst",
            "queue.slot-leak",
            "queue.limit-rejected",
            "cache.eviction",
            "decode.batch-growth",
        ),
        remedies=(
            Remedy("mitigate-now", "restart in a quiet moment", None, True, "running requests and the cache"),
            Remedy("fix", "find the class of requests after which the idle level rises, and replay it", None, False),
        ),
        source_entry=("mem_cache/memory_pool.py", "mem_cache/radix_cache.py"),
        route="replay",
        statement="cause.memory.leak",
    ),
    Cause(
        id="memory.oom-crash",
        looks_like="The device or the pool's allocator ran out and the process died.",
        differs="An allocation failed; a retraction (also the old words 'Decode out of memory happened') is none.",
        required=(must("event_count", ">=", 1, kinds="cuda-oom,pool-full"),),
        supporting=(
            helps("event_count", ">=", 1, kinds="crash,traceback"),
            helps("allocation_failures", ">=", 1),
            helps("usage", ">=", 0.9, stat="peak"),
        ),
        absent=(never("event_count", ">=", 1, kinds="watchdog"),),
        twins=(Twin("fault.crash", must("event_count", ">=", 1, kinds="cuda-oom,pool-full")),),
        explains=("fault.crash", "memory.saturation", "memory.retraction-storm", "fault.abort"),
        remedies=(
            Remedy(
                "mitigate-now",
                "lower the running limit, or a smaller page",
                "--max-running-requests",
                True,
                "throughput",
            ),
            Remedy(
                "fix", "outside the pool: lower the pool's share; inside it: raise it", "--mem-fraction-static", True
            ),
        ),
        source_entry=("mem_cache/allocator.py", "managers/schedule_batch.py"),
        route="replay",
        statement="cause.memory.oom-crash",
    ),
    Cause(
        id="memory.slots-exhausted",
        looks_like="The table of request slots ran out.",
        differs="Tokens were free; rows of req_to_token were not.",
        required=(must("event_count", ">=", 1, kinds="slots-exhausted"),),
        supporting=(helps("usage", "<", 0.9),),
        explains=("fault.crash", "memory.oom-crash"),
        remedies=(Remedy("fix", "lower the running limit to the slots there are", "--max-running-requests", True),),
        source_entry=("mem_cache/memory_pool.py",),
        route="replay",
        statement="cause.memory.slots-exhausted",
    ),
    Cause(
        id="memory.host-oom",
        looks_like="The kernel or the container runtime killed a process for memory.",
        differs="Host memory, not the device's.",
        required=(must("killed", "is", True),),
        supporting=(
            helps("event_count", ">=", 1, kinds="host-oom"),
            helps("event_count", ">=", 1, kinds="crash"),
        ),
        absent=(never("event_count", ">=", 1, kinds="cuda-oom,watchdog"),),
        explains=("fault.crash", "memory.oom-crash", "disagg.peer-lost"),
        remedies=(Remedy("fix", "raise the container's limit or shrink host caches", "--hicache-size", True),),
        source_entry=("the node",),
        route="none",
        statement="cause.memory.host-oom",
    ),
    Cause(
        id="memory.no-token-limit",
        looks_like="Outputs run on without a bound and fill the pool by themselves.",
        differs="Few requests, each huge, growing by their own decode: neither a leak nor load.",
        required=(must("unlimited_outputs", ">=", 0.3), must("usage", ">=", 0.9, stat="peak")),
        supporting=(
            helps("runaway_outputs", "is", True),
            helps("queue_pressure", "<", 0.2),
            helps("outcome_share", "<", 0.05, what="error"),
        ),
        absent=(
            never("stands_still", "is", True),
            # where requests wait beside a pool with room, admission is what holds them, not the outputs
            never("slack_share", ">=", 0.5, usage_below=0.9),
        ),
        twins=(
            Twin("memory.leak", must("unlimited_outputs", ">=", 0.3)),
            Twin("memory.retraction-storm", must("unlimited_outputs", ">=", 0.3)),
        ),
        explains=(
            "memory.saturation",
            "memory.retraction-storm",
            "memory.pool-misconfigured",
            "queue.arrival-overload",
            "queue.limit-rejected",
            "queue.over-reservation",
            "queue.running-cap",
            "queue.burst",
            "decode.batch-growth",
            "decode.prefill-interference",
            "client.request-config",
        ),
        remedies=(
            Remedy(
                "fix",
                "set max_tokens (and stop) in the client, or a default at the gateway",
                None,
                False,
                "long answers",
            ),
            Remedy("mitigate-now", "abort the requests that run on", None, False, "their answers"),
        ),
        source_entry=("the client", "sampling/sampling_params.py"),
        route="config",
        statement="cause.memory.no-token-limit",
    ),
    Cause(
        id="memory.retained-cache",
        looks_like="Memory looks full because cache is kept on purpose.",
        differs="The tokens are evictable: they are given back when asked for.",
        required=(must("evictable_share", ">=", 0.5), must("hit_ratio", ">=", 0.8)),
        supporting=(helps("queue_pressure", "<", 0.2), helps("retractions", "==", 0), helps("usage", "<", 0.5)),
        absent=(never("stands_still", "is", True), never("retractions", ">=", 1)),
        twins=(Twin("memory.leak", must("evictable_share", ">=", 0.5)),),
        only_asked=("memory", "cache"),
        remedies=(
            Remedy("fix", "nothing is broken: tune eviction or the memory fraction if room is needed", None, True),
        ),
        source_entry=("mem_cache/radix_cache.py",),
        route="config",
        statement="cause.memory.retained-cache",
    ),
    Cause(
        id="memory.pool-misconfigured",
        looks_like="The pool is so small that a handful of requests fills it.",
        differs="Not the load but the size of the pool is out of proportion.",
        required=(QUEUED, must("pool_full", "is", True), must("pool_too_small", "is", True)),
        supporting=(helps("retractions_per_min", "<", 4),),
        absent=(never("stands_still", "is", True), never("retractions_per_min", ">=", 4)),
        twins=(Twin("memory.saturation", must("pool_too_small", "is", True)),),
        explains=(
            "memory.saturation",
            "queue.burst",
            "queue.limit-rejected",
            "queue.arrival-overload",
            "queue.over-reservation",
            "decode.batch-growth",
            "cache.eviction",
        ),
        remedies=(RAISE, Remedy("fix", "check what bounds the pool", "--max-total-tokens", True)),
        source_entry=("model_executor/model_runner.py",),
        route="config",
        statement="cause.memory.pool-misconfigured",
    ),
)
