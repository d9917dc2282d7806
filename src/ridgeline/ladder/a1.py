"""A1 Global or local: everyone, or some ranks, replicas and keys."""

from __future__ import annotations

from ridgeline.facts.points import alone
from ridgeline.ladder.context import Context, answer
from ridgeline.model.diagnosis import Answer


def rung(context: Context) -> Answer:
    """Hold ranks and replicas beside each other: backlog, arrivals, step time, keys."""
    ask = context.book.ask
    key = ask("top_key_share")
    if alone(context.book.view):
        # One rank on one server has no peers: no further evidence could answer otherwise.
        points = ask("load_points")
        known = (points, key) if key.value is not None else (points,)  # keys it has not would tell nothing here
        return answer(context, "A1", "a1.alone", known, context.excluded("routing"), (points,))
    free, skew = ask("free_places"), ask("arrival_skew", by="requests")
    tokens, slow = ask("arrival_skew", by="tokens"), ask("slow_rank_ratio")
    told, step = dict(free.statement.figures), dict(slow.statement.figures)
    if (free.value or 0) >= 0.3:
        how = "a1.local"
    elif (slow.value or 0) >= 1.4:
        how = "a1.slow-rank"
    else:
        how = "a1.global" if free.value is not None else "a1.arrivals"
    return answer(
        context,
        "A1",
        how,
        (free, skew, tokens, slow, key),
        context.excluded("routing"),
        (free,) if how == "a1.arrivals" and skew.value is None else (),
        place=told.get("place"),
        most=told.get("most"),
        places=told.get("places"),
        free=told.get("free"),
        skew=skew.value,
        slow_place=step.get("place"),
        slow=step.get("slow"),
        usual=step.get("usual"),
    )
