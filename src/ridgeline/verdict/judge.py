"""Figures and checks → one verdict, with the sentence that says why.

An improvement is claimed only where chance (Holm over all figures users feel), the margin and an easier AFTER are all
excluded. `recovered` needs both halves: AFTER is measurably better than INCIDENT where INCIDENT was bad, and AFTER's
interval lies within the SLO or within reach of BASELINE. Neither half alone can be met by drawing AFTER from INCIDENT.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from ridgeline.model.comparison import Check, Estimate, Figure, Verdict, value_said
from ridgeline.verdict.sections import backward, forward

State = Literal["met", "missed", "unclear"]
TAIL: Final = 2.5
REST: Final = 0.2  # of the distance from BASELINE to INCIDENT (log scale) that may remain when it is called over
REST_LEAST: Final = 0.25  # and this ratio over BASELINE always may


@dataclass(frozen=True)
class Ruling:
    """A verdict and its sentence; `open` are the figures that left it undecided."""

    verdict: Verdict
    why: str
    open: tuple[Figure, ...] = ()


def with_slo(figures: Sequence[Figure], slo: dict[str, float]) -> tuple[Figure, ...]:
    """Figures with their bound, and on which side of it each window lies."""
    return tuple(
        figure
        if (bound := slo.get(figure.name)) is None
        else replace(
            figure,
            slo=bound,
            incident_slo=_against(figure.incident, bound, figure.better),
            after_slo=_against(figure.after, bound, figure.better),
        )
        for figure in figures
    )


def _against(side: Estimate, bound: float, better: str) -> State:
    if side.low is None or side.high is None:
        return "unclear"
    if better == "lower":
        return "met" if side.high <= bound else "missed" if side.low > bound else "unclear"
    return "met" if side.low >= bound else "missed" if side.high < bound else "unclear"


def judge(
    figures: Sequence[Figure], checks: Sequence[Check], slo: dict[str, float], running: Check | None = None
) -> Ruling:
    """The verdict. `figures` already hold baseline and SLO where there are any; `running`: against INCIDENT."""
    felt = [f for f in figures if f.drives or f.slo is not None]
    if not felt:
        return Ruling("inconclusive", "both sides share no figure that users feel (TTFT, TPOT, E2E, errors)")
    missing = sorted(set(slo) - {f.name for f in figures})
    if missing:
        return Ruling("inconclusive", f"{', '.join(missing)} cannot be computed on both sides")
    if slo:
        ruling = _by_slo(felt)
    elif any(f.baseline is not None for f in felt):
        ruling = _by_baseline(felt)
    else:
        ruling = _alone(felt)
    # Back at BASELINE is back, whatever INCIDENT carried.
    held = running is not None and (ruling.verdict in ("improved", "worse") or (slo and ruling.verdict == "recovered"))
    return _unless_explained(ruling, (*checks, running) if held and running is not None else checks)


def _unless_explained(ruling: Ruling, checks: Sequence[Check]) -> Ruling:
    """A verdict that a difference between the sides could explain away is none."""
    favourable = ruling.verdict in ("recovered", "improved")
    if ruling.verdict == "inconclusive":
        return ruling
    against = ("easier", "either") if favourable else ("harder", "either")
    blocking = [check for check in checks if check.state == "differs" and check.eases in against]
    if not blocking:
        return ruling
    reason = "; ".join(check.statement for check in blocking)
    todo = "; ".join(dict.fromkeys(check.todo for check in blocking if check.todo))
    return Ruling("inconclusive", f"it would be {ruling.verdict} ({ruling.why}), but {reason}: {todo}")


def _alone(felt: Sequence[Figure]) -> Ruling:
    better, worse = _changed(felt)
    if bool(better) != bool(worse) and (doubt := _may_counter(felt, better or worse)):
        way = ("better", "worse") if better else ("worse", "better")
        why = f"{_told(better or worse)} got {way[0]}, but {_told(doubt)} may have got {way[1]}: not beyond chance yet"
        return Ruling("inconclusive", why, tuple(doubt))
    if better and worse:
        return _traded(better, worse)
    if better:
        return Ruling("improved", f"better: {_told(better)} ({_moves(better)}); nothing users feel got worse")
    if worse:
        return Ruling("worse", f"worse: {_told(worse)} ({_moves(worse)}); nothing got better")
    judged = {f.quantity for f in felt if f.contrast.p_value is not None}
    undecided = tuple(f for f in felt if f.change == "unclear" and (f.contrast.p_value is not None
                                                                    or f.quantity not in judged)
                      and not _tail_alike(f))  # fmt: skip
    if undecided:
        return Ruling("inconclusive", f"no difference is beyond chance, and {_told(undecided)} could still hide one",
                      undecided)  # fmt: skip
    return Ruling("no-change", "every figure users feel lies within the margin of what it was")


def _traded(better: list[Figure], worse: list[Figure]) -> Ruling:
    """Some better, some worse: the whole request decides where it is beyond chance, else the user must say."""
    told = f"better: {_told(better)} ({_moves(better)}); worse: {_told(worse)} ({_moves(worse)})"
    sides = [any(f.quantity == "e2e" for f in side) for side in (better, worse)]
    if any(f.quantity == "errors" for f in worse) or sides[0] == sides[1]:
        return Ruling("inconclusive", f"{told}: say with --slo what counts")
    return Ruling("improved" if sides[0] else "worse", f"the whole request (E2E) decides; {told}")


def _tail_alike(figure: Figure) -> bool:
    """A p99 is never known as well as a mean: its interval may reach `TAIL` times as far and still be no change."""
    c = figure.contrast
    if figure.name != f"{figure.quantity}_p99" or c.low is None or c.high is None:
        return False
    return -TAIL * c.margin <= c.low and c.high <= TAIL * c.margin


def _may_counter(felt: Sequence[Figure], sure: Sequence[Figure]) -> list[Figure]:
    """Figures of other quantities that moved the other way by more than the margin, only not beyond chance."""
    up = sure[0].change == "better"
    settled = {f.quantity for f in sure}
    return [
        f
        for f in felt
        if f.quantity not in settled
        and f.change == "unclear"
        and f.contrast.p_value is not None
        and abs(f.contrast.difference or 0.0) > f.contrast.margin
        and ((f.contrast.difference or 0.0) > 0) == ((f.better == "lower") == up)
    ]


def _by_slo(felt: Sequence[Figure]) -> Ruling:
    bound = [f for f in felt if f.slo is not None]
    missed = [f for f in bound if f.after_slo == "missed"]
    bad = [f for f in bound if _over(f)]
    if not bad and not missed:
        return Ruling("inconclusive", "INCIDENT meets the SLO already: there is nothing to recover from")
    better, worse = _changed(felt)
    if missed and worse and not better:
        why = f"worse than in INCIDENT: {_told(worse)} ({_moves(worse)}), and beyond the SLO: {_bounds(missed)}"
        return Ruling("worse", why)
    if missed:
        return Ruling("not-recovered", f"still beyond the SLO: {_bounds(missed)}")
    unclear = tuple(f for f in bound if f.after_slo == "unclear")
    if unclear:
        return Ruling("inconclusive", f"not enough to tell whether the SLO is met: {_bounds(unclear)}", unclear)
    moved = {f.quantity for f in better}
    if not any(f.quantity in moved for f in bad):
        why = f"AFTER meets the SLO, but {_told(bad)} is not beyond chance better than in INCIDENT: it may come back"
        return Ruling("inconclusive", why, tuple(bad))
    return Ruling(
        "recovered", f"AFTER meets the SLO ({_bounds(bound)}) and is measurably better than INCIDENT: {_told(bad)}"
    )


def _over(figure: Figure) -> bool:
    """INCIDENT's own figure was beyond the bound: a fact of that window."""
    assert figure.slo is not None
    value = figure.incident.value
    return value > figure.slo if figure.better == "lower" else value < figure.slo


