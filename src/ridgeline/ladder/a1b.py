"""A1b The regime: waiting, running against its limit, and usage name the side of the table the queue stands on."""

from __future__ import annotations

from typing import Final

from ridgeline.ladder.context import Context, answer
from ridgeline.model.diagnosis import Answer

# Order of the table in DESIGN §1: the first row that holds names the regime.
REGIMES: Final = (
    "fault.hang",
    "queue.running-cap",
    "memory.retraction-storm",
    "memory.pool-misconfigured",
    "memory.saturation",
    "prefill.lora",
    "queue.over-reservation",
    "queue.head-of-line",
    "prefill.grammar",
    "storage.tier-stall",
)


def rung(context: Context) -> Answer:
    """Read the regime table; a cause is named only where its judgement holds."""
    ask = context.book.ask
    pressure, capped = ask("queue_pressure"), ask("at_cap_share")
    usage, slack = ask("usage_when_queued"), ask("slack_share", usage_below=0.9)
    reserve, still = ask("reserve_ratio"), ask("stands_still")
    holding = {j.cause.id for j in context.judged if j.holds}
    named = next((cause for cause in REGIMES if cause in holding), None)
    queued = (pressure.value or 0) >= 0.2
    key = "a1b.named" if named else "a1b.queued" if queued else "a1b.calm"
    told, spare = dict(pressure.statement.figures), dict(slack.statement.figures)
    return answer(
        context,
        "A1b",
        key,
        (pressure, capped, usage, slack, reserve, still),
        context.excluded("queue", "memory"),
        (pressure,) if not named else (),
        regime=named,
        queued=told.get("queued"),
        n=told.get("n"),
        waiting=told.get("waiting"),
        busy=told.get("busy"),
        usage=usage.value,
        capped=capped.value,
        slack=spare.get("hits"),
        slack_of=spare.get("n"),
    )
