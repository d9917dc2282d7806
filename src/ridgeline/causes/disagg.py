"""Causes of the layer `disagg`: between the prefill and the decode side (SIGNALS §9)."""

from __future__ import annotations

from typing import Final

from ridgeline.causes.sign import helps, must, never
from ridgeline.model.cause import Cause, Remedy, Twin

PREFILL: Final = ("disaggregation/prefill.py",)
DECODE: Final = ("disaggregation/decode.py",)

CAUSES: Final = (
    Cause(
        id="disagg.bootstrap",
        looks_like="Requests wait on the prefill side for a handshake that does not come.",
        differs="The handshake itself fails or never starts; with requests still flowing it is decode's preallocation.",
        required=(must("handshake_stuck", "is", True),),
        supporting=(
            helps("kvpoll_timeouts", ">=", 1, state="Bootstrapping"),
            helps("pd_queue", ">=", 4, queue="bootstrap"),
            helps("event_count", ">=", 1, kinds="bootstrap-failed,peer-unreachable"),
        ),
        absent=(never("stuck_transfers", ">=", 1), never("decode_usage", ">=", 0.9)),
        twins=(Twin("disagg.prealloc", must("handshake_stuck", "is", True)),),
        explains=("fault.abort", "disagg.peer-lost", "client.cancelled"),
        remedies=(
            Remedy(
                "mitigate-now",
                "take the pair out of rotation; check registration and reachability both ways",
                None,
                False,
            ),
            Remedy(
                "fix", "find why decode never sends its indices: its log some 300 s before the timeout", None, False
            ),
        ),
        source_entry=PREFILL,
        route="replay",
        statement="cause.disagg.bootstrap",
    ),
    Cause(
        id="disagg.prealloc",
        looks_like="Decode gives out KV slowly: requests pile up before their transfer, on either side.",
        differs="The decode pool is not full: a reserve, slots or the order hold them.",
        required=(must("prealloc_backlog", "is", True),),
        supporting=(
            helps("pd_queue", ">=", 4, queue="prealloc"),
            helps("pd_queue", ">=", 4, queue="bootstrap"),
            helps("decode_usage", "<", 0.9),
            helps("kvpoll_timeouts", "==", 0, state="Bootstrapping"),
        ),
        absent=(
            never("decode_usage", ">=", 0.9),
            never("stuck_transfers", ">=", 1),
            never("handshake_stuck", "is", True),
            never("transfer_slowed", "<=", 0.5),
        ),
        twins=(Twin("memory.saturation", must("decode_usage", "<", 0.9)),),
        explains=("disagg.bootstrap", "disagg.ratio"),
        remedies=(
            Remedy(
                "fix",
                "lower the reserve for each request, or raise the running limit of decode",
                "--num-reserved-decode-tokens",
                True,
                None,
                "retractions on decode",
            ),
        ),
        source_entry=DECODE,
        route="simulate",
        statement="cause.disagg.prealloc",
    ),
    Cause(
        id="disagg.transfer-slow",
        looks_like="KV moves, but slowly: transfer time grows with tokens.",
        differs="Transfers finish; nothing stands still. Small prompts say nothing about the link.",
        required=(must("transfer_slowed", "<=", 0.6), must("pd_queue", ">=", 1, queue="inflight")),
        supporting=(
            helps("change", ">=", 1.5, of="seconds", what="transfer_s"),
            helps("pd_queue", ">=", 2, queue="inflight"),
        ),
        absent=(never("stuck_transfers", ">=", 1),),
        twins=(Twin("disagg.prealloc", must("transfer_slowed", "<=", 0.6)),),
        comparative=True,
        remedies=(Remedy("fix", "check links, device choice and the number of transfer threads", None, True),),
        source_entry=("disaggregation/common/",),
        route="replay",
        statement="cause.disagg.transfer-slow",
    ),
    Cause(
        id="disagg.transfer-stuck",
        looks_like="Decode waits for KV that never comes; a timeout ends the wait minutes later.",
        differs="It stands still instead of being slow; the wait also covers prefill's own queue and compute.",
        required=(must("stuck_transfers", ">=", 1),),
        supporting=(
            helps("transfer_failures", ">=", 1),
            helps("pd_queue_frozen", "is", True, queue="transfer"),
            helps("queue_pressure", "<", 0.2),
        ),
        absent=(never("pd_queue", ">=", 1, queue="retracted"),),
        twins=(Twin("disagg.bootstrap", must("stuck_transfers", ">=", 1)),),
        explains=("fault.abort", "client.cancelled", "disagg.peer-lost"),
        remedies=(
            Remedy("mitigate-now", "take the pair out of rotation", None, False),
            Remedy(
                "fix", "look the same rooms up in the prefill log: queued, computed, or failed to send", None, False
            ),
        ),
        source_entry=("disaggregation/decode.py", "disaggregation/common/"),
        route="replay",
        statement="cause.disagg.transfer-stuck",
    ),
    Cause(
        id="disagg.ratio",
        looks_like="One side is saturated, the other idles, steadily.",
        differs="Nothing fails: the numbers of prefill and decode servers do not fit the traffic.",
        required=(must("sides", "in", ("prefill", "decode")),),
        supporting=(helps("transfer_failures", "==", 0),),
        absent=(
            never("stuck_transfers", ">=", 1),
            never("transfer_failures", ">=", 3),
            never("inflight_piles", "is", True),
        ),
        twins=(Twin("disagg.prealloc", must("sides", "in", ("prefill", "decode"))),),
        explains=(
            "queue.arrival-overload",
            "memory.saturation",
            "disagg.transfer-slow",
            "decode.batch-growth",
            "frontend.blocked-loop",
            "disagg.prealloc",
        ),
        remedies=(Remedy("fix", "move servers from the idle side to the busy one", None, True),),
        source_entry=("the deployment",),
        route="simulate",
        statement="cause.disagg.ratio",
    ),
    Cause(
        id="disagg.abort-hold",
        looks_like="Aborted requests keep decode KV until a timeout.",
        differs="Aborts come first; slots stay taken for a fixed time.",
        required=(
            must("event_count", ">=", 1, kinds="kv-released", text="deferred kv release"),
            must("told_aborts", ">=", 1),
        ),
        supporting=(helps("pd_queue", ">=", 1, queue="prealloc"),),
        explains=(
            "memory.leak",
            "memory.saturation",
            "disagg.prealloc",
            "client.cancelled",
            "queue.arrival-overload",
            "fault.abort",
        ),
        remedies=(
            Remedy(
                "fix",
                "shorten the hold (30 s by default)",
                "SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE_TIMEOUT=10",
                True,
            ),
        ),
        source_entry=DECODE,
        route="replay",
        statement="cause.disagg.abort-hold",
    ),
    Cause(
        id="disagg.peer-lost",
        looks_like="The other side's server went away.",
        differs="Heartbeats failed: its own log holds the reason. A failure within a fraction of a second is none.",
        required=(must("event_count", ">=", 1, kinds="peer-lost", before_s=120),),
        supporting=(helps("transfer_failures", ">=", 1), helps("event_count", ">=", 1, kinds="peer-unreachable")),
        explains=("disagg.transfer-stuck", "fault.abort"),
        scope_by=("server",),
        remedies=(Remedy("mitigate-now", "restart the lost side; read its last lines", None, True),),
        source_entry=DECODE,
        route="none",
        statement="cause.disagg.peer-lost",
    ),
    Cause(
        id="disagg.room-mismatch",
        looks_like="Data of another room arrived, or room and rank conflict.",
        differs="The mapping is wrong, not the link.",
        required=(must("event_count", ">=", 1, kinds="room-mismatch"),),
        supporting=(helps("transfer_failures", ">=", 1),),
        explains=("disagg.bootstrap", "fault.wrong-output"),
        remedies=(
            Remedy(
                "fix",
                "make gateway and servers agree on which rank serves a room",
                "--load-balance-method follow_bootstrap_room",
                True,
            ),
        ),
        source_entry=DECODE,
        route="replay",
        statement="cause.disagg.room-mismatch",
    ),
    Cause(
        id="disagg.config-mismatch",
        looks_like="The two sides are set up so that they cannot work together, or a lease is shorter than the wait.",
        differs="A setting is at fault; link and load are not.",
        required=(must("settings_clash", "is", True),),
        supporting=(helps("event_count", ">=", 1, kinds="config-mismatch"), helps("kv_released_early", ">=", 1)),
        explains=("disagg.bootstrap", "fault.abort", "fault.wrong-output"),
        remedies=(Remedy("fix", "align the setting named in the evidence on both sides", None, True),),
        source_entry=DECODE,
        route="config",
        statement="cause.disagg.config-mismatch",
    ),
    Cause(
        id="disagg.staging",
        looks_like="The staging buffer is too small for the chunks sent through it.",
        differs="The transfer engine itself is fine.",
        required=(must("event_count", ">=", 1, kinds="staging"),),
        supporting=(helps("pd_queue", ">=", 1, queue="inflight"),),
        explains=("disagg.transfer-slow", "disagg.transfer-stuck"),
        remedies=(
            Remedy(
                "fix",
                "a larger staging pool (4096 MB by default)",
                "SGLANG_DISAGG_STAGING_POOL_SIZE_MB=8192",
                True,
                "device memory",
            ),
        ),
        source_entry=("disaggregation/common/",),
        route="config",
        statement="cause.disagg.staging",
    ),
)
