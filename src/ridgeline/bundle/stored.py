"""A stored bundle → a view. Tables that are lost are said, and no check may take their silence for health."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import duckdb

from ridgeline.bundle.find import BUNDLE_SCHEMA, MANIFEST
from ridgeline.bundle.raw import SQL_TYPES, columns_sql, connect, parquet
from ridgeline.bundle.view import View
from ridgeline.model.errors import InputError
from ridgeline.model.tables import TABLES

# What a lost table may not leave standing: a log whose events are gone was not watched for them.
PART_LOST: Final = "log, events lost"
SOURCES_SQL: Final = """
    CREATE TABLE sources_whole AS
    SELECT * REPLACE (CASE WHEN $unwatched AND kind IN ('log', 'text') THEN $lost ELSE kind END AS kind) FROM "sources"
"""
LOST_SOURCE_SQL: Final = """
    INSERT INTO sources_whole BY NAME
    SELECT $source AS source, $path AS path, 'lost table' AS kind, 'low' AS confidence, 1 AS lines, 0 AS blank,
        0 AS rows, 1 AS unparsed, 1 AS unparsed_errors, 'wall' AS clock, [$note] AS notes
"""
LOST_UNREAD_SQL: Final = """
    INSERT INTO unread_whole BY NAME
    SELECT $source AS source, 1 AS line, $note AS text, 'error' AS severity, 'a table of the bundle is lost' AS template
"""


def open_bundle(folder: Path) -> View:
    """A view over a stored bundle.

    A table that is missing or damaged costs a row of `sources` and an error line of `unread`; the rest is used. Raises
    InputError where the manifest is damaged, of another schema, or where no table can be read.
    """
    manifest = _manifest(folder)
    counts = _counts(manifest)
    con = connect()
    lost = {table: why for table in TABLES if (why := _expose(con, folder, table, counts.get(table)))}
    if "sources" in lost:
        _sources_again(con, manifest)
    if lost and not any(counts.get(table) and table not in lost for table in TABLES if table != "sources"):
        why = "; ".join(f"tables/{table}.parquet {reason}" for table, reason in lost.items())
        raise InputError(f"{folder}: no table of this bundle can be read ({why}); ingest the sources again")
    if lost:
        _tell(con, folder, lost)
    rows = con.execute("SELECT source, path, kind FROM sources ORDER BY source").fetchall()
    names, kinds = {s: p for s, p, _ in rows}, {s: k for s, _, k in rows}
    return View(con, names=names, kinds=kinds, notes=tuple(str(note) for note in manifest.get("notes") or ()))


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
    except FileNotFoundError as e:
        raise InputError(f"{folder}: has the tables of a bundle and no {MANIFEST}; ingest the sources again") from e
    except (OSError, ValueError, RecursionError) as e:
        raise InputError(f"{folder}: damaged {MANIFEST} of a bundle ({e}); ingest the sources again") from e
    if not isinstance(manifest, dict) or not isinstance(manifest.get("schema"), str):
        raise InputError(f"{folder}: damaged {MANIFEST} of a bundle (it names no schema); ingest the sources again")
    if manifest["schema"] != f"{BUNDLE_SCHEMA}1":
        raise InputError(f"{folder}: is a bundle of schema {manifest['schema']}; this version reads {BUNDLE_SCHEMA}1")
    return manifest


def _counts(manifest: Mapping[str, Any]) -> dict[str, int]:
    """Rows per table as the manifest has them; tables without rows are not in it."""
    said = manifest.get("tables")
    return {t: n for t, n in said.items() if isinstance(n, int)} if isinstance(said, dict) else {}


def _expose(con: duckdb.DuckDBPyConnection, folder: Path, table: str, rows: int | None) -> str | None:
    """Make one table of the view; what is wrong with its file, None where nothing is."""
    path = folder / "tables" / f"{table}.parquet"
    why = None
    if path.exists():
        # a table of a bundle made past one machine is a folder of parts, named in the order of their rows
        source = parquet(sorted(path.resolve().glob("*.parquet")) if path.is_dir() else [path.resolve()])
        try:
            present = con.sql(f"SELECT * FROM {source} LIMIT 0").to_arrow_table().column_names
            (found,) = con.execute(f"SELECT count(*) FROM {source}").fetchall()[0]
            con.execute(f'CREATE VIEW "{table}" AS SELECT {columns_sql(table, present, cast=True)} FROM {source}')
        except duckdb.Error as e:
            why = f"is damaged ({str(e).splitlines()[0][:200]})"
        else:
            if rows is None or found == rows:
                return None
            con.execute(f'DROP VIEW "{table}"')
            why = f"holds {found:,} rows where the manifest has {rows:,}"
    elif rows:
        why = f"is missing ({rows:,} rows)"
    empty = ", ".join(f'CAST(NULL AS {SQL_TYPES[t]}) AS "{n}"' for n, t in TABLES[table].items())
    con.execute(f'CREATE TABLE "{table}" AS SELECT {empty} LIMIT 0')
    return why


def _sources_again(con: duckdb.DuckDBPyConnection, manifest: Mapping[str, Any]) -> None:
    """What the manifest says of the sources, where their table is lost."""
    for entry in manifest.get("sources") or ():
        if isinstance(entry, dict) and isinstance(entry.get("source"), int):
            values = [entry["source"], *(str(entry.get(key) or "?") for key in ("path", "kind"))]
            con.execute('INSERT INTO "sources" (source, path, kind) VALUES (?, ?, ?)', values)


def _tell(con: duckdb.DuckDBPyConnection, folder: Path, lost: Mapping[str, str]) -> None:
    con.execute(SOURCES_SQL, {"unwatched": "events" in lost, "lost": PART_LOST})
    con.execute('CREATE TABLE unread_whole AS SELECT * FROM "unread"')
    (first,) = con.execute("SELECT coalesce(max(source), 0) + 1 FROM sources_whole").fetchall()[0]
    for source, (table, why) in enumerate(lost.items(), first):
        path = f"tables/{table}.parquet"
        note = f"{folder.name}/{path}: {why}; nothing that needs it can be told; ingest the sources again"
        con.execute(LOST_SOURCE_SQL, {"source": source, "path": path, "note": note})
        con.execute(LOST_UNREAD_SQL, {"source": source, "note": note})
    for table in ("sources", "unread"):
        kind = con.execute("SELECT table_type FROM information_schema.tables WHERE table_name = ?", [table]).fetchall()
        con.execute(f'DROP {"VIEW" if kind[0][0] == "VIEW" else "TABLE"} "{table}"')
        con.execute(f'ALTER TABLE {table}_whole RENAME TO "{table}"')
