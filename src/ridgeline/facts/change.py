"""Change: a measure in the incident window over the same measure in the baseline window."""

from __future__ import annotations

from ridgeline.bundle.view import View
from ridgeline.facts.make import lacking, restated, rounded
from ridgeline.model.fact import Fact
from ridgeline.words.messages_en import MESSAGES

FEWEST: int = 3  # a measure resting on fewer rows on either side gives no ratio


def change(view: View, of: str, **args: object) -> Fact:
    """`MEASURES[of]` now over then; missing without a baseline, or where either side is missing or 0."""
    from ridgeline.facts import MEASURES

    if view.baseline is None:
        return lacking("a baseline", "--baseline FROM..TO, or evidence that also covers the time before")
    now, then = MEASURES[of](view, **args), MEASURES[of](view.window(view.baseline, None), **args)
    for side, fact in (("incident", now), ("baseline", then)):
        if fact.value is None:
            return lacking(f"{fact.missing[0].signal} in the {side} window", fact.missing[0].how, fact.n)
    if min(now.n, then.n) < FEWEST:
        return lacking(f"more of {of} in both windows", "a longer window", min(now.n, then.n))
    if not then.value:
        value = float("inf") if now.value else 1.0
        return restated(now, value, "ratio", "change.none", of=of, now=rounded(now.value))
    value = now.value / then.value
    # A quantile of a time names its time; a measure with a sentence of its own in the catalogue speaks in its unit.
    name = str(args.get("what", of))
    key = f"change.{name}" if f"change.{name}" in MESSAGES else "change"
    told = {"of": name, "now": rounded(now.value), "then": rounded(then.value)}
    return restated(now, value, "ratio", key, **told, ratio=rounded(value))
