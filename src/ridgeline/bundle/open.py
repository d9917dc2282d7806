"""What every command opens: raw files or a bundle → a `View`."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo

import duckdb

from ridgeline.bundle.assemble import assemble
from ridgeline.bundle.find import Found, find
from ridgeline.bundle.raw import connect
from ridgeline.bundle.readin import OnProgress, Source, read_all
from ridgeline.bundle.spill import SMALL_BYTES, Spill
from ridgeline.bundle.stored import open_bundle as open_bundle
from ridgeline.bundle.view import View
from ridgeline.model.errors import InputError
from ridgeline.signals.log.clock import LIKELY_YEARS


def open_sources(
    arguments: Sequence[str],
    *,
    tz: tzinfo | None = None,
    year: int | None = None,
    labels: Sequence[str] = (),
    on_progress: OnProgress | None = None,
    on: str | None = None,
) -> View:
    """A view over raw files, folders, globs and `-`, or over one bundle.

    Raises InputError where nothing could be read; a source that could not be read otherwise costs a note in the
    table `sources` and the rest goes on.
    """
    check_year(year)
    found = find(arguments, labels)
    if found.bundle is not None:
        return open_bundle(found.bundle)
    return read_sources(found, tz=tz, year=year, on_progress=on_progress, on=on)[0]


def read_sources(
    found: Found,
    *,
    tz: tzinfo | None = None,
    year: int | None = None,
    hash_all: bool = False,
    on_progress: OnProgress | None = None,
    limit: int = SMALL_BYTES,
    on: str | None = None,
) -> tuple[View, list[Source]]:
    """Read what was found; `limit` is how many bytes of rows may stay in memory before they go to disk;
    `on`: a Ray cluster whose tasks do the reading."""
    check_year(year)
    spill = Spill(limit)
    sources = read_all(found, spill, tz=tz, year=year, hash_all=hash_all, on_progress=on_progress, on=on)
    con = connect(spill.folder if spill.large else None)
    assemble(con, spill, sources)
    return _view(con, spill, found.notes), sources


def check_year(year: int | None) -> None:
    """Raise InputError for a year that no log is of."""
    if year is not None and not LIKELY_YEARS[0] <= year <= LIKELY_YEARS[1]:
        raise InputError(f"--year {year}: is no year of a log; give one such as 2026")


def _view(con: duckdb.DuckDBPyConnection, keep: object, notes: tuple[str, ...]) -> View:
    rows = con.execute("SELECT source, path, kind FROM sources ORDER BY source").fetchall()
    view = View(con, names={s: p for s, p, _ in rows}, kinds={s: k for s, _, k in rows})
    return replace(view, keep=keep, notes=notes)
