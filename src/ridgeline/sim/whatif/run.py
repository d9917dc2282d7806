"""One run of one setting in one repeat."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.model import PS, Scenario
from ridgeline.sim.engine import params as p
from ridgeline.sim.policies import load_policy
from ridgeline.sim.service import Hooks, Service
from ridgeline.sim.settings import Settings, as_dict
from ridgeline.sim.summary import moments, summary
from ridgeline.sim.tables import Perturbation
from ridgeline.sim.timing import TimeModel, Way
from ridgeline.sim.whatif.passes import Passes, charged
from ridgeline.sim.whatif.repeats import pace, paced, shuffled
from ridgeline.sim.whatif.variants import Variant, free

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
    placement: NDArray[np.int64] | None = None
    placed_by: tuple[str | int | bool, ...] = ()
    pool_held: int = 0
    passes: Passes | None = None
    shaken: tuple[Perturbation, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """``summary`` as of ``ridgeline.simulation/1``; ``values``: per request in the traffic's own order (s, NaN: did
    not finish); further facts of each request: cached tokens and rank (-1: none)."""

    summary: dict[str, Any]
    values: dict[str, NDArray[np.float32]]
    cached: NDArray[np.int32]
    rank: NDArray[np.int16]
    overloaded: str | None


def placing(settings: Settings) -> tuple[str | int | bool, ...]:
    """What decides where a request goes."""
    return (settings.router, settings.workers, settings.dp_size, settings.load_balance_method, settings.decode_workers)


def effective(settings: Settings, held: int) -> Settings:
    """The settings with the pool as large as the fit found it to be."""
    pool = max(settings.max_total_num_tokens + held, 2 * settings.page_size)
    return replace(settings, max_total_num_tokens=pool) if held else settings


def as_placed(work: Work, variant: Variant) -> tuple[Scenario, Settings]:
    """What is simulated: where nothing of the placement changes each request goes where it went.

    Servers are ranks of one server then: they share nothing but the gateway in front.
    """
    settings = effective(variant.settings, work.pool_held)
    if variant.unpin:
        return free(work.scenario), settings
    if work.placement is None or placing(settings) != work.placed_by or settings.enable_dp_attention:
        return work.scenario, settings
    columns = {**work.scenario.columns, "dp_rank": work.placement}
    alone = replace(settings, workers=1, router="none", dp_size=settings.workers * settings.dp_size)
    return replace(work.scenario, columns=columns), alone


def of_rows(outcome: Outcome, rows: NDArray[np.int64] | None) -> Outcome:
    """The outcome as far as the given requests are concerned; its summary stays that of the whole run."""
    if rows is None:
        return outcome
    return replace(outcome, values={name: v[rows] for name, v in outcome.values.items()}, cached=outcome.cached[rows],
                   rank=outcome.rank[rows])  # fmt: skip


def hooks_of(policies: Sequence[str]) -> Hooks:
    """The user's policies, compiled. Raises SettingError."""
    found: dict[str, Any] = {}
    for reference in policies:
        kind, function = load_policy(reference)
        found[kind] = function
    return Hooks(**found)


def run(work: Work, variant: Variant, repeat: int, hooks: Hooks) -> Outcome:
    """Simulate and sum up."""
    begin = time.process_time()
    placed, settings = as_placed(work, variant)
    scenario, who = shuffled(charged(placed, work.passes, settings), work.seed, repeat)
    model = paced(work.model, pace(work.pace_spread, work.seed, repeat))
    service = Service(settings, model, work.shaken, work.seed + repeat, hooks, room=max(scenario.n, 1))
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
    told["settings"] = as_dict(variant.settings)
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
