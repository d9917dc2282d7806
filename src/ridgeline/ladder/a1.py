"""A1 Global or local: everyone, or some ranks, replicas and keys."""

from __future__ import annotations

from ridgeline.ladder.context import Context, answer
from ridgeline.model.diagnosis import Answer


def rung(context: Context) -> Answer:
    """Hold ranks and replicas beside each other: backlog, arrivals, step time, keys."""
    ask = context.book.ask
    free, skew = ask("free_places"), ask("arrival_skew", by="requests")
    tokens, slow, key = ask("arrival_skew", by="tokens"), ask("slow_rank_ratio"), ask("top_key_share")
    told = dict(free.statement.figures)
    local = (free.value or 0) >= 0.3 or (slow.value or 0) >= 1.4
    return answer(
        context,
        "A1",
        "a1.local" if local else "a1.global",
        (free, skew, tokens, slow, key),
        context.excluded("routing"),
        (free,) if slow.value is None and skew.value is None else (),
        place=told.get("place"),
        most=told.get("most"),
        places=told.get("places"),
        free=told.get("free"),
        skew=skew.value,
    )
