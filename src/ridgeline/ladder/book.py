"""The book of one diagnosis: each measure is asked once, each fact that is cited gets its evidence id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ridgeline.bundle.view import View
from ridgeline.facts import Args, ask
from ridgeline.model.cause import Sign
from ridgeline.model.fact import Fact, Missing


@dataclass(frozen=True)
class Remembering(View):
    """A view that asks the same question once: evidence does not change during a diagnosis."""

    answers: dict[tuple[Any, ...], list[tuple[Any, ...]]] = field(default_factory=dict)

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Rows of one statement, from memory where it was asked before with the same parameters."""
        asked = sorted((parameters or {}).items())
        key = (sql, *((name, tuple(value) if isinstance(value, list) else value) for name, value in asked))
        if key not in self.answers:
            self.answers[key] = super().query(sql, parameters)
        return self.answers[key]


def remembering(view: View) -> Remembering:
    """The same view with a memory."""
    return Remembering(**{part.name: getattr(view, part.name) for part in fields(View)})


@dataclass
class Book:
    """Facts by (measure, args) and the evidence cited so far, in the order of citing (`E1`, `E2`, …)."""

    view: View
    facts: dict[tuple[str, Args], Fact] = field(default_factory=dict)
    cited: dict[tuple[str, Args], str] = field(default_factory=dict)

    def ask(self, measure: str, **args: object) -> Fact:
        """The fact of one measure."""
        return self.look(measure, tuple(sorted(args.items())))

    def look(self, measure: str, args: Args) -> Fact:
        """The fact of one measure, its arguments as sorted pairs."""
        key = (measure, args)
        if key not in self.facts:
            self.facts[key] = ask(self.view, measure, args)
        return self.facts[key]

    def of(self, sign: Sign) -> Fact:
        """The fact a sign looks at."""
        return self.look(sign.measure, sign.args)

    def cite(self, *facts: Fact) -> tuple[str, ...]:
        """Evidence ids of facts that have a value; a fact without one is no evidence."""
        ids = []
        for fact in facts:
            if fact.value is None:
                continue
            key = (fact.measure, fact.args)
            ids.append(self.cited.setdefault(key, f"E{len(self.cited) + 1}"))
        return tuple(dict.fromkeys(ids))

    def evidence(self) -> tuple[tuple[str, Fact], ...]:
        """What was cited, in order."""
        return tuple((name, self.facts[key]) for key, name in self.cited.items())


def missing_of(*facts: Fact) -> tuple[Missing, ...]:
    """What these facts lack, each signal once."""
    return tuple(dict.fromkeys(m for fact in facts if fact.value is None for m in fact.missing))
