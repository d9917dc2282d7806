"""`records` → `requests`: per column the first origin that says something, in the declared order; conflicts counted.

Stamps before 1990 or after 2100 and negative durations are impossible: they become null and count as conflicts, as do
statements of two origins that disagree beyond `precedence.AGREE`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb

from ridgeline.bundle.derive import DERIVED_SQL, FILLED
from ridgeline.bundle.keys import find_members
from ridgeline.bundle.link import link
from ridgeline.bundle.precedence import AGREE, FINISHING, STAGE_COLUMNS, order_for
from ridgeline.bundle.raw import PART_ROWS, STORED, columns_sql, literal, parquet
from ridgeline.model.tables import REQUEST, TABLES

EARLIEST_TS: Final = 631152000.0  # 1990-01-01
LATEST_TS: Final = 4102444800.0  # 2100-01-01
# Not merged from records: set from the key, or a bound and no stamp.
KEYED: Final = frozenset(("rid", "parent_rid", "choice", "server", "role", "room", "client_rid"))

# Requests that are put together at a time where there are many: their records, sorted rows and one row group to be
# written are all that is held.
SLICE: Final = 122_880
SLICE_SQL: Final = "CREATE OR REPLACE TEMP VIEW linked_here AS FROM linked WHERE request BETWEEN {first} AND {last}"
WANTED_SQL: Final = """
    CREATE OR REPLACE TEMP TABLE wanted AS
    SELECT id FROM (SELECT unnest([{ids}]) AS id FROM linked_here) WHERE id IS NOT NULL
"""
PARTS_SQL: Final = f"SELECT DISTINCT id // {PART_ROWS} AS part FROM wanted ORDER BY part"
RECORDS_SQL: Final = "CREATE OR REPLACE TEMP VIEW records_here AS FROM ({near}) WHERE id IN (FROM wanted)"

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
    SELECT rid, arg_min(kind, (ts, line)) AS kind, min(ts) AS ts, arg_min(text, (ts, line)) AS text
    FROM events
    WHERE rid IS NOT NULL
        AND kind IN ('abort', 'client-disconnect', 'request-timeout', 'request-error', 'request-invalid', 'queue-full')
    GROUP BY rid
"""

# What a client's own record adds to the server's row of the request.
CLIENT_SAID_SQL: Final = """
    CREATE OR REPLACE TEMP TABLE client_said AS
    SELECT
        k.first_id,
        r.state,
        r.status_code,
        r.abort_message,
        coalesce(k.client_rid, CASE WHEN k.rid[1] <> chr(1) THEN k.rid END) AS client_rid
    FROM linked AS k
    JOIN numbered AS r ON r.id = k.first_id
    WHERE k.role = 'client' AND k.first_id IN (SELECT client_id FROM linked)
"""
NO_CLIENT_SAID_SQL: Final = """
    CREATE OR REPLACE TEMP TABLE client_said (
        first_id BIGINT, state VARCHAR, status_code BIGINT, abort_message VARCHAR, client_rid VARCHAR
    )
"""

ATTRS_SQL: Final = """
    WITH owner AS (
        SELECT m.source, m.line, m.rid, min(k.request) AS request
        FROM member AS m
        JOIN linked AS k
            ON k.rid = m.rid AND k.part = m.part
            AND k.server IS NOT DISTINCT FROM m.server AND k.role IS NOT DISTINCT FROM m.role
        GROUP BY ALL
    )
    SELECT a.* EXCLUDE (place) REPLACE (coalesce(a.request, o.request) AS request)
    FROM (SELECT *, row_number() OVER () AS place FROM request_attrs_said) AS a
    LEFT JOIN owner AS o ON o.source = a.source AND o.line = a.line AND o.rid IS NOT DISTINCT FROM a.rid
    ORDER BY a.place
"""


Near = Callable[[Sequence[int]], str]  # part numbers → the statement that gives the rows of `numbered` in those parts