def _by_baseline(felt: Sequence[Figure]) -> Ruling:
    harmed = [f for f in felt if f.harmed]
    better, worse = _changed(felt)
    deeper = [f for f in worse if _above_baseline(f) == "above"]
    if deeper and not better:
        return Ruling("worse", f"worse than in INCIDENT and above BASELINE: {_told(deeper)} ({_rest(deeper)})")
    if not harmed:
        why = "INCIDENT is not beyond chance worse than BASELINE in what users feel: recovery cannot be judged"
        return Ruling("inconclusive", why, tuple(f for f in felt if f.harm is not None and f.harm.verdict == "too-few"))
    still = [f for f in (*harmed, *deeper) if _above_baseline(f) == "above"]
    if still:
        return Ruling("not-recovered", f"still above BASELINE: {_told(still)} ({_rest(still)})")
    moved = {f.quantity for f in better}
    unclear = tuple(f for f in harmed if _above_baseline(f) == "unclear")
    if unclear:
        return Ruling(
            "inconclusive",
            f"not enough to tell whether these are back at BASELINE: {_told(unclear)} ({_rest(unclear)})",
            unclear,
        )
    if not any(f.quantity in moved for f in harmed):
        why = f"back at BASELINE, but not beyond chance better than INCIDENT: {_told(harmed)} ({_rest(harmed)})"
        return Ruling("inconclusive", why, tuple(harmed))
    return Ruling("recovered", f"back at BASELINE: {_told(harmed)} ({_rest(harmed)})")


