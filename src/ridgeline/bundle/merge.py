"""`records` → `requests`: per column the first origin that says something, in the declared order; conflicts counted.

Stamps before 1990 or after 2100 and negative durations are impossible: they become null and count as conflicts, as do
statements of two origins that disagree beyond `precedence.AGREE`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import duckdb

from ridgeline.bundle.derive import DERIVED_SQL
from ridgeline.bundle.keys import find_members
from ridgeline.bundle.link import link
from ridgeline.bundle.precedence import AGREE, FINISHING, STAGE_COLUMNS, order_for
from ridgeline.model.tables import REQUEST

EARLIEST_TS: Final = 631152000.0  # 1990-01-01
LATEST_TS: Final = 4102444800.0  # 2100-01-01
# Not merged from records: set from the key, or a bound and no stamp.
KEYED: Final = frozenset(("rid", "parent_rid", "choice", "server", "role", "room", "client_rid"))

STAGES_SQL: Final = """
    CREATE OR REPLACE TEMP TABLE stage_sum AS
    SELECT rid, coalesce(role, '') AS role, {sums}
    FROM stages
    WHERE rid IS NOT NULL AND duration_s >= 0
    GROUP BY ALL
"""

# The client's own ending of a request that the server never finished; abort events of the server's log.
ENDINGS_SQL: Final = """
    CREATE OR REPLACE TEMP TABLE ending AS
    SELECT rid, arg_min(kind, (ts, line)) AS kind, min(ts) AS ts, any_value(text) AS text
    FROM events
    WHERE rid IS NOT NULL
        AND kind IN ('abort', 'client-disconnect', 'request-timeout', 'request-error', 'request-invalid', 'queue-full')
    GROUP BY rid
"""

ATTRS_SQL: Final = """
    SELECT a.* REPLACE (coalesce(a.request, l.request) AS request)
    FROM (SELECT *, row_number() OVER () AS place FROM request_attrs) AS a
    LEFT JOIN (
        SELECT m.source, m.line, m.rid, min(k.request) AS request
        FROM member AS m
        JOIN linked AS k
            ON k.rid = m.rid AND k.part = m.part
            AND k.server IS NOT DISTINCT FROM m.server AND k.role IS NOT DISTINCT FROM m.role
        GROUP BY ALL
    ) AS l ON l.source = a.source AND l.line = a.line AND l.rid IS NOT DISTINCT FROM a.rid
    ORDER BY a.place
