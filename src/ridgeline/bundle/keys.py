"""Which records speak of the same request: narrow tables only, so that a million requests stay small.

`numbered` (id, then the columns of `records`) → `member` (id → request) and `request_key` (one row per request).

- A request is one id on one server in one role; the two sides of a disaggregated pair are two requests.
- An n > 1 request has one record on arrival, whose ids never finish, and finish records under other ids. They are
  tied by `parent_rid` where a reader gives it, else by the arrival's monotonic stamp that all of them carry, else by
  the same arrival time. Each part is a row; `choice` counts them, null for the engine's own prefix fill. The
  arrival's record fills the parts' gaps; it is a row of its own only while parts are missing.
- The same id with n > 1 (vLLM) is a part per statement; with n = 1 it is an attempt per arrival (a retry).
"""

from pathlib import Path
from typing import Final

import duckdb

from ridgeline.bundle.precedence import FINISHING, ORIGINS, origin_of
from ridgeline.bundle.raw import kept

ORIGIN_SQL: Final = "SELECT DISTINCT kind, event, role = 'client' AS client FROM numbered ORDER BY ALL"

ORIGIN_MAP_SQL: Final = """
    CREATE OR REPLACE TEMP TABLE origin_map (
        kind VARCHAR, event VARCHAR, client BOOLEAN, origin VARCHAR, ends BOOLEAN
    )
"""

# `done` is when the statement was made; stamps of whole seconds may lie up to a second later.
MEMBER_SQL: Final = """
    SELECT
        r.id,
        r.source,
        r.line,
        o.origin,
        o.origin IN ('received', 'openai') AS arrival,
        CASE WHEN o.origin = 'client' THEN 'client' ELSE r.role END AS role,
        r.server,
        coalesce(a.known, r.rid, chr(1) || r.id) AS rid,
        r.client_rid,
        r.parent_rid,
        r.choice,
        r.room,
        coalesce(r.n, 1) AS n,
        r.received_mono AS mono,
        CASE WHEN r.received_ts > 631152000 THEN r.received_ts END AS received_ts,
        r.logged_ts,
        coalesce(r.finished_ts, r.logged_ts, r.received_ts) AS done,
        -- this statement tells an outcome: its writer writes at the end, or names one
        o.ends OR coalesce(r.state NOT IN ('received', 'unfinished'), FALSE) AS ended,
        r.completion_tokens = 0 AND r.finish_reason = 'length' AND coalesce(r.n, 1) > 1 AS fill
    FROM numbered AS r
    JOIN origin_map AS o
        ON o.kind IS NOT DISTINCT FROM r.kind
        AND o.event IS NOT DISTINCT FROM r.event
        AND o.client IS NOT DISTINCT FROM (r.role = 'client')
    LEFT JOIN alias AS a ON a.rid = r.rid
    WHERE r.rid IS NOT NULL OR o.origin NOT IN ('openai', 'received', 'span', 'time-stats', 'log')
"""

# A trace's row may not know its server: the one server (of its role) that has the id is meant. Where no row knows one,
# or all do, there is nothing to give.
HOMELESS_SQL: Final = """
    SELECT
        coalesce(bool_or(server IS NULL) AND bool_or(server IS NOT NULL), FALSE)
        OR coalesce(bool_or(role IS NULL) AND bool_or(role IS NOT NULL), FALSE)
    FROM said
    WHERE origin <> 'client'
"""
HOMES_SQL: Final = """
    WITH home AS (
        SELECT rid, role, any_value(server) AS server
        FROM said WHERE server IS NOT NULL AND origin <> 'client'
        GROUP BY rid, role HAVING count(DISTINCT server) = 1
    ),
    place AS (
        SELECT rid, any_value(server) AS server, any_value(role) AS role
        FROM said WHERE server IS NOT NULL AND origin <> 'client'
        GROUP BY rid HAVING count(DISTINCT server) = 1 AND count(DISTINCT role) <= 1
    )
    SELECT s.* REPLACE (
        CASE WHEN s.origin = 'client' THEN s.server ELSE coalesce(s.server, home.server, place.server) END AS server,
        coalesce(s.role, CASE WHEN s.server IS NULL OR s.server = place.server THEN place.role END) AS role
    )
    FROM said AS s
    LEFT JOIN home ON home.rid = s.rid AND home.role = s.role
    LEFT JOIN place ON place.rid = s.rid
"""

BATCHES_SQL: Final = "SELECT count(*) FROM said WHERE n > 1 AND origin <> 'client'"

# What ties the parts of an n > 1 request; the arrival's id names the whole.
TIES_SQL: Final = """
    CREATE OR REPLACE TEMP TABLE tie AS
    WITH mono_at AS (
        -- a trace knows the arrival's wall time only: the request log knows both
        SELECT server, role, round(received_ts, 6) AS at_ts, min(mono) AS mono
        FROM said
        WHERE n > 1 AND mono IS NOT NULL AND received_ts IS NOT NULL
        GROUP BY ALL
    ),
    part AS (
        SELECT
            id, s.server, s.role, rid, arrival, parent_rid,
            coalesce(
                'm' || s.mono,
                'm' || m.mono,
                'p' || parent_rid,
                CASE WHEN arrival THEN 'p' || rid END,
                't' || received_ts
            ) AS tie
        FROM said AS s
        LEFT JOIN mono_at AS m
            ON m.at_ts = round(s.received_ts, 6)
            AND m.server IS NOT DISTINCT FROM s.server AND m.role IS NOT DISTINCT FROM s.role
        WHERE n > 1 AND origin <> 'client'
    ),
    named AS (
        SELECT
            *,
            coalesce(
                min(parent_rid) OVER whole,
                min(rid) FILTER (WHERE arrival) OVER whole,
                min(rid) OVER whole
            ) AS whole_rid,
            min(rid) OVER whole <> max(rid) OVER whole AS others
        FROM part
        WHERE tie IS NOT NULL
        WINDOW whole AS (PARTITION BY server, role, tie)
    )
    SELECT id, whole_rid, others FROM named
"""

