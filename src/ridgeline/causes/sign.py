"""Short forms for the declarations: `must`, `hint`, `helps`, `never` differ in their usual weight only."""

from __future__ import annotations

from typing import Any, Final

from ridgeline.model.cause import Op, Sign

REQUIRED: Final = 2.0
SUPPORTING: Final = 0.5
HINT: Final = 1.0
ABSENT: Final = 0.5


def must(measure: str, op: Op, bound: Any, **args: Any) -> Sign:
    """A sign without which it is not this cause."""
    return Sign(measure, op, bound, measure, tuple(sorted(args.items())), REQUIRED)


def helps(measure: str, op: Op, bound: Any, **args: Any) -> Sign:
    """A sign that makes the cause likelier."""
    return Sign(measure, op, bound, measure, tuple(sorted(args.items())), SUPPORTING)


def hint(measure: str, op: Op, bound: Any, **args: Any) -> Sign:
    """A supporting sign strong enough to point to the cause's layer where a required one is unknown."""
    return Sign(measure, op, bound, measure, tuple(sorted(args.items())), HINT)


def never(measure: str, op: Op, bound: Any, **args: Any) -> Sign:
    """A sign that rules the cause out."""
    return Sign(measure, op, bound, measure, tuple(sorted(args.items())), ABSENT)
