"""Ids and names out of what leaves the machine: the tables of raw sources as a stored bundle would hold them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ridgeline.bundle.view import View

# What a stored bundle hides in each table is one literal list; only the tables that have such columns are made anew.
KIND: Final = """
SELECT table_type FROM information_schema.tables
WHERE table_name = $table AND table_schema = 'main'
"""


def is_stored(sources: Sequence[str]) -> bool:
    """Whether the arguments are one bundle, which was hidden (or kept on purpose) when it was written."""
    from ridgeline.bundle.find import is_bundle

    return any(is_bundle(Path(s)) for s in sources)


def hide_names(view: View) -> None:
    """Hash ids and names and clean free text in place, with the key and the rules of `ridgeline ingest`.

    Raises InputError where the key cannot be used.
    """
    from ridgeline.bundle.redact import HASHED, TEXT, install, load_key, redacted_sql, uninstall
    from ridgeline.model.tables import TABLES

    con = view.con.cursor()
    install(con, load_key())
    try:
        for table in sorted({*HASHED, *TEXT, "prompts", "request_attrs"}):
            kind = "VIEW" if con.execute(KIND, {"table": table}).fetchall()[0][0] == "VIEW" else "TABLE"
            columns = redacted_sql(table, list(TABLES[table]))
            con.execute(f'CREATE TABLE "{table}_hidden" AS SELECT {columns} FROM "{table}"')
            con.execute(f'DROP {kind} "{table}"')
            con.execute(f'ALTER TABLE "{table}_hidden" RENAME TO "{table}"')
    finally:
        uninstall(con)
