"""What would settle an open comparison: the standard error falls with the root of the time that is watched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ridgeline.model.comparison import Estimate, Figure, Needs
from ridgeline.verdict.evidence import Evidence
from ridgeline.verdict.judge import allowed
from ridgeline.verdict.sections import forward

HOPELESS: Final = 50.0  # more than this many times the evidence is no plan
SURE: Final = 3.3  # standard errors that a difference must clear with a few dozen blocks


def needs_of(figures: Sequence[Figure], after: Evidence) -> Needs | None:
    """The least that would decide one of the open figures; None where none is open."""
    felt = [f for f in figures if f.quantity != "errors"] or list(figures)
    options = [found for figure in felt if (found := _of(figure, after)) is not None]
    known = [option for option in options if option.factor is not None]
    if known:
        return min(known, key=lambda option: option.factor or math.inf)
    return options[0] if options else None


def _of(figure: Figure, after: Evidence) -> Needs | None:
    a, b = figure.incident, figure.after
    if a.spread is None or b.spread is None:
        short = a if a.spread is None else b
        name = "INCIDENT" if a.spread is None else "AFTER"
        return Needs(figure.name, None, None, None, f"{figure.name} of {name}: {short.why}")
    distance = _distance(figure, a, b)
    spread = math.hypot(a.spread, b.spread) if figure.slo is None else b.spread
    if distance <= 0 or spread <= 0:
        return Needs(
            figure.name, None, None, None, f"{figure.name} lies at the very limit: more of the same will not settle it"
        )
    factor = max(1.2, (SURE * spread / distance) ** 2)
    if factor > HOPELESS:
        return Needs(figure.name, factor, None, None,
                     f"{figure.name} lies so near the limit that more of the same will not settle it")  # fmt: skip
    if a.most > a.least or b.most > b.least:
        return Needs(figure.name, None, None, None,
                     f"{figure.name} lies within one histogram bucket: request rows would tell (--log-requests or the "
                     "metrics exporter), or finer buckets")  # fmt: skip
    span = after.span()
    seconds = (span[1] - span[0]) * factor if span is not None and span[1] > span[0] else None
    requests = math.ceil(b.n * factor)
    long = f"about {_duration(seconds)} in all" if seconds else f"about {requests} requests"
    return Needs(figure.name, factor, seconds, requests,
                 f"{figure.name}: {long} on either side ({factor:.2g} times as much) would settle it if the difference "
                 "stays what it is")  # fmt: skip


def _distance(figure: Figure, a: Estimate, b: Estimate) -> float:
    """How far AFTER is from the decision, on the scale of the figure."""
    at = forward(b.value, b.scale, b.floor)
    if figure.slo is not None:
        return abs(at - forward(figure.slo, b.scale, b.floor))
    limit = allowed(figure)
    if limit is not None:
        return abs(at - forward(limit, b.scale, b.floor))
    from_incident = abs(at - forward(a.value, a.scale, a.floor))
    margin = abs(forward(a.value + figure.contrast.margin, a.scale, a.floor) - forward(a.value, a.scale, a.floor))
    # Either it clears the margin (a change) or its interval must shrink to fit inside it (no change).
    return max(from_incident, margin - from_incident)


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 120
        else f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )
