"""Where prompts that should share part, and what differs there: the first differences of a split's prompts, by kind."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ridgeline.bundle.view import View
from ridgeline.prefix.split import Split
from ridgeline.signals.prompt.kinds import NAMESPACE

SHAPES_SQL: Final = """
SELECT any_value(shape), any_value(neighbour_shape) FROM prompts
WHERE source = $source AND line = $line AND unit = $unit
"""


@dataclass(frozen=True)
class Drift:
    """One kind of first difference. `tokens` (in the split's unit) is what it costs: what is equal again behind it."""

    kind: str
    prompts: int
    tokens: int
    position: int  # median place of the difference
    share: float  # the same as a share of the prompt
    example: tuple[int, int, int]  # source, line, the other's line: the costliest pair


def drifts(split: Split) -> list[Drift]:
    """The kinds of difference among a split's prompts, the costliest first.

    The kind `namespace` is a prompt seen before under another adapter, extra key or salt.
    """
    p, parts = split.prompts, split.parts
    out: list[Drift] = []
    lost = parts.prompt_drift
    if lost is not None:
        for kind in sorted({k for k in p.drift if k}):
            mine = np.array([k == kind for k in p.drift]) & (lost > 0)
            if mine.any():
                out.append(_drift(split, kind, np.flatnonzero(mine), lost, np.maximum(p.common, 0)))
    split_by_key = parts.key_split
    if split_by_key is not None and (split_by_key > 0).any():
        rows = np.flatnonzero(split_by_key > 0)
        out.append(_drift(split, NAMESPACE, rows, split_by_key, np.zeros(p.n, np.int64)))
    return sorted(out, key=lambda d: (-d.tokens, d.kind))


def shapes(view: View, split: Split, drift: Drift) -> tuple[str, str] | None:
    """The example's two prompts at the difference without their content; None where only ids are there."""
    source, line, _ = drift.example
    rows = view.query(SHAPES_SQL, {"source": source, "line": line, "unit": split.prompts.unit})
    return (str(rows[0][0]), str(rows[0][1])) if rows and rows[0][0] is not None else None


def _drift(
    split: Split, kind: str, rows: np.ndarray[tuple[int], np.dtype[np.intp]], lost: np.ndarray, at: np.ndarray
) -> Drift:
    p = split.prompts
    worst = int(rows[np.argmax(lost[rows])])
    other = int(p.neighbour[worst])
    return Drift(
        kind,
        len(rows),
        int(lost[rows].sum()),
        int(np.median(at[rows])),
        float(np.median(at[rows] / np.maximum(p.length[rows], 1))),
        (int(p.source[worst]), int(p.line[worst]), int(p.line[other]) if other >= 0 else -1),
    )
