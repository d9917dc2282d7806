"""A view → a bundle on disk: `manifest.json`, `tables/*.parquet`, `sources/` (embedded lines, or whole files)."""

import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import duckdb

from ridgeline import __version__
from ridgeline.bundle.cite import lines_of
from ridgeline.bundle.find import BUNDLE_SCHEMA, MANIFEST
from ridgeline.bundle.place import placed
from ridgeline.bundle.raw import STORED, literal
from ridgeline.bundle.readin import Source
from ridgeline.bundle.redact import (
    install,
    key_id,
    load_key,
    macros,
    redacted_sql,
    uninstall,
    without_prompts,
)
from ridgeline.bundle.view import View
from ridgeline.model.errors import InputError
from ridgeline.model.tables import TABLES
from ridgeline.signals.secrets import scrubbed
from ridgeline.signals.stream import Blob

ORDER: Final[dict[str, str]] = {"sources": "source", "requests": "request", "request_attrs": "source, line, name"}
WIDEST: Final = "records"
FIGURE: Final = re.compile(r"[-+]?(?:\d[\d.]{0,30}(?:e[-+]?\d{1,4})?|Inf|NaN)", re.IGNORECASE)
MOST_SEEN: Final = 200_000  # names with labels whose cleaned form is remembered
PARTED: Final = f"{STORED}, ROW_GROUPS_PER_FILE 8, FILENAME_PATTERN 'part-{{i}}'"
LONG: Final = frozenset(
    ("records", "requests", "request_attrs", "stages", "batches", "samples", "histograms", "events")
)
# Whether rows come in the order they are to be stored in: a sort of wide rows costs more than their writing.
SORTED_SQL: Final = """
    SELECT NOT coalesce(bool_or(request < before), FALSE)
    FROM (SELECT request, lag(request) OVER () AS before FROM requests)
"""


def write_bundle(
    view: View,
    sources: Sequence[Source],
    out: Path,
    *,
    embed: bool = False,
    keep_text: bool = False,
    key_file: Path | None = None,
    force: bool = False,
    parted: bool = False,
) -> dict[str, int]:
    """Write every table that has rows, and the manifest last, in a place of its own, and put it where `out` is at once.

    `embed` copies the sources in (gzip, secrets cut out, prompts only with `keep_text`). `parted`: each table of
    `LONG` is a folder of part files in the order of its rows, for bundles past one machine. Returns rows per table.
    Raises InputError where `out` holds something else, where it is a bundle of sources that are not among these (but
    with `force`), or where it cannot be written.
    """
    key = None if keep_text else load_key(key_file)
    with placed(out, {s.sha256 for s in sources if s.sha256}, force) as folder:
        return _fill(view, sources, folder, key, embed, keep_text, parted)


def _fill(
    view: View,
    sources: Sequence[Source],
    folder: Path,
    key: bytes | None,
    embed: bool,
    keep_text: bool,
    parted: bool,
) -> dict[str, int]:
    tables = folder / "tables"
    tables.mkdir()
    con = view.con.cursor()
    threads = con.execute("SELECT current_setting('threads')").fetchall()[0][0]
    # Two writers of one ordered file wait for each other with all they hold: one alone needs a third of the memory.
    con.execute("SET threads = 1")
    install(con, key)
    try:
        with ThreadPoolExecutor(1) as beside:  # a file each: the widest is written while the others are
            widest = beside.submit(_write_alone, con.cursor(), key, WIDEST, tables, parted)
            counts = {table: _write(con, table, tables, parted) for table in TABLES if table != WIDEST}
            counts[WIDEST] = widest.result()
        rows = {table: counts[table] for table in TABLES if counts[table]}
    except duckdb.IOException as e:
        reason = str(e).splitlines()[0][:200]
        raise InputError(f"the tables of the bundle cannot be written ({reason}); give another folder") from e
    finally:
        uninstall(con)
        con.execute(f"SET threads = {int(threads)}")
    embedded = [_embed(s, folder, keep_text) for s in sources] if embed else [None] * len(sources)
    manifest = {
        "schema": f"{BUNDLE_SCHEMA}1",
        "ridgeline": __version__,
        "text": "kept" if keep_text else "hashed",
        "key_id": key_id(key) if key else None,
        "tables": rows,
        "sources": [_source(s, name) for s, name in zip(sources, embedded, strict=True)],
        "notes": [note.replace(str(Path.home()), "~") for note in view.notes],
    }
    _dump(folder / MANIFEST, manifest)
    return rows


