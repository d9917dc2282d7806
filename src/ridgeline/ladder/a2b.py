"""A2b How the stream feels: longest gaps, streams pausing together, the client's view against the engine's."""

from __future__ import annotations

from ridgeline.ladder.context import Context, answer
from ridgeline.model.diagnosis import Answer
from ridgeline.words.catalogue import say


def rung(context: Context) -> Answer:
    """Gaps of streams, trains of prefill batches, coalesced chunks, client minus engine, lag of the generator."""
    ask = context.book.ask
    gaps, train, backlog = ask("stream_gap_ratio"), ask("prefill_train"), ask("backlogged_streams")
    client, lag = ask("client_gap_share"), ask("generator_lag_s")
    figures = {
        "gaps": gaps.value,
        "train": train.value,
        "backlog": backlog.value,
        "client": client.value,
        "lag": lag.value,
    }
    known = [say(f"a2b.{name}", {name: figure}) for name, figure in figures.items() if figure is not None]
    return answer(
        context,
        "A2b",
        "a2b.stream",
        (gaps, train, backlog, client, lag),
        context.excluded("decode", "client"),
        seen="; ".join(known),
    )
