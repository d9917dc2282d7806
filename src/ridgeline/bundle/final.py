"""From the readers' rows to the tables of a view: server and role filled in, zones applied, one spelling per rid."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import duckdb

from ridgeline.bundle.raw import literal, parquet
from ridgeline.bundle.servers import Servers
from ridgeline.bundle.zones import Zone
from ridgeline.model.tables import TABLES

# Columns that log readers fill with naive times, per table; all other times are epoch in the source itself.
NAIVE: Final[dict[str, tuple[str, ...]]] = {
    "batches": ("ts",),
    "events": ("ts",),
    "config": ("ts",),
    "servers": ("boot_ts",),
    "records": tuple(name for name in TABLES["records"] if name.endswith("_ts")),
}
ALIASED: Final = frozenset(("stages", "events", "spans", "request_attrs", "prompts"))
SIDES: Final = (None, "prefill", "decode", "gateway", "client")
MADE: Final = frozenset(("requests", "sources", "clocks"))  # not given by readers

# `getvariable` lists are indexed by source number (1-based), so no join disturbs the order of rows.
MACROS: Final = (
    """
    CREATE OR REPLACE TEMP MACRO server_of(source, role) AS CASE role
        WHEN 'prefill' THEN getvariable('server_prefill')[source]
        WHEN 'decode' THEN getvariable('server_decode')[source]
        WHEN 'gateway' THEN getvariable('server_gateway')[source]
        WHEN 'client' THEN getvariable('server_client')[source]
        ELSE getvariable('server_any')[source]
    END
    """,
    "CREATE OR REPLACE TEMP MACRO role_of(source) AS getvariable('role_any')[source]",
    "CREATE OR REPLACE TEMP MACRO shifted(ts, source) AS ts + getvariable('shift_s')[source]",
)


def prepare(
    con: duckdb.DuckDBPyConnection, count: int, servers: Servers, roles: Mapping[int, str | None], zones: Sequence[Zone]
) -> None:
    """Set what the macros look up: per source (1..count) its server by role of the row, its role, its zone."""
    numbers = range(1, count + 1)
    for side in SIDES:
        values = [servers.of.get((n, side)) for n in numbers]
        con.execute(f"SET VARIABLE server_{side or 'any'} = $values::VARCHAR[]", {"values": values})
    known = [roles.get(n) or servers.roles.get(servers.of.get((n, None)) or "") for n in numbers]
    con.execute("SET VARIABLE role_any = $values::VARCHAR[]", {"values": known})
    by_source = {z.source: z.add_s for z in zones}
    con.execute("SET VARIABLE shift_s = $values::DOUBLE[]", {"values": [by_source.get(n, 0.0) for n in numbers]})
    for macro in MACROS:
        con.execute(macro)


def finish(con: duckdb.DuckDBPyConnection, table: str, shift: bool, aliased: bool, out: Path | None) -> None:
    """Make the final `table`: in memory, or as `out/<table>.parquet` with a view on it."""
    select = select_sql(table, shift, aliased)
    if out is None:
        con.execute(f'CREATE OR REPLACE TABLE "{table}" AS {select}')
    else:
        store(con, table, select, out)


def select_sql(table: str, shift: bool, aliased: bool) -> str:
    """The statement that gives the final rows of a table from its raw view."""
    columns = TABLES[table]
    source = f"raw_{table} AS t"
    if aliased and table in ALIASED:
        # A join may reorder: number the rows as they come, then sort by that number.
        source = f"(SELECT *, row_number() OVER () AS place FROM raw_{table}) AS t LEFT JOIN alias AS a USING (rid)"
    parts: list[str] = []
    for name in columns:
        if name == "server":
            role = "t.role" if "role" in columns else "NULL"
            parts.append(f"coalesce(t.server, server_of(t.source, {role})) AS server")
        elif name == "role":
            parts.append("coalesce(t.role, role_of(t.source)) AS role")
        elif name == "rid" and aliased and table in ALIASED:
            parts.append("coalesce(a.known, t.rid) AS rid")
        elif shift and name in NAIVE.get(table, ()):
            parts.append(f'{_moved(table, name)} AS "{name}"')
        else:
            parts.append(f't."{name}"')
    order = " ORDER BY place" if aliased and table in ALIASED else ""
    return f"SELECT {', '.join(parts)} FROM {source}{order}"


def _moved(table: str, name: str) -> str:
    """A naive time put right. In `records` other stamps are epoch already, unless the row's clock says naive."""
    moved = f"shifted(t.{name}, t.source)"
    if table != "records":
        return moved
    if name != "logged_ts":
        # a stamp equal to the line's own time was read from it
        return f"CASE WHEN t.clock = 'naive' OR t.{name} = t.logged_ts THEN {moved} ELSE t.{name} END"
    # The request log puts its own times right where it can: a row is moved only if that brings it to its stamps.
    known = "coalesce(t.finished_ts, t.response_sent_ts, t.queued_ts, t.received_ts)"
    nearer = f"coalesce(abs({moved} - {known}) < abs(t.logged_ts - {known}), t.kind IS DISTINCT FROM 'request-log')"
    return f"CASE WHEN t.clock = 'naive' OR {nearer} THEN {moved} ELSE t.logged_ts END"


def store(con: duckdb.DuckDBPyConnection, table: str, select: str, out: Path) -> None:
    """Write the rows of `select` to `out/<table>.parquet` and make the view `table` over it."""
    path = out / f"{table}.parquet"
    con.execute(f"COPY ({select}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)")
    con.execute(f'DROP VIEW IF EXISTS "{table}"')
    con.execute(f'CREATE VIEW "{table}" AS SELECT * FROM {parquet([path])}')
