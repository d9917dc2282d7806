"""Causes of the layer `client`: the server does what it was asked, and that is the fault."""

from __future__ import annotations

from typing import Final

from ridgeline.causes.sign import helps, must, never
from ridgeline.model.cause import Cause, Remedy, Twin

CAUSES: Final = (
    Cause(
        id="client.request-config",
        looks_like="Requests are refused as malformed, or carry parameters that cannot work.",
        differs="The server says so (HTTP 4xx); a missing output limit is memory.no-token-limit.",
        required=(must("outcome_share", ">=", 0.05, what="invalid"),),
        supporting=(helps("event_count", ">=", 1, kinds="request-invalid"), helps("queue_pressure", "<", 0.2)),
        explains=("queue.limit-rejected", "fault.abort"),
        remedies=(Remedy("fix", "correct the parameters the server names", None, False),),
        source_entry=("managers/io_struct.py",),
        route="config",
        statement="cause.client.request-config",
    ),
    Cause(
        id="client.cancelled",
        looks_like="Requests end early because someone told the server to abort them.",
        differs="The reason says it was told to; nothing failed on the server before.",
        required=(must("told_aborts", ">=", 1), must("told_share", ">=", 0.05)),
        supporting=(helps("queue_pressure", "<", 0.2), helps("transfer_failures", "==", 0)),
        absent=(
            never("stands_still", "is", True),
            never("event_count", ">=", 1, kinds="crash,cuda-oom,host-oom,peer-lost"),
            never("refused", ">=", 3),
            # Clients that leave because the service got slow are a consequence.
            never("change", ">=", 1.5, of="seconds", what="ttft_s"),
            never("change", ">=", 1.5, of="seconds", what="tpot_s"),
        ),
        twins=(Twin("disagg.transfer-stuck", must("stuck_transfers", "==", 0)),),
        remedies=(Remedy("fix", "find who sends the abort: client timeout, gateway, or user", None, False),),
        source_entry=("managers/tokenizer_manager.py",),
        route="none",
        statement="cause.client.cancelled",
    ),
    Cause(
        id="client.load-generator",
        looks_like="The load generator sends later than it planned; the server is not the bottleneck.",
        differs="The delay lies before the request leaves the client.",
        required=(must("generator_lag_s", ">=", 0.5),),
        supporting=(helps("queue_pressure", "<", 0.2), helps("client_gap_share", ">=", 0.3)),
        twins=(Twin("frontend.gateway", must("generator_lag_s", ">=", 0.2)),),
        explains=("frontend.gateway",),
        remedies=(Remedy("fix", "use more client processes or connections", None, False),),
        source_entry=("the client",),
        route="none",
        statement="cause.client.load-generator",
    ),
)
