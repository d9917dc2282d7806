"""The evaluator: three-valued signs, score, confidence and each named cap."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.causes.sign import helps, must, never
from ridgeline.facts.make import lacking
from ridgeline.ladder.judge import LEVELS, Judgement, judge, says
from ridgeline.model.cause import Cause, Sign, Twin
from ridgeline.model.fact import Fact, Statement

CAUSE = Cause(
    id="queue.test",
    looks_like="x",
    differs="y",
    required=(must("r1", ">=", 1), must("r2", "is", True)),
    supporting=(helps("s1", ">", 0), helps("s2", ">", 0)),
    absent=(never("a1", ">=", 1),),
    twins=(Twin("queue.other", must("t1", ">=", 1)),),
)
GOOD: dict[str, Any] = {"r1": 1, "r2": True, "s1": 1, "s2": 1, "a1": 0, "t1": 1}


def judged(
    values: dict[str, Any], cause: Cause = CAUSE, kinds: tuple[str, ...] = ("log", "loads"), **more: Any
) -> Judgement:
    def fact_of(sign: Sign) -> Fact:
        value = values.get(sign.measure)
        if value is None:
            return replace(lacking("it", "how"), measure=sign.measure)
        return Fact(sign.measure, value, "", Statement(sign.measure), sign.args, 1, kinds=kinds)

    return judge(cause, fact_of, baseline=more.pop("baseline", True), **more)


def test_all_signs_give_high() -> None:
    j = judged(GOOD)
    assert (j.confidence, j.score, j.caps, j.holds) == ("high", 1.0, (), True)


@pytest.mark.parametrize(("name", "value"), [("r1", 0), ("r2", False), ("a1", 1), ("t1", 0)])
def test_ruled_out(name: str, value: Any) -> None:
    j = judged({**GOOD, name: value})
    assert j.ruled_out and not j.holds
    assert [h.sign.measure for h in j.against] == [name]


@pytest.mark.parametrize("name", ["r1", "r2", "a1", "t1", "s1"])
def test_unknown_never_rules_out(name: str) -> None:
    assert not judged({**GOOD, name: None}).ruled_out


def test_a_required_sign_unknown_is_low_and_open() -> None:
    j = judged({**GOOD, "r1": None})
    assert (j.confidence, j.holds, j.open) == ("low", False, True)
    assert "required-sign-unknown" in j.caps


@pytest.mark.parametrize(
    ("values", "more", "cap", "level"),
    [
        ({"t1": None}, {}, "open-twin: queue.other", "medium"),
        ({}, {"kinds": ("log",)}, "one-kind-of-source", "medium"),
    ],
)
def test_caps(values: dict[str, Any], more: dict[str, Any], cap: str, level: str) -> None:
    j = judged({**GOOD, **values}, **more)
    assert cap in j.caps
    assert j.confidence == level


def test_comparative_without_a_baseline_is_medium() -> None:
    j = judged(GOOD, replace(CAUSE, comparative=True), baseline=False)
    assert (j.confidence, j.caps) == ("medium", ("no-baseline",))


answers = st.fixed_dictionaries(
    {
        "r1": st.sampled_from([0, 1, None]),
        "r2": st.sampled_from([False, True, None]),
        **{name: st.sampled_from([0, 1, None]) for name in ("s1", "s2", "a1", "t1")},
    }
)


@given(answers)
def test_properties(values: dict[str, Any]) -> None:
    j = judged(values)
    assert 0 <= j.score <= 1
    assert not (j.holds and j.ruled_out)
    assert not (j.holds and j.open)
    if None in (values["r1"], values["r2"]):
        assert j.confidence == "low"
    # Learning that a sign speaks for the cause never lowers it.
    for name, value in GOOD.items():
        if values[name] is None:
            better = judged({**values, name: value})
            assert better.score >= j.score
            assert LEVELS.index(better.confidence) >= LEVELS.index(j.confidence)


@pytest.mark.parametrize(
    ("value", "op", "bound", "answer"),
    [
        (None, ">=", 1, None), (2, ">=", 2, True), (1, "<", 1, False), (1.0, "between", (0, 1), True),
        ("flat", "in", ("flat",), True), (True, "is", True, True), (1, "is", True, False),
        ("", "not-empty", True, False), ("a", "not-empty", True, True), (float("inf"), ">=", 1.3, True),
        (3, "==", 3, True), (3, "!=", 3, False),
        (2, "<=", 1, False), (2, ">", 1, True),
    ],
)  # fmt: skip
def test_operators(value: Any, op: str, bound: Any, answer: bool | None) -> None:
    assert says(value, op, bound) is answer


def test_an_unknown_operator_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="unknown operator"):
        says(1, "~", 1)
