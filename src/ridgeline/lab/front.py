"""The parts of a service around the engine: gateway, event loop, return path, client (times in virtual seconds).

Tokenizing and what comes after it is the engine's. Effects act between the onset and the end of the fault.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.lab.case import Case
from ridgeline.lab.traffic import Rows

Column = NDArray[Any]

EFFECTS: Final = (
    "return_token", "parser", "stall", "gateway", "slow_client", "late_client", "held", "wrong", "abort", "invalid",
)  # fmt: skip
RETURN_S: Final = 0.0015
RETURN_TOKEN_S: Final = 0.000_04
STALL_EVERY_S: Final = 12.0


@dataclass(frozen=True)
class Path:
    """Where each request was before the engine had it.

    ``planned_s``: the client meant to send; ``sent_s``: it did; ``received_s``: the API server created it;
    ``handed_s``: it was given to the tokenizer, which is when the engine's time begins.
    """

    planned_s: Column
    sent_s: Column
    received_s: Column
    handed_s: Column


def strength(case: Case, what: str) -> float:
    """The strength of an effect in this case, 0 where it has none."""
    if case.healthy:
        return 0.0
    return sum(case.strength(f.amount) for f in case.fault.front if f.what == what)


def active(case: Case, t: Column) -> NDArray[np.bool_]:
    """Which moments lie within the fault."""
    mask: NDArray[np.bool_] = (t >= case.onset_s) & (t < case.end_s)
    return mask


def stalls(case: Case) -> list[tuple[float, float]]:
    """Windows in which the event loop stands still."""
    length = strength(case, "stall")
    if length == 0:
        return []
    rng = case.rng("stalls")
    starts = np.arange(case.onset_s, case.end_s - length, STALL_EVERY_S)
    return [(float(s), float(s) + length * f) for s, f in zip(starts, 0.7 + 0.6 * rng.random(len(starts)), strict=True)]


def after_stalls(t: Column, windows: list[tuple[float, float]]) -> Column:
    """Moments inside a stall move to its end (in their order, 0.2 ms apart)."""
    out = t.copy()
    for start, end in windows:
        inside = np.flatnonzero((out >= start) & (out < end))
        out[inside] = end + 0.0002 * np.argsort(np.argsort(out[inside], kind="stable"), kind="stable")
    return out


def path_in(rows: Rows, case: Case) -> tuple[Rows, Path]:
    """How the requests come in; rows in order of ``handed_s``."""
    t = rows["t"]
    on = active(case, t)
    jitter = 0.0008 + 0.002 * (rows["serial"] % 101) / 101
    sent = t.copy()
    late = strength(case, "late_client")
    if late:
        # one slow sender: requests leave it at a lower pace than they are due, until the backlog is worked off
        spare = late / max(case.end_s - case.onset_s, 1.0)
        sent = np.where(on, t + np.minimum((t - case.onset_s) * spare * 2, late), t)
    gateway = strength(case, "gateway")
    held_up = 0.001 + np.where(on, gateway * (0.5 + (rows["serial"] % 89) / 89), 0.0)
    received = sent + held_up + jitter
    handed = after_stalls(received, stalls(case)) + 0.0002
    held = strength(case, "held")
    if held:
        handed = handed + np.where(on & rows["affected"], held * (0.6 + 0.8 * (rows["serial"] % 83) / 83), 0.0)
    order = np.argsort(handed, kind="stable")
    rows = {name: values[order] for name, values in rows.items()}
    return rows, Path(t[order], sent[order], received[order], handed[order])


def returned(case: Case, rows: Rows, completed: Column, tokens: Column, server: Column) -> Column:
    """When the last piece has left the API server: one worker per server turns tokens into text, in order.

    ``completed`` NaN: the scheduler never finished it. One server's detokenizer takes requests as they complete.
    """
    out = np.full(len(completed), np.nan)
    per_token = strength(case, "return_token")
    parser = strength(case, "parser")
    for s in np.unique(server[~np.isnan(completed)]):
        mine = np.flatnonzero((server == s) & ~np.isnan(completed))
        free = 0.0
        for i in mine[np.argsort(completed[mine], kind="stable")]:
            t = float(completed[i])
            on = case.onset_s <= t < case.end_s
            work = RETURN_S + float(tokens[i]) * (RETURN_TOKEN_S + (per_token if on else 0.0))
            free = max(free, t) + work
            own = parser * min(4.0, (float(tokens[i]) / 150) ** 2) if on and parser and rows["affected"][i] else 0.0
            out[i] = free + own
    return after_stalls(out, stalls(case))
