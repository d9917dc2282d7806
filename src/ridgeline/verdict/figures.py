"""Every figure that all sides can give, each with the interval of every side and the contrast between them.

Two-sided error over all figures that decide: `ALPHA`, controlled by Holm, so that a false "better" and a false "worse"
each stay below half of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from ridgeline.model.comparison import Change, Estimate, Figure
from ridgeline.model.contrast import Contrast
from ridgeline.verdict.evidence import Evidence
from ridgeline.verdict.rows import QUANTITIES, SHARES, STATISTICS, Paired, Row, share_row, time_rows
from ridgeline.verdict.sections import contrast, forward, holm, paired_spread

ALPHA: Final = 0.02
HARM_ALPHA: Final = 0.05  # INCIDENT against BASELINE: no claim about the fix rests on this alone
MARGIN: Final = 0.1


def figures_of(
    sides: Sequence[Evidence], *, margin: float = MARGIN, alpha: float = ALPHA, asked: Iterable[str] = (),
    paired: bool = False,
) -> tuple[Figure, ...]:  # fmt: skip
    """INCIDENT and AFTER (and BASELINE, third): every figure all of them have, judged together.

    `asked` names further quantiles (`ttft_p95`) beside those that are always given. `paired`: row k of every side is
    the same request, so that what the traffic does to all of them cancels out.
    """
    rows: list[Row] = []
    for quantity in QUANTITIES:
        more = sorted(
            {name.removeprefix(f"{quantity.name}_") for name in asked if name.startswith(f"{quantity.name}_")}
        )
        known = [name for name, _ in STATISTICS]
        wanted = (*STATISTICS, *((name, float(name[1:]) / 100) for name in more if name not in known))
        rows += time_rows(sides, quantity, wanted, margin, paired)
    for share in SHARES:
        row = share_row(sides, share)
        if row is not None:
            rows.append(row)
    return _judged([replace(row, drives=True) if row.name in asked else row for row in rows], alpha)


def _judged(rows: Sequence[Row], alpha: float) -> tuple[Figure, ...]:
    changes = [_contrast(row, 0, 1, alpha) for row in rows]
    adjusted = _adjusted(rows, changes)
    harms = [_contrast(row, 2, 0, HARM_ALPHA) if len(row.estimates) > 2 else None for row in rows]
    harm_p = _adjusted(rows, [h for h in harms if h is not None]) if rows and len(rows[0].estimates) > 2 else []
    out = []
    for i, row in enumerate(rows):
        change = _change(row, changes[i], adjusted[i], alpha)
        incident, after = row.estimates[:2]
        figure = Figure(row.name, row.unit, row.quantity, row.better, row.basis, row.drives, incident, after,
                        changes[i], adjusted[i], change)  # fmt: skip
        harm = harms[i]
        if harm is not None:
            harmed = _change(row, harm, harm_p[i], HARM_ALPHA) == "worse"
            rest = _rest(row, alpha)
            figure = replace(figure, baseline=row.estimates[2], harm=harm, rest=rest, harmed=harmed)
        out.append(figure)
    return tuple(out)


def _contrast(row: Row, a: int, b: int, alpha: float) -> Contrast:
    left, right = row.estimates[a], row.estimates[b]
    paired = None if row.paired is None else spread_of(row.paired, (a, b), left, right)
    return contrast(row.name, left, right, margin=row.margin, margin_abs=row.margin_abs, alpha=alpha,
                    paired=paired)  # fmt: skip


def _rest(row: Row, alpha: float) -> Contrast:
    """AFTER against BASELINE, by how these two hang together in time; request by request where all are the same."""
    if row.paired is not None or len(row.apart) < 2:
        return _contrast(row, 2, 1, alpha)
    after, base = row.apart
    return contrast(row.name, base, after, margin=row.margin, margin_abs=row.margin_abs, alpha=alpha)


def spread_of(paired: Paired, sides: tuple[int, int], left: Estimate, right: Estimate) -> tuple[float, int] | None:
    """(standard error, degrees of freedom) of right - left, request by request; None with too few blocks."""
    whole = forward(right.value, right.scale, right.floor) - forward(left.value, left.scale, left.floor)
    return paired_spread(paired.marks[sides[0]], paired.marks[sides[1]], whole, paired.cut)


def _adjusted(rows: Sequence[Row], contrasts: Sequence[Contrast]) -> list[float | None]:
    """Holm over the figures that may decide, and apart from them over the others."""
    out: list[float | None] = [None] * len(rows)
    for drives in (True, False):
        at = [i for i, row in enumerate(rows) if row.drives is drives]
        for i, p in zip(at, holm([contrasts[i].p_value for i in at]), strict=True):
            out[i] = p
    return out


def _change(row: Row, found: Contrast, p: float | None, alpha: float) -> Change:
    if found.verdict == "different" and p is not None and p < alpha:
        up = (found.difference or 0.0) > 0
        return "better" if up == (row.better == "higher") else "worse"
    return "same" if found.verdict == "same" else "unclear"
