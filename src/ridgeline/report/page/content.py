"""What a page shows, and how its parts belong together: pictures to rungs, rows and queries to evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ridgeline.model.chart import Drawing, Panels, Picture
from ridgeline.model.diagnosis import Diagnosis

# The rung that a picture answers with.
RUNG_OF: Final = {
    "heat": "A0", "latency": "A0", "ranks": "A1", "slices": "A2", "classes": "A3", "waterfall": "A3", "pair": "B3",
    "prefix": "D1", "simulation": "A5", "fidelity": "A5", "before-after": "A5",
}  # fmt: skip
ELSEWHERE: Final = {"B3": "A2", "D1": "A3"}  # where the ladder did not take that branch
MOST_CELLS: Final = 24_000  # of rows behind figures; one more costs about 60 bytes


@dataclass(frozen=True)
class RowSet:
    """Rows behind a figure, shown once: `number` names them; `of` is the first piece of evidence that shows them."""

    number: int
    of: str
    table: str
    n: int
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cites: tuple[str, ...]


@dataclass(frozen=True)
class Proof:
    """What one piece of evidence opens: its statements by number with their parameters, and its rows."""

    queries: tuple[tuple[int, tuple[tuple[str, Any], ...]], ...] = ()
    rows: tuple[RowSet, ...] = ()
    cut: bool = False  # rows were left out for size


@dataclass(frozen=True)
class Page:
    """Everything of one page. `queries` are distinct SQL texts; evidence refers to them by position."""

    diagnosis: Diagnosis
    pictures: tuple[Picture, ...]
    proofs: Mapping[str, Proof] = field(default_factory=dict)
    queries: tuple[str, ...] = ()
    lang: str = "en"


Opened = tuple[
    Sequence[tuple[str, tuple[tuple[str, Any], ...]]],
    Sequence[tuple[str, int, tuple[str, ...], tuple[tuple[Any, ...], ...], tuple[str, ...]]],
]


def page(diagnosis: Diagnosis, pictures: Sequence[Picture], opened: Mapping[str, Opened], lang: str = "en") -> Page:
    """Number the statements, share equal rows, and keep the whole within its size: told evidence comes first."""
    queries: dict[str, int] = {}
    seen: dict[tuple[str, tuple[str, ...]], RowSet] = {}
    proofs: dict[str, Proof] = {}
    left = MOST_CELLS
    for name in in_order(diagnosis):
        asked, found = opened.get(name, ((), ()))
        used = tuple((queries.setdefault(sql, len(queries) + 1), given) for sql, given in asked)
        rows: list[RowSet] = []
        cut = False
        for table, n, columns, cells, cites in found:
            known = seen.get((table, cites))
            if known is None:
                if len(cells) * len(columns) > left:
                    cut = True
                    continue
                left -= len(cells) * len(columns)
                known = RowSet(len(seen) + 1, name, table, n, columns, cells, cites)
                seen[table, cites] = known
            rows.append(known)
        proofs[name] = Proof(used, tuple(rows), cut)
    return Page(diagnosis, tuple(pictures), proofs, tuple(queries), lang)


def told(d: Diagnosis) -> tuple[str, ...]:
    """Ids of the evidence that findings and rungs cite, in their order."""
    ids = [e for f in d.findings for e in f.evidence] + [e for a in d.ladder for e in a.evidence]
    return tuple(dict.fromkeys(ids))


def in_order(d: Diagnosis) -> tuple[str, ...]:
    """All evidence: what is told first, then what only rules out."""
    return tuple(dict.fromkeys([*told(d), *(name for name, _ in d.evidence)]))


def by_rung(d: Diagnosis, pictures: Sequence[Picture]) -> dict[str, list[Picture]]:
    """Rung → its pictures. One that nobody asked for and that has nothing to show is left out."""
    rungs = {a.rung for a in d.ladder if a.state != "not-reached"}
    out: dict[str, list[Picture]] = {}
    for picture in pictures:
        rung = RUNG_OF[picture.name]
        if rung not in rungs and rung != "A5":
            if _empty(picture.drawing):
                continue
            rung = ELSEWHERE.get(rung, rung)
        if rung == "A5" and picture.drawing is None:
            continue
        out.setdefault(rung, []).append(picture)
    return out


def _empty(drawing: Drawing | None) -> bool:
    """Nothing to see: no drawing, or lines that never leave 0."""
    flat = isinstance(drawing, Panels) and not any(y for p in drawing.panels for c in p.curves for y in c.y)
    return drawing is None or flat


def drawn(pictures: Sequence[Picture], name: str) -> Picture | None:
    """The picture of that name."""
    return next((p for p in pictures if p.name == name), None)
