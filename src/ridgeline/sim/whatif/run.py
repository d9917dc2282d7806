"""One run of one setting in one repeat."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.model import PS, Scenario
from ridgeline.sim.engine import params as p
from ridgeline.sim.policies import load_policy
from ridgeline.sim.service import Hooks, Service
from ridgeline.sim.settings import Settings
from ridgeline.sim.summary import moments, summary
from ridgeline.sim.timing import TimeModel, Way
from ridgeline.sim.whatif.repeats import pace, paced, shuffled

METRICS: Final = ("ttft_s", "tpot_s", "e2e_s", "queue_s")
STILL_WAITING: Final = 0.05
"""Share of the requests that may wait when the last one arrives before a run is called overloaded."""
FEWEST: Final = 50


@dataclass(frozen=True)
class Work:
    """What every run shares: all that a process needs to run any of them. ``scenario`` is already burdened."""

    scenario: Scenario
    model: TimeModel
    way: Way
    pace_spread: float
    seed: int
    policies: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """``summary`` as of ``ridgeline.simulation/1``; ``values``: per request in the traffic's own order (s, NaN: did
    not finish); further facts of each request: cached tokens and rank (-1: none)."""

    summary: dict[str, Any]
    values: dict[str, NDArray[np.float32]]
    cached: NDArray[np.int32]
    rank: NDArray[np.int16]
    overloaded: str | None


def hooks_of(policies: Sequence[str]) -> Hooks:
    """The user's policies, compiled. Raises SettingError."""
    found: dict[str, Any] = {}
    for reference in policies:
        kind, function = load_policy(reference)
        found[kind] = function
    return Hooks(**found)


def run(work: Work, settings: Settings, repeat: int, hooks: Hooks) -> Outcome:
    """Simulate and sum up."""
    begin = time.process_time()
    scenario, who = shuffled(work.scenario, work.seed, repeat)
    model = paced(work.model, pace(work.pace_spread, work.seed, repeat))
    service = Service(settings, model, (), work.seed + repeat, hooks, room=max(scenario.n, 1))
    service.push(scenario)
    service.run()
    found = moments(service, work.way)
    told = summary(service, model, None, work.way, found)
    rows = service.requests()[:: service.each]
    values = {}
    for name in METRICS:
        values[name] = np.full(scenario.n, np.nan, np.float32)
        values[name][who] = found.values[name]
    cached, rank = np.zeros(scenario.n, np.int32), np.full(scenario.n, -1, np.int16)
    cached[who], rank[who] = rows["cached"], rows["rank"]
    told["cpu_s"] = round(time.process_time() - begin, 6)
    return Outcome(told, values, cached, rank, overload(scenario, rows))


def overload(scenario: Scenario, rows: NDArray[np.void]) -> str | None:
    """In words, where the queue grew to the end of the traffic; None: it did not."""
    if scenario.n < FEWEST:
        return None
    last = int(scenario["arrival_ps"][-1])
    waiting = int(((rows["start"] > last) | ((rows["start"] == 0) & (rows["outcome"] == p.OPEN))).sum())
    if waiting <= STILL_WAITING * scenario.n:
        return None
    waits = np.where(rows["start"] > 0, rows["start"] - rows["arrival"], 0) / PS
    quarter = np.array_split(waits, 4)
    if float(np.median(quarter[3])) <= 1.5 * float(np.median(quarter[1])) + 0.5:
        return None
    return f"overloaded: {waiting} of {scenario.n} requests still wait when the last one arrives"
