"""Equations between observed intervals and simulated work, and their robust non-negative solution.

For each request of the training part, an observed interval (scheduling to first token, first to last token, or, where
the engine's own stamps are missing, arrival to first and arrival to last token) equals the work that the simulated run
did in the same interval of the same request, times the coefficients. Weights 1/sqrt(seconds): the error of a sum of
steps grows with the square root of their number. Robust: Huber weights, eight rounds.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fit.run import Floats, Run, work_between

ROUNDS = 8
HUBER = 2.0
CONTRAST = 4.0
MOST_SHARE = 10.0
LEAST_S = 0.002
"""Intervals shorter than this weigh no more than one of this length."""

SCALE = np.array([1.0, 1e3, 1e6, 1e2, 1e5, 1e2, 1.0])
"""Usual sizes of the features: conditions the solver, changes nothing else."""


@dataclass(frozen=True)
class Equations:
    """`work @ coefficients = seconds`, with the request that each row is about, which of its intervals, and the
    moments in the run between which its work lies (None: joined with lines that have none)."""

    work: Floats
    seconds: Floats
    request: NDArray[np.int64]
    kind: NDArray[np.int64]
    since: Floats | None = None
    until: Floats | None = None


def equations(traffic: Traffic, run: Run, rows: NDArray[np.int64], arrival_s: Floats) -> Equations:
    """Equations of the requests ``rows``; ``arrival_s`` is when each reached the scheduler in the run."""
    seen = traffic.observed
    pairs: list[tuple[Floats, Floats, Floats]] = [
        (seen["first"] - seen["scheduled"], run.scheduled, run.first),
        (seen["last"] - seen["first"], run.first, run.last),
    ]
    bare = np.isnan(seen["first"] - seen["scheduled"])
    if bare[rows].mean() > 0.5:
        lone = np.isnan(seen["last"] - seen["first"])
        pairs += [
            (np.where(bare, seen["ttft_s"], np.nan), arrival_s, run.first),
            (np.where(lone, seen["e2e_s"] - np.nan_to_num(seen["ttft_s"]), np.nan),
             np.where(np.isnan(seen["ttft_s"]), arrival_s, run.first), run.last),
        ]  # fmt: skip
    work, seconds, request, kinds, froms, tos = [], [], [], [], [], []
    for kind, (observed, since, until) in enumerate(pairs):
        usable = rows[(~np.isnan(observed) & ~np.isnan(since) & ~np.isnan(until))[rows]]
        usable = usable[observed[usable] > 0]
        work.append(work_between(run, since[usable], until[usable]))
        seconds.append(observed[usable])
        request.append(usable)
        kinds.append(np.full(len(usable), kind))
        froms.append(since[usable])
        tos.append(until[usable])
    return Equations(
        np.vstack(work), np.concatenate(seconds), np.concatenate(request), np.concatenate(kinds),
        np.concatenate(froms), np.concatenate(tos),
    )  # fmt: skip


def joined(first: Equations, second: Equations | None) -> Equations:
    """Both systems as one."""
    if second is None:
        return first
    return Equations(
        np.vstack([first.work, second.work]), np.concatenate([first.seconds, second.seconds]),
        np.concatenate([first.request, second.request]), np.concatenate([first.kind, second.kind]),
    )  # fmt: skip


def solve(system: Equations, floors: Floats) -> Floats:
    """Coefficients (s per unit of each feature), none below its floor.

    ``floors`` are physical lower bounds (0 where none is known): weights over bandwidth for the step, KV bytes over
    bandwidth for a context token.
    """
    rest = system.seconds - system.work @ floors
    share = np.where(system.request < 0, np.sqrt(few_lines(system)), 1.0)
    weights = share / np.sqrt(np.maximum(system.seconds, LEAST_S))
    robust = np.ones(len(rest))
    found = np.zeros(len(floors))
    for _ in range(ROUNDS):
        root = weights * np.sqrt(robust)
        found, _norm = nnls(system.work / SCALE * root[:, None], rest * root, maxiter=1000)
        found = found / SCALE
        error = np.abs(system.work @ found - rest) / np.sqrt(np.maximum(system.seconds, LEAST_S))
        spread = spreads(error, system.kind)
        weights = share / (np.sqrt(np.maximum(system.seconds, LEAST_S)) * spread)
        robust = np.minimum(1.0, HUBER * spread / np.maximum(error, 1e-15))
    return found + floors


def few_lines(system: Equations) -> float:
    """How much more a batch line counts than a request's interval, where lines are few.

    A line is the time of steps whose content is known; an interval leans on the simulated content of its steps.
    """
    lines = int((system.request < 0).sum())
    return min(max((len(system.request) - lines) / lines, 1.0), MOST_SHARE) if lines else 1.0


def spreads(error: Floats, kind: NDArray[np.int64]) -> Floats:
    """The typical error of each row's kind of interval: prefill jitters by the step, decode drifts with the server.

    No kind counts as more than `CONTRAST` times as exact as all together, so that none is fitted alone.
    """
    whole = 1.4826 * float(np.median(error)) + 1e-12
    out = np.full(len(error), whole)
    for each in np.unique(kind):
        mine = kind == each
        out[mine] = max(1.4826 * float(np.median(error[mine])), whole / CONTRAST)
    return out
