"""One side's requests as arrays in order of arrival: times, tokens, outcomes, what they are grouped by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.bundle.view import View
from ridgeline.model.diagnosis import Window

Floats = NDArray[np.float64]

# Whose view of a request is used, best first: only one, so that nothing counts twice.
PERSPECTIVES: Final = ("engine", "client", "gateway", "prefill")
PERSPECTIVE: Final = """
SELECT CASE WHEN role IN ('client', 'gateway', 'prefill') THEN role ELSE 'engine' END AS perspective,
    count(*) FILTER (WHERE coalesce(ttft_s, first_token_ts - received_ts, e2e_s, finished_ts - received_ts) IS NOT NULL)
FROM requests WHERE NOT coalesce(probe, false)
GROUP BY perspective
"""
REQUESTS: Final = """
WITH rows AS (
    SELECT *, coalesce(received_ts, dispatched_ts, queued_ts, finished_ts - e2e_s, first_token_ts - ttft_s,
            scheduled_ts, logged_ts - coalesce(e2e_s, 0)) AS came_ts
    FROM requests
    WHERE NOT coalesce(probe, false)
        AND CASE WHEN role IN ('client', 'gateway', 'prefill') THEN role ELSE 'engine' END = $perspective
)
SELECT came_ts::DOUBLE AS came_ts, request, coalesce(client_rid, rid) AS rid,
    coalesce(ttft_s, first_token_ts - received_ts)::DOUBLE AS ttft_s,
    coalesce(queue_s, scheduled_ts - queued_ts)::DOUBLE AS queue_s,
    coalesce(tpot_s, decode_s / nullif(completion_tokens - 1, 0),
        (coalesce(last_token_ts, finished_ts) - first_token_ts) / nullif(completion_tokens - 1, 0))::DOUBLE AS tpot_s,
    coalesce(e2e_s, finished_ts - received_ts)::DOUBLE AS e2e_s,
    prompt_tokens::DOUBLE AS prompt_tokens, completion_tokens::DOUBLE AS completion_tokens,
    cached_tokens::DOUBLE AS cached_tokens, retractions::DOUBLE AS retractions,
    (coalesce(state IN ('rejected', 'error', 'aborted'), false) OR coalesce(finish_reason IN ('abort', 'error'), false)
        OR coalesce(status_code >= 500, false))::INTEGER AS bad,
    coalesce(censored, state IN ('unfinished', 'received'), false)::INTEGER AS open,
    stream::INTEGER::DOUBLE AS stream, routing_key, lora, dp_rank::VARCHAR AS dp_rank,
    greatest(came_ts, finished_ts, last_token_ts, logged_ts)::DOUBLE AS last_ts
FROM rows
WHERE ($since::DOUBLE IS NULL OR came_ts >= $since) AND ($until::DOUBLE IS NULL OR came_ts <= $until)
ORDER BY came_ts NULLS LAST, request
"""
TIMES: Final = ("ttft_s", "queue_s", "tpot_s", "e2e_s")
LABELS: Final = ("routing_key", "lora", "dp_rank")


@dataclass(frozen=True)
class Requests:
    """Columns of equal length in order of arrival; NaN where a source did not say. `ordered`: the times are real."""

    perspective: str
    at: Floats
    columns: dict[str, Floats]
    labels: dict[str, NDArray[np.object_]]
    rids: NDArray[np.object_]
    ordered: bool
    waiting: int  # requests that were not over at the end

    @property
    def n(self) -> int:
        """How many."""
        return int(self.at.size)

    def span_s(self) -> float:
        """From the first arrival to the last."""
        return float(self.at[-1] - self.at[0]) if self.n > 1 and self.ordered else 0.0


def perspectives(view: View) -> dict[str, int]:
    """How many requests with a time each point of view has."""
    return {str(name): int(n) for name, n in view.query(PERSPECTIVE)}


def shared_perspective(views: list[View]) -> str | None:
    """The best point of view that every side has at least ten timed requests of; None without one."""
    counts = [perspectives(view) for view in views]
    for name in PERSPECTIVES:
        if all(count.get(name, 0) >= 10 for count in counts):
            return name
    return next((name for name in PERSPECTIVES if all(count.get(name, 0) > 0 for count in counts)), None)


def requests_of(view: View, perspective: str, window: Window | None) -> Requests:
    """The requests that arrived in the window, as one point of view saw them."""
    table = view.arrow(
        REQUESTS,
        {
            "perspective": perspective,
            "since": window.from_ts if window else None,
            "until": window.to_ts if window else None,
        },
    )
    columns = {
        name: table[name].to_numpy().astype(np.float64)
        for name in (*TIMES, "prompt_tokens", "completion_tokens", "cached_tokens", "retractions", "bad", "open",
                     "stream", "last_ts")
    }  # fmt: skip
    at = table["came_ts"].to_numpy().astype(np.float64)
    ordered = bool(at.size) and not bool(np.any(np.isnan(at)))
    if not ordered:
        at = np.arange(at.size, dtype=np.float64)  # the order of the file stands in for time
    waiting = int(columns["open"].sum()) if at.size else 0
    _still_waiting(at, columns, ordered)
    labels = {name: np.array(table[name].to_pylist(), dtype=object) for name in LABELS}
    rids = np.array(table["rid"].to_pylist(), dtype=object)
    return Requests(perspective, at, columns, labels, rids, ordered, waiting)


def _still_waiting(at: Floats, columns: dict[str, Floats], ordered: bool) -> None:
    """A request that is not over counts with the time it took so far, where that already is among the longest tenth.

    Those that came just before the end say nothing yet and stay out. Where the source tells of a first token only once
    the request is over, a running stream may have had its own long ago: so its TTFT too is taken to be late only where
    whole requests are rarely that long.
    """
    if not ordered or not at.size or not columns["open"].any() or bool(np.all(np.isnan(columns["last_ts"]))):
        return
    end = float(np.nanmax(columns["last_ts"]))
    so_far = end - at
    longest = 0.0
    for name in ("ttft_s", "e2e_s"):
        done = columns[name][~np.isnan(columns[name])]
        longest = max(longest, float(np.quantile(done, 0.9)) if done.size else 0.0)
    for name in ("ttft_s", "e2e_s"):
        values = columns[name]
        late = (columns["open"] > 0) & np.isnan(values) & (so_far > longest)
        values[late] = so_far[late]
