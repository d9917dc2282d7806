"""The fit: simulate the training part, solve for the coefficients its observed intervals want, repeat.

One simulation with guessed coefficients tells which steps lie in each request's intervals; the equations of `regress`
give better coefficients; half of the step is taken and the run simulated again. The best run by `loss` on the training
part is kept. Where a feature of the server is unknown (pipelining, the pool's effective size without prefix evidence)
each alternative is fitted and the one with the least loss kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.model import PS, Scenario
from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fit.loss import HOPELESS, loss, predicted
from ridgeline.sim.fit.regress import Equations, equations, joined, solve
from ridgeline.sim.fit.run import FEATURES, STEP_FEATURES, Floats, Run, Runner
from ridgeline.sim.settings import Settings
from ridgeline.sim.timing import TimeModel

Rows = NDArray[np.int64]

STAMPS: Final = "engine stamps"
CLIENT_TIMES: Final = "arrival to first and last token"

SWEEPS = 10
STEPS: Final = (0.5, 0.2, 0.08, 0.03)
LEVELS: Final = (0.06, 0.06, 0.03, 0.015)
LEAST_GAIN: Final = 0.03
LOAD_SHARE: Final = 0.5
"""A step that took this share of an adapter's load beyond its work had one to load."""
LEAST_LEFT: Final = 0.05
WORSE: Final = 1.5
"""A sweep may be this much worse than the best so far: the way to a better fit is not always downhill."""
WARM_UP = 4
"""First requests of a run pay for compiling and lazy loading; they are left out of the fit."""
FEWEST = 8
"""Below this many usable requests nothing is fitted."""


@dataclass(frozen=True)
class Fitted:
    """Coefficients (s per unit of `FEATURES`), the settings they belong to, and how well they fit."""

    coefficients: Floats
    settings: Settings
    front_s: float
    back_first_s: float
    back_s: float
    loss: float
    requests: int
    evidence: str  # STAMPS | CLIENT_TIMES

    @property
    def model(self) -> TimeModel:
        """The coefficients in whole picoseconds."""
        return time_model(self.coefficients, f"fitted on {self.requests} requests")


def time_model(coefficients: Floats, label: str) -> TimeModel:
    """A time model from coefficients in seconds."""
    a, b, c, d, e, g = (max(0, round(float(x) * PS)) for x in coefficients[: len(STEP_FEATURES)])
    return TimeModel(label, max(1, a), b, c, d, e, g)


def burdened(scenario: Scenario, fitted: "Fitted") -> Scenario:
    """The scenario as the scheduler sees it: arrivals later by the way in, each first prefill with its host work."""
    shift = round(fitted.front_s * PS)
    columns = dict(scenario.columns)
    columns["work_us"] = columns["work_us"] + round(float(fitted.coefficients[-1]) * 1e6)
    columns["arrival_ps"] = columns["arrival_ps"] + shift
    columns["cancel_ps"] = np.where(columns["cancel_ps"] > 0, columns["cancel_ps"] + shift, 0)
    return replace(scenario, columns=columns)


def simulated(traffic: Traffic, fitted: Fitted, runner: Runner) -> tuple[Run, dict[str, Floats]]:
    """The whole traffic under a fit: the run and the predicted figures."""
    run = runner(burdened(traffic.scenario, fitted), fitted.settings, fitted.model)
    return run, predicted(traffic, run, fitted.front_s, fitted.back_first_s, fitted.back_s)


def overheads(traffic: Traffic, rows: Rows) -> tuple[float, float, float]:
    """Seconds from arrival to scheduler, and from the engine's first and last token back to the caller.

    The way in is nearly the least, because the stamp of entry waits for the running step to end; 0 where unknown.
    """
    seen = traffic.observed
    arrival = traffic.arrival_s

    def of(values: Floats, share: float) -> float:
        good = values[rows][~np.isnan(values[rows])]
        return max(0.0, float(np.quantile(good, share))) if len(good) >= FEWEST else 0.0

    front = of(seen["queued"] - arrival, 0.02)
    back_first = of(seen["ttft_s"] - (seen["first"] - arrival), 0.5)
    back = of(seen["e2e_s"] - (seen["last"] - arrival), 0.5)
    return front, back_first, back


def first_guess(traffic: Traffic, rows: Rows) -> Floats:
    """Coefficients of the right size to start from: TPOT as the step, prefill time per token as the prefill."""
    seen = traffic.observed
    prompts = traffic.scenario["input_tokens"]
    tokens = traffic.scenario["output_tokens"]

    def middle(values: Floats, otherwise: float) -> float:
        good = values[rows][np.isfinite(values[rows]) & (values[rows] > 0)]
        return float(np.median(good)) if len(good) else otherwise

    step = middle(seen["tpot_s"], middle(seen["e2e_s"] / np.maximum(tokens, 1) / 4, 0.02))
    prefill = middle((seen["first"] - seen["scheduled"]) / prompts, step / 200)
    return np.array([step * 0.5, prefill * 0.3, 0.0, step * 0.002, step * 2e-6, step * 1e-4, 0.0])


