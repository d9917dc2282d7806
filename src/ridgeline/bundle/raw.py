"""What the readers gave, as views `raw_<table>` with every column of the table, over memory or part files."""

import os
import tempfile
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from ridgeline.bundle.spill import Spill
from ridgeline.model.tables import TABLES

SQL_TYPES: Final = {
    "i64": "BIGINT",
    "f64": "DOUBLE",
    "str": "VARCHAR",
    "bool": "BOOLEAN",
    "list<f64>": "DOUBLE[]",
    "list<i64>": "BIGINT[]",
    "list<str>": "VARCHAR[]",
}

MEMORY: Final = "1GB"
# Part files have fewer rows than this: an id is the number of its part times this, and the place of its row.
PART_ROWS: Final = 1_000_000_000

# Ids are all different: a dictionary of them is built, outgrown and thrown away unless it is given up early. The second
# version's encodings of numbers and lengths are smaller and cheaper (a quarter and a tenth).
STORED: Final = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, DICTIONARY_SIZE_LIMIT 1000, PARQUET_VERSION v2"

TEMPORARY_SQL: Final = "SELECT table_name, table_type FROM information_schema.tables WHERE table_catalog = 'temp'"


def connect(folder: Path | None = None, memory: str = MEMORY) -> duckdb.DuckDBPyConnection:
    """An in-memory database that spills into `folder` or the temporary one; two threads, UTC, rows in their order."""
    con = duckdb.connect(":memory:")
    con.execute("SET GLOBAL TimeZone = 'UTC'")
    con.execute("SET threads = 2")
    con.execute("SET enable_progress_bar = false")  # it would write into our output
    con.execute(f"SET memory_limit = {literal(memory)}")
    # without a place of its own it would spill into the user's working folder; it makes and removes the place itself
    spill = folder / "duckdb" if folder is not None else Path(tempfile.gettempdir()) / f"ridgeline-duckdb-{os.getpid()}"
    con.execute(f"SET temp_directory = {literal(str(spill))}")
    return con


def literal(text: str) -> str:
    """An SQL string literal: for the few statements that take no parameters (views, COPY, SET)."""
    return "'" + text.replace("'", "''") + "'"


def parquet(paths: Iterable[Path], numbered: bool = False) -> str:
    """A `read_parquet` call over files in the given order, columns matched by name; with row and file if `numbered`."""
    files = ", ".join(literal(str(path)) for path in paths)
    extra = ", file_row_number = true, filename = true" if numbered else ""
    return f"read_parquet([{files}], union_by_name = true{extra})"


def columns_sql(table: str, present: Iterable[str], cast: bool = False) -> str:
    """The select list that gives every column of `table`, null where `present` lacks it.

    With `cast` each column gets its type, so that a file with others fails here and not in some later statement.
    """
    there = set(present)
    said = {name: f'CAST("{name}" AS {kind}) AS "{name}"' if cast else f'"{name}"' for name, kind in _types(table)}
    return ", ".join(
        said[name] if name in there else f'CAST(NULL AS {kind}) AS "{name}"' for name, kind in _types(table)
    )


def _types(table: str) -> list[tuple[str, str]]:
    return [(name, SQL_TYPES[kind]) for name, kind in TABLES[table].items()]


def expose(con: duckdb.DuckDBPyConnection, spill: Spill, table: str) -> None:
    """Make the view `raw_<table>`; nothing is copied. Over part files any cursor sees it, over memory only `con`."""
    if spill.large:
        con.execute(f"CREATE VIEW raw_{table} AS {parts_sql(con, table, spill.parts(table))}")
        return
    held = spill.memory(table)
    if held is None:
        held = pa.table({name: pa.array([], pa.null()) for name in TABLES[table]})
    con.register(f"held_{table}", held)
    con.execute(
        f"CREATE OR REPLACE TEMP VIEW raw_{table} AS SELECT {columns_sql(table, held.column_names)} FROM held_{table}"
    )


def parts_sql(con: duckdb.DuckDBPyConnection, table: str, paths: Sequence[Path]) -> str:
    """The statement that gives every column of a table from these of its part files; records have an `id` in front."""
    present = con.sql(f"SELECT * FROM {parquet(paths)} LIMIT 0").to_arrow_table().column_names if paths else []
    source = parquet(paths, numbered=table == "records") if paths else "(SELECT 1) WHERE FALSE"
    # An id in reading order: part files are numbered, rows within one too.
    number = f"CAST(right(parse_filename(filename, true), 5) AS BIGINT) * {PART_ROWS} + file_row_number AS id, "
    number = number if paths and table == "records" else "CAST(0 AS BIGINT) AS id, " if table == "records" else ""
    return f"SELECT {number}{columns_sql(table, present)} FROM {source}"


def kept(con: duckdb.DuckDBPyConnection, name: str, select: str, folder: Path | None) -> None:
    """Make `name` a temporary table of what a statement gives; with a folder a view of a file there.

    A table would hold all its rows in memory, or be spilled and fetched whole: a file gives the columns asked for.
    """
    if folder is None:
        con.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {select}")
        return
    path = next(at for n in count() if not (at := folder / f"{name}-{n}.parquet").exists())  # it may be read for this
    con.execute(f"COPY ({select}) TO {literal(str(path))} ({STORED})")
    con.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS FROM {parquet([path])}")


def dropped(con: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    """Drop those of these temporary tables and views that are there."""
    kinds = dict(con.execute(TEMPORARY_SQL).fetchall())
    for name in names:
        if name in kinds:
            con.execute(f"DROP {'VIEW' if kinds[name] == 'VIEW' else 'TABLE'} temp.{name}")
