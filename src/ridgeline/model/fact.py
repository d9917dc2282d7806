"""A fact: what one measure says of one view, with everything needed to check it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Missing:
    """What would be needed, and the flag, endpoint or file that supplies it; `ask` names it where the ladder asks."""

    signal: str
    how: str
    ask: str = ""


@dataclass(frozen=True)
class Statement:
    """A sentence as a template key of the catalogue plus its named figures."""

    key: str
    figures: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Fact:
    """One figure. `value` is None exactly when `missing` says why; it never stands for 0.

    `low`, `high` bound the value where an interval is known; `n` is how many rows it rests on; `sources` cites
    them (`server.log:18-22`); `kinds` are the kinds of source (log, metrics, …) it came from.
    """

    measure: str
    value: Any
    unit: str
    statement: Statement
    args: tuple[tuple[str, Any], ...] = ()
    n: int = 0
    low: float | None = None
    high: float | None = None
    sources: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
