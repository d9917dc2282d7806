"""Which of the requests are replayed: a window of time, and a filter over what was asked and what came of it.

A filter is `NAME OP VALUE` with `=`, `!=`, `<`, `<=`, `>`, `>=` or `~` (regular expression), joined by `and`:
`prompt_tokens>2000 and stream=true`. A request that does not say what is asked is not chosen.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ridgeline.model.errors import InputError
from ridgeline.replay.shot import Shot

TERM: Final = re.compile(r"\s*([a-z_0-9]+)\s*(!=|<=|>=|=|<|>|~)\s*(\"[^\"]*\"|'[^']*'|.+?)\s*")
AND: Final = re.compile(r"\s+and\s+")
Value = str | float | bool | None
Test = Callable[[Value], bool]


def chosen(shots: Sequence[Shot], expression: str) -> list[Shot]:
    """The shots that a filter keeps. Raises InputError for a bad filter, or where it keeps none."""
    known = sorted({name for shot in shots for name in shot.attrs or {}})
    terms = [_term(text, known) for text in AND.split(expression.strip())]
    kept = [shot for shot in shots if all(test((shot.attrs or {}).get(name)) for name, test in terms)]
    if not kept:
        raise InputError(f"--filter {expression}: none of {len(shots)} requests is so; loosen it")
    return kept


def within(shots: Sequence[Shot], from_s: float, to_s: float) -> list[Shot]:
    """What arrives in `[from_s, to_s)` seconds after the first, its times counted from `from_s`.

    Raises InputError where that is none.
    """
    kept = [replace(shot, at_s=shot.at_s - from_s) for shot in shots if from_s <= shot.at_s < to_s]
    if not kept:
        last = shots[-1].at_s if shots else 0.0
        raise InputError(f"--window {from_s:g}:{to_s:g}: no request arrives then; the last one does at {last:.3f} s")
    return kept


def _term(text: str, known: Sequence[str]) -> tuple[str, Test]:
    matched = TERM.fullmatch(text)
    if matched is None:
        raise InputError(f"--filter {text}: want NAME=VALUE (or != < <= > >= ~), joined by and")
    name, op, said = matched[1], matched[2], matched[3]
    if name not in known:
        raise InputError(f"--filter {name}: these requests have {', '.join(known)}")
    value = said[1:-1] if said[:1] in "\"'" and said[-1:] == said[:1] and len(said) > 1 else said
    if op == "~":
        try:
            pattern = re.compile(value)
        except re.error as e:
            raise InputError(f"--filter {text}: is no regular expression ({e})") from e
        return name, lambda seen: seen is not None and pattern.search(_shown(seen)) is not None
    if op in ("=", "!="):
        return name, lambda seen: seen is not None and _equal(seen, value) == (op == "=")
    try:
        bound = float(value)
    except ValueError as e:
        raise InputError(f"--filter {text}: {value} is no number") from e
    return name, lambda seen: isinstance(seen, int | float) and _ordered(float(seen), op, bound)


def _ordered(seen: float, op: str, bound: float) -> bool:
    return {"<": seen < bound, "<=": seen <= bound, ">": seen > bound, ">=": seen >= bound}[op]


def _shown(seen: Value) -> str:
    return ("true" if seen else "false") if isinstance(seen, bool) else str(seen)


def _equal(seen: Value, value: str) -> bool:
    if isinstance(seen, bool | str):
        return _shown(seen).lower() == value.lower()
    try:
        return seen == float(value)
    except ValueError:
        return False
