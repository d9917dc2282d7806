"""The settings a fit tries: what the evidence leaves open, as a short list of alternatives."""

from dataclasses import replace
from typing import Final

import numpy as np

from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fit.configured import Configured, with_pipelining
from ridgeline.sim.settings import Settings

POOL_FACTORS: Final = (1.0, 1.04, 1.08, 1.13, 1.2)
"""Effective over configured pool where prompts share prefixes that nothing shows: shared blocks are held once."""
TIGHT: Final = 0.8
"""Pool share that the largest set of running requests must want before a larger pool can matter."""


def choices_of(setup: Configured, traffic: Traffic) -> list[Settings]:
    """Candidate settings: pipelined or not where nothing says; pool sizes where sharing is unseen and memory short."""
    # who was refused at the door is known and left out: a queue limit would refuse others in their stead
    base = replace(setup.settings, max_queued_requests=0)
    pipelined = (True, False) if setup.pipelined is None else (setup.pipelined,)
    factors: tuple[float, ...] = (1.0,)
    if traffic.prefix == "none" and setup.pool_known and not base.disable_radix_cache and short(base, traffic):
        factors = POOL_FACTORS
    return [
        replace(with_pipelining(base, p), max_total_num_tokens=int(base.max_total_num_tokens * f) // base.page_size
                * base.page_size)
        for p in pipelined
        for f in factors
    ]  # fmt: skip


def short(settings: Settings, traffic: Traffic) -> bool:
    """Whether as many average requests as may run want most of the pool."""
    size = float(np.mean(traffic.scenario["input_tokens"] + traffic.scenario["output_tokens"] / 2))
    running = min(settings.max_running_requests, traffic.n)
    return size * running * settings.dp_size > TIGHT * settings.max_total_num_tokens
