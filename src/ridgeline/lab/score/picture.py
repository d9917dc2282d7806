"""The confusion of layers as a small SVG: rows are true layers, columns answered ones, greys shares of a row."""

from collections import defaultdict
from html import escape
from typing import Final

from ridgeline.lab.score.measure import Result, confusion

CELL: Final = 34
LEFT: Final = 92
TOP: Final = 96
ORDER: Final = ("queue", "prefill", "decode", "memory", "cache", "routing", "disagg", "frontend", "storage", "fault",
                "client", "unknown", "healthy", "none")  # fmt: skip
"""Layers as the catalogue has them, then what is no layer."""


def text(x: float, y: float, said: str, more: str = "") -> str:
    """One label."""
    return f'<text x="{x:g}" y="{y:g}"{more}>{escape(said)}</text>'


def confusion_svg(results: list[Result]) -> str:
    """The picture of results of the full evidence; right answers are framed."""
    counts = confusion([r for r in results if r["arm"] == "full"])
    total: dict[str, int] = defaultdict(int)
    for (true, _), n in counts.items():
        total[true] += n
    rows = [name for name in ORDER if name in total]
    columns = [name for name in ORDER if name in total or any(answered == name for _, answered in counts)]
    width, height = LEFT + CELL * len(columns) + 12, TOP + CELL * len(rows) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12" role="img">',
        "<title>True layer (rows) and the layer of the first answer (columns), cases</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        text(LEFT - 8, 16, "true ↓  answered →", ' text-anchor="end" fill="#555" font-size="10"'),
    ]
    for k, name in enumerate(columns):
        x = LEFT + CELL * (k + 0.5)
        parts.append(text(x + 4, TOP - 6, name, f' transform="rotate(-60 {x + 4:g} {TOP - 6})" fill="#222"'))
    for j, true in enumerate(rows):
        y = TOP + CELL * j
        parts.append(text(LEFT - 8, y + CELL / 2 + 4, true, ' text-anchor="end" fill="#222"'))
        for k, answered in enumerate(columns):
            n = counts.get((true, answered), 0)
            share = n / total[true]
            grey = round(255 - 205 * share)
            frame = ' stroke="#0a6" stroke-width="2"' if true == answered else ' stroke="#ddd"'
            x = LEFT + CELL * k
            parts.append(
                f'<rect x="{x + 1}" y="{y + 1}" width="{CELL - 2}" height="{CELL - 2}" '
                f'fill="rgb({grey},{grey},{grey})"{frame}/>'
            )
            if n:
                ink = "#fff" if share > 0.5 else "#222"
                parts.append(text(x + CELL / 2, y + CELL / 2 + 4, str(n), f' text-anchor="middle" fill="{ink}"'))
    return "\n".join([*parts, "</svg>"]) + "\n"
