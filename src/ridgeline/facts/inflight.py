"""Prompts computed on the prefill side whose KV has not left it."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, rounded
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

POINTS: Final = 10
MORE: Final = 8.0  # requests by which the queue must have grown, and at least to twice its length

INFLIGHT: Final = """
WITH rows AS (
    SELECT inflight AS length, ntile(3) OVER (PARTITION BY place ORDER BY ts, ord) AS third, place, source, line
    FROM points
    WHERE inflight IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since)
        AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until)
),
places AS (
    SELECT place, count(*) AS n, avg(length) FILTER (WHERE third = 1) AS first,
        avg(length) FILTER (WHERE third = 3) AS last
    FROM rows GROUP BY place
)
SELECT sum(n)::BIGINT AS n, max(n) AS most, arg_max(first, last - first) AS first, arg_max(last, last - first) AS last,
    arg_max(place, last - first) AS place,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM places
"""


def inflight_piles(view: View) -> Fact:
    """Whether the prefill side's inflight queue grows and grows: KV is made faster than it is taken away.

    A side that cannot compute what comes has its queue before the computing, not behind it.
    """
    n, most, first, last, place, cites = ready(view).one(INFLIGHT, bounds(view))
    if not n or most < POINTS:
        return lacking("the inflight queue over time", "the prefill server's log, or its /v1/loads", n or 0)
    value = bool(last >= 2 * first and last - first >= MORE)
    return found(view, value, "", n, cites, first=rounded(first), last=rounded(last), place=place)
