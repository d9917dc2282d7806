"""The table test: each cause by its own view, against each twin's view, and with each required sign taken away."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from ridgeline.bundle.view import view_of
from ridgeline.causes import BY_ID, CAUSES
from ridgeline.facts import MEASURES
from ridgeline.facts.behind import recording
from ridgeline.facts.deciding import deciding
from ridgeline.facts.make import lacking
from ridgeline.ladder.book import Book, remembering
from ridgeline.ladder.diagnose import diagnose
from ridgeline.ladder.judge import judge
from ridgeline.model.cause import Sign
from ridgeline.model.diagnosis import Diagnosis, Window
from ridgeline.model.fact import Fact
from ridgeline.words.catalogue import say
from tests.causes.cases import CASES
from tests.causes.rows import T0

INCIDENT, BASELINE = Window(T0 + 100, T0 + 201), Window(T0, T0 + 99.99)
TWINS = [(cause.id, twin.cause) for cause in CAUSES for twin in cause.twins]
REQUIRED = [(cause.id, i) for cause in CAUSES for i in range(len(cause.required))]


@cache
def seen(name: str) -> tuple[Book, Diagnosis]:
    """A book that has asked nothing yet, under the windows of the case, and the diagnosis."""
    case = CASES[name]
    view = view_of(case.tables)
    view.con.execute("SET threads = 1")
    windows = (INCIDENT, BASELINE) if case.compare else (None, None)
    # As declared: what the lab measured of the words lowers some of them.
    declared: dict[str, dict[str, float]] = {cause.id: {} for cause in CAUSES}
    diagnosis = diagnose(view, case.symptom, incident=windows[0], baseline=windows[1], calibration=declared)
    return Book(remembering(view.window(*windows))), diagnosis


def test_every_cause_has_a_case() -> None:
    assert set(CASES) == set(BY_ID)


@pytest.mark.parametrize("name", sorted(CASES))
def test_its_own_view_is_the_finding(name: str) -> None:
    _, diagnosis = seen(name)
    assert diagnosis.verdict == "finding"
    claimed = [f.cause for f in diagnosis.findings if f.confidence != "low"]
    assert claimed[:1] == [name]


@pytest.mark.parametrize(("name", "twin"), TWINS)
def test_a_twins_view_is_not_this(name: str, twin: str) -> None:
    _, diagnosis = seen(twin)
    assert name not in [f.cause for f in diagnosis.findings if f.confidence != "low"]


@pytest.mark.parametrize(("name", "index"), REQUIRED)
def test_without_a_required_sign_it_is_not_claimed(name: str, index: int) -> None:
    book, _ = seen(name)
    cause, compared = BY_ID[name], CASES[name].compare
    taken = cause.required[index]

    def without(sign: Sign) -> Fact:
        if (sign.measure, sign.args) == (taken.measure, taken.args):
            return replace(lacking("it", "nothing"), measure=sign.measure, args=sign.args)
        return book.of(sign)

    assert judge(cause, book.of, baseline=compared).confidence != "low"
    judged = judge(cause, without, baseline=compared)
    assert not judged.holds
    assert judged.confidence == "low"
    assert "required-sign-unknown" in judged.caps


# A third of the views asks every measure; all of them would only ask each again.
@pytest.mark.parametrize("name", sorted(CASES)[::3])
def test_every_evidence_recomputes_and_every_sentence_renders(name: str) -> None:
    book, diagnosis = seen(name)
    assert diagnosis.evidence
    for _, fact in diagnosis.evidence:
        assert book.look(fact.measure, fact.args) == fact
        assert say(fact.statement.key, dict(fact.statement.figures))
    for f in diagnosis.findings:
        assert say(f.statement.key, dict(f.statement.figures))
        assert set(f.evidence) <= {name for name, _ in diagnosis.evidence}
    for a in diagnosis.ladder:
        assert say(a.question.key, {}) and say(a.answer.key, dict(a.answer.figures))


def test_the_declarations_are_whole() -> None:
    for cause in CAUSES:
        signs = [*cause.required, *cause.supporting, *cause.absent, *(t.sign for t in cause.twins)]
        assert cause.required, cause.id
        assert {s.measure for s in signs} <= set(MEASURES), cause.id
        assert {t.cause for t in cause.twins} | set(cause.explains) <= set(BY_ID), cause.id
        assert cause.id not in cause.explains
        assert cause.statement == f"cause.{cause.id}"
        assert cause.remedies and cause.looks_like and cause.differs


@pytest.mark.parametrize("name", CASES)
def test_the_lines_behind_every_evidence_can_be_asked_for(name: str) -> None:
    book, diagnosis = seen(name)
    framed = recording(book.view)
    for _, fact in diagnosis.evidence:
        told = deciding(framed, fact, 3)
        assert told is None or 1 <= len(told.lines) <= told.n
