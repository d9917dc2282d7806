"""What the user felt: client-side figures of a played case, and whether they are worse than the healthy twin's."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.lab.case import HORIZON_S
from ridgeline.lab.front import after_stalls, returned, stalls, strength
from ridgeline.lab.play import Ran
from ridgeline.sim.engine import params as p

Column = NDArray[Any]
ADMIT: Final = 1.25
"""Least ratio of a figure to the twin's for a case to count."""
ADMIT_ERRORS: Final = 0.02
"""Least added share of failed requests."""
PATIENCE_S: Final = 60.0
"""A request still open at the end counts as failed once it is this old."""


@dataclass(frozen=True)
class Felt:
    """Per request, as the client saw it: seconds, NaN where it never happened."""

    sent_s: Column
    first_s: Column
    end_s: Column
    tokens: Column
    failed: Column


def felt(ran: Ran) -> Felt:
    """The client's view of every request, from when it meant to send."""
    case, path = ran.case, ran.path
    side = ran.back if ran.back is not None else ran.front
    outcome = side.count["outcome"]
    done = np.where(outcome == p.FINISHED, side.stamp["finish"], np.nan)
    end = returned(case, ran.rows, done, side.count["gen"], side.count["worker"])
    first = after_stalls(side.stamp["first"] + 0.0016, stalls(case))
    slow = strength(case, "slow_client")
    if slow:
        on = (path.sent_s >= case.onset_s) & ran.rows["affected"]
        end = np.where(on, np.maximum(end, first + slow * side.count["gen"]), end)
    first = np.where(ran.rows["stream"], np.fmin(first, end), end)
    planned = path.planned_s
    wrong = np.zeros(len(planned), np.bool_)
    if strength(case, "wrong"):
        wrong = (planned >= case.onset_s) & ran.rows["affected"]
    old = np.isnan(end) & (HORIZON_S - path.sent_s > PATIENCE_S)
    dead = ran.boot < 0
    if ran.stop is not None:
        dead |= (ran.boot == 0) & np.isnan(end)
    front_failed = (ran.front.count["outcome"] > p.FINISHED) & (ran.front.count["outcome"] != p.OPEN)
    failed = dead | old | wrong | ((outcome > p.FINISHED) & (outcome != p.OPEN)) | front_failed
    return Felt(planned, first + 0.002, end + 0.002, side.count["gen"], failed)


def figures(ran: Ran) -> dict[str, float]:
    """p95 of TTFT, time per token and total, share failed, of requests sent while the fault is on."""
    case = ran.case
    f = felt(ran)
    on = (f.sent_s >= case.onset_s) & (f.sent_s < case.end_s)
    if case.fault.second == () and case.fault.by in ("priority",):
        on &= ran.rows["affected"]
    ok = on & ~f.failed & ~np.isnan(f.end_s)
    if not on.any():
        return {"ttft_p95_s": 0.0, "tpot_p95_s": 0.0, "e2e_p95_s": 0.0, "failed": 0.0}
    ttft = (f.first_s - f.sent_s)[ok]
    tpot = ((f.end_s - f.first_s) / np.maximum(f.tokens - 1, 1))[ok & (f.tokens > 4)]
    e2e = (f.end_s - f.sent_s)[ok]

    def q(values: Column) -> float:
        return float(np.quantile(values, 0.95)) if len(values) else 0.0

    return {"ttft_p95_s": q(ttft), "tpot_p95_s": q(tpot), "e2e_p95_s": q(e2e), "failed": float(f.failed[on].mean())}


def harms(case_figures: dict[str, float], twin: dict[str, float]) -> tuple[bool, float]:
    """(worse than the twin by the admission rule, largest ratio of a latency figure)."""
    worst = 1.0
    for name in ("ttft_p95_s", "tpot_p95_s", "e2e_p95_s"):
        if twin[name] > 0:
            worst = max(worst, case_figures[name] / twin[name])
    bad = case_figures["failed"] - twin["failed"] >= ADMIT_ERRORS
    return bool(worst >= ADMIT or bad), worst
