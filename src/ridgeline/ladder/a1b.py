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
    queued, pressure, capped = ask("queued"), ask("queue_pressure"), ask("at_cap_share")
    usage, slack = ask("usage_when_queued"), ask("slack_share", usage_below=0.9)
    reserve, still = ask("reserve_ratio"), ask("stands_still")
    # What the findings settled on comes first; else the first row of the table that holds.
    holding = [f.cause for f in context.findings] + [c for c in REGIMES if _holds(context, c)]
    named = next((cause for cause in holding if cause in REGIMES), None)
    told, spare = dict(pressure.statement.figures), dict(slack.statement.figures)
    if still.value is True:
        key = "a1b.frozen"
    elif not queued.value or not told.get("queued"):
        key = "a1b.unfelt" if told.get("queued") else "a1b.calm"
    elif (capped.value or 0) >= 0.7 and (usage.value or 0) < 0.9:
        key = "a1b.cap"
    elif (usage.value or 0) >= 0.9:
        key = "a1b.pool"
    else:
        key = "a1b.slack" if (slack.value or 0) >= 0.5 else "a1b.queued"
    return answer(
        context,
        "A1b",
        key,
        (queued, pressure, capped, usage, slack, reserve, still),
        context.excluded("queue", "memory"),
        () if still.value is True else (pressure,),
        named=named,
        queued=told.get("queued"),
        n=told.get("n"),
        waiting=told.get("waiting"),
        busy=told.get("busy"),
        usage=usage.value,
        capped=capped.value,
        slack=spare.get("hits"),
        slack_of=spare.get("n"),
    )


def _holds(context: Context, cause: str) -> bool:
    return any(j.cause.id == cause and j.holds and context.asked.allows(j.cause) for j in context.judged)
