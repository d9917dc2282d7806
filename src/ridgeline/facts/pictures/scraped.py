"""The latency heatmap from the buckets of /metrics, where single requests are not known."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from ridgeline.bundle.view import View
from ridgeline.facts.histograms import NAMES
from ridgeline.model.chart import Heat

MOST: Final = 96
SCRAPES: Final = """
SELECT h.series, h.ts, h.le, h.cumulative
FROM histograms h JOIN series s USING (series)
WHERE list_contains($names, coalesce(s.stage, s.name)) AND len(h.le) > 1 AND h.ts IS NOT NULL
    AND coalesce(s.labels ->> 'priority', '') = ''
    AND ($since::DOUBLE IS NULL OR h.ts >= $since) AND ($until::DOUBLE IS NULL OR h.ts <= $until)
ORDER BY h.series, h.ts, h.line
"""


def heat_of_scrapes(
    view: View, what: str, edge: dict[str, float | None], shade: tuple[float, float] | None
) -> Heat | None:
    """What was observed between scrapes, by bucket and time; None where fewer than two scrapes tell.

    A bucket's row is bounded by its `le` and that of the one before; below the first and above the last the true
    bound is not known and half and twice of it is drawn. A counter that fell was started anew.
    """
    rows = view.query(SCRAPES, {**edge, "names": list(NAMES.get(what, ()))})
    if not rows:
        return None
    bounds = [float(b) for b in rows[0][2] if float(b) != float("inf")]
    times = sorted({ts for _, ts, _, _ in rows})
    if len(times) < 2 or not bounds or bounds[0] <= 0 or sorted(bounds) != bounds:
        return None
    bins = min(MOST, len(times) - 1)
    cells = [[0.0] * bins for _ in range(len(bounds) + 1)]
    for before, after in pairwise(rows):
        if before[0] == after[0] and list(before[2]) == list(after[2]) == list(rows[0][2]):
            at = min(bins - 1, int((after[1] - times[0]) / (times[-1] - times[0]) * bins - 1e-9))
            for y, n in enumerate(_observed(before[3], after[3])):
                cells[y][at] += n
    top = max((y for y, row in enumerate(cells) if any(row)), default=-1)
    low = min((y for y, row in enumerate(cells) if any(row)), default=0)
    if top < 0:
        return None
    edges = [bounds[0] / 2, *bounds, bounds[-1] * 2]
    counts = tuple(tuple(round(n) for n in row) for row in cells[low : top + 1])
    return Heat(times[0], times[-1], tuple(edges[low : top + 2]), counts, shade)


def _observed(before: list[float], after: list[float]) -> list[float]:
    """Observations per bucket between two scrapes of one series."""
    grown: list[Any] = list(after) if after[-1] < before[-1] else [b - a for a, b in zip(before, after, strict=True)]
    return [max(0.0, high - low) for low, high in zip([0.0, *grown], grown, strict=False)]
