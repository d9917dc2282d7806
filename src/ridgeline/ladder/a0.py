"""A0 Frame: the windows, what was seen, and what quantiles cannot see (unfinished, refused, told to end)."""

from __future__ import annotations

from ridgeline.ladder.context import Context, answer
from ridgeline.model.diagnosis import Answer


def rung(context: Context) -> Answer:
    """Count requests by fate and load points; name the windows and changes near the onset."""
    ask = context.book.ask
    points = ask("load_points")
    unfinished = ask("outcome_share", what="unfinished")
    refused, told = ask("refused"), ask("told_aborts")
    errors = ask("server_aborts")
    changes = ask("changes_near_onset")
    figures = dict(points.statement.figures)
    some = {(True, True): "both", (True, False): "points", (False, True): "requests", (False, False): "nothing"}
    seen = some[points.value is not None, unfinished.value is not None]
    return answer(
        context,
        "A0",
        f"a0.{seen}.{context.frame.how}",
        (points, unfinished, refused, told, errors, changes),
        points=points.value,
        span_s=figures.get("span_s"),
        requests=unfinished.n if unfinished.value is not None else None,
        unfinished=dict(unfinished.statement.figures).get("hits"),
        refused=refused.value,
        told=told.value,
        signal=context.frame.signal,
        changes=dict(changes.statement.figures).get("kinds"),
    )
