"""Latency pictures: how the times of the incident are spread beside those of the baseline, and over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ridgeline.bundle.view import View
from ridgeline.facts.histograms import observed
from ridgeline.facts.pictures.scraped import heat_of_scrapes
from ridgeline.facts.points import ready
from ridgeline.facts.requests import HOW_TIMES
from ridgeline.model.chart import Column, Curve, Heat, Panel, Panels, Picture, Tone
from ridgeline.model.diagnosis import Window
from ridgeline.model.fact import Missing

WHAT: Final = ("ttft_s", "queue_s", "e2e_s")
GRID: Final = (0.01, *(k / 20 for k in range(1, 19)), 0.92, 0.95, 0.97, 0.98, 0.99, 0.995, 1.0)
TOLD: Final = (0.5, 0.9, 0.99)
SCRAPED: Final = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)

# Quantiles of the three times of the requests that arrived in a window; `unfinished` have no end yet.
SPREAD: Final = """
WITH rows AS (
    SELECT coalesce(ttft_s, first_token_ts - received_ts) AS ttft_s,
        coalesce(queue_s, scheduled_ts - queued_ts) AS queue_s,
        coalesce(e2e_s, finished_ts - received_ts) AS e2e_s,
        coalesce(censored, false) OR coalesce(state, '') IN ('unfinished', 'received') AS unfinished
    FROM asks
    WHERE NOT coalesce(probe, false) AND coalesce(state, '') <> 'rejected'
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
)
SELECT count(*) FILTER (WHERE unfinished) AS unfinished,
    count(ttft_s) FILTER (WHERE ttft_s >= 0), quantile_cont(ttft_s, $grid) FILTER (WHERE ttft_s >= 0),
    count(queue_s) FILTER (WHERE queue_s >= 0), quantile_cont(queue_s, $grid) FILTER (WHERE queue_s >= 0),
    count(e2e_s) FILTER (WHERE e2e_s >= 0), quantile_cont(e2e_s, $grid) FILTER (WHERE e2e_s >= 0)