def _write_alone(con: duckdb.DuckDBPyConnection, key: bytes | None, table: str, folder: Path, parted: bool) -> int:
    """`_write` on a connection of its own, whose macros are not there yet."""
    macros(con, key)
    return _write(con, table, folder, parted)


def _write(con: duckdb.DuckDBPyConnection, table: str, folder: Path, parted: bool) -> int:
    count = int(con.execute(f'SELECT count(*) FROM "{table}"').fetchall()[0][0])
    if count:
        stands = table == "requests" and con.execute(SORTED_SQL).fetchall()[0][0]
        order = f" ORDER BY {ORDER[table]}" if table in ORDER and not stands else ""
        select = f'SELECT {redacted_sql(table, list(TABLES[table]))} FROM "{table}"{order}'
        path = folder / f"{table}.parquet"
        parts = parted and table in LONG
        con.execute(f"COPY ({select}) TO {literal(str(path))} ({PARTED if parts else STORED})")
        if parts:
            for part in path.iterdir():  # numbered without zeros: their order by name is to be that of the rows
                part.rename(path / f"part-{int(part.stem.rpartition('-')[2]):05d}.parquet")
    return count


def embed_lines(out: Path, cited: Iterable[tuple[str, Mapping[int, str]]], keep_text: bool = False) -> None:
    """Keep the cited lines (shown path, number → text) of sources in the bundle, cleaned, for `show` elsewhere."""
    for shown, lines in cited:
        kept = {str(n): _clean(text, keep_text) for n, text in sorted(lines.items())}
        path = out / "sources" / (_flat(shown) + ".lines.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        known = json.loads(path.read_bytes()) if path.exists() else {}
        _dump(path, {"path": shown, "lines": {**known.get("lines", {}), **kept}})


def cited_lines(sources: Sequence[Source], cited: Mapping[int, Sequence[int]]) -> list[tuple[str, dict[int, str]]]:
    """Source number → line numbers, read back from the raw files: what `embed_lines` takes."""
    return [(s.blob.shown, lines_of(s.blob, cited[s.reading.source])) for s in sources if s.reading.source in cited]


def _source(source: Source, embedded: str | None) -> dict[str, Any]:
    # The path is the shown one, relative to what the sources have in common: home folders and user names stay out.
    r = source.reading
    return {
        "source": r.source,
        "path": r.path,
        "kind": r.kind,
        "bytes": source.size,
        "sha256": source.sha256,
        "embedded": embedded,
    }


def _embed(source: Source, out: Path, keep_text: bool) -> str | None:
    if source.reading.kind in ("empty", "binary", "dump", "duplicate"):
        return None
    name = f"sources/{source.reading.source:03d}-{_flat(source.blob.shown)}.gz"
    path = out / name
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0, compresslevel=6) as f:
        seen: dict[str, str] = {}
        for _, data in source.blob.chunks(source.reading):
            text = data.decode("utf-8", "surrogateescape")
            many = source.reading.kind == "exposition"
            clean = _clean_samples(text, keep_text, seen) if many else _clean(text, keep_text)
            f.write(clean.encode("utf-8", "surrogateescape"))
    return name


def _clean_samples(text: str, keep_text: bool, seen: dict[str, str]) -> str:
    """The same of a page of metrics, whose lines differ from scrape to scrape in their last figure only."""
    out: list[str] = []
    for line in text.split("\n"):
        head, blank, value = line.rpartition(" ")
        if not FIGURE.fullmatch(value):
            head, blank, value = line, "", ""
        if (kept := seen.get(head)) is None:
            kept = seen[head] = _clean(head, keep_text)
            if len(seen) > MOST_SEEN:
                seen.clear()
        out.append(f"{kept}{blank}{value}")
    return "\n".join(out)


def _clean(text: str, keep_text: bool) -> str:
    clean = scrubbed(text)
    return clean if keep_text else without_prompts(clean)


def _flat(shown: str) -> str:
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in shown)[-120:]


def _dump(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def embedded_blob(folder: Path, shown: str) -> Blob | None:
    """An embedded source of a bundle by its shown path, None where it was not embedded."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    for entry in manifest["sources"]:
        if entry["path"] == shown and entry["embedded"]:
            return Blob(shown, folder / entry["embedded"])
    return None
