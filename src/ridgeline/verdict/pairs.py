"""Sides that served the same requests (a replay, a simulation, a repeated benchmark): row k is the same request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.verdict.evidence import Evidence
from ridgeline.verdict.requests import Requests

SHARED: Final = 0.9  # of every side's requests must be on all sides
FEWEST: Final = 20


def pair_up(sides: Sequence[Evidence]) -> tuple[list[Evidence], bool]:
    """The sides with their requests aligned, and True; unchanged, and False, where they did not serve the same ones."""
    tables = [side.requests for side in sides]
    known = [table for table in tables if table is not None]
    if len(known) < len(sides) or any(table is known[0] for table in known[1:]):
        return list(sides), False
    places = [_places(table) for table in known]
    shared = set.intersection(*(set(place) for place in places))
    if len(shared) < FEWEST or any(len(shared) < SHARED * table.n for table in known):
        return list(sides), False
    order = sorted(shared, key=places[0].__getitem__)
    at = known[0].at[[places[0][rid] for rid in order]]
    aligned = [_taken(table, np.array([place[rid] for rid in order]), at)
               for table, place in zip(known, places, strict=True)]  # fmt: skip
    return [replace(side, requests=table) for side, table in zip(sides, aligned, strict=True)], True


def _places(table: Requests) -> dict[Any, int]:
    """Row of each rid that occurs once."""
    seen: dict[Any, int] = {}
    twice: set[Any] = set()
    for row, rid in enumerate(table.rids):
        if rid is not None and (rid in seen or rid in twice):
            twice.add(rid)
        elif rid is not None:
            seen[rid] = row
    return {rid: row for rid, row in seen.items() if rid not in twice}


def _taken(table: Requests, rows: NDArray[np.intp], at: NDArray[np.float64]) -> Requests:
    """Those rows in that order, on the clock of the first side."""
    return replace(
        table,
        at=at,
        columns={name: values[rows] for name, values in table.columns.items()},
        labels={name: values[rows] for name, values in table.labels.items()},
        rids=table.rids[rows],
    )