def descend(
    traffic: Traffic, start: Fitted, rows: Rows, runner: Runner, floors: Floats, sweeps: int = SWEEPS,
    lines: Equations | None = None,
) -> Fitted:  # fmt: skip
    """Sweeps of simulate and solve; the best by loss on ``rows``; ``lines``: equations known beforehand."""
    run, figures = simulated(traffic, start, runner)
    now = best = replace(start, loss=loss(traffic, run, figures, rows))
    for _ in range(sweeps):
        system = joined(told_by(traffic, run, now, rows), lines)
        if len(system.seconds) < FEWEST:
            break
        wanted = solve(system, floors)
        # near saturation a step too far makes queues that teach nothing: shorten it until the run makes sense again
        for share in STEPS:
            there = replace(now, coefficients=np.maximum((1 - share) * now.coefficients + share * wanted, floors))
            run, figures = simulated(traffic, there, runner)
            there = replace(there, loss=loss(traffic, run, figures, rows))
            if there.loss <= WORSE * best.loss:
                break
        now = there
        if now.loss < best.loss:
            best = now
    return best


def told_by(traffic: Traffic, run: Run, now: Fitted, rows: Rows) -> Equations:
    """The equations of ``rows`` against a run under ``now``."""
    system = equations(traffic, run, rows, traffic.arrival_s + now.front_s)
    return less_loads(system, run, now) if now.settings.enable_lora else system


def less_loads(system: Equations, run: Run, now: Fitted) -> Equations:
    """The equations without the time that adapters took to load: what the run's steps took beyond their work."""
    steps = run.steps
    worked = steps.features @ now.coefficients[: len(STEP_FEATURES)]
    loads = np.maximum(0.0, steps.end - steps.start - worked)
    loads = np.where(loads > LOAD_SHARE * now.settings.lora_load_s, loads, 0.0)
    begun = np.cumsum(loads)

    def until(moments: Floats) -> Floats:
        at = np.searchsorted(steps.start, moments - 1e-9)
        told: Floats = np.where(at > 0, begun[np.maximum(at - 1, 0)], 0.0)
        return told

    if system.since is None or system.until is None:
        return system
    taken = until(system.until) - until(system.since)
    return replace(system, seconds=np.maximum(system.seconds - taken, LEAST_LEFT * system.seconds))


def levelled(traffic: Traffic, start: Fitted, rows: Rows, runner: Runner, floors: Floats) -> Fitted:
    """The fit with all coefficients larger or smaller alike, where the training part's waits and whole times say so.

    The equations trust typical intervals; a queue adds up all of them, the long ones too.
    """
    best = start
    for span in LEVELS:
        middle = best
        for factor in (1 - span, 1 + span):
            there = replace(middle, coefficients=np.maximum(middle.coefficients * factor, floors))
            run, figures = simulated(traffic, there, runner)
            there = replace(there, loss=loss(traffic, run, figures, rows))
            if there.loss < best.loss * (1 - LEAST_GAIN):
                best = there
    return best


def fit(
    traffic: Traffic, choices: Sequence[Settings], rows: Rows, runner: Runner, floors: Floats | None = None,
    lines: Equations | None = None,
) -> Fitted | None:  # fmt: skip
    """The best fit on the requests ``rows`` (in order of arrival) over the candidate settings; None: too few."""
    found = fits(traffic, choices, rows, runner, floors, lines)
    return found[0] if found else None


def fits(
    traffic: Traffic, choices: Sequence[Settings], rows: Rows, runner: Runner, floors: Floats | None = None,
    lines: Equations | None = None,
) -> list[Fitted]:  # fmt: skip
    """One fit per candidate setting on the requests ``rows``, the best first; none where requests are too few."""
    usable = rows[(traffic.known("ttft_s") | traffic.known("e2e_s") | traffic.known("tpot_s"))[rows]]
    if len(usable) > 4 * WARM_UP:
        usable = usable[WARM_UP:]
    if len(usable) < FEWEST:
        return []
    bounds = np.zeros(len(FEATURES)) if floors is None else floors
    stamped = float(np.mean(~np.isnan((traffic.observed["first"] - traffic.observed["scheduled"])[usable])))
    front, back_first, back = overheads(traffic, usable)
    guess = np.maximum(first_guess(traffic, usable), bounds)
    found: list[Fitted] = []
    for settings in choices:
        start = Fitted(guess, settings, front, back_first, back, HOPELESS, len(usable),
                       STAMPS if stamped > 0.5 else CLIENT_TIMES)  # fmt: skip
        found.append(descend(traffic, start, usable, runner, bounds, lines=lines))
    found.sort(key=lambda f: f.loss)
    return [levelled(traffic, found[0], usable, runner, bounds), *found[1:]]
