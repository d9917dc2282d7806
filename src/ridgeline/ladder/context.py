"""What every rung is handed: the book, the frame, the symptom, and all causes judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ridgeline.facts.make import tidy
from ridgeline.ladder.book import Book, missing_of
from ridgeline.ladder.frame import Frame
from ridgeline.ladder.judge import Judgement
from ridgeline.ladder.served import Served, asked_for, served
from ridgeline.ladder.symptom import Asked
from ridgeline.model.diagnosis import Answer, Finding, State
from ridgeline.model.fact import Fact, Missing, Statement


@dataclass
class Context:
    """State of one diagnosis while the rungs answer; `sources` are the arguments as the user gave them."""

    book: Book
    frame: Frame
    asked: Asked
    judged: Sequence[Judgement]
    findings: Sequence[Finding]
    sources: Sequence[str] = ()
    representatives: list[tuple[str, str | None]] = field(default_factory=list)

    @property
    def served(self) -> Served:
        """The engine the evidence is of."""
        return served(self.book.view)

    def lacks(self, *facts: Fact) -> tuple[Missing, ...]:
        """What these facts lack, as asks; a queue nobody stood in is no lack of evidence."""
        points = self.book.ask("load_points").value is not None
        missing = [m for m in missing_of(*facts) if not (points and "with a queue" in m.signal)]
        return asked_for(missing, self.served, self.book.view)

    def excluded(self, *layers: str) -> tuple[str, ...]:
        """Causes of these layers that a measured sign rules out; one that only loses to a twin is less likely."""
        return tuple(sorted(j.cause.id for j in self.judged if j.disproved and j.cause.layer in layers))


def answer(
    context: Context,
    rung: str,
    key: str,
    facts: Sequence[Fact],
    ruled_out: Sequence[str] = (),
    needs: Sequence[Fact] = (),
    **figures: object,
) -> Answer:
    """A rung's answer: answered where any fact has a value, else cannot-tell with what is missing."""
    known = [f for f in facts if f.value is not None]
    state: State = "answered" if known and all(f.value is not None for f in needs) else "cannot-tell"
    told = Statement(key, tuple(sorted((name, tidy(figure)) for name, figure in figures.items())))
    if state != "answered":
        lacks = context.lacks(*(needs or facts))
        told = Statement("rung.cannot-tell", (("asks", "|".join(m.ask or m.signal for m in lacks[:3]) or "load"),))
    return Answer(
        rung=rung,
        question=Statement(f"question.{rung}"),
        state=state,
        answer=told,
        evidence=context.book.cite(*known),
        ruled_out=tuple(ruled_out) if known else (),
        missing=context.lacks(*facts, *needs),
    )
