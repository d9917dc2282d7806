"""Small multiples of lines: latency spreads, ranks over time, queues over time."""

from __future__ import annotations

from typing import Final

from ridgeline.model.chart import Curve, Panel, Panels
from ridgeline.report.page.svg import WIDTH, Say, Scale, breadth, path, tag, text, title, x_axis, y_axis

GAP: Final = 34
LEFT: Final = 52
TOP: Final = 30
ORDER: Final = ("other", "baseline", "incident", "after", "marked")  # drawn later lies on top


def draw(panels: Panels, say: Say) -> tuple[float, str]:
    """(height, body): panels over time stand below each other, spreads side by side."""
    over_time = panels.panels[0].x_unit == "time"
    return _below(panels, say) if over_time else _beside(panels, say)


def _beside(panels: Panels, say: Say) -> tuple[float, str]:
    n, height = len(panels.panels), 250.0
    width = (WIDTH - (n - 1) * GAP) / n
    body = _legend(panels.panels[0].curves, say)
    for k, panel in enumerate(panels.panels):
        left = k * (width + GAP)
        body += _panel(panel, say, left + LEFT - 8, left + width - 6, 46.0, height - 26, None)
    return height, body


def _below(panels: Panels, say: Say) -> tuple[float, str]:
    each = 100.0
    body, y = "", 4.0
    named = any(len(panel.curves) > 1 for panel in panels.panels)  # room for the lines' names behind them
    for k, panel in enumerate(panels.panels):
        last = k == len(panels.panels) - 1
        body += _panel(panel, say, LEFT, WIDTH - (116 if named else 12), y + TOP - 8, y + each, panels.shade, last)
        y += each + 18
    return y + 16, body


def _panel(
    panel: Panel, say: Say, left: float, right: float, top: float, bottom: float,
    shade: tuple[float, float] | None, words_below: bool = True,
) -> str:  # fmt: skip
    xs = [x for c in panel.curves for x in c.x if x > 0 or not panel.log_x]
    ys = [y for c in panel.curves for y in c.y if y is not None]
    high = max([*ys, 1.25 * (panel.cap or 0.0), 0.0]) or 1.0  # above the limit its name has room
    low_x, high_x = _reach(xs, panel.log_x)
    x = Scale(low_x, high_x, left, right, panel.log_x)
    y = Scale(0.0, 1.0 if panel.y_unit == "share" else high * 1.05, bottom, top)
    out = text(left - (LEFT - 8 if panel.x_unit == "time" else 40), top - 10, say(panel.name), "t b")
    if shade is not None:
        a, b = x(max(shade[0], low_x)), x(min(shade[1], high_x))
        out += tag("rect", class_="shade", x=a, y=top, width=max(0.0, b - a), height=bottom - top)
    out += y_axis(y, panel.y_unit, left, right, 4 if bottom - top > 120 else 2)
    if words_below:
        out += x_axis(x, panel.x_unit, bottom, top, 4 if panel.log_x else 8)
    if panel.cap is not None and panel.y_unit != "share":
        out += tag("line", class_="cap", x1=left, x2=right, y1=y(panel.cap), y2=y(panel.cap))
        out += text(left + 6, y(panel.cap) - 4, f"{say('limit')} {panel.cap:g}", "t s")
    for curve in sorted(panel.curves, key=lambda c: ORDER.index(c.tone) if c.tone in ORDER else 9):
        points = [None if v is None else (x(at), y(v)) for at, v in zip(curve.x, curve.y, strict=True)]
        out += tag("path", title(say(curve.name)), class_=f"line {curve.tone}", d=path(points))
    return out + (_names(panel, y, right, say) if panel.x_unit == "time" else "")


def _names(panel: Panel, y: Scale, right: float, say: Say) -> str:
    """The names of the lines at their ends: the marked ones, and the others where they are few."""
    if len(panel.curves) == 1:
        return ""
    few = len(panel.curves) <= 4
    ends = [
        (y(last), c)
        for c in panel.curves
        if (few or c.tone == "marked") and (last := next((v for v in reversed(c.y) if v is not None), None)) is not None
    ]
    out, taken = "", list[float]()
    for at, c in sorted(ends, key=lambda e: (e[1].tone != "marked", e[0])):
        if all(abs(at - other) >= 12 for other in taken):
            taken.append(at)
            out += text(right + 6, at + 4, say(c.name), "t s" if c.tone == "other" else "t s b", most=18)
    return out


def _reach(xs: list[float], log: bool) -> tuple[float, float]:
    if not xs:
        return (1e-3, 1.0) if log else (0.0, 1.0)
    low, high = min(xs), max(xs)
    if log:
        low, high = max(low * 0.9, 1e-5), high * 1.1
    return (low, high) if high > low else (low, low * 1.5 + 1e-3)


def _legend(curves: tuple[Curve, ...], say: Say) -> str:
    out, at = "", 0.0
    for c in curves:
        out += tag("line", class_=f"line {c.tone}", x1=at, x2=at + 22, y1=10, y2=10)
        out += text(at + 28, 14, say(c.name), "t")
        at += 50 + breadth(say(c.name))
    return out