FROM rows
"""
COLUMNS: Final = (
    Column("time"), Column("window"), Column("requests", "count"), Column("p50", "s"), Column("p90", "s"),
    Column("p99", "s"), Column("unfinished", "count"),
)  # fmt: skip
Side = tuple[str, Tone, View, Window | None]


def sides(view: View) -> list[Side]:
    """The windows to draw: baseline and incident where both are known, else all there is."""
    if view.incident is None:
        return [("all", "incident", view, None)]
    before: list[Side] = [] if view.baseline is None else [("baseline", "baseline", view, view.baseline)]
    return [*before, ("incident", "incident", view, view.incident)]


def latency(view: View, between: Sequence[Side] = ()) -> Picture:
    """TTFT, queue time and E2E as shares of requests that took at most so long, one curve for each side."""
    shown = list(between) or sides(view)
    spreads = [(name, tone, _spread(ready(of), window)) for name, tone, of, window in shown]
    panels, rows = [], []
    for what in WHAT:
        curves = []
        for name, tone, (unfinished, by) in spreads:
            n, grid, values = by[what]
            if not n:
                continue
            curves.append(Curve(name, tone, values, grid))
            told = dict(zip(grid, values, strict=True))
            rows.append((what, name, n, *(told.get(q) for q in TOLD), unfinished))
        if curves:
            panels.append(Panel(what, "s", "share", tuple(curves), log_x=True))
    if not panels:
        return Picture("latency", None, missing=(Missing("TTFT, queue time or E2E of requests", HOW_TIMES),))
    return Picture("latency", Panels(tuple(panels)), _compared(rows), COLUMNS, tuple(rows), says=_says(rows))


def _says(rows: Sequence[tuple[Any, ...]]) -> str:
    return "picture.latency.compared" if len({row[1] for row in rows}) > 1 else "picture.latency.alone"


def _compared(rows: Sequence[tuple[Any, ...]]) -> tuple[tuple[str, Any], ...]:
    """Median and p99 of the first time that is known, last side and first side."""
    what = rows[0][0]
    mine = [row for row in rows if row[0] == what]
    last, first = mine[-1], mine[0]
    return (
        ("n", last[2]), ("p50", last[3]), ("p50_before", first[3]), ("p99", last[5]), ("p99_before", first[5]),
        ("side", last[1]), ("what", what),
    )  # fmt: skip


def _spread(view: View, window: Window | None) -> tuple[int, dict[str, tuple[int, tuple[float, ...], Any]]]:
    edge = {"since": None if window is None else window.from_ts, "until": None if window is None else window.to_ts}
    row = view.one(SPREAD, {**edge, "grid": list(GRID)})
    by: dict[str, tuple[int, tuple[float, ...], Any]] = {}
    for at, what in enumerate(WHAT):
        n, values = row[1 + 2 * at], row[2 + 2 * at]
        by[what] = (n, GRID, tuple(values)) if n else _scraped(view.window(window, None), what)
    return row[0], by


def _scraped(view: View, what: str) -> tuple[int, tuple[float, ...], tuple[float, ...]]:
    """The same from the buckets of /metrics, where single requests are not known."""
    facts = [(q, observed(view, what, q)) for q in SCRAPED]
    known = [(q, fact) for q, fact in facts if fact.value is not None]
    if not known:
        return 0, (), ()
    return known[0][1].n, tuple(q for q, _ in known), tuple(float(f.value) for _, f in known)


HEAT_TIMES: Final = """
WITH rows AS (
    SELECT received_ts AS ts, CASE $what WHEN 'ttft_s' THEN coalesce(ttft_s, first_token_ts - received_ts)
        WHEN 'e2e_s' THEN coalesce(e2e_s, finished_ts - received_ts) END AS seconds
    FROM asks
    WHERE received_ts IS NOT NULL AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
known AS (SELECT * FROM rows WHERE seconds > 0),
reach AS (
    SELECT min(ts) AS lo, max(ts) AS hi, count(*) AS n, log2(quantile_disc(seconds, 0.002)) AS least,
        log2(max(seconds)) AS most
    FROM known
),
frame AS (
    SELECT lo, hi, n, floor(least * 2) / 2 AS bottom,
        greatest(1, least($steps, ceil((most - floor(least * 2) / 2) * 2))) AS rows,
        (most - floor(least * 2) / 2 + 1e-9) / greatest(1, least($steps, ceil((most - floor(least * 2) / 2) * 2)))
            AS step
    FROM reach
)
SELECT CAST(least(floor((ts - lo) / greatest(hi - lo, 1e-9) * $bins), $bins - 1) AS BIGINT) AS x,
    CAST(greatest(0, least(floor((log2(seconds) - bottom) / greatest(step, 1e-9)), rows - 1)) AS BIGINT) AS y,
    count(*) AS n, any_value(lo) AS lo, any_value(hi) AS hi, any_value(bottom) AS bottom, any_value(step) AS step,
    any_value(rows) AS rows
FROM known, frame
GROUP BY x, y
ORDER BY x, y
"""
BINS: Final = 96
STEPS: Final = 24
HEAT_COLUMNS: Final = (
    Column("from", "time"), Column("requests", "count"), Column("fastest cell", "s"), Column("fullest cell", "s"),
    Column("slowest cell", "s"),
)  # fmt: skip


def heat(view: View, bins: int = BINS, window: Window | None = None) -> Picture:
    """How many requests took how long, over the time of their arrival; half an octave or more a row."""
    ready(view)
    edge = {"since": None if window is None else window.from_ts, "until": None if window is None else window.to_ts}
    for what in ("ttft_s", "e2e_s"):
        rows = view.query(HEAT_TIMES, {**edge, "what": what, "bins": bins, "steps": STEPS})
        if rows:
            return heat_of(rows, what, bins, view.incident)
    shade = None if view.incident is None else (view.incident.from_ts, view.incident.to_ts)
    for what in ("ttft_s", "e2e_s"):
        scraped = heat_of_scrapes(view, what, edge, shade)
        if scraped is not None:
            return heat_picture(scraped, what)
    return Picture("heat", None, missing=(Missing("arrival and TTFT (or E2E) of requests", HOW_TIMES),))


def heat_of(rows: Sequence[tuple[Any, ...]], what: str, bins: int, incident: Window | None) -> Picture:
    """Cells (x, y, n, and the frame) → the picture."""
    _, _, _, lo, hi, bottom, step, height = rows[0]
    high = int(height)
    cells = [[0] * bins for _ in range(high)]
    for x, y, n, *_ in rows:
        cells[y][x] = n
    edges = tuple(2.0 ** (bottom + k * step) for k in range(high + 1))
    shade = None if incident is None else (incident.from_ts, incident.to_ts)
    return heat_picture(Heat(lo, hi, edges, tuple(map(tuple, cells)), shade), what)


def heat_picture(drawing: Heat, what: str) -> Picture:
    """The picture of a heatmap with its table: one row for each stretch of time that holds requests."""
    table = []
    bins = len(drawing.counts[0])
    for x in range(bins):
        column = [row[x] for row in drawing.counts]
        full = [y for y, n in enumerate(column) if n]
        if full:
            most = max(full, key=column.__getitem__)
            at = drawing.from_ts + (drawing.to_ts - drawing.from_ts) * x / bins
            edges = drawing.y_edges
            table.append((at, sum(column), edges[full[0]], edges[most], edges[full[-1] + 1]))
    figures = (("n", sum(row[1] for row in table)), ("slowest", drawing.y_edges[-1]), ("what", what))
    return Picture("heat", drawing, figures, HEAT_COLUMNS, tuple(table))
