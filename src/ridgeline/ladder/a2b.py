"""A2b How the stream feels: longest gaps, streams pausing together, the client's view against the engine's."""

from __future__ import annotations

from ridgeline.ladder.context import Context, answer
from ridgeline.model.diagnosis import Answer


def rung(context: Context) -> Answer:
    """Gaps of streams, trains of prefill batches, coalesced chunks, client minus engine, lag of the generator."""
    ask = context.book.ask
    gaps, train, backlog = ask("stream_gap_ratio"), ask("prefill_train"), ask("backlogged_streams")
    client, lag = ask("client_gap_share"), ask("generator_lag_s")
    return answer(
        context,
        "A2b",
        "a2b.stream",
        (gaps, train, backlog, client, lag),
        context.excluded("decode", "client"),
        gaps=gaps.value,
        gap_s=dict(gaps.statement.figures).get("typical"),
        train=train.value or None,
        no_train=train.n if train.value == 0 else None,
        backlog=backlog.value,
        client=client.value,
        lag=lag.value,
    )
