"""The view: a bundle's tables, the incident and baseline windows, and a scope. Every measure asks a view."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import pyarrow as pa

from ridgeline.model.diagnosis import Window
from ridgeline.model.tables import TABLES
from ridgeline.signals.rows import schema


@dataclass(frozen=True)
class View:
    """A DuckDB connection on which every table of `model.tables.TABLES` exists (empty where nothing was read).

    `incident` and `baseline` are None until found or given; `scope` maps a column (dp_rank, server, role,
    routing_key …) to the values looked at.
    """

    con: duckdb.DuckDBPyConnection
    incident: Window | None = None
    baseline: Window | None = None
    scope: tuple[tuple[str, tuple[str, ...]], ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)  # source number → shown path
    kinds: Mapping[int, str] = field(default_factory=dict)  # source number → kind
    notes: tuple[str, ...] = ()  # about arguments that gave no source; what was noted of a source is in `sources`
    keep: object = None  # what must live as long as the view: temporary files

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Rows of one statement; `$name` parameters are bound. A fresh cursor, so that queries may nest."""
        cursor = self.con.cursor()
        return cursor.execute(sql, dict(parameters or {})).fetchall()

    def one(self, sql: str, parameters: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
        """The single row of an aggregate statement."""
        return self.query(sql, parameters)[0]

    def arrow(self, sql: str, parameters: Mapping[str, Any] | None = None) -> pa.Table:
        """The result of one statement as an Arrow table."""
        return self.con.cursor().sql(sql, params=dict(parameters or {})).to_arrow_table()

    def window(self, incident: Window | None, baseline: Window | None) -> "View":
        """The same tables under other windows."""
        return replace(self, incident=incident, baseline=baseline)


def view_of(tables: Mapping[str, pa.Table | Sequence[Mapping[str, Any]]]) -> View:
    """A view over tables in memory (Arrow, or lists of row dicts); missing tables and columns are empty or null."""
    con = duckdb.connect(":memory:")
    con.execute("SET GLOBAL TimeZone = 'UTC'")
    for name in TABLES:
        wanted = schema(name)
        given = tables.get(name)
        if given is None:
            data = wanted.empty_table()
        elif isinstance(given, pa.Table):
            data = pa.table(
                {
                    f.name: given[f.name] if f.name in given.column_names else pa.nulls(len(given), f.type)
                    for f in wanted
                },
                schema=wanted,
            )
        else:
            data = pa.Table.from_pylist([dict(row) for row in given], schema=wanted)
        con.register(f"{name}_arrow", data)
        con.execute(f'CREATE TABLE "{name}" AS SELECT * FROM "{name}_arrow"')
        con.unregister(f"{name}_arrow")
    sources = con.execute("SELECT source, path, kind FROM sources").fetchall()
    return View(con, names={s: p for s, p, _ in sources}, kinds={s: k for s, _, k in sources})
