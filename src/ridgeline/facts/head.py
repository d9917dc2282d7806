"""A queue that nothing is admitted from: nothing runs, the pool is empty, and yet requests wait for long."""

from __future__ import annotations

from typing import Any, Final

from ridgeline.bundle.view import View
from ridgeline.facts.events import event_count
from ridgeline.facts.log_ends import admission_stops
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

STANDS_S: Final = 20.0  # no prefill in so long beside an empty batch: the head is refused each time it is looked at
HOW_IDLE: Final = "/metrics or /v1/loads polled for a minute"

# The figures must move, or be newly taken: those of a scheduler that stands still say nothing of admission.
BLOCKED: Final = """
WITH rows AS (
    SELECT place, ts, ord, waiting, source, line,
        running = 0 AND waiting >= 1 AND coalesce(usage, 1) < 0.5 AS stuck
    FROM points
    WHERE class IN ('scrape', 'loads', 'stats') AND coalesce(role, 'unified') = 'unified' AND ts IS NOT NULL
        AND running IS NOT NULL AND waiting IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
marked AS (SELECT *, count(*) FILTER (WHERE NOT stuck) OVER (PARTITION BY place ORDER BY ts, ord) AS stretch FROM rows),
stretches AS (
    SELECT place, count(*) AS n, max(ts) - min(ts) AS span_s, min(waiting) AS least, max(waiting) AS most,
        count(DISTINCT waiting) AS levels, source, min(line) AS a, max(line) AS b
    FROM marked WHERE stuck GROUP BY place, stretch, source
),
worst AS (SELECT * FROM stretches WHERE n >= 3 AND levels > 1 ORDER BY span_s DESC, place, a LIMIT 1)
SELECT (SELECT count(*) FROM rows) AS n, max(span_s) AS span_s, max(least) AS least, max(most) AS most,
    max(place) AS place, list({'source': source, 'a': a, 'b': b}) AS cites
FROM worst
"""


def head_blocked(view: View) -> Fact:
    """Seconds in which nothing ran in a pool less than half full while the queue went on growing; 0 for none."""
    n, span_s, least, most, place, cites = ready(view).one(BLOCKED, bounds(view))
    if n < 3:
        return lacking("three scrapes or load answers with times", HOW_IDLE, n)
    if span_s is None:
        return found(view, 0.0, "s", n, ())
    told: dict[str, Any] = {"least": rounded(least), "most": rounded(most), "place": place or "the server"}
    return found(view, span_s, "s", n, cites, span_s=rounded(span_s), **told)


def unfittable(view: View) -> Fact:
    """Whether a request that can never be admitted stands in the way, or is refused as too large each time.

    A log that ends with a growing queue beside an emptying batch says that nobody is admitted, and not for how long.
    """
    said = event_count(view, "request-too-large")
    if said.value:
        return restated(said, True, "", said.statement.key or "event_count")
    blocked = head_blocked(view)
    if blocked.value is not None:
        return restated(blocked, bool(blocked.value >= STANDS_S), "", "head_blocked" if blocked.value else "head.none")
    if admission_stops(view).value:
        return lacking("whether the head of the queue can ever be admitted", HOW_IDLE, said.n)
    return said if said.value is None else restated(said, False, "", said.statement.key)
