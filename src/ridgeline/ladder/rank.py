"""From judgements to findings: the best first, and a further one only for what those before it do not explain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ridgeline.ladder.book import Book
from ridgeline.ladder.judge import LEVELS, Judgement
from ridgeline.ladder.remedies import fitting, suited
from ridgeline.ladder.scope import scope_of
from ridgeline.ladder.served import served
from ridgeline.ladder.symptom import Asked
from ridgeline.model.diagnosis import Finding
from ridgeline.model.fact import Fact, Statement
from ridgeline.words.catalogue import names_of
from ridgeline.words.messages_en import MESSAGES

# What ends a service, not only slows it. It is said in the summary whatever place it has; where users speak of errors
# or of a service that stands still, it comes first.
STOPS: Final = frozenset({"fault.crash", "fault.hang", "memory.oom-crash", "memory.host-oom", "memory.slots-exhausted"})
MOST: int = 3  # more findings than this is a list of everything, not an answer


def ordered(judged: Sequence[Judgement], asked: Asked) -> list[Judgement]:
    """Causes that hold, best first: nothing that another one explains, then confidence, the symptom, score."""
    holding = [j for j in judged if j.holds and asked.allows(j.cause)]
    by = {j.cause.id: j for j in holding}
    explained = {e for j in holding for e in j.cause.explains if not _stronger(by.get(e), j)}
    # A consequence may be surer than its cause is; it comes no earlier for that, unless the cause is a mere guess.
    ceiling: dict[str, int] = {}
    for j in holding:
        if j.confidence != "low":
            for e in j.cause.explains:
                ceiling[e] = min(ceiling.get(e, 2), LEVELS.index(j.confidence))
    place = {j.cause.id: i for i, j in enumerate(judged)}
    ended = bool({"errors", "hang"}.intersection(asked.ladders))
    return sorted(
        holding,
        key=lambda j: (
            not (ended and j.cause.id in STOPS - explained and sure(j)),
            -min(LEVELS.index(j.confidence), ceiling.get(j.cause.id, 2)),
            j.cause.id in explained,
            not asked.stresses(j.cause.layer),
            -j.score,
            place[j.cause.id],
        ),
    )


def _stronger(other: Judgement | None, j: Judgement) -> bool:
    """Whether of two causes that explain each other the other stands as well: no circle takes both away."""
    if other is None or j.cause.id not in other.cause.explains:
        return False
    return (LEVELS.index(other.confidence), other.score) >= (LEVELS.index(j.confidence), j.score)


def sure(j: Judgement) -> bool:
    """Whether it may stand beside another: that something ended is sure where it is read, even if its why is not."""
    return j.confidence != "low" or (j.cause.id in STOPS and any(c.startswith("unheard-rival") for c in j.caps))


def chosen(judged: Sequence[Judgement], asked: Asked) -> list[Judgement]:
    """The findings: the first, and those of another layer that no finding explains and that rest on more than it."""
    picked: list[Judgement] = []
    for j in ordered(judged, asked):
        if not picked:
            picked.append(j)
            continue
        explained = any(j.cause.id in p.cause.explains or p.cause.id in j.cause.explains for p in picked)
        same_layer = any(p.cause.layer == j.cause.layer for p in picked)
        seen = {(f.measure, f.args) for p in picked for f in p.facts("required")}
        new = {(f.measure, f.args) for f in j.facts("required")} - seen
        if not explained and not same_layer and new and sure(j) and len(picked) < MOST:
            picked.append(j)
    return picked


def finding(j: Judgement, book: Book, judged: Sequence[Judgement], onset_ts: float | None) -> Finding:
    """One finding with its statement, evidence, scope and the neighbours it excludes."""
    facts = (*j.facts("required"), *j.facts("supporting"))
    scope, classes = scope_of(j, book)
    evidence = book.cite(*facts, *classes)
    excluded = tuple(
        sorted(o.cause.id for o in judged if o.disproved and o.cause.id in {t.cause for t in j.cause.twins})
    )
    return Finding(
        cause=j.cause.id,
        layer=j.cause.layer,
        confidence=j.confidence,
        score=j.score,
        caps=j.caps,
        statement=stated(j.cause.statement, facts),
        scope=scope,
        onset_ts=began(j.facts("required")) if onset_ts is None else onset_ts,
        evidence=evidence,
        ruled_out=excluded,
        remedies=fitting(suited(j), served(book.view), book.view),
        source_entry=j.cause.source_entry,
        route=j.cause.route,
    )


def began(facts: Sequence[Fact]) -> float | None:
    """The first of the happenings a finding rests on, where no figure shows an onset; None where none has a time."""
    told = [dict(fact.statement.figures).get("first_at") for fact in facts if fact.measure == "event_count"]
    return min((float(str(at)) for at in told if at is not None), default=None)


def stated(key: str, facts: Sequence[Fact]) -> Statement:
    """The statement of a key with the figures its template names, taken from the facts (`measure__figure`)."""
    known: dict[str, object] = {}
    for fact in facts:
        prefix = "_".join([fact.measure, *(str(v) for _, v in fact.args if isinstance(v, str))])
        for name, value in fact.statement.figures:
            known.setdefault(f"{prefix}__{name}", value)
            known.setdefault(f"{fact.measure}__{name}", value)
    wanted = sorted(names_of(MESSAGES[key]))
    return Statement(key, tuple((name, known.get(name)) for name in wanted))
