"""The heatmap: when requests arrived and how long they took; darker is more."""

from __future__ import annotations

import math
from typing import Final

from ridgeline.model.chart import Heat
from ridgeline.report.page import units
from ridgeline.report.page.svg import WIDTH, Say, Scale, exact, tag, text, title, x_axis, y_axis

LEFT: Final = 52.0
TOP: Final = 26.0
SHADES: Final = 7


def draw(heat: Heat, say: Say) -> tuple[float, str]:
    """(height, body). Each cell with requests carries its count and its bounds as data."""
    rows, bins = len(heat.counts), len(heat.counts[0])
    bottom = TOP + max(120.0, 11.0 * rows)
    right = WIDTH - 8.0
    x = Scale(0, bins, LEFT, right)
    most = max(max(row) for row in heat.counts) or 1
    seconds = Scale(heat.y_edges[0], heat.y_edges[-1], bottom, TOP, log=True)
    moments = Scale(heat.from_ts, heat.to_ts, LEFT, right)
    body = tag("rect", class_="ground", x=LEFT, y=TOP, width=right - LEFT, height=bottom - TOP)
    cells = "".join(
        _cell(heat, row, column, n, most, x, seconds, say)
        for row, counts in enumerate(heat.counts)
        for column, n in enumerate(counts)
        if n
    )
    # The frame as data: a brush on the live page turns coordinates back into moments and seconds.
    body += tag(
        "g", cells, class_="cells", data_from=exact(heat.from_ts), data_to=exact(heat.to_ts), data_left=LEFT,
        data_right=right, data_bins=str(bins),
        data_top=TOP, data_bottom=bottom, data_edges=" ".join(f"{e:.9g}" for e in heat.y_edges),
    )  # fmt: skip
    if heat.shade is not None:
        for at in heat.shade:
            if heat.from_ts < at < heat.to_ts:
                body += tag("line", class_="edge", x1=moments(at), x2=moments(at), y1=TOP - 6, y2=bottom)
        a, b = moments(max(heat.shade[0], heat.from_ts)), moments(min(heat.shade[1], heat.to_ts))
        body += tag("line", class_="edge", x1=a, x2=b, y1=TOP - 6, y2=TOP - 6)
        body += text((a + b) / 2, TOP - 12, say("incident"), "t b", "middle")
    body += y_axis(seconds, "s", LEFT, LEFT) + x_axis(moments, "time", bottom, bottom, 8)
    return bottom + 26, body


def _cell(heat: Heat, row: int, column: int, n: int, most: int, x: Scale, seconds: Scale, say: Say) -> str:
    level = 1 + min(SHADES - 1, int(math.log1p(n) / math.log1p(most) * SHADES))
    span = heat.to_ts - heat.from_ts
    at = heat.from_ts + span * column / len(heat.counts[0])
    low, high = heat.y_edges[row], heat.y_edges[row + 1]
    words = f"{units.moment(at, span)}, {units.seconds(low)} – {units.seconds(high)}: {n:,} {say('n requests')}"
    return tag(
        "rect", title(words), class_=f"c h{level}", x=x(column), y=seconds(high), width=x(1) - x(0) - 0.6,
        height=seconds(low) - seconds(high) - 0.6, data_x=str(column), data_y=str(row), data_n=str(n),
    )  # fmt: skip
