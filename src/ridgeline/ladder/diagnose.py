"""`diagnose`: frame, judge every cause, answer the rungs, and give one verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ridgeline.bundle.view import View
from ridgeline.causes import CAUSES
from ridgeline.facts.points import ready
from ridgeline.facts.reuse import LESS
from ridgeline.ladder import a0, a1, a1b, a2, a2b, a3, b, c, d, route
from ridgeline.ladder.book import Book, remembering
from ridgeline.ladder.calibration import Calibration, committed, lowered
from ridgeline.ladder.context import Context
from ridgeline.ladder.frame import frame
from ridgeline.ladder.judge import Judgement, judge
from ridgeline.ladder.known import candidates
from ridgeline.ladder.rank import STOPS, chosen, finding
from ridgeline.ladder.rivals import weighed
from ridgeline.ladder.served import Served, asked_for
from ridgeline.ladder.symptom import asked
from ridgeline.ladder.verdict import healthy, unknown
from ridgeline.model.diagnosis import Answer, Coverage, Diagnosis, Finding, Verdict, Window
from ridgeline.model.fact import Missing, Statement
from ridgeline.words.asks import rank_of

RUNGS: Final = (a0.rung, a1.rung, a1b.rung, a2.rung, a2b.rung, a3.rung)
SOURCES: Final = (
    "SELECT path, kind, coalesce(rows, 0), coalesce(unparsed, 0), from_ts, to_ts, notes FROM sources ORDER BY source"
)


def diagnose(
    view: View,
    symptom: str = "auto",
    *,
    incident: Window | None = None,
    baseline: Window | None = None,
    sources: Sequence[str] = (),
    calibration: Calibration | None = None,
) -> Diagnosis:
    """Everything that can be told of a view. `sources` are the arguments as given, for the literal next commands.

    `calibration`: what the lab measured of the confidence words; by default the committed file, if there is one.
    """
    wanted = asked(symptom)
    framed = frame(ready(view), incident, baseline)
    book = Book(remembering(framed.view))
    fell = book.ask("change", of="hit_ratio").value
    if fell is not None and fell <= LESS:
        wanted = wanted.also("cache")
    measured = committed() if calibration is None else calibration
    heard = [judge(cause, book.of, baseline=framed.view.baseline is not None) for cause in CAUSES]
    judged = [lowered(j, measured) for j in weighed(heard)]
    picked = chosen(judged, wanted)
    findings = [finding(j, book, judged, framed.onset_ts) for j in picked]
    verdict: Verdict = "finding"
    if not findings:
        well, facts, against = healthy(book, wanted, judged)
        if well and framed.how == "change-point":
            well, against = False, "worse"  # something users feel changed, whatever the cause
        verdict = "healthy" if well else "inconclusive"
        book.cite(*facts)
        findings = [] if well else [unknown(book, judged, wanted, against)]
    context = Context(book, framed, wanted, judged, findings if verdict == "finding" else (), sources)
    ladder = [rung(context) for rung in RUNGS]
    if b.wanted(context):
        ladder += b.rungs(context)
    if c.wanted(context):
        ladder += [rung(context) for rung in c.RUNGS]
    if "cache" in wanted.ladders:
        ladder += [rung(context) for rung in d.RUNGS]
    ladder += [route.rung(context), _offline()]
    ruled = _ruled_out(judged, book)
    missing = [m for a in ladder for m in a.missing]
    wanted_first = _wanted_first(picked, judged, missing, context.served, view)
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
        next=(*route.next_steps(context, wanted_first), *candidates(view)),
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
    """Causes a required sign of which is measured no, or an absent one yes, with the facts that say so.

    A cause that only loses against its twin is not among them: it is less likely, not impossible.
    """
    proven = (
        (j.cause.id, [h.fact for h in j.against if h.part != "twin"]) for j in sorted(judged, key=lambda j: j.cause.id)
    )
    return tuple((cause, book.cite(*facts)) for cause, facts in proven if facts)


def _wanted_first(
    picked: Sequence[Judgement], judged: Sequence[Judgement], missing: Sequence[Missing], of: Served, view: View
) -> list[Missing]:
    """What to ask for, the telling first: twins of a finding and what could lie behind it, else causes still open."""
    if picked:
        ended = [p.cause.id for p in picked if p.cause.id in STOPS]  # who ended it matters more than what slowed it
        behind = [j for j in judged if not j.ruled_out and any(cause in j.cause.explains for cause in ended)]
        unheard = [h for p in picked[:2] for h in p.heard if h.part == "twin"]
        unheard += [h for j in behind for h in j.heard if h.part == "required" and len(j.cause.required) == 1]
    else:
        still = sorted((j for j in judged if j.open), key=lambda j: -j.score)
        unheard = [h for j in still[:3] for h in j.heard if h.part == "required"]
    telling = asked_for([m for h in unheard if h.answer is None for m in h.fact.missing], of, view)
    return [*telling, *sorted(dict.fromkeys(missing), key=lambda m: rank_of(m.ask))]


def _summary(verdict: Verdict, findings: Sequence[Finding]) -> Statement:
    if verdict == "healthy":
        return Statement("summary.healthy")
    first = findings[0]
    stopped = next((f for f in findings[1:] if f.cause in STOPS), None)
    if stopped is not None and first.cause not in STOPS:
        told = {"stopped": stopped.cause, "stopped_confidence": stopped.confidence, "cause": first.cause}
        return Statement("summary.stopped", tuple(sorted({**told, "confidence": first.confidence}.items())))
    if verdict == "inconclusive" and first.layer == "unknown":
        return Statement("summary.inconclusive.unknown")
    figures = (
        ("cause", first.cause),
        ("confidence", first.confidence),
        ("layer", first.layer),
        ("more", ", ".join(f.cause for f in findings[1:])),
    )
    alone = verdict == "finding" and len(findings) == 1
    return Statement("summary.one" if alone else f"summary.{verdict}", figures)


def coverage(view: View) -> tuple[Coverage, ...]:
    """What was read of each source."""
    return tuple(
        Coverage(path, kind or "unknown", rows, unparsed, from_ts, to_ts, tuple(notes or ()))
        for path, kind, rows, unparsed, from_ts, to_ts, notes in view.query(SOURCES)
    )
