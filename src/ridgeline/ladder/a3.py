"""A3 Which requests: the class that marks the slow ones, and representatives beside their twins."""

from __future__ import annotations

from ridgeline.facts.classes import representatives
from ridgeline.ladder.context import Context, answer
from ridgeline.model.diagnosis import Answer


def rung(context: Context) -> Answer:
    """Search the class; lock representative rids, each beside a normal request of the same shape."""
    best = context.book.ask("slow_class")
    context.representatives.extend(representatives(context.book.view) if best.value is not None else [])
    told = dict(best.statement.figures)
    first = context.representatives[0] if context.representatives else (None, None)
    key = "a3.class" if best.value not in (None, "none") else "a3.none" if told.get("slow") else "a3.calm"
    return answer(
        context,
        "A3",
        key,
        (best,),
        value=best.value,
        lift=told.get("lift"),
        coverage=told.get("coverage"),
        slow=told.get("slow"),
        n=best.n,
        rid=first[0],
        twin=first[1],
    )