TIED_SQL: Final = """
    SELECT s.* REPLACE (coalesce(CASE WHEN t.others THEN t.whole_rid END, s.parent_rid) AS parent_rid)
    FROM said AS s
    LEFT JOIN tie AS t USING (id)
"""

# Statements of the same origin, source and id: parts (n > 1) or attempts.
TWICE_SQL: Final = """
    CREATE OR REPLACE TEMP TABLE twice AS
    SELECT DISTINCT server, role, rid
    FROM (
        SELECT server, role, rid FROM said
        WHERE rid[1] <> chr(1)
        GROUP BY server, role, rid, source, origin HAVING count(*) > 1
    )
"""
PARTS_SQL: Final = """
    CREATE OR REPLACE TEMP TABLE part AS
    WITH mine AS (
        SELECT s.*, max(s.n) OVER (PARTITION BY s.server, s.role, s.rid) AS choices
        FROM said AS s
        JOIN twice AS t
            ON t.rid = s.rid AND t.server IS NOT DISTINCT FROM s.server AND t.role IS NOT DISTINCT FROM s.role
    ),
    anchor AS (
        SELECT *, arrival AND source = min(source) FILTER (WHERE arrival) OVER (PARTITION BY server, role, rid) AS opens
        FROM mine
    ),
    timed AS (
        SELECT
            *,
            row_number() OVER (PARTITION BY server, role, rid, source, origin ORDER BY done, id) - 1 AS nth,
            greatest(
                0,
                sum(CAST(opens AND origin = 'received' AS INTEGER)) OVER (
                    PARTITION BY server, role, rid
                    ORDER BY CASE WHEN done = floor(done) AND NOT arrival THEN done + 0.999 ELSE done END,
                        opens DESC, id
                    ROWS UNBOUNDED PRECEDING
                ) - 1
            ) AS after,
            count(*) FILTER (WHERE opens AND origin = 'received') OVER (PARTITION BY server, role, rid) AS arrivals
        FROM anchor
    )
    SELECT
        id,
        choices > 1 AS several,
        CAST(CASE
            WHEN choices > 1 AND arrival THEN 0
            WHEN choices > 1 THEN least(nth, choices - 1)
            -- one arrival: its end was stated twice; none seen: every statement is a request of its own
            WHEN arrivals = 1 THEN 0
            WHEN arrivals = 0 THEN nth
            ELSE after
        END AS BIGINT) AS part
    FROM timed
"""

# Most input has no such case: then `member` is `said` as it stands.
MEMBERS_SQL: Final = """
    CREATE OR REPLACE TEMP VIEW member AS
    SELECT s.*, coalesce(p.part, 0) AS part, coalesce(p.several, FALSE) AS several
    FROM said AS s
    LEFT JOIN part AS p USING (id)
"""
SINGLE_SQL: Final = "CREATE OR REPLACE TEMP VIEW member AS SELECT *, 0::BIGINT AS part, FALSE AS several FROM said"


def find_members(con: duckdb.DuckDBPyConnection, folder: Path | None) -> list[str]:
    """Make `member` from `numbered` and `alias`; returns the origins that occur, in the order of `ORIGINS`.

    `folder`: where tables as long as the records wait (`raw.kept`).

    Steps that only unusual input needs (ids without a server, n > 1) run only on such input; `find_parts` is another.
    """
    rows = con.execute(ORIGIN_SQL).fetchall()
    named = [(*row, origin_of(row[0], row[1], "client" if row[2] else None)) for row in rows]
    table = [(*row, row[3] in FINISHING) for row in named]
    con.execute(ORIGIN_MAP_SQL)
    if table:
        con.executemany("INSERT INTO origin_map VALUES (?, ?, ?, ?, ?)", table)
    kept(con, "said", MEMBER_SQL, folder)
    if _count(con, HOMELESS_SQL):
        kept(con, "said", HOMES_SQL, folder)
    if _count(con, BATCHES_SQL):
        con.execute(TIES_SQL)
        kept(con, "said", TIED_SQL, folder)
    con.execute(SINGLE_SQL)
    there = {origin for *_, origin in named}
    return [o for o in ORIGINS if o in there] + sorted(there - set(ORIGINS))


def find_parts(con: duckdb.DuckDBPyConnection) -> bool:
    """Make `member` anew where one source says the same of an id twice: parts or attempts. False where none does."""
    con.execute(TWICE_SQL)
    if not _count(con, "SELECT count(*) FROM twice"):
        return False
    con.execute(PARTS_SQL)
    con.execute(MEMBERS_SQL)
    return True


def _count(con: duckdb.DuckDBPyConnection, sql: str) -> int:
    return int(con.execute(sql).fetchall()[0][0])
