"""Causes of the layer `fault`: something stopped, died, or answers wrongly."""

from __future__ import annotations

from typing import Final

from ridgeline.causes.sign import helps, must, never
from ridgeline.model.cause import Cause, Remedy, Twin

CAUSES: Final = (
    Cause(
        id="fault.hang",
        looks_like="Queue, running and usage stand still while requests still arrive; a watchdog fires late.",
        differs="Nothing moves at all; in a stall of one queue the rest goes on.",
        required=(must("stands_still", "is", True),),
        supporting=(
            helps("event_count", ">=", 1, kinds="watchdog"),
            helps("event_count", ">=", 1, kinds="health-fail"),
            helps("frozen_s", ">=", 30),
        ),  # a /health without an answer and figures that stand are in `stands_still`
        twins=(Twin("decode.token-stall", must("stands_still", "is", True)),),
        explains=(
            "memory.saturation",
            "memory.retraction-storm",
            "memory.leak",
            "memory.retained-cache",
            "memory.pool-misconfigured",
            "queue.arrival-overload",
            "queue.running-cap",
            "queue.over-reservation",
            "queue.burst",
            "queue.limit-rejected",
            "decode.token-stall",
            "fault.crash",
            "fault.abort",
            "routing.stale-load",
            "client.cancelled",
        ),
        remedies=(
            Remedy(
                "mitigate-now",
                "take a stack dump of every rank (py-spy dump --pid of each scheduler), then restart",
                None,
                True,
                "running requests",
            ),
            Remedy("fix", "replay the crash dump's last requests against a clean server", "--crash-dump-folder", True),
        ),
        source_entry=("managers/scheduler.py", "utils/watchdog.py"),
        route="replay",
        statement="cause.fault.hang",
    ),
    Cause(
        id="fault.crash",
        looks_like="A process died of an exception, a signal or a child's death.",
        differs="Not for lack of memory: those have causes of their own.",
        required=(must("event_count", ">=", 1, kinds="crash"),),
        supporting=(
            helps("event_count", ">=", 1, kinds="traceback"),
            helps("event_count", ">=", 1, kinds="crash-dump"),
            helps("event_count", "==", 0, kinds="cuda-oom,host-oom,pool-full"),
        ),
        absent=(
            never("event_count", ">=", 1, kinds="cuda-oom,host-oom,pool-full,slots-exhausted"),
            never("killed", "is", True),
            never("event_count", ">=", 1, kinds="watchdog"),
        ),
        twins=(Twin("fault.hang", must("event_count", "==", 0, kinds="watchdog")),),
        explains=("fault.abort", "disagg.peer-lost", "client.cancelled"),
        remedies=(
            Remedy("mitigate-now", "restart; keep the crash dump and the last lines", None, True, "running requests"),
            Remedy(
                "fix", "replay the dump, then minimise it to the request that brings it", "--crash-dump-folder", True
            ),
        ),
        source_entry=("managers/scheduler.py",),
        route="replay",
        statement="cause.fault.crash",
    ),
    Cause(
        id="fault.wrong-output",
        looks_like="Answers are wrong, corrupt or repeat themselves, while times look normal.",
        differs="The fault is in what is said, not in when.",
        required=(must("wrong_outputs", "is", True),),
        supporting=(helps("corrupt_outputs", ">=", 1), helps("queue_pressure", "<", 0.2)),
        scope_by=("lora", "client", "endpoint", "modality", "routing_key", "dp_rank"),
        remedies=(Remedy("mitigate-now", "take the server out and compare answers with a clean one", None, True),),
        source_entry=("model_executor/model_runner.py",),
        route="replay",
        statement="cause.fault.wrong-output",
    ),
    Cause(
        id="fault.abort",
        looks_like="The server itself ends many requests with an error.",
        differs="Nobody told it to; refusals for a full queue and timeouts of PD have causes of their own.",
        required=(must("server_aborts", ">=", 0.05),),
        supporting=(
            helps("outcome_share", ">=", 0.05, what="error"),
            helps("event_count", ">=", 1, kinds="request-error"),
        ),
        absent=(never("stands_still", "is", True), never("refused", ">=", 3)),
        twins=(Twin("client.cancelled", must("server_aborts", ">=", 0.05)),),
        remedies=(Remedy("fix", "replay the aborted requests by class", None, False),),
        source_entry=("managers/scheduler.py",),
        route="replay",
        statement="cause.fault.abort",
    ),
)
