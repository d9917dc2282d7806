"""Tables as CSV or Parquet: one file for one table, a folder for all that have rows."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from ridgeline.bundle.raw import literal
from ridgeline.bundle.view import View
from ridgeline.model.errors import InputError
from ridgeline.model.tables import TABLES

COUNT: Final = "SELECT count(*) FROM query_table($table)"
OPTIONS: Final = {"csv": "FORMAT csv, HEADER true", "parquet": "FORMAT parquet, COMPRESSION zstd"}
Kind = Literal["csv", "parquet"]


def write(view: View, kind: Kind, out: Path, table: str | None) -> list[tuple[Path, int]]:
    """(file, rows) written. Raises InputError for an unknown table."""
    if table is not None and table not in TABLES:
        raise InputError(f"--table {table}: give one of {', '.join(TABLES)}")
    if table is not None or out.suffix:
        return [_write(view, kind, out, table or "requests")]
    filled = [name for name in TABLES if view.one(COUNT, {"table": name})[0]]
    return [_write(view, kind, out / f"{name}.{kind}", name) for name in filled]


def _write(view: View, kind: Kind, path: Path, table: str) -> tuple[Path, int]:
    path.parent.mkdir(parents=True, exist_ok=True)
    # COPY takes no bound parameters: the table is one of our own list and the path is quoted.
    statement = f'COPY (SELECT * FROM "{table}" ORDER BY ALL) TO {literal(str(path))} ({OPTIONS[kind]})'
    rows = view.con.cursor().execute(statement).fetchall()
    return path, int(rows[0][0])
