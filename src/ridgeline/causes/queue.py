"""Causes of the layer `queue`: requests wait although nothing later in the chain is at fault."""

from __future__ import annotations

from typing import Final

from ridgeline.causes.sign import helps, hint, must, never
from ridgeline.model.cause import Cause, Remedy, Twin

SCHEDULER: Final = ("managers/scheduler.py", "managers/schedule_policy.py")
QUEUED: Final = must("queued", "is", True)
ONE_RANK: Final = never("free_places", ">=", 0.3)

CAUSES: Final = (
    Cause(
        id="queue.arrival-overload",
        looks_like="Everyone waits, throughput stands at its plateau, more comes in than is served.",
        differs="No limit and no full pool holds the queue: the work itself exceeds what the engine can do.",
        required=(QUEUED, must("overload", "is", True)),
        supporting=(
            helps("change", ">=", 1.3, of="arrival_rate"),
            helps("slice_share", ">=", 0.4, part="queue"),
            helps("queue_motion", "in", ("growing", "flat")),
        ),
        absent=(
            ONE_RANK,
            never("stands_still", "is", True),
            never("reservation_regime", "is", True),
            never("at_cap_share", ">=", 0.7),
            never("pool_full", "is", True),
            never("priority_gap", ">=", 4),
        ),
        twins=(
            Twin("queue.running-cap", must("overload", "is", True)),
            Twin("memory.saturation", must("overload", "is", True)),
        ),
        explains=(
            "decode.token-stall",
            "memory.saturation",
            "memory.retraction-storm",
            "memory.pool-misconfigured",
            "queue.running-cap",
            "queue.limit-rejected",
            "queue.burst",
            "decode.batch-growth",
        ),
        remedies=(
            Remedy(
                "mitigate-now",
                "shed or reroute load until arrivals fit the throughput",
                None,
                False,
                "the shed requests",
            ),
            Remedy("fix", "add replicas in proportion to arrivals over throughput", None, False, None, "cost"),
            Remedy(
                "prevent", "bound the queue so that excess fails fast", "--max-queued-requests", True, "late requests"
            ),
        ),
        source_entry=SCHEDULER,
        route="simulate",
        statement="cause.queue.arrival-overload",
    ),
    Cause(
        id="queue.burst",
        looks_like="A short spike of waiting that empties by itself.",
        differs="The queue drains within the window without any change; overload does not.",
        required=(
            must("queue_motion", "==", "drained"),
            must("burst_felt", "is", True),
            must("queue_peak", ">=", 5),
        ),
        supporting=(helps("change", "between", (0.7, 1.3), of="step_s"), helps("slice_share", ">=", 0.3, part="queue")),
        absent=(
            never("arrival_spike", "is", False),
            ONE_RANK,
            never("retractions_per_min", ">=", 4),
            never("pool_full", "is", True),
            never("overload", "is", True),
            never("at_cap_share", ">=", 0.7),
            never("stands_still", "is", True),
            never("behind_giants", "is", True),
        ),
        remedies=(
            Remedy(
                "prevent", "smooth arrivals at the gateway or keep headroom for the burst", None, False, None, "cost"
            ),
        ),
        source_entry=SCHEDULER,
        route="none",
        statement="cause.queue.burst",
    ),
    Cause(
        id="queue.running-cap",
        looks_like="Requests wait while the running count stands at its limit and the pool has room.",
        differs="The limit itself is reached; in over-reservation running stays below it.",
        required=(QUEUED, must("at_cap_share", ">=", 0.7)),
        supporting=(
            helps("usage_when_queued", "<", 0.9),
            helps("running_cap", ">", 0),
            helps("slice_share", ">=", 0.4, part="queue"),
            helps("retractions", "==", 0),
        ),
        absent=(
            ONE_RANK,
            never("priority_gap", ">=", 4),
            never("stands_still", "is", True),
            never("pool_full", "is", True),
        ),
        twins=(
            Twin("memory.saturation", must("usage_when_queued", "<", 0.9)),
            Twin("queue.over-reservation", must("at_cap_share", ">=", 0.7)),
            Twin("queue.slot-leak", must("slots_held", "!=", True)),
        ),
        explains=("queue.limit-rejected", "queue.burst", "queue.arrival-overload", "decode.batch-growth"),
        remedies=(
            Remedy(
                "fix",
                "raise the running limit while the pool has room; watch token usage and decode step time",
                "--max-running-requests",
                True,
                None,
                "longer decode steps; retractions where the pool then fills",
            ),
            Remedy("mitigate-now", "send less to this server", None, False, None, "load on the others"),
        ),
        source_entry=("managers/schedule_policy.py", "managers/scheduler.py"),
        route="simulate",
        statement="cause.queue.running-cap",
    ),
    Cause(
        id="queue.over-reservation",
        looks_like="Requests wait although neither the pool nor the batch is full.",
        differs="What admission reserves for outputs is far above what they really produce.",
        required=(QUEUED, must("slack_share", ">=", 0.5, usage_below=0.9), must("over_reserved", "is", True)),
        supporting=(
            helps("reserve_ratio", ">=", 1.5),
            helps("slack_share", ">=", 0.4, usage_below=0.7),
            helps("slice_share", ">=", 0.3, part="queue"),
            helps("retractions_per_min", "<", 4),
        ),
        absent=(
            ONE_RANK,
            never("at_cap_share", ">=", 0.7),
            never("pool_full", "is", True),
            never("retractions_per_min", ">=", 4),
            never("behind_giants", "is", True),
            never("adapters_limit", "is", True),
        ),
        twins=(
            Twin("queue.running-cap", must("slack_share", ">=", 0.5, usage_below=0.9)),
            Twin("memory.saturation", must("slack_share", ">=", 0.5, usage_below=0.9)),
        ),
        explains=(
            "queue.limit-rejected",
            "queue.burst",
            "queue.arrival-overload",
            "memory.saturation",
            "prefill.regression",
            "decode.regression",
            "decode.batch-growth",
        ),
        remedies=(
            Remedy(
                "fix",
                "lower the conservativeness so that less is reserved for outputs that stay short",
                "--schedule-conservativeness",
                True,
                None,
                "retractions where outputs do run long",
            ),
            Remedy("fix", "have clients ask for the max_new_tokens they need", None, False, None, "cut answers"),
        ),
        source_entry=("managers/schedule_policy.py",),
        route="simulate",
        statement="cause.queue.over-reservation",
    ),
    Cause(
        id="queue.head-of-line",
        looks_like="Short requests wait exactly while a giant prompt is prefilled.",
        differs="The waiting ones are short and arrivals are as usual: something big stands before them.",
        required=(must("waiting_share", ">", 0), must("behind_giants", "is", True)),
        supporting=(
            helps("giant_prefill", ">=", 16384),
            helps("waits_behind_giants", ">=", 0.5),
            helps("usage_when_queued", "<", 0.9),
            helps("change", "<", 1.3, of="arrival_rate"),
        ),
        absent=(never("change", ">=", 1.5, of="arrival_rate"), never("stands_still", "is", True)),
        twins=(Twin("prefill.prompt-mix", must("behind_giants", "is", True)),),
        # the giants themselves raise what a request brings to compute, and fill the pool while they are computed
        explains=(
            "queue.burst",
            "queue.arrival-overload",
            "decode.prefill-interference",
            "prefill.prompt-mix",
            "memory.saturation",
        ),
        remedies=(
            Remedy(
                "fix",
                "cut long prompts into smaller chunks so that others fit beside them",
                "--chunked-prefill-size 2048",
                True,
                "throughput of long prompts",
            ),
            Remedy(
                "fix",
                "let short prompts pass long ones",
                "--schedule-policy shortest-prefill-first",
                True,
                None,
                "starving long prompts",
            ),
            Remedy("fix", "send long prompts to servers of their own", None, False, None, "cost"),
        ),
        source_entry=("managers/schedule_policy.py",),
        route="simulate",
        statement="cause.queue.head-of-line",
    ),
    Cause(
        id="queue.priority-starvation",
        looks_like="Only requests of low priority wait.",
        differs="Equal lengths, unequal waits: the order decides, not the capacity.",
        required=(must("priority_gap", ">=", 4),),
        supporting=(
            helps("queued", "is", True),
            helps("usage_when_queued", "<", 0.9),
            hint("switched_on", "is", True, setting="enable_priority_scheduling"),
        ),
        absent=(never("stands_still", "is", True),),
        twins=(Twin("queue.arrival-overload", must("priority_gap", ">=", 4)),),
        explains=("queue.arrival-overload", "queue.running-cap", "queue.burst"),
        scope_by=("priority",),
        remedies=(
            Remedy("mitigate-now", "send the starved class elsewhere or raise its priority", None, False, None, ""),
            Remedy("fix", "bound how long a low priority may wait", "--priority-scheduling-preemption-threshold", True),
        ),
        source_entry=("managers/schedule_policy.py",),
        route="simulate",
        statement="cause.queue.priority-starvation",
    ),
    Cause(
        id="queue.slot-leak",
        looks_like="Fewer and fewer requests run while others wait and the pool is nearly empty.",
        differs="Slots stay taken by requests nobody waits for; the limit itself has not changed.",
        required=(must("slots_held", "is", True),),
        supporting=(
            helps("queue_pressure", ">=", 0.2),
            helps("ceiling_loss", ">=", 0.3),
            helps("orphan_outputs", ">=", 5),
        ),
        absent=(
            never("waiting_share", "<", 0.2),  # what runs beside a passing queue is no ceiling
            never("usage_when_queued", ">=", 0.9),
            never("over_reserved", "is", True),
            never("adapters_limit", "is", True),
            never("unfittable", "is", True),
            never("behind_giants", "is", True),
            never("stands_still", "is", True),
        ),
        twins=(Twin("queue.running-cap", must("slots_held", "is", True)),),
        explains=("queue.running-cap", "client.cancelled", "queue.arrival-overload", "queue.burst"),
        remedies=(
            Remedy("mitigate-now", "restart the server in a quiet moment", None, True, "running requests"),
            Remedy("fix", "upgrade to a version that frees a slot when its client goes", None, True),
        ),
        source_entry=("managers/tokenizer_manager.py", "managers/scheduler.py"),
        route="replay",
        statement="cause.queue.slot-leak",
    ),
    Cause(
        id="queue.never-fits",
        looks_like="A request that can never be admitted waits, or is refused each time.",
        differs="The size of the request itself exceeds a limit; more capacity at the same limit does not help.",
        required=(must("unfittable", "is", True),),
        supporting=(helps("waiting_share", ">", 0), helps("usage", "<", 0.9)),
        absent=(never("stands_still", "is", True),),
        twins=(Twin("fault.hang", must("stands_still", "is", False), decides=True),),
        explains=(
            "client.request-config",
            "queue.arrival-overload",
            "queue.over-reservation",
            "queue.head-of-line",
            "queue.burst",
            "queue.limit-rejected",
            "client.cancelled",
        ),
        remedies=(
            Remedy("fix", "raise the pool or the context limit, or reject such requests at the gateway", None, True),
        ),
        source_entry=("managers/scheduler.py",),
        route="config",
        statement="cause.queue.never-fits",
    ),
    Cause(
        id="queue.limit-rejected",
        looks_like="Requests are refused at once because the queue is at its limit.",
        differs="The refusals are the fault seen by users; what fills the queue is another cause, where one is found.",
        required=(must("refused", ">=", 3),),
        supporting=(helps("queue_pressure", ">=", 0.2), helps("outcome_share", ">=", 0.01, what="rejected")),
        explains=("queue.burst",),  # a higher limit would have let it wait: what comes is not too much
        remedies=(
            Remedy("mitigate-now", "retry with backoff at the gateway", None, False, None, "more load"),
            Remedy(
                "fix", "raise the queue limit only where waiting that long is useful", "--max-queued-requests", True
            ),
        ),
        source_entry=("managers/scheduler.py",),
        route="simulate",
        statement="cause.queue.limit-rejected",
    ),
    Cause(
        id="queue.scheduler-overhead",
        looks_like="The device idles while requests run: the scheduler's own work fills the time.",
        differs="Steps are long although the device is busy for a small part of each.",
        required=(must("device_busy", "<=", 0.75),),
        supporting=(helps("step_excess", ">=", 1.3), helps("change", ">=", 1.2, of="seconds", what="tpot_s")),
        absent=(never("stands_still", "is", True), never("change", ">=", 0.9, of="device_busy")),
        twins=(Twin("decode.regression", must("device_busy", "<=", 0.75)),),
        explains=(
            "decode.regression",
            "prefill.regression",
            "decode.batch-growth",
            "queue.arrival-overload",
            "queue.burst",
            "queue.running-cap",
            "memory.saturation",
        ),
        remedies=(
            Remedy(
                "fix", "keep overlap scheduling on and lower per-step work (logprobs, grammar, many stops)", None, True
            ),
        ),
        source_entry=("managers/scheduler.py",),
        route="profile",
        statement="cause.queue.scheduler-overhead",
    ),
)
