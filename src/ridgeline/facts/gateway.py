"""What the gateway's own counts and lines say of its workers, where no worker of them is scraped."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, rounded
from ridgeline.facts.ranks import LOADED
from ridgeline.model.fact import Fact

PICKS: Final = 20  # selections from which a share says something

IN_FLIGHT: Final = """
WITH rows AS (
    SELECT coalesce(s.labels ->> 'worker', s.labels ->> 'worker_url') AS worker, m.value, m.source, m.line
    FROM samples m JOIN series s USING (series)
    WHERE s.name = 'worker_requests_active'
        AND ($since::DOUBLE IS NULL OR m.ts IS NULL OR m.ts >= $since)
        AND ($until::DOUBLE IS NULL OR m.ts IS NULL OR m.ts <= $until)
),
workers AS (SELECT worker, avg(value) AS load FROM rows WHERE worker IS NOT NULL GROUP BY worker)
SELECT count(*) AS workers, max(load) AS most, sum(load) AS total, arg_max(worker, load) AS worker,
    count(*) FILTER (WHERE load <= 0.1 * (SELECT max(load) FROM workers)) AS idle,
    (SELECT count(*) FROM rows) AS n,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM workers
"""


def gateway_skew(view: View) -> Fact:
    """Share of the gateway's workers with at most a tenth of the busiest one's requests in flight (means)."""
    workers, most, total, worker, idle, n, cites = view.one(IN_FLIGHT, bounds(view))
    if workers < 2:
        return lacking("requests in flight per worker", "the gateway's /metrics (smg_worker_requests_active)", n)
    return found(
        view,
        idle / workers if most >= LOADED else 0.0,
        "share",
        n,
        cites,
        workers=workers,
        idle=idle,
        most=rounded(most),
        total=rounded(total),
        worker=worker,
    )


CHOSEN: Final = """
WITH rows AS (
    SELECT coalesce(attrs ->> 'worker', attrs ->> 'worker_id', peer) AS worker, attrs ->> 'step' = 'score' AS scored,
        try_cast(coalesce(attrs ->> 'cached_blocks', attrs ->> 'cached') AS DOUBLE) AS cached, source, line
    FROM events
    WHERE kind = 'routing' AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
chosen AS (SELECT * FROM rows WHERE worker IS NOT NULL AND NOT coalesce(scored, false)),
counts AS (SELECT worker, count(*) AS n, sum(coalesce(cached, 0)) AS cached FROM chosen GROUP BY worker)
SELECT (SELECT count(*) FROM chosen) AS n, (SELECT count(DISTINCT worker) FROM rows) AS candidates,
    max(n) AS most, arg_max(worker, n) AS worker, arg_max(cached, n) AS cached,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM chosen GROUP BY source)) AS cites
FROM counts
"""


def pick_skew(view: View) -> Fact:
    """Times its even share that the most chosen of several candidates got, where no cached block binds requests to it.

    1.0 where picks are even or where cached blocks account for the choice.
    """
    n, candidates, most, worker, cached, cites = view.one(CHOSEN, bounds(view))
    if n < PICKS or candidates < 2:
        return lacking("the gateway's picks among several workers", "the gateway's log", n)
    share = most / n
    value = 1.0 if cached else share * candidates
    return found(view, value, "times", n, cites, worker=worker, candidates=candidates, share=rounded(share), picks=n)
