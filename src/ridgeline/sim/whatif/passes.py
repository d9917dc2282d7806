"""What starting a prompt costs beside its tokens, where another chunk size computes it in more or fewer passes.

The fit knows that cost (``Way.request_s``) as it is: once for each request. Each further chunk is one more forward pass
with its own launches and batch forming, so a what-if on the chunk size charges it for every chunk.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.model import Scenario
from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.settings import Settings


@dataclass(frozen=True)
class Passes:
    """``tokens``: of each prompt, what is computed (not found in the cache); ``chunk``: size that the cost was fitted
    under; ``request_us``: the cost of a request under it, already in the scenario's ``work_us``."""

    tokens: NDArray[np.int64]
    chunk: int
    request_us: int


def passes_of(scenario: Scenario, traffic: Traffic | None, settings: Settings, request_s: float) -> Passes | None:
    """None where starting a prompt costs nothing."""
    request_us = round(request_s * 1e6)
    if request_us <= 0:
        return None
    cached = np.zeros(scenario.n) if traffic is None else np.nan_to_num(traffic.observed["cached_tokens"])
    tokens = np.maximum(scenario["input_tokens"] - cached.astype(np.int64), 1)
    return Passes(tokens, settings.chunked_prefill_size, request_us)


def chunks(tokens: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Passes that a prompt takes; no chunking (a size of 0 or below): one."""
    return np.ones_like(tokens) if size <= 0 else -(-tokens // size)


def charged(scenario: Scenario, passes: Passes | None, settings: Settings) -> Scenario:
    """The scenario with the cost of a start for every pass that ``settings`` make of a prompt."""
    if passes is None or settings.chunked_prefill_size == passes.chunk:
        return scenario
    share = chunks(passes.tokens, settings.chunked_prefill_size) / chunks(passes.tokens, passes.chunk)
    more = np.round(passes.request_us * (share - 1)).astype(np.int64)
    columns = {**scenario.columns, "work_us": np.maximum(scenario["work_us"] + more, 0)}
    return replace(scenario, columns=columns)
