"""Pictures of an incident as figures: gathered from a view in one pass, drawn elsewhere."""

from __future__ import annotations

from ridgeline.bundle.view import View
from ridgeline.facts.pictures.load import pair, ranks
from ridgeline.facts.pictures.slices import slices
from ridgeline.facts.pictures.times import heat, latency
from ridgeline.facts.pictures.who import classes, prefix, waterfall
from ridgeline.model.chart import Picture
from ridgeline.model.diagnosis import Diagnosis


def marked_ranks(d: Diagnosis) -> tuple[str, ...]:
    """The DP ranks that the first finding names."""
    return next((tuple(values) for key, values in d.findings[0].scope if key == "dp_rank"), ()) if d.findings else ()


def pictures(view: View, d: Diagnosis) -> tuple[Picture, ...]:
    """Every picture of a diagnosed view, in the ladder's order; one that cannot be drawn says what is missing."""
    shown = view.window(d.incident, d.baseline)
    return (
        heat(shown),
        latency(shown),
        ranks(shown, marked_ranks(d)),
        slices(shown),
        classes(shown),
        waterfall(shown, d.representatives),
        pair(shown),
        prefix(shown),
    )
