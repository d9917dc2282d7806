"""Queues uneven at each moment though no place's is longer on the whole: herds of requests go to one place in turn."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.facts.points import ready
from ridgeline.facts.ranks import HOW_RANKS, free_places
from ridgeline.model.fact import Fact

MOMENT_S: Final = 5.0
MOMENTS: Final = 10  # with a queue of four or more somewhere
TURNS: Final = 3  # times the longest queue must change its place

HERDS: Final = """
WITH rows AS (
    SELECT place, coalesce(role, '') AS role, floor(ts / $moment) AS moment, avg(waiting) AS waiting,
        any_value(source) AS source, min(line) AS a, max(line) AS b
    FROM lane
    WHERE waiting IS NOT NULL AND ts IS NOT NULL AND coalesce(role, '') <> 'client'
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
    GROUP BY ALL
),
moments AS (
    SELECT moment, max(waiting) AS most, min(waiting) AS least, arg_max(place, waiting) AS place FROM rows
    GROUP BY moment HAVING count(*) >= 2
),
queued AS (SELECT *, lag(place) OVER (ORDER BY moment) AS before FROM moments WHERE most >= 4)
SELECT count(*) AS n, count(*) FILTER (WHERE least <= 0.25 * most) AS uneven,
    count(*) FILTER (WHERE place <> before) AS turns, avg(most) AS most,
    (SELECT count(DISTINCT role) FROM rows) AS roles,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(a) AS a, max(b) AS b FROM rows GROUP BY source)) AS cites
FROM queued
"""


def herds(view: View) -> Fact:
    """Share of the moments with a queue at which one place has at most a quarter of the fullest place's.

    0 where the fullest place is always the same: that is a place of its own, not a herd.
    """
    n, uneven, turns, most, roles, cites = ready(view).one(HERDS, {**bounds(view), "moment": MOMENT_S})
    if n < MOMENTS or roles > 1:
        return lacking("the queues of several ranks or replicas moment by moment", HOW_RANKS, n)
    value = uneven / n if turns >= TURNS else 0.0
    return found(view, value, "share", n, cites, turns=turns, most=rounded(most), uneven=uneven)


def uneven_queues(view: View) -> Fact:
    """The larger of two shares: places without a queue beside one that queues, and moments of uneven queues."""
    whole, moments = free_places(view), herds(view)
    if moments.value is None or (whole.value is not None and whole.value >= moments.value):
        return restated(whole, whole.value, "share", "free_places") if whole.value is not None else whole
    return restated(moments, moments.value, "share", "herds")
