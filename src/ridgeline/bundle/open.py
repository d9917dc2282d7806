"""What every command opens: raw files or a bundle → a `View`."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import Any

import duckdb

from ridgeline.bundle.assemble import assemble
from ridgeline.bundle.find import BUNDLE_SCHEMA, MANIFEST, Found, find
from ridgeline.bundle.raw import SQL_TYPES, columns_sql, connect, parquet
from ridgeline.bundle.readin import OnProgress, Source, read_all
from ridgeline.bundle.spill import SMALL_BYTES, Spill
from ridgeline.bundle.view import View
from ridgeline.model.errors import InputError
from ridgeline.model.tables import TABLES


def open_sources(
    arguments: Sequence[str],
    *,
    tz: tzinfo | None = None,
    year: int | None = None,
    labels: Sequence[str] = (),
    on_progress: OnProgress | None = None,
) -> View:
    """A view over raw files, folders, globs and `-`, or over one bundle.

    Raises InputError where nothing could be read; a source that could not be read otherwise costs a note in the
    table `sources` and the rest goes on.
    """
    found = find(arguments, labels)
    if found.bundle is not None:
        return open_bundle(found.bundle)
    return read_sources(found, tz=tz, year=year, on_progress=on_progress)[0]


def read_sources(
    found: Found,
    *,
    tz: tzinfo | None = None,
    year: int | None = None,
    hash_all: bool = False,
    on_progress: OnProgress | None = None,
    limit: int = SMALL_BYTES,
) -> tuple[View, list[Source]]:
    """Read what was found; `limit` is how many bytes of rows may stay in memory before they go to disk."""
    spill = Spill(limit)
    sources = read_all(found, spill, tz=tz, year=year, hash_all=hash_all, on_progress=on_progress)
    con = connect(spill.folder if spill.large else None)
    assemble(con, spill, sources)
    return _view(con, spill, found.notes), sources


def open_bundle(folder: Path) -> View:
    """A view over a stored bundle. Raises InputError where it is of another schema or damaged."""
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError) as e:
        raise InputError(f"{folder}/{MANIFEST}: cannot be read ({e}); ingest the sources again") from e
    if manifest.get("schema") != f"{BUNDLE_SCHEMA}1":
        schema = manifest.get("schema")
        raise InputError(f"{folder}: is a bundle of schema {schema}; this version reads {BUNDLE_SCHEMA}1")
    con = connect()
    for table in TABLES:
        path = folder / "tables" / f"{table}.parquet"
        if not path.exists():
            empty = ", ".join(f'CAST(NULL AS {SQL_TYPES[t]}) AS "{n}"' for n, t in TABLES[table].items())
            con.execute(f'CREATE TABLE "{table}" AS SELECT {empty} LIMIT 0')
            continue
        source = parquet([path.resolve()])
        try:
            present = con.sql(f"SELECT * FROM {source} LIMIT 0").to_arrow_table().column_names
        except duckdb.Error as e:
            raise InputError(f"{path}: is damaged ({str(e).splitlines()[0][:200]}); ingest the sources again") from e
        con.execute(f'CREATE VIEW "{table}" AS SELECT {columns_sql(table, present)} FROM {source}')
    return _view(con, None, tuple(manifest.get("notes", ())))


def _view(con: duckdb.DuckDBPyConnection, keep: object, notes: tuple[str, ...]) -> View:
    rows = con.execute("SELECT source, path, kind FROM sources ORDER BY source").fetchall()
    view = View(con, names={s: p for s, p, _ in rows}, kinds={s: k for s, _, k in rows})
    return replace(view, keep=keep, notes=notes)
