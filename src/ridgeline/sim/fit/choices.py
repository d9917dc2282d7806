"""The settings a fit tries: what the evidence leaves open, as a short list of alternatives."""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fit.configured import Configured, with_pipelining
from ridgeline.sim.settings import Settings

POOL_FACTORS: Final = (1.0, 1.04, 1.08, 1.13, 1.2)
"""Effective over configured pool where prompts share prefixes that nothing shows: shared blocks are held once."""
LORA_LOADS_S: Final = (0.02, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
"""What swapping an adapter in may take, where more are in use than fit: no evidence states it."""
HELD_FACTORS: Final = (1.0, 0.92, 0.85, 0.77, 0.7)
"""The same where only the cached tokens of each request are known: how many prefixes there are beside each other, each
held once, is not."""
TIGHT: Final = 0.8
"""Pool share that the largest set of running requests must want before a larger pool can matter."""


def choices_of(setup: Configured, traffic: Traffic, rows: NDArray[np.int64]) -> list[Settings]:
    """Candidate settings: pipelined or not where nothing says; pool sizes where sharing is unseen and memory short; the
    running limit, or the most of the requests ``rows`` seen running, where nothing names it; what an adapter takes."""
    # who was refused at the door is known and left out: a queue limit would refuse others in their stead
    base = replace(setup.settings, max_queued_requests=0)
    pipelined = (True, False) if setup.pipelined is None else (setup.pipelined,)
    factors: tuple[float, ...] = (1.0,)
    if setup.pool_known and not base.disable_radix_cache and short(base, traffic):
        factors = {"none": POOL_FACTORS, "cached": HELD_FACTORS}.get(traffic.prefix, factors)
    limits = [base.max_running_requests]
    seen = most_running(traffic, rows)
    if not setup.limit_known and 0 < seen < base.max_running_requests:
        limits.append(seen)
    adapters = len(np.unique(traffic.scenario["lora"][traffic.scenario["lora"] > 0]))
    loads = LORA_LOADS_S if base.enable_lora and adapters > base.max_loras_per_batch else (base.lora_load_s,)
    page = base.page_size
    pools = [int(base.max_total_num_tokens * factor) // page * page for factor in factors]
    return [
        replace(with_pipelining(base, flag), max_running_requests=limit, max_total_num_tokens=pool, lora_load_s=load)
        for flag in pipelined
        for pool in pools
        for limit in limits
        for load in loads
    ]


def most_running(traffic: Traffic, rows: NDArray[np.int64]) -> int:
    """Most of the requests ``rows`` that ran at one time, from first to last token where scheduling is unknown.

    0 where nothing tells.
    """
    seen = traffic.observed
    arrival = traffic.arrival_s
    start = np.where(np.isnan(seen["scheduled"]), seen["first"], seen["scheduled"])
    start = np.where(np.isnan(start), arrival + seen["ttft_s"], start)[rows]
    end = np.where(np.isnan(seen["last"]), arrival + seen["e2e_s"], seen["last"])[rows]
    known = ~np.isnan(start) & ~np.isnan(end)
    if not known.any():
        return 0
    moments = np.concatenate([start[known], end[known]])
    change = np.concatenate([np.ones(known.sum(), np.int64), -np.ones(known.sum(), np.int64)])
    # at one moment, who leaves makes room before who comes
    order = np.lexsort((change, moments))
    return int(np.cumsum(change[order]).max())


def short(settings: Settings, traffic: Traffic) -> bool:
    """Whether as many average requests as may run want most of the pool."""
    size = float(np.mean(traffic.scenario["input_tokens"] + traffic.scenario["output_tokens"] / 2))
    running = min(settings.max_running_requests, traffic.n)
    return size * running * settings.dp_size > TIGHT * settings.max_total_num_tokens
