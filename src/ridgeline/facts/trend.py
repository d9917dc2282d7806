"""Now against then where no moment parts the two: the last third of the evidence over its first."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.change import change
from ridgeline.facts.make import lacking, restated
from ridgeline.facts.series import span
from ridgeline.model.diagnosis import Window
from ridgeline.model.fact import Fact

SHORTEST_S: Final = 60.0  # evidence of less than a minute has no early and late part
AGAINST_BEFORE: Final = frozenset({"step_excess", "prefill_excess"})  # ratios to the baseline by themselves


def thirds(view: View) -> View:
    """The view with its last third as the incident and its first as the baseline; as it is where windows are set."""
    reach = span(view) if view.incident is None and view.baseline is None else None
    if reach is None or reach[1] - reach[0] < SHORTEST_S:
        return view
    third = (reach[1] - reach[0]) / 3
    return view.window(Window(reach[1] - third, reach[1]), Window(reach[0], reach[0] + third))


def trend(view: View, of: str, **args: object) -> Fact:
    """`MEASURES[of]` in the incident over the baseline, or late over early where neither is known.

    No onset is needed for it, and none is claimed: it says which way something went over the whole of the evidence.
    """
    from ridgeline.facts import MEASURES

    parted = thirds(view)
    if parted.baseline is None:
        return lacking("a minute of evidence", "a longer stretch of the same source")
    fact = MEASURES[of](parted, **args) if of in AGAINST_BEFORE else change(parted, of, **args)
    return fact if fact.value is None else restated(fact, fact.value, fact.unit, fact.statement.key or of)
