"""Queue, running and usage over time, per rank, from the lightest source that has them."""

from typing import Any, Final

from ridgeline.bundle.view import View
from ridgeline.model.picture import Strip

BINS: Final = 60

# One row per reading; batch lines know more than scrapes, so they win where both exist (see `strips`).
BATCHES_SQL: Final = """
    SELECT server, dp_rank, ts, running, waiting, usage
    FROM batches
    WHERE ts IS NOT NULL
"""

LOADS_SQL: Final = """
    SELECT server, dp_rank, coalesce(snapshot_ts, ts) AS ts, running, waiting, usage
    FROM loads
    WHERE coalesce(snapshot_ts, ts) IS NOT NULL
"""

SAMPLES_SQL: Final = """
    SELECT
        s.server,
        s.dp_rank,
        p.ts,
        CASE WHEN s.name = 'num_running_reqs' THEN p.value END AS running,
        CASE WHEN s.name = 'num_queue_reqs' THEN p.value END AS waiting,
        CASE WHEN s.name = 'token_usage' THEN p.value END AS usage
    FROM samples AS p
    JOIN series AS s USING (series)
    WHERE s.name IN ('num_running_reqs', 'num_queue_reqs', 'token_usage') AND p.ts IS NOT NULL
"""

# The mean of a bin's readings, per server and rank, in time order.
STRIPS_SQL: Final = """
    WITH reading AS (SELECT * FROM query_table($relation)),
    span AS (SELECT min(ts) AS lo, max(ts) AS hi FROM reading)
    SELECT
        coalesce(server, '') AS server,
        dp_rank,
        least(CAST(floor((ts - lo) / ((hi - lo) / $bins)) AS BIGINT), $bins - 1) AS bin,
        avg(running) AS running,
        avg(waiting) AS waiting,
        avg(usage) AS usage,
        any_value(lo) AS lo,
        any_value(hi) AS hi
    FROM reading, span
    WHERE hi > lo
    GROUP BY ALL
    ORDER BY server, dp_rank NULLS FIRST, bin
"""

UNITS: Final = (("waiting", "requests"), ("running", "requests"), ("usage", "share"))


def strips(view: View, bins: int = BINS, most_ranks: int = 8) -> tuple[Strip, ...]:
    """Strips for waiting, running and usage of up to `most_ranks` ranks; empty where nothing has a time."""
    for sql in (BATCHES_SQL, LOADS_SQL, SAMPLES_SQL):
        rows = _binned(view, sql, bins)
        if rows:
            break
    else:
        return ()
    places = list(dict.fromkeys((server, rank) for server, rank, *_ in rows))[:most_ranks]
    several_servers = len({server for server, _ in places}) > 1
    out: list[Strip] = []
    for at, (name, unit) in enumerate(UNITS):
        column = {"waiting": 4, "running": 3, "usage": 5}[name]
        for server, rank in places:
            values: list[float | None] = [None] * bins
            for row in rows:
                if row[0] == server and row[1] == rank:
                    values[row[2]] = row[column]
            if all(v is None for v in values):
                continue
            where = " ".join(filter(None, (server if several_servers else "", "" if rank is None else f"DP{rank}")))
            cap = 1.0 if at == 2 else None
            out.append(Strip(name, where, unit, rows[0][6], rows[0][7], tuple(values), cap))
    return tuple(out)


def _binned(view: View, sql: str, bins: int) -> list[tuple[Any, ...]]:
    cursor = view.con.cursor()
    cursor.execute("CREATE OR REPLACE TEMP TABLE strip_reading AS " + sql)
    return cursor.execute(STRIPS_SQL, {"relation": "strip_reading", "bins": bins}).fetchall()
