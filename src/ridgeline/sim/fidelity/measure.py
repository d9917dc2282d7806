"""Fit on the first part of a traffic, simulate the whole of it, compare the rest with what was observed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.model import take
from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fidelity.figures import (
    METRICS,
    Figure,
    bounds,
    figures,
    observed_and_predicted,
)
from ridgeline.sim.fidelity.gate import judge
from ridgeline.sim.fit.choices import choices_of
from ridgeline.sim.fit.configured import Configured, is_pipelined
from ridgeline.sim.fit.fit import STAMPS, Fitted, descend, fits, simulated
from ridgeline.sim.fit.hull import outside
from ridgeline.sim.fit.lines import Lines
from ridgeline.sim.fit.regress import Equations
from ridgeline.sim.fit.run import FEATURES, Floats, Runner
from ridgeline.sim.fit.spread import speed_spread

Rows = NDArray[np.int64]

MEMBERS: Final = 8
MEMBER_SWEEPS: Final = 3
NEXT_POOL: Final = 1.08
FEW: Final = 60
THIN_STRETCH: Final = 1.5
"""Bounds grow by this where fewer than `FEW` requests were fitted, or no stamps of the engine."""
THIN_SPREAD: Final = 0.06
"""There a server's speed counts as no steadier than this: few blocks of requests say little about the hours after."""
FEW_SPREAD: Final = 0.12
"""The same of fewer than `FEW` requests: shared machines were seen to slow by a third after their first forty."""
NEAR: Final = 1.3
"""A fit whose loss is within this factor of the best could as well be the true one."""
MOST_SPREAD: Final = 0.3
DEVIATIONS: Final = 2.6
"""Standard deviations on each side: 95 % where the deviation itself comes from half a dozen blocks."""
MOST: Final = 8000
"""Requests simulated at most: a longer traffic is cut (half of them before the split)."""


@dataclass(frozen=True)
class Fidelity:
    """The answer: figures by metric and statistic, trust and why; `fitted` None where nothing could be fitted."""

    split: float
    fitted: Fitted | None
    pipelined: bool | None
    figures: dict[str, dict[str, Figure]]
    trust: bool
    why: tuple[str, ...]
    trained: int
    tested: int
    outside: float | None
    speed_spread: float | None
    cached_tokens: tuple[float | None, float | None]  # observed, predicted: sums over the compared requests
    retractions: tuple[float | None, float | None]
    observed_any: bool


def fidelity(
    traffic: Traffic, setup: Configured, runner: Runner, split: float = 0.5, lines: Lines | None = None, seed: int = 0,
    floors: Floats | None = None,
) -> Fidelity:  # fmt: skip
    """Fit on the requests before the split (a share of the requests, by arrival), predict those after it.

    Of the batch ``lines``, those written before the first request after the split arrived are used. ``floors``: what no
    coefficient can be below, s per unit of each feature.
    """
    traffic, cut_note = shortened(traffic, split)
    train, test = parts(traffic, split)
    bound = np.zeros(len(FEATURES)) if floors is None else floors
    assumed = (*cut_note, *traffic.notes, *setup.assumed)
    timed = any(bool(traffic.known(metric).any()) for metric in METRICS)
    known = None
    if lines is not None and len(test):
        until = traffic.origin_ts + float(traffic.arrival_s[test[0]])
        known = lines.until(until, setup.settings.decode_log_interval)
    found = fits(traffic, choices_of(setup, traffic, train), train, runner, bound, known)
    if not found:
        blank = {metric: np.full(traffic.n, np.nan) for metric in METRICS}
        seen = {m: figures(observed_and_predicted(traffic, blank, test, m)[0], None, None) for m in METRICS}
        why = ("too few requests with observed times before the split to fit a time model", *assumed)
        return Fidelity(split, None, None, seen, False, why, len(train), int(traffic.measured[test].sum()), None, None,
                        (None, None), (None, None), timed)  # fmt: skip
    best = found[0]
    run, predicted = simulated(traffic, best, runner)
    members = [
        simulated(traffic, member, runner)[1] for member in refits(traffic, best, train, runner, known, seed, bound)
    ]
    thin = best.requests < FEW or best.evidence != STAMPS
    steady = min(speed_spread(traffic, run, best, train), MOST_SPREAD)
    # a server as fast and as slow as its own training part makes likely
    wide = 1 + DEVIATIONS * steady
    speeds = [simulated(traffic, paced(best, factor), runner)[1] for factor in (1 / wide, wide)]
    further: list[dict[str, Floats]] = []
    least = FEW_SPREAD if best.requests < FEW else THIN_SPREAD
    if thin and steady < least:
        wide = 1 + DEVIATIONS * least
        further = [simulated(traffic, paced(best, factor), runner)[1] for factor in (1 / wide, wide)]
    speeds += [simulated(traffic, f, runner)[1] for f in found[1:] if could_be(f, best)]
    earlier = drift(traffic, best, train, runner, known, bound)
    beyond = outside(run.steps, run.last, train, test)
    spans = run.steps.end - run.steps.start
    step_s = float(spans.sum() / max(run.steps.features[:, 0].sum(), 1.0))
    stretch = (1 + beyond) * (THIN_STRETCH if thin else 1.0)
    answer: dict[str, dict[str, Figure]] = {}
    judged: dict[str, dict[str, Figure]] = {}
    for metric in METRICS:
        seen_values, guess = observed_and_predicted(traffic, predicted, test, metric)
        bounded: list[tuple[Floats, Floats] | None] = [None, None]
        if guess is not None:
            again = [observed_and_predicted(traffic, m, test, metric)[1] for m in members]
            floor = 0.0 if metric == "tpot_s" else step_s
            for k, group in enumerate((speeds, [*speeds, *further])):
                pace = [observed_and_predicted(traffic, m, test, metric)[1] for m in group]
                bounded[k] = bounds(guess, [g for g in again if g is not None], [g for g in pace if g is not None],
                                    earlier.get(metric), stretch, floor)  # fmt: skip
        # thin evidence widens what is said of a figure, and is no reason by itself to distrust one that fits
        judged[metric], answer[metric] = (figures(seen_values, guess, pair) for pair in bounded)
    trust, why = judge(judged, assumed)
    return Fidelity(
        split, best, is_pipelined(best.settings), answer, trust, why, len(train), int(traffic.measured[test].sum()),
        beyond, steady,
        totals(traffic, traffic.observed["cached_tokens"], run.cached_tokens, test),
        totals(traffic, traffic.observed["retractions"], run.retractions, test), timed,
    )  # fmt: skip