def allowed(figure: Figure) -> float | None:
    """The figure up to which AFTER counts as back at BASELINE; None where the sides do not tell."""
    base = figure.baseline
    if base is None:
        return None
    if base.scale == "linear":
        gap = abs(figure.incident.value - base.value)
        slack = max(REST * gap, figure.contrast.margin)
        return base.value + (slack if figure.better == "lower" else -slack)
    low, high = (forward(side.value, "log", base.floor) for side in (base, figure.incident))
    limit = backward(low + max(math.log1p(REST_LEAST), REST * (high - low)), "log", base.floor)
    return max(limit, base.value + figure.contrast.margin if figure.contrast.margin < base.value else limit)


def _above_baseline(figure: Figure) -> Literal["above", "back", "unclear"]:
    """Where AFTER's interval lies against the limit, BASELINE's own uncertainty included."""
    limit, base, rest = allowed(figure), figure.baseline, figure.rest
    if limit is None or base is None or rest is None or rest.low is None or rest.high is None:
        return "unclear"
    room = limit - base.value
    if figure.better == "higher":
        return "back" if rest.low >= room else "above" if rest.high < room else "unclear"
    return "back" if rest.high <= room else "above" if rest.low > room else "unclear"


def _changed(felt: Sequence[Figure]) -> tuple[list[Figure], list[Figure]]:
    return [f for f in felt if f.change == "better"], [f for f in felt if f.change == "worse"]


def _told(figures: Sequence[Figure]) -> str:
    """The names of figures, one quantity's statistics together."""
    groups: dict[str, list[str]] = {}
    for f in figures:
        groups.setdefault(f.quantity, []).append(f.name.removeprefix(f"{f.quantity}_") if f.name != f.quantity else "")
    words = {name: name.upper() if name in ("ttft", "tpot", "e2e") else name.replace("_", " ") for name in groups}
    return ", ".join(f"{words[name]} {'/'.join(s for s in stats if s)}".strip() for name, stats in groups.items())


def _bounds(figures: Sequence[Figure]) -> str:
    return ", ".join(f"{f.name} {value_said(f.after.value, f.unit)} against {value_said(f.slo, f.unit)}"
                     for f in figures)  # fmt: skip


def _moves(figures: Sequence[Figure]) -> str:
    return ", ".join(
        f"{f.name} {value_said(f.incident.value, f.unit)} to {value_said(f.after.value, f.unit)}" for f in figures[:3]
    )


def _rest(figures: Sequence[Figure]) -> str:
    return ", ".join(
        f"{f.name} {value_said(f.after.value, f.unit)}, was {value_said(f.incident.value, f.unit)}, "
        f"BASELINE {value_said(f.baseline.value if f.baseline else None, f.unit)}"
        for f in figures[:3]
    )
