"""A part of the evidence as a view of its own, so that the ladder can be asked about it."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View, view_of
from ridgeline.facts.pictures.marks import WITHIN, Selection, marked
from ridgeline.model.tables import TABLES

OF_REQUESTS: Final = f"SELECT * FROM requests WHERE request IN (SELECT request FROM marks WHERE {WITHIN})"
OF_RANK: Final = "SELECT * FROM query_table($table) WHERE $rank::BIGINT IS NULL OR dp_rank IS NULL OR dp_rank = $rank"
WHOLE: Final = "SELECT * FROM query_table($table)"


def part_of(view: View, chosen: Selection) -> View:
    """Requests of the selection whatever their time, and what each table says of the chosen rank; names stay."""
    timeless = Selection(rank=chosen.rank, key=chosen.key, attribute=chosen.attribute, value=chosen.value)
    tables = {}
    for table, columns in TABLES.items():
        if table == "requests":
            tables[table] = marked(view).arrow(OF_REQUESTS, timeless.parameters())
        elif "dp_rank" in columns:
            tables[table] = view.arrow(OF_RANK, {"table": table, "rank": chosen.rank})
        else:
            tables[table] = view.arrow(WHOLE, {"table": table})
    return view_of(tables)