def merge(
    con: duckdb.DuckDBPyConnection, anchors_s: Mapping[str, float], out: Path | None, near: Near | None = None
) -> None:
    """Make `requests` from `numbered`, `alias`, `stages` and `events`: in memory, or as Parquet files in `out`.

    `anchors_s`: server → seconds to add to a time on its monotonic clock. `near`, with `out`: reads some parts only.
    """
    origins = find_members(con, out)
    link(con, origins, out)
    present = _present(con, origins)
    stage_columns = _stage_sums(con)
    con.execute(ENDINGS_SQL)
    con.execute(CLIENT_SAID_SQL if "client" in origins else NO_CLIENT_SAID_SQL)
    con.execute("CREATE OR REPLACE TEMP TABLE anchor (server VARCHAR, add_s DOUBLE)")
    if anchors_s:
        con.executemany("INSERT INTO anchor VALUES (?, ?)", sorted(anchors_s.items()))
    select = DERIVED_SQL.format(merged=_merged_sql(con, origins, present, stage_columns))
    if out is None or near is None:
        con.execute("CREATE OR REPLACE TEMP VIEW linked_here AS FROM linked")
        con.execute("CREATE OR REPLACE TEMP VIEW records_here AS FROM numbered")
        con.execute(f"CREATE TABLE requests AS {select}")
    else:
        # most columns are null in most input: they need not be sorted and written to be so
        said = FILLED.union(KEYED, stage_columns, *present.values())
        columns = [name for name in TABLES["requests"] if name in said or name not in REQUEST]
        names = ", ".join(f'"{name}"' for name in columns)
        files: list[Path] = []
        for at, _ in enumerate(_slices(con, len(origins), near)):
            files.append(out / f"requests-{at:05d}.parquet")
            con.execute(f"COPY (SELECT {names} FROM ({select})) TO {literal(str(files[-1]))} ({STORED})")
        con.execute(f"CREATE VIEW requests AS SELECT {columns_sql('requests', columns)} FROM {parquet(files)}")


def _slices(con: duckdb.DuckDBPyConnection, origins: int, near: Near) -> Iterator[None]:
    """For `SLICE` requests at a time `linked_here`, and `records_here`: their records, from the parts they are in."""
    total = int(con.execute("SELECT count(*) FROM linked").fetchall()[0][0])
    wanted = WANTED_SQL.format(ids=", ".join(f"id_{k}" for k in range(origins)))
    for first in range(1, max(total, 1) + 1, SLICE):
        con.execute(SLICE_SQL.format(first=first, last=first + SLICE - 1))
        con.execute(wanted)
        parts = [part for (part,) in con.execute(PARTS_SQL).fetchall()]
        con.execute(RECORDS_SQL.format(near=near(parts)))
        yield


def attach_attributes(con: duckdb.DuckDBPyConnection, out: Path | None) -> None:
    """Make `request_attrs` from `request_attrs_said`, each with the number of its request: in memory, or in `out`."""
    if out is None:
        con.execute(f"CREATE TABLE request_attrs AS {ATTRS_SQL}")
        return
    path = out / "attributed.parquet"
    con.execute(f"COPY ({ATTRS_SQL}) TO {literal(str(path))} ({STORED})")
    con.execute(f"CREATE VIEW request_attrs AS FROM {parquet([path])}")


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
        # sorted: a sum of fractions depends on its order, and threads come as they come
        sums.append(f"list_sum(list_sort(list(duration_s) FILTER (WHERE {tests}))) AS {column}")
    con.execute(STAGES_SQL.format(sums=", ".join(sums)))
    return columns


def _merged_sql(
    con: duckdb.DuckDBPyConnection,
    origins: Sequence[str],
    present: Mapping[str, set[str]],
    stage_columns: Sequence[str],
) -> str:
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
    joins = "\n".join(
        f"LEFT JOIN ({_said_sql(con, origin, present[origin])}) AS o{i} ON o{i}.id = k.id_{i}"
        for i, origin in enumerate(origins)
    )
    ranked = [at[o] for o in order_for("rid", origins)]
    return f"""
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
        FROM linked_here AS k
        {joins}
        LEFT JOIN anchor AS an ON an.server = k.server
        LEFT JOIN (FROM stage_sum WHERE rid IN (SELECT rid FROM linked_here)) AS st
            ON st.rid = k.rid AND st.role = coalesce(k.role, '') AND k.part = 0
    """


def _said_sql(con: duckdb.DuckDBPyConnection, origin: str, columns: set[str]) -> str:
    """The records of one origin, only the columns it says anything in."""
    rows = con.execute("SELECT kind, event, client FROM origin_map WHERE origin = $o ORDER BY ALL", {"o": origin})
    tests = [
        f"(kind IS NOT DISTINCT FROM {_same(kind)} AND event IS NOT DISTINCT FROM {_same(event)}"
        f" AND (role = 'client') IS NOT DISTINCT FROM {_same(client)})"
        for kind, event, client in rows.fetchall()
    ]
    wanted = ", ".join(f'"{name}"' for name in ("source", "line", *sorted(columns)))
    return f"SELECT id, {wanted} FROM records_here WHERE {' OR '.join(tests)}"


def _same(value: str | bool | None) -> str:
    return "NULL" if value is None else str(value).upper() if isinstance(value, bool) else literal(value)


def _kind(origin: str) -> str:
    """The kind of source an origin is of: the request log's three records are one kind."""
    return "request-log" if origin in ("received", "openai") else origin.replace("'", "''")


_SQL: Final[dict[str, Any]] = {"i64": "BIGINT", "f64": "DOUBLE", "str": "VARCHAR", "bool": "BOOLEAN"}