def parts(traffic: Traffic, split: float) -> tuple[Rows, Rows]:
    """Rows before and after the split; parts of requests that nobody recorded count on neither side."""
    rows = np.flatnonzero(np.array([state != "hidden" for state in traffic.outcome]))
    at = int(len(rows) * split)
    return rows[:at], rows[at:]


def shortened(traffic: Traffic, split: float) -> tuple[Traffic, tuple[str, ...]]:
    """A traffic of at most `MOST` requests: those around the split, if it is longer."""
    if traffic.n <= MOST:
        return traffic, ()
    at = int(traffic.n * split)
    low = max(0, min(at - MOST // 2, traffic.n - MOST))
    rows = np.arange(low, low + MOST)
    scenario = take(traffic.scenario, rows)
    start = int(scenario["arrival_ps"][0])
    columns = dict(scenario.columns)
    columns["arrival_ps"] = columns["arrival_ps"] - start
    columns["cancel_ps"] = np.maximum(0, columns["cancel_ps"] - start)
    shift = start / 1e12
    stamps = ("queued", "scheduled", "first", "last")
    observed = {k: v[rows] - (shift if k in stamps else 0) for k, v in traffic.observed.items()}
    cut = replace(
        traffic, scenario=replace(scenario, columns=columns), rids=tuple(traffic.rids[i] for i in rows),
        origin_ts=traffic.origin_ts + shift, observed=observed, measured=traffic.measured[rows],
        outcome=tuple(traffic.outcome[i] for i in rows),
    )  # fmt: skip
    return cut, (f"{traffic.n} requests: the {MOST} around the split are taken",)


def could_be(other: Fitted, best: Fitted) -> bool:
    """Whether a fit under other settings that the evidence leaves open may be the true one: it fits nearly as well, or
    it is the next larger pool (prompts may share more later than they did so far)."""
    pool = other.settings.max_total_num_tokens / best.settings.max_total_num_tokens
    next_pool = 1 < pool <= NEXT_POOL and is_pipelined(other.settings) == is_pipelined(best.settings)
    return other.loss <= NEAR * best.loss or next_pool


def paced(best: Fitted, factor: float) -> Fitted:
    """The fit with every step ``factor`` times as long."""
    return replace(best, coefficients=best.coefficients * factor)


def refits(
    traffic: Traffic, best: Fitted, train: Rows, runner: Runner, lines: Equations | None, seed: int, floors: Floats
) -> Sequence[Fitted]:
    """Fits on resampled blocks of the training requests (ten blocks, drawn with replacement)."""
    draw = np.random.default_rng(seed)
    blocks = [b for b in np.array_split(train, min(10, max(1, len(train) // 4))) if len(b)]
    out: list[Fitted] = []
    for _ in range(MEMBERS):
        rows = np.sort(np.concatenate([blocks[i] for i in draw.integers(0, len(blocks), len(blocks))]))
        out.append(descend(traffic, best, rows, runner, floors, MEMBER_SWEEPS, lines))
    return out


def drift(
    traffic: Traffic, best: Fitted, train: Rows, runner: Runner, lines: Equations | None, floors: Floats
) -> dict[str, Floats]:
    """Relative error, by statistic, that a fit on the earlier half of the training part makes on its later half."""
    half = len(train) // 2
    earlier, later = train[:half], train[half:]
    if half < 12:
        return {}
    fitted = descend(traffic, best, earlier, runner, floors, 2 * MEMBER_SWEEPS, lines)
    _run, predicted = simulated(traffic, fitted, runner)
    out: dict[str, Floats] = {}
    for metric in METRICS:
        seen, guess = observed_and_predicted(traffic, predicted, later, metric)
        if seen is not None and guess is not None:
            off = np.abs(guess - seen)
            out[metric] = np.divide(off, seen, out=np.zeros_like(off), where=seen > 0)
    return out


def totals(traffic: Traffic, seen: Floats, guess: Floats, rows: Rows) -> tuple[float | None, float | None]:
    """Sums of an observed and a predicted count over the rows where it was observed."""
    use = rows[(traffic.measured & ~np.isnan(seen))[rows]]
    if len(use) == 0:
        return None, None
    return float(seen[use].sum()), float(np.nansum(guess[use]))
