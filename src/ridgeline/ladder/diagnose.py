"""`diagnose`: frame, judge every cause, answer the rungs, and give one verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ridgeline.bundle.view import View
from ridgeline.causes import CAUSES
from ridgeline.facts.points import ready
from ridgeline.facts.reuse import LESS
from ridgeline.ladder import a0, a1, a1b, a2, a2b, a3, b, d, route
from ridgeline.ladder.book import Book, remembering
from ridgeline.ladder.context import Context
from ridgeline.ladder.frame import frame
from ridgeline.ladder.judge import Judgement, judge
from ridgeline.ladder.rank import chosen, finding
from ridgeline.ladder.symptom import asked
from ridgeline.ladder.verdict import healthy, unknown
from ridgeline.model.diagnosis import Answer, Coverage, Diagnosis, Finding, Verdict, Window
from ridgeline.model.fact import Statement

RUNGS: Final = (a0.rung, a1.rung, a1b.rung, a2.rung, a2b.rung, a3.rung)
SOURCES: Final = (
    "SELECT path, kind, coalesce(rows, 0), coalesce(unparsed, 0), from_ts, to_ts, notes FROM sources ORDER BY source"
)
Calibration = Mapping[str, Mapping[str, float]]


def diagnose(
    view: View,
    symptom: str = "auto",
    *,
    incident: Window | None = None,
    baseline: Window | None = None,
    sources: Sequence[str] = (),
    calibration: Calibration | None = None,
) -> Diagnosis:
    """Everything that can be told of a view. `sources` are the arguments as given, for the literal next commands."""
    wanted = asked(symptom)
    framed = frame(ready(view), incident, baseline)
    book = Book(remembering(framed.view))
    fell = book.ask("change", of="hit_ratio").value
    if fell is not None and fell <= LESS:
        wanted = wanted.also("cache")
    judged = tuple(
        judge(cause, book.of, baseline=framed.view.baseline is not None, calibration=calibration) for cause in CAUSES
    )
    picked = chosen(judged, wanted)
    findings = [finding(j, book, judged, framed.onset_ts) for j in picked]
    verdict: Verdict = "finding"
    if not findings:
        well, facts, against = healthy(book, wanted, judged)
        verdict = "healthy" if well else "inconclusive"
        book.cite(*facts)
        findings = [] if well else [unknown(book, judged, wanted, f"against healthy: {against}")]
    context = Context(book, framed, wanted, judged, findings if verdict == "finding" else (), sources)
    ladder = [rung(context) for rung in RUNGS]
    if b.wanted(context):
        ladder += b.rungs(context)
    if "cache" in wanted.ladders:
        ladder += [rung(context) for rung in d.RUNGS]
    ladder += [route.rung(context), _offline()]
    ruled = _ruled_out(judged, book)
    missing = [(m.signal, m.how) for a in ladder for m in a.missing]
    return Diagnosis(
        verdict=verdict,
        symptom=wanted.text,
        summary=_summary(verdict, findings),
        incident=framed.view.incident,
        baseline=framed.view.baseline,
        how=framed.how,
        findings=tuple(findings),
        ladder=tuple(ladder),
        evidence=book.evidence(),
        ruled_out=ruled,
        coverage=coverage(view),
        next=route.next_steps(context, _wanted_first(picked, judged, missing)),
        representatives=tuple(context.representatives),
    )


def _offline() -> Answer:
    return Answer(
        rung="A5",
        question=Statement("question.A5"),
        state="not-reached",
        answer=Statement("a5.not-reached"),
    )


def _ruled_out(judged: Sequence[Judgement], book: Book) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(
        (j.cause.id, book.cite(*(h.fact for h in j.against)))
        for j in sorted(judged, key=lambda j: j.cause.id)
        if j.ruled_out
    )


def _wanted_first(
    picked: Sequence[Judgement], judged: Sequence[Judgement], missing: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Signals to ask for, the telling ones first: twins of the first finding, else causes that are still open."""
    ask: list[tuple[str, str]] = []
    if picked:
        ask += [
            (m.signal, m.how) for h in picked[0].heard if h.part == "twin" and h.answer is None for m in h.fact.missing
        ]
    else:
        still = sorted((j for j in judged if j.open), key=lambda j: -j.score)
        ask += [
            (m.signal, m.how)
            for j in still[:3]
            for h in j.heard
            if h.part == "required" and h.answer is None
            for m in h.fact.missing
        ]
    return [*ask, *missing]


def _summary(verdict: Verdict, findings: Sequence[Finding]) -> Statement:
    if verdict == "healthy":
        return Statement("summary.healthy")
    first = findings[0]
    figures = (
        ("cause", first.cause),
        ("confidence", first.confidence),
        ("layer", first.layer),
        ("more", len(findings) - 1),
    )
    alone = verdict == "finding" and len(findings) == 1
    return Statement("summary.one" if alone else f"summary.{verdict}", figures)


def coverage(view: View) -> tuple[Coverage, ...]:
    """What was read of each source."""
    return tuple(
        Coverage(path, kind or "unknown", rows, unparsed, from_ts, to_ts, tuple(notes or ()))
        for path, kind, rows, unparsed, from_ts, to_ts, notes in view.query(SOURCES)
    )
