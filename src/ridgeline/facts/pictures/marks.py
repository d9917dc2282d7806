"""Requests as narrow marks, for pictures that follow a brush: time, latencies, rank and key, and nothing else.

One table is made once; a selection is then a filter over a few short columns. Quantiles are exact up to `EXACT`
requests; above that they come from bins of a 64th of an octave, within 1.1 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from weakref import WeakSet

import duckdb

from ridgeline.bundle.view import View
from ridgeline.facts.pictures.times import BINS, COLUMNS, GRID, STEPS, TOLD, WHAT, heat_of
from ridgeline.facts.requests import HOW_TIMES
from ridgeline.model.chart import Curve, Panel, Panels, Picture, Tone
from ridgeline.model.diagnosis import Window
from ridgeline.model.fact import Missing

EXACT: Final = 1_500_000
PER_OCTAVE: Final = 64

# A client's file and the server's own records are two rows of one request: where the server's are known, they count.
MARKS: Final = """
CREATE TABLE marks AS
WITH sides AS (SELECT bool_or(coalesce(role, '') NOT IN ('client', 'gateway')) AS served FROM requests),
asked AS (
    SELECT request, received_ts AS ts, dp_rank, routing_key,
        coalesce(ttft_s, first_token_ts - received_ts) AS ttft_s,
        coalesce(queue_s, scheduled_ts - queued_ts) AS queue_s,
        coalesce(e2e_s, finished_ts - received_ts) AS e2e_s,
        coalesce(censored, FALSE) OR coalesce(state, '') IN ('unfinished', 'received') AS unfinished
    FROM requests, sides
    WHERE received_ts IS NOT NULL AND NOT coalesce(probe, FALSE) AND coalesce(state, '') <> 'rejected'
        AND (coalesce(role, '') NOT IN ('client', 'gateway') OR NOT served)
)
SELECT request, ts, CAST(dp_rank AS SMALLINT) AS dp_rank, CAST(hash(routing_key) >> 1 AS BIGINT) AS key,
    CASE WHEN ttft_s >= 0 THEN CAST(ttft_s AS FLOAT) END AS ttft_s,
    CASE WHEN queue_s >= 0 THEN CAST(queue_s AS FLOAT) END AS queue_s,
    CASE WHEN e2e_s >= 0 THEN CAST(e2e_s AS FLOAT) END AS e2e_s,
    CAST(log2(CASE WHEN coalesce(ttft_s, e2e_s) > 0 THEN coalesce(ttft_s, e2e_s) END) AS FLOAT) AS level, unfinished
FROM asked
ORDER BY ts
"""
KNOWN: Final = "SELECT 1 FROM marks LIMIT 0"
_MADE: Final[WeakSet[duckdb.DuckDBPyConnection]] = WeakSet()


@dataclass(frozen=True)
class Selection:
    """What is looked at; every part None is no limit. `attribute` = `value` is a class of requests."""

    from_ts: float | None = None
    to_ts: float | None = None
    rank: int | None = None
    key: str | None = None
    attribute: str | None = None
    value: str | None = None
    low_s: float | None = None
    high_s: float | None = None

    def parameters(self) -> dict[str, Any]:
        """As bound parameters."""
        return {
            "since": self.from_ts, "until": self.to_ts, "rank": self.rank, "key": self.key, "attribute": self.attribute,
            "value": self.value, "low": self.low_s, "high": self.high_s,
        }  # fmt: skip

    @property
    def window(self) -> Window | None:
        """Its stretch of time, where both ends are known."""
        return None if self.from_ts is None or self.to_ts is None else Window(self.from_ts, self.to_ts)

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return self == Selection()


def marked(view: View) -> View:
    """The same view with `marks` on its connection; made once."""
    if view.con not in _MADE:
        cursor = view.con.cursor()
        try:
            cursor.execute(KNOWN)
        except duckdb.CatalogException:
            cursor.execute(MARKS)
        _MADE.add(view.con)
    return view


# Requests of a class, by number; the attribute is one of a literal list.
OF_CLASS: Final = """
    SELECT request FROM requests
    WHERE CASE $attribute
        WHEN 'endpoint' THEN endpoint WHEN 'stream' THEN CAST(stream AS VARCHAR) WHEN 'n' THEN CAST(n AS VARCHAR)
        WHEN 'lora' THEN lora WHEN 'schema_set' THEN CAST(schema_set AS VARCHAR) WHEN 'schema_hash' THEN schema_hash
        WHEN 'regex_set' THEN CAST(regex_set AS VARCHAR) WHEN 'tools_set' THEN CAST(tools_set AS VARCHAR)
        WHEN 'priority' THEN CAST(priority AS VARCHAR) WHEN 'logprobs' THEN CAST(logprobs AS VARCHAR)
        WHEN 'ignore_eos' THEN CAST(ignore_eos AS VARCHAR) WHEN 'stop_set' THEN CAST(stop_set AS VARCHAR)
        WHEN 'reasoning' THEN CAST(reasoning AS VARCHAR) WHEN 'modality' THEN modality
        WHEN 'routing_key' THEN routing_key WHEN 'extra_key' THEN extra_key WHEN 'session_id' THEN session_id
        WHEN 'dp_rank_asked' THEN CAST(dp_rank_asked AS VARCHAR) WHEN 'user' THEN "user" WHEN 'client' THEN client
        WHEN 'worker' THEN worker WHEN 'role' THEN role WHEN 'state' THEN state WHEN 'finish_reason' THEN finish_reason
    END = $value
