"""What the fit needs of a simulated run, and the one runner behind it: the engine."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.model import Scenario
from ridgeline.sim.settings import Settings
from ridgeline.sim.timing import TimeModel

Floats = NDArray[np.float64]

STEP_FEATURES = (
    "steps", "prefill_tokens", "attention_half_pairs", "decode_requests", "context_tokens", "mixed_requests"
)  # fmt: skip
FEATURES = (*STEP_FEATURES, "request_starts")
"""What costs time: what a step computes, in the order of the time model's coefficients a, b, c, d, e, g, and requests
whose first prefill begins (host work of a new request; the scenario's ``work_us``)."""


@dataclass(frozen=True)
class Steps:
    """Stretches of steps in order of time: start and end (s), and the sums of `STEP_FEATURES` over each (rows x 6)."""

    start: Floats
    end: Floats
    features: Floats


@dataclass(frozen=True)
class Run:
    """Moments of each request (s after the scenario's zero; NaN: did not happen), and the steps they came from."""

    queued: Floats
    scheduled: Floats
    first: Floats
    last: Floats
    retractions: Floats
    cached_tokens: Floats
    steps: Steps


TICK_S = 1e-9
"""Moments of one step agree to this."""

Runner = Callable[[Scenario, Settings, TimeModel], Run]


def work_between(run: Run, since: Floats, until: Floats) -> Floats:
    """Sums of `FEATURES` between moments (rows x 7); a step cut by a moment counts by its share of time."""
    steps = run.steps
    if len(steps.start) == 0:
        return np.zeros((len(since), len(FEATURES)))
    # knots at every start and end: work grows inside a stretch and stands still between two
    knots = np.column_stack([steps.start, np.maximum(steps.end, steps.start)]).ravel()
    knots = np.maximum.accumulate(knots)
    done = np.cumsum(steps.features, axis=0)
    before = np.vstack([np.zeros(done.shape[1]), done[:-1]])
    levels = np.stack([before, done], axis=1).reshape(-1, done.shape[1])
    columns = [
        np.interp(until, knots, levels[:, j]) - np.interp(since, knots, levels[:, j]) for j in range(done.shape[1])
    ]
    begun = np.sort(run.scheduled[~np.isnan(run.scheduled)])
    starts = np.searchsorted(begun, until - TICK_S) - np.searchsorted(begun, since - TICK_S)
    return np.column_stack([*columns, starts.astype(np.float64)])
