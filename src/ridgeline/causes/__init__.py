"""The closed list of causes (DESIGN §3), one literal tuple for each layer."""

from __future__ import annotations

from typing import Final

from ridgeline.causes import cache, client, decode, disagg, fault, frontend, memory, prefill, queue, routing, storage
from ridgeline.model.cause import Cause

CAUSES: Final[tuple[Cause, ...]] = (
    *fault.CAUSES,
    *memory.CAUSES,
    *routing.CAUSES,
    *disagg.CAUSES,
    *queue.CAUSES,
    *prefill.CAUSES,
    *decode.CAUSES,
    *cache.CAUSES,
    *storage.CAUSES,
    *frontend.CAUSES,
    *client.CAUSES,
)
BY_ID: Final[dict[str, Cause]] = {cause.id: cause for cause in CAUSES}
LAYERS: Final = (
    "queue",
    "prefill",
    "decode",
    "memory",
    "cache",
    "routing",
    "disagg",
    "frontend",
    "storage",
    "fault",
    "client",
)
