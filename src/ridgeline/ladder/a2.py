"""A2 Which slice: queue, before the queue, prefill, decode, the way back, and what no stamp explains."""

from __future__ import annotations

from typing import Final

from ridgeline.ladder.context import Context, answer
from ridgeline.model.diagnosis import Answer
from ridgeline.words.catalogue import say

PARTS: Final = ("queue", "pre_queue", "prefill", "decode", "return", "unaccounted")
WHOLE: Final = {"decode": "E2E", "return": "E2E", "unaccounted": "E2E"}  # the others are parts of TTFT


def rung(context: Context) -> Answer:
    """Shares of TTFT and E2E; "before execution" is called queue only for what queue_time covers."""
    ask = context.book.ask
    shares = {part: ask("slice_share", part=part) for part in PARTS}
    ttft, e2e = ask("seconds", what="ttft_s", q=0.5), ask("seconds", what="e2e_s", q=0.5)
    known = {part: fact.value for part, fact in shares.items() if fact.value is not None}
    largest = max(sorted(known), key=lambda part: known[part]) if known else None
    return answer(
        context,
        "A2",
        "a2.slices" if largest else "a2.times",
        (*shares.values(), ttft, e2e),
        context.excluded("prefill", "frontend"),
        largest=largest,
        share=known.get(largest) if largest else None,
        parts=", ".join(
            say("a2.part", {"part": part.replace("_", " "), "share": share, "whole": WHOLE.get(part, "TTFT")})
            for part, share in known.items()
        ),
        ttft_s=ttft.value,
        e2e_s=e2e.value,
    )
