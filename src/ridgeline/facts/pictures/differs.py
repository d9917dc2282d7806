"""What differs in a selection: which attributes its requests have more often than all others, lengths held equal."""

from __future__ import annotations

from typing import Final

import numpy as np

from ridgeline.bundle.view import View
from ridgeline.facts.classes import ATTRIBUTES, FEWEST_ROWS, MOST_ROWS, coded
from ridgeline.facts.pictures.marks import WITHIN, Selection, marked
from ridgeline.facts.pictures.who import HOW_CLASSES
from ridgeline.model.chart import Column, Picture, Range, Ranges
from ridgeline.model.fact import Missing
from ridgeline.stats.class_search import search_classes

# All requests with their attributes, thinned evenly, and whether each is in the selection.
ROWS: Final = f"""
WITH total AS (SELECT count(*) AS n FROM marks),
chosen AS (SELECT request FROM marks WHERE {WITHIN})
SELECT r.request IN (SELECT request FROM chosen) AS inside, r.*
FROM requests AS r JOIN marks AS m USING (request), total
WHERE r.request % greatest(1, total.n // $most) = 0
ORDER BY r.request
"""
COLUMNS: Final = (
    Column("class"), Column("requests", "count"), Column("in the selection", "count"),
    Column("share in the selection", "share"), Column("low", "share"), Column("high", "share"), Column("lift", "ratio"),
    Column("of the selection", "share"),
)  # fmt: skip
PLACED: Final = "dp_rank"  # an outcome: where a request ran; told as such


def _told(name: str, value: str) -> str:
    """`stream=true`, but `prompt_tokens > 3154`."""
    return f"{name} {value}" if value.startswith(("<", ">")) else f"{name}={value}"


def differs(view: View, chosen: Selection) -> Picture:
    """Classes that are more common inside the selection than outside; without one the sentence says so."""
    table = marked(view).arrow(ROWS, {**chosen.parameters(), "most": MOST_ROWS})
    inside = np.array(table["inside"].to_pylist(), bool)
    picked = int(inside.sum())
    if len(table) < FEWEST_ROWS or picked == 0:
        return Picture(
            "differs", None, missing=(Missing("thirty requests, some of them in the selection", HOW_CLASSES),)
        )
    if picked == len(table):
        return Picture("differs", None, (("n", len(table)),), says="picture.differs.all")
    columns, names = coded(table, (*ATTRIBUTES, PLACED))
    search = search_classes(inside, columns, strata=columns["prompt_tokens"], exempt=("prompt_tokens",))
    figures = (("n", len(table)), ("picked", picked), ("usual", picked / len(table)))
    if not search.classes:
        return Picture("differs", None, figures, says="picture.differs.none")
    rows, shown = [], []
    for c in search.classes:
        label = " and ".join(_told(name, names[name][code]) for name, code in c.key)
        rows.append((label, c.rows, c.slow, c.share, c.interval.low, c.interval.high, c.lift, c.coverage))
        shown.append(Range(label, "marked", c.share, c.interval.low, c.interval.high))
    told = (*figures, ("name", rows[0][0]), ("share", rows[0][3]), ("hit", rows[0][7]))
    return Picture("differs", Ranges("share", tuple(shown), picked / len(table)), told, COLUMNS, tuple(rows))
