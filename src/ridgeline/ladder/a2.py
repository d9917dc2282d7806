"""A2 Which slice: queue, before the queue, prefill, decode, the way back, and what no stamp explains."""

from __future__ import annotations

from typing import Final

from ridgeline.ladder.context import Context, answer
from ridgeline.model.diagnosis import Answer

PARTS: Final = ("queue", "pre_queue", "prefill", "decode", "return", "unaccounted")


def rung(context: Context) -> Answer:
    """Shares of TTFT and E2E; "before execution" is called queue only for what queue_time covers.

    The slice that most seconds go to is named: shares of two different wholes cannot be held against each other. A
    share above its whole (waits after a retraction count as queue too) is shown as all of it.
    """
    ask = context.book.ask
    shares = {part: ask("slice_share", part=part) for part in PARTS}
    ttft, e2e = ask("seconds", what="ttft_s", q=0.5), ask("seconds", what="e2e_s", q=0.5)
    known = {part: fact for part, fact in shares.items() if fact.value is not None}
    spent = {part: dict(fact.statement.figures).get("spent_s") or 0.0 for part, fact in known.items()}
    whole = known.keys() == {"queue"} and ttft.value is None
    return answer(
        context,
        "A2",
        "a2.queue" if whole else "a2.slices" if known else "a2.times",
        (*shares.values(), ttft, e2e),
        context.excluded("prefill", "frontend"),
        (),
        largest=max(sorted(spent), key=lambda part: spent[part]) if spent else None,
        ttft_s=ttft.value or None,  # an end with no start stamps a request of 0 s: no time at all
        e2e_s=e2e.value or None,
        **{part: None if fact.value is None else min(fact.value, 1.0) for part, fact in shares.items()},
    )