"""
CHOSEN: Final = """
    ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
    AND ($rank::BIGINT IS NULL OR dp_rank = $rank)
    AND ($key::VARCHAR IS NULL OR key = CAST(hash($key::VARCHAR) >> 1 AS BIGINT))
    AND ($low::DOUBLE IS NULL OR level >= log2($low)) AND ($high::DOUBLE IS NULL OR level < log2($high))
"""
WITHIN: Final = f"({CHOSEN}) AND ($attribute::VARCHAR IS NULL OR request IN ({OF_CLASS}))"

CELLS: Final = f"""
WITH picked AS (SELECT ts, level FROM marks WHERE level IS NOT NULL AND {WITHIN}),
reach AS (
    SELECT min(ts) AS lo, max(ts) AS hi, count(*) AS n, min(level) AS least, max(level) AS most,
        quantile_disc(level, 0.002) AS low FROM picked
),
grid AS (SELECT *, floor(low * 2) / 2 AS bottom FROM reach),
frame AS (
    SELECT *, greatest(1, least($steps, ceil((most - bottom) * 2))) AS rows FROM grid
),
sized AS (SELECT *, (most - bottom + 1e-6) / rows AS step FROM frame)
SELECT CAST(least(floor((ts - lo) / greatest(hi - lo, 1e-9) * $bins), $bins - 1) AS BIGINT) AS x,
    CAST(greatest(0, least(floor((level - bottom) / greatest(step, 1e-9)), rows - 1)) AS BIGINT) AS y,
    count(*) AS n, any_value(lo) AS lo, any_value(hi) AS hi, any_value(bottom) AS bottom, any_value(step) AS step,
    any_value(rows) AS rows
FROM picked, sized
GROUP BY x, y
ORDER BY x, y
"""
TTFT_KNOWN: Final = "SELECT count(ttft_s) > 0 FROM marks"


def heat(view: View, chosen: Selection, incident: Window | None, bins: int = BINS) -> Picture:
    """The heatmap of a selection."""
    rows = marked(view).query(CELLS, {**chosen.parameters(), "bins": bins, "steps": STEPS})
    if not rows:
        return Picture("heat", None, missing=(Missing("arrival and TTFT (or E2E) of requests", HOW_TIMES),))
    what = "ttft_s" if view.one(TTFT_KNOWN)[0] else "e2e_s"
    return heat_of(rows, what, bins, incident)


SIZE: Final = f"SELECT count(*), count(*) FILTER (WHERE unfinished) FROM marks WHERE {WITHIN}"
EXACTLY: Final = f"""
SELECT count(ttft_s), quantile_cont(ttft_s, $grid), count(queue_s), quantile_cont(queue_s, $grid), count(e2e_s),
    quantile_cont(e2e_s, $grid)
