"""The runner that the fit uses outside tests: the simulator's engine, with its step rows as features."""

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.model import PS, Scenario
from ridgeline.sim.engine import params as p
from ridgeline.sim.fit.run import Floats, Run, Steps
from ridgeline.sim.service import simulate
from ridgeline.sim.settings import Settings
from ridgeline.sim.timing import TimeModel


def engine_run(scenario: Scenario, settings: Settings, model: TimeModel) -> Run:
    """One simulation of the scenario, as the fit reads it."""
    service = simulate(scenario, settings, model, steps=True)
    rows = service.requests()[:: service.each]
    done = rows["outcome"] == p.FINISHED
    cached = rows["cached"].astype(np.float64)
    return Run(
        seconds(rows["queued"]), seconds(rows["start"]), seconds(rows["first"]),
        np.where(done, seconds(rows["finish"]), np.nan), rows["retractions"].astype(np.float64),
        np.where(rows["start"] > 0, cached, np.nan), steps_of(service.drain_log()),
    )  # fmt: skip


def seconds(stamps: NDArray[np.int64]) -> Floats:
    """Picoseconds as seconds; 0 (never happened) as NaN."""
    values: Floats = np.where(stamps > 0, stamps / PS, np.nan)
    return values


def steps_of(log: NDArray[np.void]) -> Steps:
    """Stretches of steps from the log's step rows, all ranks merged in order of time.

    A stretch of k decode steps over B requests whose first step has context S holds k S + B k (k - 1) / 2 context.
    """
    rows = log[log["kind"] == p.LOG_STEP]
    rows = rows[np.argsort(rows["t"], kind="stable")]
    count, prefill, pairs = (rows[f"v{i}"].astype(np.float64) for i in range(3))
    decodes, context, mixed = (rows[f"v{i}"].astype(np.float64) for i in range(3, 6))
    start = rows["t"] / PS
    end = start + rows["v6"] / PS
    held = count * context + decodes * count * (count - 1) / 2
    features = np.column_stack([count, prefill, pairs, count * decodes, held, mixed * decodes])
    return Steps(start, end, features)
