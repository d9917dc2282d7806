"""Views made of rows that a test writes down, through the same steps as rows of readers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ridgeline.bundle.assemble import assemble
from ridgeline.bundle.find import Label
from ridgeline.bundle.open import _view
from ridgeline.bundle.raw import connect
from ridgeline.bundle.readin import Source, renumbered
from ridgeline.bundle.spill import SMALL_BYTES, Spill
from ridgeline.bundle.view import View
from ridgeline.model.tables import TABLES
from ridgeline.signals.rows import ARROW, Reading, Rows
from ridgeline.signals.stream import Blob

Row = Mapping[str, Any]
LIMIT = SMALL_BYTES  # of tests that give none


def source(number: int, path: str, kind: str = "log", **said: Any) -> Source:
    """A source as after reading; `said` are fields of `Reading`."""
    label: Label | None = said.pop("label", None)
    reading = Reading(number, path, kind=kind, lines=1, understood=1, **said)
    return Source(Blob(path, None, b"x\n"), reading, 2, None, label)


def assembled(
    tables: Mapping[str, Sequence[Row]], sources: Sequence[Source] | None = None, limit: int | None = None
) -> View:
    """A view over these rows; one source of kind log where none are given. `limit` 0 goes through part files."""
    spill = Spill(LIMIT if limit is None else limit)
    for table, rows in tables.items():
        # in the order given, a few rows at a time, as readers hand them over
        for at in range(0, len(rows), 3):
            spill.add(renumbered(rows_table(table, rows[at : at + 3]), 1))
    con = connect(spill.folder if spill.large else None)
    given = list(sources or [source(1, "server.log")])
    assemble(con, spill, given)
    return _view(con, spill, ())


def rows_table(table: str, rows: Sequence[Row]) -> Rows:
    """Rows with only the columns they name, as a reader would give them."""
    names = [name for name in TABLES[table] if any(name in row for row in rows)]
    columns = {n: pa.array([row.get(n) for row in rows], ARROW[TABLES[table][n]]) for n in names}
    return Rows(table, pa.table(columns))


def requests(view: View, *columns: str) -> list[tuple[Any, ...]]:
    """These columns of every request, in order."""
    return view.query(f"SELECT {', '.join(columns)} FROM requests ORDER BY request")


def write(folder: Path, name: str, text: str | bytes) -> Path:
    """A file below `folder`."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
