"""Run a case through the engine, boot by boot, and lay the outcome out as arrays in virtual seconds."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.lab.case import HORIZON_S, Case
from ridgeline.lab.front import Path, active, path_in, strength
from ridgeline.lab.host import stop_of
from ridgeline.lab.service import DOWN_S, Boot, boots, perturbations, time_model
from ridgeline.lab.steps import apply_steps
from ridgeline.lab.traffic import Rows, everything, picked, to_scenario
from ridgeline.scenario.model import PS
from ridgeline.sim.engine import params as p
from ridgeline.sim.service import Service
from ridgeline.sim.tables import Perturbation

Column = NDArray[Any]
DRAIN_S: Final = 8.0
STAMPS: Final = ("arrival", "dispatch", "queued", "entry", "start", "first", "finish", "last")
COUNTS: Final = ("prompt", "gen", "cached", "retractions", "worker", "rank", "outcome", "state", "kv", "held")


@dataclass(frozen=True)
class Side:
    """One engine row per request: stamps in virtual seconds (NaN: never), counts as they ended."""

    stamp: dict[str, Column]
    count: dict[str, Column]


@dataclass(frozen=True)
class Ran:
    """A played case. ``boot``: which boot took each request (-1: none was up, -2: refused before the engine).

    ``logs``: the engine's log rows per boot; ``back``: the decode side where the roles are apart; ``stop``: when
    and how a server died, if one did.
    """

    case: Case
    rows: Rows
    path: Path
    boots: list[Boot]
    boot: Column
    front: Side
    back: Side | None
    logs: list[Column]
    stop: tuple[float, str] | None


def traffic_of(case: Case) -> Rows:
    """Every request of the case, disturbed as the fault says."""
    rows = apply_steps(everything(case), case)
    if case.fault.deploy:
        gap = (rows["t"] > case.onset_s - 3.0) & (rows["t"] < case.onset_s + DOWN_S + 1.0)
        rows = picked(rows, ~gap)
    if case.unpin:
        rows["rank"] = np.full_like(rows["rank"], -1)
    on = active(case, rows["t"]) & rows["affected"]
    if strength(case, "wrong"):
        rows["output_tokens"] = np.where(on, 1 + rows["serial"] % 2, rows["output_tokens"])
    share = strength(case, "abort")
    if share:
        hit = on & (rows["serial"] % 1000 < 1000 * share)
        rows["cancel_s"] = np.where(hit, 0.4 + (rows["serial"] % 53) / 60, rows["cancel_s"])
    return rows


def refused_early(case: Case, rows: Rows) -> Column:
    """Requests the API server answers with 400 before the engine sees them."""
    share = strength(case, "invalid")
    hit: Column = active(case, rows["t"]) & rows["affected"] & (rows["serial"] % 1000 < 1000 * share)
    return hit


def lives(case: Case) -> tuple[list[Boot], tuple[float, str] | None]:
    """Boots, and the death of a server where the fault is one."""
    planned = boots(case)
    stop = stop_of(case)
    if stop is None:
        return planned, None
    death_s, kind, back_s = stop
    first = planned[0]
    out = [Boot(0.0, death_s, first.settings, first.shown)]
    if back_s is not None and back_s < HORIZON_S:
        out.append(Boot(back_s, HORIZON_S, first.settings, first.shown))
    return out, (death_s, kind)


def empty_side(n: int) -> Side:
    """A side on which nothing has happened yet."""
    return Side({name: np.full(n, np.nan) for name in STAMPS}, {name: np.zeros(n, np.int64) for name in COUNTS})


def fill(side: Side, at: Column, found: Any) -> None:
    """Write engine rows ``found`` into ``side`` at the given places."""
    for name in STAMPS:
        values = found[name].astype(np.float64)
        side.stamp[name][at] = np.where((values > 0) & (values < p.FOREVER // 2), values / PS, np.nan)
    for name in COUNTS:
        side.count[name][at] = found[name]
    # a step that ends after the last moment played may have closed a request without writing its length back
    done = found["outcome"] == p.FINISHED
    side.count["gen"][at] = np.where(done, found["out"], found["gen"])


def play(case: Case) -> Ran:
    """Run the case."""
    rows = traffic_of(case)
    rows, path = path_in(rows, case)
    n = len(rows["t"])
    refused = refused_early(case, rows)
    lifes, stop = lives(case)
    boot = np.full(n, -1, np.int64)
    boot[refused] = -2
    sides = [empty_side(n), empty_side(n)]
    logs: list[Column] = []
    each = 2 if case.pd else 1
    shaken: list[Perturbation] = perturbations(case)
    for k, life in enumerate(lifes):
        mine = np.flatnonzero(~refused & (path.handed_s >= life.from_s) & (path.handed_s < life.to_s))
        boot[mine] = k
        scenario = to_scenario(picked(rows, mine), path.handed_s[mine], life.settings.context_length)  # type: ignore[arg-type]
        service = Service(
            life.settings, time_model(case), shaken, case.seed % 2**31, None, logging=True, room=max(len(mine), 1)
        )
        service.push(scenario)
        ends = life.to_s
        if k + 1 < len(lifes) and stop is None:
            ends = life.to_s + DRAIN_S
        service.advance(round(ends * PS))
        found = service.requests()
        for side in range(each):
            fill(sides[side], mine, found[side::each])
        logs.append(service.drain_log())
    return Ran(case, rows, path, lifes, boot, sides[0], sides[1] if case.pd else None, logs, stop)
