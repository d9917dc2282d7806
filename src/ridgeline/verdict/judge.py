"""Figures and checks → one verdict, with the statement that says why.

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
from ridgeline.model.fact import Statement
from ridgeline.verdict.sections import backward, forward

State = Literal["met", "missed", "unclear"]
TAIL: Final = 2.5
REST: Final = 0.2  # of the distance from BASELINE to INCIDENT (log scale) that may remain when it is called over
REST_LEAST: Final = 0.25  # and this ratio over BASELINE always may


@dataclass(frozen=True)
class Ruling:
    """A verdict and why; `open` are the figures that left it undecided."""

    verdict: Verdict
    why: Statement
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
        return Ruling("inconclusive", Statement("verdict.no-figure"))
    missing = sorted(set(slo) - {f.name for f in figures})
    if missing:
        return Ruling("inconclusive", Statement("verdict.uncomputed", (("names", tuple(missing)),)))
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
    figures = (
        ("verdict", ruling.verdict), ("why", ruling.why), ("reasons", tuple(check.statement for check in blocking)),
        ("todo", tuple(dict.fromkeys(check.todo for check in blocking if check.todo))),
    )  # fmt: skip
    return Ruling("inconclusive", Statement("verdict.explained", figures))


def _alone(felt: Sequence[Figure]) -> Ruling:
    better, worse = _changed(felt)
    if bool(better) != bool(worse) and (doubt := _may_counter(felt, better or worse)):
        way = ("better", "worse") if better else ("worse", "better")
        figures = (("sure", _told(better or worse)), ("way", way[0]), ("doubt", _told(doubt)), ("other", way[1]))
        return Ruling("inconclusive", Statement("verdict.countered", figures), tuple(doubt))
    if better and worse:
        return _traded(better, worse)
    if better:
        return Ruling("improved", Statement("verdict.better", _of(better)))
    if worse:
        return Ruling("worse", Statement("verdict.worse", _of(worse)))
    judged = {f.quantity for f in felt if f.contrast.p_value is not None}
    undecided = tuple(f for f in felt if f.change == "unclear" and (f.contrast.p_value is not None
                                                                    or f.quantity not in judged)
                      and not _tail_alike(f))  # fmt: skip
    if undecided:
        return Ruling("inconclusive", Statement("verdict.hidden", (("figures", _told(undecided)),)), undecided)
    return Ruling("no-change", Statement("verdict.no-change"))


def _traded(better: list[Figure], worse: list[Figure]) -> Ruling:
    """Some better, some worse: the whole request decides where it is beyond chance, else the user must say."""
    figures = (
        ("better", _told(better)), ("better_moves", _moves(better)), ("worse", _told(worse)),
        ("worse_moves", _moves(worse)),
    )  # fmt: skip
    sides = [any(f.quantity == "e2e" for f in side) for side in (better, worse)]
    if any(f.quantity == "errors" for f in worse) or sides[0] == sides[1]:
        return Ruling("inconclusive", Statement("verdict.traded", figures))
    return Ruling("improved" if sides[0] else "worse", Statement("verdict.traded.whole", figures))


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
        return Ruling("inconclusive", Statement("verdict.slo.already"))
    better, worse = _changed(felt)
    if missed and worse and not better:
        return Ruling("worse", Statement("verdict.slo.worse", (*_of(worse), ("bounds", _bounds(missed)))))
    if missed:
        return Ruling("not-recovered", Statement("verdict.slo.beyond", (("bounds", _bounds(missed)),)))
    unclear = tuple(f for f in bound if f.after_slo == "unclear")
    if unclear:
        return Ruling("inconclusive", Statement("verdict.slo.unclear", (("bounds", _bounds(unclear)),)), unclear)
    moved = {f.quantity for f in better}
    if not any(f.quantity in moved for f in bad):
        return Ruling("inconclusive", Statement("verdict.slo.chance", (("figures", _told(bad)),)), tuple(bad))
    return Ruling("recovered", Statement("verdict.slo.met", (("bounds", _bounds(bound)), ("figures", _told(bad)))))


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
        return Ruling("worse", Statement("verdict.base.worse", _back(deeper)))
    if not harmed:
        thin = tuple(f for f in felt if f.harm is not None and f.harm.verdict == "too-few")
        return Ruling("inconclusive", Statement("verdict.base.unharmed"), thin)
    still = [f for f in (*harmed, *deeper) if _above_baseline(f) == "above"]
    if still:
        return Ruling("not-recovered", Statement("verdict.base.above", _back(still)))
    moved = {f.quantity for f in better}
    unclear = tuple(f for f in harmed if _above_baseline(f) == "unclear")
    if unclear:
        return Ruling("inconclusive", Statement("verdict.base.unclear", _back(unclear)), unclear)
    if not any(f.quantity in moved for f in harmed):
        return Ruling("inconclusive", Statement("verdict.base.chance", _back(harmed)), tuple(harmed))
    return Ruling("recovered", Statement("verdict.base.back", _back(harmed)))


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


Said = tuple[Statement, ...]


def _of(figures: Sequence[Figure]) -> tuple[tuple[str, Said], ...]:
    return ("figures", _told(figures)), ("moves", _moves(figures))


def _back(figures: Sequence[Figure]) -> tuple[tuple[str, Said], ...]:
    return ("figures", _told(figures)), ("rest", _rest(figures))


def _told(figures: Sequence[Figure]) -> Said:
    """The names of figures, one quantity's statistics together."""
    groups: dict[str, list[str]] = {}
    for f in figures:
        groups.setdefault(f.quantity, []).append(f.name.removeprefix(f"{f.quantity}_") if f.name != f.quantity else "")
    words = {name: name.upper() if name in ("ttft", "tpot", "e2e") else name.replace("_", " ") for name in groups}
    return tuple(
        Statement("verdict.figure", (("name", words[name]), ("statistics", "/".join(s for s in stats if s))))
        for name, stats in groups.items()
    )


def _bounds(figures: Sequence[Figure]) -> Said:
    return tuple(
        Statement("verdict.bound", (("name", f.name), ("after", value_said(f.after.value, f.unit)),
                                    ("bound", value_said(f.slo, f.unit))))
        for f in figures
    )  # fmt: skip


def _moves(figures: Sequence[Figure]) -> Said:
    return tuple(
        Statement("verdict.move", (("name", f.name), ("before", value_said(f.incident.value, f.unit)),
                                   ("after", value_said(f.after.value, f.unit))))
        for f in figures[:3]
    )  # fmt: skip


def _rest(figures: Sequence[Figure]) -> Said:
    return tuple(
        Statement("verdict.rest", (("name", f.name), ("after", value_said(f.after.value, f.unit)),
                                   ("before", value_said(f.incident.value, f.unit)),
                                   ("good", value_said(f.baseline.value if f.baseline else None, f.unit))))
        for f in figures[:3]
    )  # fmt: skip