"""


def merge(con: duckdb.DuckDBPyConnection, anchors_s: Mapping[str, float]) -> None:
    """Make the table `requests` from `numbered`, `alias`, `stages` and `events`.

    `anchors_s`: server → seconds to add to a time on its monotonic clock.
    """
    origins = find_members(con)
    link(con, origins)
    present = _present(con, origins)
    stage_columns = _stage_sums(con)
    con.execute(ENDINGS_SQL)
    con.execute("CREATE OR REPLACE TEMP TABLE anchor (server VARCHAR, add_s DOUBLE)")
    if anchors_s:
        con.executemany("INSERT INTO anchor VALUES (?, ?)", sorted(anchors_s.items()))
    con.execute(_merged_sql(origins, present, stage_columns))
    con.execute(DERIVED_SQL)


def _present(con: duckdb.DuckDBPyConnection, origins: Sequence[str]) -> dict[str, set[str]]:
    """Origin → the columns it says anything in, so that the merge touches no others."""
    counts = ", ".join(f'count(r."{name}")' for name in REQUEST)
    rows = con.execute(
        f"""
        SELECT o.origin, {counts}
        FROM numbered AS r
        JOIN origin_map AS o
            ON o.kind IS NOT DISTINCT FROM r.kind
            AND o.event IS NOT DISTINCT FROM r.event
            AND o.client IS NOT DISTINCT FROM (r.role = 'client')
        GROUP BY o.origin
        """
    ).fetchall()
    found: dict[str, set[str]] = {o: set() for o in origins}
    for origin, *values in rows:
        found[origin] |= {name for name, n in zip(REQUEST, values, strict=True) if n}
    return found


def _stage_sums(con: duckdb.DuckDBPyConnection) -> list[str]:
    columns = sorted({column for _, _, column in STAGE_COLUMNS})
    sums = []
    for column in columns:
        tests = " OR ".join(
            f"(stage = '{stage}'" + (f" AND role = '{role}')" if role else ")")
            for stage, role, name in STAGE_COLUMNS
            if name == column
        )
        sums.append(f"sum(duration_s) FILTER (WHERE {tests}) AS {column}")
    con.execute(STAGES_SQL.format(sums=", ".join(sums)))
    return columns


def _merged_sql(origins: Sequence[str], present: Mapping[str, set[str]], stage_columns: Sequence[str]) -> str:
    """The wide statement; every identifier comes from `model.tables.REQUEST` or is a number."""
    at = {origin: f"o{k}" for k, origin in enumerate(origins)}
    columns: list[str] = []
    wrong: list[str] = []
    for name, kind in REQUEST.items():
        if name in KEYED:
            continue
        said = {o: f'{at[o]}."{name}"' for o in origins if name in present[o]}
        if name in stage_columns:
            said["stage"] = f'st."{name}"'
        order = order_for(name, said)
        value = f"coalesce({', '.join(said[o] for o in order)})" if order else "NULL"
        if not order:
            columns.append(f'CAST(NULL AS {_SQL[kind]}) AS "{name}"')
        elif name.endswith("_ts") and name != "logged_ts":
            columns.append(f'CASE WHEN {value} BETWEEN {EARLIEST_TS} AND {LATEST_TS} THEN {value} END AS "{name}"')
            wrong.append(f"({value} NOT BETWEEN {EARLIEST_TS} AND {LATEST_TS})")
        elif name.endswith("_s"):
            columns.append(f'CASE WHEN {value} >= 0 THEN {value} END AS "{name}"')
            wrong.append(f"({value} < 0)")
        else:
            columns.append(f'{value} AS "{name}"')
        if name in AGREE and len(said) - ("stage" in said) > 1:
            figures = ", ".join(text for origin, text in said.items() if origin != "stage")
            absolute, share = AGREE[name]
            wrong.append(
                f"(greatest({figures}) - least({figures}) > greatest({absolute}, {share} * greatest({figures})))"
            )
    conflicts = " + ".join(f"coalesce(CAST({test} AS INTEGER), 0)" for test in wrong) or "0"
    kinds = ", ".join(f"CASE WHEN k.id_{i} IS NOT NULL THEN '{_kind(o)}' END" for i, o in enumerate(origins))
    finish = " OR ".join(f"k.id_{i} IS NOT NULL" for i, o in enumerate(origins) if o in FINISHING) or "FALSE"
    arrived = " OR ".join(f"k.id_{i} IS NOT NULL" for i, o in enumerate(origins) if o == "received") or "FALSE"
    joins = "\n".join(f"LEFT JOIN numbered AS o{i} ON o{i}.id = k.id_{i}" for i in range(len(origins)))
    ranked = [at[o] for o in order_for("rid", origins)]
    return f"""
        CREATE OR REPLACE TEMP TABLE merged AS
        SELECT
            k.request,
            CASE WHEN k.rid[1] <> chr(1) THEN k.rid END AS key_rid,
            k.linked_rid, k.linked_parent, k.parent_rid, k.choice, k.server, k.role, k.room, k.client_rid,
            {arrived} AS arrived, k.part, k.several, k.client_id, k.pair_id, k.unpaired, k.first_id,
            {", ".join(columns)},
            an.add_s AS mono_add_s,
            {conflicts} + CAST(k.unpaired AS INTEGER) AS conflicts,
            list_sort(list_distinct(list_filter([{kinds}], lambda x: x IS NOT NULL))) AS kinds,
            {finish} AS finish_said,
            coalesce({", ".join(f"{o}.source" for o in ranked) or "NULL"}) AS source,
            coalesce({", ".join(f"{o}.line" for o in ranked) or "NULL"}) AS line
        FROM linked AS k
        {joins}
        LEFT JOIN anchor AS an ON an.server = k.server
        LEFT JOIN stage_sum AS st ON st.rid = k.rid AND st.role = coalesce(k.role, '') AND k.part = 0
        ORDER BY k.request
    """


def _kind(origin: str) -> str:
    """The kind of source an origin is of: the request log's three records are one kind."""
    return "request-log" if origin in ("received", "openai") else origin.replace("'", "''")


_SQL: Final[dict[str, Any]] = {"i64": "BIGINT", "f64": "DOUBLE", "str": "VARCHAR", "bool": "BOOLEAN"}
