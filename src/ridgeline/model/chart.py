"""Pictures as figures: what is drawn, the table that says the same in numbers, or what is missing.

`facts/pictures` gathers them from a view; `report/page` draws them. A bin without a reading is None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ridgeline.model.fact import Missing
from ridgeline.model.picture import Timeline

# How a mark is coloured: the incident and what the finding names stand out, all else stays quiet.
Tone = Literal[
    "incident", "baseline", "after", "marked", "other", "queue", "prefill", "decode", "return", "unaccounted", "before",
    "transfer", "hit",
]  # fmt: skip
Unit = Literal["s", "share", "requests", "tokens", "time", "ratio", "GB/s"]


@dataclass(frozen=True)
class Curve:
    """One line: `y` over `x`; None in `y` is a gap."""

    name: str
    tone: Tone
    x: tuple[float, ...]
    y: tuple[float | None, ...]


@dataclass(frozen=True)
class Panel:
    """One pair of axes with its curves; `log_x` for latencies; `cap` is drawn as a limit where known."""

    name: str
    x_unit: Unit
    y_unit: Unit
    curves: tuple[Curve, ...]
    log_x: bool = False
    cap: float | None = None


@dataclass(frozen=True)
class Panels:
    """Small multiples; `shade` is the incident window on a time axis."""

    panels: tuple[Panel, ...]
    shade: tuple[float, float] | None = None


@dataclass(frozen=True)
class Heat:
    """Counts over time (equal bins) and latency (`y_edges` seconds, ascending); `counts[y][x]`."""

    from_ts: float
    to_ts: float
    y_edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    shade: tuple[float, float] | None = None


@dataclass(frozen=True)
class Stack:
    """One bar of parts that add up; `n` is how many requests (or tokens) it is the mean (or sum) of."""

    name: str
    n: int
    parts: tuple[tuple[str, Tone, float], ...]


@dataclass(frozen=True)
class Stacks:
    """Bars on one scale."""

    unit: Unit
    bars: tuple[Stack, ...]


@dataclass(frozen=True)
class Range:
    """A value with its interval; None where too few make one."""

    name: str
    tone: Tone
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Ranges:
    """Values with intervals, one below the other; `usual` is what holds for all (or held before: `usual_name`)."""

    unit: Unit
    rows: tuple[Range, ...]
    usual: float | None = None
    usual_name: str = "all requests"


@dataclass(frozen=True)
class Bars:
    """Requests from head to tail on one scale."""

    timelines: tuple[Timeline, ...]


Drawing = Panels | Heat | Stacks | Ranges | Bars


@dataclass(frozen=True)
class Column:
    """A column of the data table and the unit of its numbers ("" for words)."""

    name: str
    unit: Unit | Literal["", "count"] = ""


@dataclass(frozen=True)
class Picture:
    """One picture: `name` keys its title in the catalogue, `figures` its sentence; `missing`: why there is no drawing.

    `rows` hold the numbers of `columns` that the drawing shows; `notes` are keys of the catalogue with figures.
    """

    name: str
    drawing: Drawing | None
    figures: tuple[tuple[str, Any], ...] = ()
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    missing: tuple[Missing, ...] = ()
    says: str = ""  # which sentence of the catalogue; "" for the picture's own
