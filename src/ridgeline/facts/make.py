"""How a measure's answer becomes a `Fact`: value, figures for its sentence, citations, or what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ridgeline.bundle.view import View
from ridgeline.model.fact import Fact, Missing, Statement

# Rows of `source`, `a`, `b`: the first and last line of one source. Every SQL of a measure gives such a list, `cites`.
Span = Mapping[str, Any]
FEW: Final = 40  # at most so many sources are named in one citation
QUOTED_CHARS: Final = 200  # of a log line, in a sentence


def bounds(view: View) -> dict[str, float | None]:
    """The incident window as parameters `since` and `until`; None where no window is set."""
    if view.incident is None:
        return {"since": None, "until": None}
    return {"since": view.incident.from_ts, "until": view.incident.to_ts}


def cite(view: View, spans: Sequence[Span] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(`server.log:18-22`, …) and the kinds of source behind them, both sorted."""
    shown: set[str] = set()
    kinds: set[str] = set()
    for span in spans or ():
        source, a, b = span["source"], span["a"], span["b"]
        if source is None:
            continue
        name = view.names.get(source, f"source {source}")
        if kind := view.kinds.get(source):
            kinds.add(kind)
        shown.add(name if a is None else f"{name}:{a}" if a == b else f"{name}:{a}-{b}")
    return tuple(sorted(shown)[:FEW]), tuple(sorted(kinds))


def found(
    view: View,
    value: Any,
    unit: str,
    n: int,
    spans: Sequence[Span] | None = (),
    *,
    low: float | None = None,
    high: float | None = None,
    key: str = "",
    **figures: Any,
) -> Fact:
    """An answered measure. `figures` fill the sentence; `value` and `n` are always among them.

    NaN (the correlation of a constant) is no answer.
    """
    if isinstance(value, float) and value != value:
        return lacking("figures that vary", "a longer stretch of the same source", n)
    if isinstance(value, float) and abs(value) != float("inf"):
        # Sums over threads differ in their last bits from run to run: the same input must give the same bytes.
        value = float(f"{value:.10g}")
    sources, kinds = cite(view, spans)
    told = {name: tidy(figure) for name, figure in {"value": value, "n": n, **figures}.items()}
    statement = Statement(key, tuple(sorted(told.items())))
    return Fact("", value, unit, statement, (), n, low, high, sources, kinds)


def lacking(signal: str, how: str, n: int = 0) -> Fact:
    """A measure that cannot answer: which signal is missing and what supplies it."""
    figures = (("how", how), ("signal", signal))
    return Fact("", None, "", Statement("missing", figures), (), n, missing=(Missing(signal, how),))


def spans_of(rows: Sequence[tuple[int | None, int | None]]) -> list[dict[str, int | None]]:
    """Citations of single rows given as (source, line): one span for each source."""
    ends: dict[int, list[int]] = {}
    for source, line in rows:
        if source is not None:
            ends.setdefault(source, []).extend([] if line is None else [line])
    return [
        {"source": s, "a": min(lines) if lines else None, "b": max(lines) if lines else None}
        for s, lines in sorted(ends.items())
    ]


def tidy(figure: Any) -> Any:
    """A figure as a sentence prints it: whole floats as integers, other floats to four significant digits."""
    if not isinstance(figure, float) or figure != figure or abs(figure) == float("inf"):
        return figure
    return int(figure) if figure.is_integer() and abs(figure) < 1e15 else float(f"{figure:.4g}")


def rounded(value: float | None, digits: int = 3) -> float | None:
    """A figure to so many significant digits, for sentences; None stays None."""
    if value is None or value != value:
        return None
    if value in (float("inf"), float("-inf")):
        return value
    return float(f"{value:.{digits}g}")


def quoted(text: str | None) -> str:
    """A log's own words as a sentence shows them: cut between two words, so that no figure is shown by half."""
    shown = (text or "").strip()
    if len(shown) > QUOTED_CHARS:
        head, _, _half = shown[: QUOTED_CHARS + 1].rpartition(" ")
        shown = (head or shown[:QUOTED_CHARS]) + " …"
    return shown.removesuffix(".")


def restated(fact: Fact, value: Any, unit: str, key: str, **figures: Any) -> Fact:
    """Another reading of the same rows: same figures and citations, a new value and sentence.

    Where the new value is yes or no, the sentence keeps the number it was read from.
    """
    told = {**dict(fact.statement.figures), **{k: tidy(v) for k, v in figures.items()}}
    if not isinstance(value, bool):
        told["value"] = tidy(value)
    return replace(
        fact, value=value, unit=unit, statement=Statement(key, tuple(sorted(told.items()))), low=None, high=None
    )
