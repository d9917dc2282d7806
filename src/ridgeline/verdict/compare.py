"""The whole comparison: gather, check that it may be made, compute, judge, and say what is still needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ridgeline.model.comparison import Check, Comparison
from ridgeline.verdict.classes import classes_of
from ridgeline.verdict.comparable import changed, checks_of, settings_of
from ridgeline.verdict.evidence import Evidence, Side, gather
from ridgeline.verdict.figures import ALPHA, MARGIN, figures_of
from ridgeline.verdict.judge import judge, with_slo
from ridgeline.verdict.needs import needs_of
from ridgeline.verdict.pairs import pair_up
from ridgeline.verdict.running import running_of


def compare(
    incident: Side,
    after: Side,
    baseline: Side | None = None,
    *,
    slo: Mapping[str, float] | None = None,
    change: Sequence[str] = (),
    margin: float = MARGIN,
) -> Comparison:
    """Did the fix work? With `baseline` or `slo`: recovered or not; without: improved, worse or no change."""
    return of_evidence(gather([incident, after, *([baseline] if baseline is not None else [])]), slo=slo, change=change,
                       margin=margin)  # fmt: skip


def of_evidence(
    given: Sequence[Evidence], *, slo: Mapping[str, float] | None = None, change: Sequence[str] = (),
    margin: float = MARGIN,
) -> Comparison:  # fmt: skip
    """The same from what was gathered of INCIDENT, AFTER and perhaps BASELINE, in this order."""
    bounds = dict(slo or {})
    sides, paired = pair_up(given)
    figures = with_slo(figures_of(sides, margin=margin, asked=bounds, paired=paired), bounds)
    # What AFTER must share with another side to be judged by it: back at BASELINE under BASELINE's load is back.
    # Sides that are paired share one clock: what each carried is told by its own.
    against = given[2] if len(given) > 2 else given[0]
    settings = settings_of(given[0], given[1])
    other = changed(settings, change)
    checks = (*checks_of(against, given[1]), *([other] if other is not None else []))
    running = running_of(figures, given[0], given[1])
    ruling = judge(figures, checks, bounds, running)
    return Comparison(
        ruling.verdict,
        ruling.why,
        "slo" if bounds else "baseline" if len(sides) > 2 else "none",
        figures,
        classes_of(sides[0].requests, sides[1].requests, paired=paired),
        _placed(checks, running),
        settings,
        needs_of(ruling.open, sides[1]) if ruling.verdict == "inconclusive" else None,
        tuple(_notes(sides, paired)),
        tuple((side.name, *(side.span() or (None, None))) for side in given),  # paired sides share one clock
        margin,
        ALPHA,
    )


def _placed(checks: Sequence[Check], running: Check) -> tuple[Check, ...]:
    """What was in service stands behind the load."""
    at = next((k + 1 for k, check in enumerate(checks) if check.name == "load"), len(checks))
    return (*checks[:at], running, *checks[at:])


def _notes(sides: Sequence[Evidence], paired: bool) -> list[str]:
    notes = []
    if paired:
        notes.append("the same requests (by rid) are on every side: each is held against itself")
    for side in sides:
        if side.note is not None:
            notes.append(f"{side.name}: {side.note}")
        resets = sum(seen.resets for seen in side.histograms.values())
        if resets:
            notes.append(
                f"{side.name}: counters began anew {resets} times (a restart); what came after each is counted"
            )
        if side.requests is not None and side.requests.waiting:
            many = side.requests.waiting
            notes.append(
                f"{side.name}: {many} requests were not over at the end; long waits count with the time so far"
            )
        if side.requests is not None and not side.requests.ordered:
            notes.append(f"{side.name}: requests carry no times; their order in the file stands in for it")
        if side.requests is None and not side.histograms and not side.summaries:
            notes.append(f"{side.name}: holds no request times that the other side has too")
    return notes
