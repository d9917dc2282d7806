"""Every fault the lab can record, one literal list; one file per layer."""

from typing import Final

from ridgeline.lab.faults import (
    cache,
    client,
    controls,
    decode,
    disagg,
    fault,
    frontend,
    memory,
    prefill,
    queue,
    routing,
    storage,
)
from ridgeline.lab.faults.model import Fault

FAULTS: Final[tuple[Fault, ...]] = (
    *queue.FAULTS,
    *prefill.FAULTS,
    *decode.FAULTS,
    *memory.FAULTS,
    *cache.FAULTS,
    *routing.FAULTS,
    *disagg.FAULTS,
    *frontend.FAULTS,
    *storage.FAULTS,
    *fault.FAULTS,
    *client.FAULTS,
    *controls.DOUBLE,
    *controls.OUTSIDE,
    *controls.HEALTHY,
)


def fault_of(name: str) -> Fault | None:
    """The fault with that id."""
    return next((f for f in FAULTS if f.id == name), None)