FROM marks WHERE {WITHIN}
"""
BINNED: Final = f"""
WITH picked AS (
    SELECT CAST(floor(log2(greatest(CASE $what WHEN 'ttft_s' THEN ttft_s WHEN 'queue_s' THEN queue_s ELSE e2e_s END,
        1e-6)) * {PER_OCTAVE}) AS SMALLINT) AS bin
    FROM marks
    WHERE CASE $what WHEN 'ttft_s' THEN ttft_s WHEN 'queue_s' THEN queue_s ELSE e2e_s END IS NOT NULL AND {WITHIN}
)
SELECT bin, count(*) FROM picked GROUP BY bin ORDER BY bin
"""


def size(view: View, chosen: Selection) -> tuple[int, int]:
    """(requests of a selection, those of them that never finished)."""
    n, unfinished = marked(view).one(SIZE, chosen.parameters())
    return n, unfinished


def latency(view: View, shown: Sequence[tuple[str, Tone, Selection]]) -> Picture:
    """How long the requests of each selection took, one curve for each."""
    sides = [(name, tone, _spread(marked(view).con, chosen)) for name, tone, chosen in shown]
    panels: list[Panel] = []
    rows: list[tuple[Any, ...]] = []
    for what in WHAT:
        curves = []
        for name, tone, (unfinished, by) in sides:
            n, values = by[what]
            if n:
                curves.append(Curve(name, tone, values, GRID))
                told = dict(zip(GRID, values, strict=True))
                rows.append((what, name, n, *(told.get(q) for q in TOLD), unfinished))
        if curves:
            panels.append(Panel(what, "s", "share", tuple(curves), log_x=True))
    if not panels:
        return Picture("latency", None, missing=(Missing("TTFT, queue time or E2E of requests", HOW_TIMES),))
    mine = [row for row in rows if row[0] == rows[0][0]]
    last, first = mine[-1], mine[0]
    figures = (
        ("n", last[2]), ("p50", last[3]), ("p50_before", first[3]), ("p99", last[5]), ("p99_before", first[5]),
        ("side", last[1]), ("what", rows[0][0]),
    )  # fmt: skip
    says = "picture.latency.compared" if len(mine) > 1 else "picture.latency.alone"
    return Picture("latency", Panels(tuple(panels)), figures, COLUMNS, tuple(rows), says=says)


@lru_cache(maxsize=32)
def _spread(con: duckdb.DuckDBPyConnection, chosen: Selection) -> tuple[int, dict[str, tuple[int, tuple[float, ...]]]]:
    """Unfinished requests, and for each time its count and quantiles; kept, for a baseline is drawn at every brush."""
    view = View(con)
    n, unfinished = size(view, chosen)
    if n <= EXACT:
        row = view.one(EXACTLY, {**chosen.parameters(), "grid": list(GRID)})
        return unfinished, {w: (row[2 * k], tuple(row[2 * k + 1] or ())) for k, w in enumerate(WHAT)}
    return unfinished, {w: _from_bins(view.query(BINNED, {**chosen.parameters(), "what": w})) for w in WHAT}


def _from_bins(bins: Sequence[tuple[int, int]]) -> tuple[int, tuple[float, ...]]:
    """Quantiles of `GRID` as the middles of their bins."""
    total = sum(n for _, n in bins)
    values: list[float] = []
    at = 0
    below = bins[0][1] if bins else 0
    for q in GRID if total else ():
        while below < q * total and at + 1 < len(bins):
            at += 1
            below += bins[at][1]
        values.append(2.0 ** ((bins[at][0] + 0.5) / PER_OCTAVE))
    return total, tuple(values)


LISTED: Final = f"""
WITH picked AS (
    SELECT request, level FROM marks WHERE {WITHIN} ORDER BY level DESC NULLS LAST, request LIMIT $most
)
SELECT r.received_ts, r.rid, r.dp_rank, r.routing_key, r.prompt_tokens, r.completion_tokens, r.queue_s, r.ttft_s,
    r.e2e_s, r.state
FROM picked JOIN requests AS r USING (request)
ORDER BY picked.level DESC NULLS LAST, request
"""
LIST_COLUMNS: Final = (
    "received_ts", "rid", "dp_rank", "routing_key", "prompt_tokens", "completion_tokens", "queue_s", "ttft_s", "e2e_s",
    "state",
)  # fmt: skip


def listed(view: View, chosen: Selection, most: int = 50) -> list[tuple[Any, ...]]:
    """The slowest requests of a selection, by `LIST_COLUMNS`."""
    return marked(view).query(LISTED, {**chosen.parameters(), "most": most})


REACH: Final = "SELECT min(ts), max(ts), count(*) FROM marks"
RANKS: Final = (
    "SELECT dp_rank, count(*) FROM marks WHERE dp_rank IS NOT NULL GROUP BY dp_rank ORDER BY dp_rank LIMIT 256"
)
KEYS: Final = """
SELECT routing_key, count(*) AS n FROM requests WHERE routing_key IS NOT NULL
GROUP BY routing_key ORDER BY n DESC, routing_key LIMIT 50
"""


def facets(view: View) -> dict[str, Any]:
    """What can be chosen: the span of time, ranks and the commonest keys with their requests."""
    lo, hi, n = marked(view).one(REACH)
    return {
        "from": lo, "to": hi, "requests": n,
        "ranks": [{"rank": r, "requests": k} for r, k in view.query(RANKS)],
        "keys": [{"key": name, "requests": k} for name, k in view.query(KEYS)],
    }  # fmt: skip
