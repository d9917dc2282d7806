"""The one evaluator: a declared cause and three-valued signs give ruled out, a score, a confidence and its caps.

Ruled out: a required sign is *no*, a must-be-absent sign is *yes*, or the sign that tells a twin apart is *no*.
Unknown never rules out. Score: weight of the signs that speak for the cause over all weights. Confidence starts
high (every required sign true, score >= 0.8), medium (>= 0.5) or low; the lowest of the named caps applies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.model.cause import Cause, Sign
from ridgeline.model.diagnosis import Confidence
from ridgeline.model.fact import Fact

LEVELS: Final[tuple[Confidence, ...]] = ("low", "medium", "high")
FactOf = Callable[[Sign], Fact]


@dataclass(frozen=True)
class Heard:
    """One sign heard: which part it plays (required, supporting, absent, twin), its fact, and yes, no or unknown."""

    part: str
    sign: Sign
    fact: Fact
    answer: bool | None
    twin: str = ""

    @property
    def for_it(self) -> bool:
        """Whether the sign speaks for the cause: an absent one does so by being *no*."""
        return self.answer is False if self.part == "absent" else self.answer is True


@dataclass(frozen=True)
class Judgement:
    """A cause judged: signs, what rules it out, score, confidence and what capped it."""

    cause: Cause
    heard: tuple[Heard, ...]
    against: tuple[Heard, ...]
    score: float
    confidence: Confidence
    caps: tuple[str, ...]

    @property
    def ruled_out(self) -> bool:
        """Whether a sign excludes the cause."""
        return bool(self.against)

    @property
    def disproved(self) -> bool:
        """Whether a required sign is measured no, or an absent one yes; losing against a twin proves nothing."""
        return any(h.part != "twin" for h in self.against)

    @property
    def holds(self) -> bool:
        """Whether every required sign is true and nothing excludes it."""
        return not self.against and all(h.answer is True for h in self.heard if h.part == "required")

    @property
    def open(self) -> bool:
        """Not excluded, at least one required sign true, at least one unknown: it may still be this."""
        required = [h.answer for h in self.heard if h.part == "required"]
        return not self.against and True in required and None in required

    @property
    def shown(self) -> bool:
        """Whether a required sign is true and nothing excludes it."""
        return not self.against and any(h.answer is True for h in self.heard if h.part == "required")

    def facts(self, *parts: str) -> tuple[Fact, ...]:
        """Facts of the signs of these parts that speak for the cause."""
        return tuple(h.fact for h in self.heard if h.part in parts and h.for_it)


def says(value: Any, op: str, bound: Any) -> bool | None:
    """`value op bound`, or None where the value is missing. Raises ValueError for an unknown operator."""
    if value is None:
        return None
    match op:
        case ">=":
            return bool(value >= bound)
        case "<=":
            return bool(value <= bound)
        case ">":
            return bool(value > bound)
        case "<":
            return bool(value < bound)
        case "==":
            return bool(value == bound)
        case "!=":
            return bool(value != bound)
        case "in":
            return bool(value in bound)
        case "between":
            return bool(bound[0] <= value <= bound[1])
        case "is":
            return value is bound
        case "not-empty":
            return bool(value) is bound
    raise ValueError(f"unknown operator {op!r}")


def judge(
    cause: Cause,
    fact_of: FactOf,
    *,
    baseline: bool,
) -> Judgement:
    """Judge one cause; `baseline`: whether there is a good time to compare with."""
    heard = tuple(_hear(fact_of, "required", sign) for sign in cause.required)
    if all(h.answer is not False for h in heard):
        # The rest is asked only where it can matter: most causes fall to their first sign.
        heard += tuple(_hear(fact_of, part, sign, twin) for part, sign, twin in _others(cause))
    against = tuple(
        h
        for h in heard
        if (h.part in ("required", "twin") and h.answer is False) or (h.part == "absent" and h.answer is True)
    )
    total = sum(sign.weight for sign in (*cause.required, *cause.supporting, *cause.absent))
    score = sum(h.sign.weight for h in heard if h.part != "twin" and h.for_it) / total if total else 0.0
    caps, ceiling = _caps(cause, heard, baseline=baseline)
    level = _start(heard, score)
    level = min(level, ceiling)
    return Judgement(cause, heard, against, round(score, 3), LEVELS[level], tuple(caps))


def _hear(fact_of: FactOf, part: str, sign: Sign, twin: str = "") -> Heard:
    fact = fact_of(sign)
    return Heard(part, sign, fact, says(fact.value, sign.op, sign.bound), twin)


def _others(cause: Cause) -> list[tuple[str, Sign, str]]:
    return [
        *(("supporting", sign, "") for sign in cause.supporting),
        *(("absent", sign, "") for sign in cause.absent),
        *(("twin", twin.sign, twin.cause) for twin in cause.twins),
    ]


def _start(heard: Sequence[Heard], score: float) -> int:
    complete = all(h.answer is True for h in heard if h.part == "required")
    if complete and score >= 0.8:
        return 2
    return 1 if score >= 0.5 else 0


def _caps(cause: Cause, heard: Sequence[Heard], *, baseline: bool) -> tuple[list[str], int]:
    """The caps that apply, by name, and the lowest level they allow."""
    caps: list[str] = []
    ceiling = 2
    if any(h.part == "required" and h.answer is None for h in heard):
        caps.append("required-sign-unknown")
        ceiling = 0
    if twins := [h.twin for h in heard if h.part == "twin" and h.answer is None]:
        caps.append(f"open-twin: {', '.join(sorted(twins))}")
        ceiling = min(ceiling, 1)
        if any(twin.decides and twin.cause in twins for twin in cause.twins):
            ceiling = 0
    kinds = {kind for h in heard if h.for_it for kind in h.fact.kinds}
    if len(kinds) < 2:
        caps.append("one-kind-of-source")
        ceiling = min(ceiling, 1)
    if cause.comparative and not baseline:
        caps.append("no-baseline")
        ceiling = min(ceiling, 1)
    return caps, ceiling
