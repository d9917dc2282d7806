"""From the readers' rows to the tables of a view: server and role filled in, zones applied, one spelling per rid.

While little was read the tables are made in memory; else they are views over the part files, and nothing is copied.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import duckdb

from ridgeline.bundle.raw import literal
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
SIDES: Final = ("prefill", "decode", "gateway", "client")
ALIASED: Final = frozenset(("stages", "events", "spans", "request_attrs", "prompts"))
MADE: Final = frozenset(("requests", "sources", "clocks"))  # not given by readers


@dataclass(frozen=True)
class Finish:
    """What turns raw rows into final ones: SQL expressions over a row `t`, built from per-source lists."""

    server: Callable[[bool], str]  # does the row have a role → its server
    role: str
    shift_s: str | None  # seconds to add to naive times; None where no source needs any
    aliased: bool


def finish_of(
    count: int, servers: Servers, roles: Mapping[int, str | None], zones: Sequence[Zone], aliased: bool
) -> Finish:
    """The expressions for sources 1..count: server by role of the row, role of the source, zone."""
    numbers = range(1, count + 1)
    anyone = [servers.of.get((n, None)) for n in numbers]
    sides = {side: [servers.of.get((n, side)) for n in numbers] for side in SIDES}
    known = [roles.get(n) or servers.roles.get(servers.of.get((n, None)) or "") for n in numbers]
    add = {z.source: z.add_s for z in zones if z.add_s}

    def server(by_role: bool) -> str:
        plain = _list_sql(anyone)
        differing = [side for side in SIDES if sides[side] != anyone] if by_role else []
        if not differing:
            return plain
        cases = " ".join(f"WHEN '{side}' THEN {_list_sql(sides[side])}" for side in differing)
        return f"CASE t.role {cases} ELSE {plain} END"

    shift = _list_sql([add.get(n, 0.0) for n in numbers]) if add else None
    return Finish(server, _list_sql(known), shift, aliased)


def finish(con: duckdb.DuckDBPyConnection, table: str, how: Finish, large: bool) -> None:
    """Make the final `table` from `raw_<table>`."""
    what = "VIEW" if large else "TABLE"
    con.execute(f'CREATE {what} "{table}" AS {select_sql(table, how)}')


def select_sql(table: str, how: Finish, number: str | None = None, raw: str | None = None) -> str:
    """The statement that gives the final rows of a table from its raw view, behind a `number` where one is wanted.

    `raw`: a statement that gives some of its raw rows, to be taken instead (not of a table whose ids are spelt anew).
    """
    columns = TABLES[table]
    source, order = f"({raw}) AS t" if raw else f"raw_{table} AS t", ""
    alias = how.aliased and table in ALIASED
    if alias:
        # A join may reorder: number the rows as they come, then sort by that number.
        source = f"(SELECT *, row_number() OVER () AS place FROM raw_{table}) AS t LEFT JOIN alias AS a USING (rid)"
        order = " ORDER BY place"
    parts: list[str] = [number] if number else []
    for name in columns:
        if name == "server":
            parts.append(f"coalesce(t.server, {how.server('role' in columns)}) AS server")
        elif name == "role":
            parts.append(f"coalesce(t.role, {how.role}) AS role")
        elif name == "rid" and alias:
            parts.append("coalesce(a.known, t.rid) AS rid")
        elif how.shift_s is not None and name in NAIVE.get(table, ()):
            parts.append(f'{_moved(table, name, how.shift_s)} AS "{name}"')
        else:
            parts.append(f't."{name}"')
    return f"SELECT {', '.join(parts)} FROM {source}{order}"


def _moved(table: str, name: str, shift_s: str) -> str:
    """A naive time put right. In `records` other stamps are epoch already, unless the row's clock says naive."""
    moved = f"t.{name} + {shift_s}"
    if table != "records":
        return moved
    if name != "logged_ts":
        # a stamp equal to the line's own time was read from it
        return f"CASE WHEN t.clock = 'naive' OR t.{name} = t.logged_ts THEN {moved} ELSE t.{name} END"
    # The request log puts its own times right where it can: a row is moved only if that brings it to its stamps.
    known = "coalesce(t.finished_ts, t.response_sent_ts, t.queued_ts, t.received_ts)"
    nearer = f"coalesce(abs({moved} - {known}) < abs(t.logged_ts - {known}), t.kind IS DISTINCT FROM 'request-log')"
    return f"CASE WHEN t.clock = 'naive' OR {nearer} THEN {moved} ELSE t.logged_ts END"


def _list_sql(values: Sequence[Any]) -> str:
    """Values by source number (1-based) as one SQL expression over `t.source`; a constant where all are alike."""
    said = [_value_sql(v) for v in values]
    kind = "DOUBLE" if any(isinstance(v, float) for v in values) else "VARCHAR"
    if len(set(said)) == 1:
        return f"CAST({said[0]} AS {kind})"
    return f"CAST([{', '.join(said)}] AS {kind}[])[t.source]"


def _value_sql(value: Any) -> str:
    if value is None:
        return "NULL"
    return repr(value) if isinstance(value, float) else literal(str(value))
