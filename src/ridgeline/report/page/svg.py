"""A small SVG writer: tags, text, axes. Deterministic; every text is escaped; colours are classes, never attributes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from ridgeline.model.chart import Unit
from ridgeline.report.escape import plain
from ridgeline.report.page import units

WIDTH: Final = 880


def tag(name: str, content: str = "", **attributes: str | float | None) -> str:
    """One element; `class_` and `data_n` become `class` and `data-n`; numbers are written short; None is left out."""
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{words}>{content}</{name}>" if content else f"<{name}{words}/>"


def _value(value: str | float) -> str:
    return short(value) if isinstance(value, int | float) else escape(value, quote=True)


def short(value: float) -> str:
    """A coordinate with at most one decimal."""
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


def exact(value: float) -> str:
    """A figure as data, to be read back by programs."""
    return f"{value:.16g}"


def text(x: float, y: float, words: str, class_: str = "t", anchor: str | None = None, most: int = 60) -> str:
    """A line of text whose control characters are shown and whose length is bounded."""
    return tag("text", escape(plain(words, most), quote=False), class_=class_, x=x, y=y, text_anchor=anchor)


def breadth(words: str, px: float = 12.0) -> float:
    """About how wide a text is at that size: Chinese characters are square."""
    return sum(px if ord(c) > 0x2E7F else 0.58 * px for c in words)


def title(words: str) -> str:
    """The tooltip of an element, which screen readers take as its name."""
    return tag("title", escape(plain(words, 200), quote=False))


@dataclass(frozen=True)
class Scale:
    """Values → coordinates; `log` for latencies. A value outside is held at the edge."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Where a value lies."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(max(value, 1e-12))
        part = 0.5 if high <= low else min(1.0, max(0.0, (at - low) / (high - low)))
        return self.start + part * (self.end - self.start)


def axis_ticks(scale: Scale, unit: Unit, most: int = 5) -> list[tuple[float, str]]:
    """(value, words) for an axis."""
    if unit == "time":
        span = scale.high - scale.low
        return [(t, units.moment(t, span)) for t in units.time_ticks(scale.low, scale.high, most)]
    values = units.log_ticks(scale.low, scale.high) if scale.log else units.ticks(scale.low, scale.high, most)
    if unit == "s":
        return [(v, _round_seconds(v)) for v in values]
    if unit == "share":
        return [(v, f"{v * 100:.4g} %") for v in values]
    return [(v, units.number(v)) for v in values]


def _round_seconds(value: float) -> str:
    size = abs(value)
    if size == 0:
        return "0"
    for below, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (600.0, 1.0, "s"), (7200.0, 1 / 60, "min")):
        if size < below * 0.999:
            return f"{value * factor:.4g} {unit}"
    return f"{value / 3600:.4g} h"


def x_axis(scale: Scale, unit: Unit, bottom: float, top: float, most: int = 5) -> str:
    """Tick marks, light grid lines and words below; words that would touch are left out."""
    out, last = [], -1e9
    for value, words in axis_ticks(scale, unit, most):
        x = scale(value)
        out.append(tag("line", class_="g", x1=x, x2=x, y1=top, y2=bottom))
        if x - last > breadth(words, 11.0) + 8:
            out.append(text(x, bottom + 16, words, "t s", "middle" if x > 16 else "start"))
            last = x
    return "".join(out)


def y_axis(scale: Scale, unit: Unit, left: float, right: float, most: int = 4) -> str:
    """Light grid lines with words at the left."""
    out = []
    for value, words in axis_ticks(scale, unit, most):
        y = scale(value)
        out.append(tag("line", class_="g", x1=left, x2=right, y1=y, y2=y))
        out.append(text(left - 8, y + 4, words, "t s", "end"))
    return "".join(out)


def path(points: Sequence[tuple[float, float] | None]) -> str:
    """The `d` of a line; None breaks it; a lone point becomes a short dash, or it would not be seen."""
    out: list[str] = []
    pen = False
    for k, point in enumerate(points):
        if point is None:
            pen = False
            continue
        out.append(f"{'L' if pen else 'M'}{short(point[0])} {short(point[1])}")
        alone = not pen and (k + 1 == len(points) or points[k + 1] is None)
        if alone:
            out.append("h2")
        pen = True
    return "".join(out)


def document(height: float, body: str, name: str, words: str, description: str) -> str:
    """The `svg` element, named and described for those who do not see it."""
    label = tag("title", escape(plain(words, 200), quote=False), id=f"{name}-title")
    label += tag("desc", escape(plain(description, 600), quote=False), id=f"{name}-desc")
    return tag(
        "svg", label + body, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDTH} {short(height)}", role="img",
        aria_labelledby=f"{name}-title {name}-desc", class_="picture",
    )  # fmt: skip


Say = Callable[[str], str]
