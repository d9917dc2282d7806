"""Ranks and replicas beside each other: backlog, arrivals in requests and tokens, keys, workers that get nothing."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, rounded
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

HOW_RANKS: Final = "/v1/loads, or /metrics and logs of every rank and replica"

# A place must report on its own: one server's log lines of several ranks, scrapes of several pods.
# An idle server writes no batch lines: what it is scraped for says that it has no queue.
BACKLOG: Final = """
WITH rows AS (
    SELECT place, role, waiting, busy, usage, source, line FROM lane
    WHERE waiting IS NOT NULL AND coalesce(role, '') <> 'client'
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
    UNION ALL
    SELECT place, role, waiting, busy, usage, source, line FROM points
    WHERE class = 'scrape' AND waiting IS NOT NULL AND coalesce(role, '') <> 'client'
        AND server NOT IN (SELECT server FROM lane WHERE server IS NOT NULL)
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
places AS (
    SELECT place, any_value(coalesce(role, '')) AS role, count(*) AS n, avg(waiting) AS waiting, avg(busy) AS busy,
        avg(usage) AS usage, quantile_cont(waiting, 0.9) AS often FROM rows GROUP BY place
)
SELECT count(*) AS places, sum(n)::BIGINT AS n, max(waiting) AS most, sum(waiting) AS total, arg_max(place,
    waiting) AS place,
    arg_max(busy, waiting) AS busy, arg_max(usage, waiting) AS usage, arg_max(often, waiting) AS often,
    count(*) FILTER (WHERE waiting <= 0.1 * (SELECT max(waiting) FROM places)) AS free,
    count(*) FILTER (WHERE coalesce(busy, 0) + waiting = 0) AS idle, count(DISTINCT role) AS roles,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM places
"""


def free_places(view: View) -> Fact:
    """Share of ranks or replicas without a queue worth the name while one of them queues at least two requests.

    One that comes and goes counts as well: one on average, and four or more a tenth of the time.
    """
    places, n, most, total, place, busy, usage, often, free, idle, roles, cites = ready(view).one(BACKLOG, bounds(view))
    if places < 2 or roles > 1:
        return lacking("the queue of each rank or replica", HOW_RANKS, n or 0)
    value = free / places if most >= 2 or (most >= 1 and often >= 4) else 0.0
    return found(
        view,
        value,
        "share",
        n,
        cites,
        places=places,
        free=free,
        idle=idle,
        most=rounded(most),
        total=rounded(total),
        place=place,
        busy=rounded(busy),
        usage=rounded(usage),
    )


LOADED: Final = 8.0  # requests at the busiest place from which an idle one beside it means something
LOADS: Final = """
WITH rows AS (
    SELECT place, coalesce(role, '') AS role, coalesce(busy, running) + waiting AS load, source, line FROM points
    WHERE class IN ('scrape', 'loads', 'stats') AND waiting IS NOT NULL AND coalesce(busy, running) IS NOT NULL
        AND coalesce(role, '') <> 'client'
        AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since)
        AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until)
),
places AS (SELECT place, any_value(role) AS role, avg(load) AS load FROM rows GROUP BY place)
SELECT count(*) AS places, count(DISTINCT role) AS roles, max(load) AS most, arg_max(place, load) AS place,
    count(*) FILTER (WHERE load <= 0.1 * (SELECT max(load) FROM places)) AS idle, (SELECT count(*) FROM rows) AS n,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM places
"""


def idle_places(view: View) -> Fact:
    """Share of ranks or replicas with at most a tenth of the busiest one's requests, running and waiting (means).

    From scrapes and load answers: a log says nothing of a rank that does nothing.
    """
    places, roles, most, place, idle, n, cites = ready(view).one(LOADS, bounds(view))
    if places < 2 or roles > 1:
        return lacking("what each rank or replica runs", HOW_RANKS, n)
    value = idle / places if most >= LOADED else 0.0
    return found(view, value, "share", n, cites, places=places, idle=idle, most=rounded(most), place=place)


# What a rank got is what left it and what piled up there: a request that never ended has no rank. Where one place
# queues, its share counts; else the largest. What is prefilled costs more than what is decoded in a shared step, so
# that of the tokens whichever kind is the more uneven counts.
ARRIVALS: Final = """
WITH rows AS (
    SELECT coalesce(server, '') AS server, coalesce(dp_rank, dp_rank_asked) AS rank, worker,
        greatest(coalesce(prompt_tokens, 0) - coalesce(cached_tokens, 0), 0) AS fresh,
        coalesce(completion_tokens, 0) AS made, source, line
    FROM asks
    WHERE NOT coalesce(probe, false)
        AND (coalesce(dp_rank, dp_rank_asked) IS NOT NULL OR worker IS NOT NULL
            OR (coalesce(role, 'unified') NOT IN ('prefill', 'decode')
                AND (SELECT count(DISTINCT server) FROM points WHERE coalesce(role, '') <> 'client') > 1))
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
queues AS (
    SELECT coalesce(server, '') AS server, dp_rank AS rank, avg(waiting) AS waiting,
        greatest(arg_max(waiting + coalesce(busy, 0), ord) - arg_min(waiting + coalesce(busy, 0), ord), 0) AS piled
    FROM lane
    WHERE waiting IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
    GROUP BY ALL
),
seen AS (
    SELECT server, rank, worker, count(*) AS n, avg(fresh + made) AS tokens, avg(fresh) AS fresh FROM rows GROUP BY ALL
),
places AS (
    SELECT concat_ws(' ', nullif(s.server, ''), 'DP' || s.rank, s.worker) AS place, q.waiting,
        s.n + CASE WHEN s.rank IS NULL THEN 0 ELSE coalesce(q.piled, 0) END AS n,
        (s.n + CASE WHEN s.rank IS NULL THEN 0 ELSE coalesce(q.piled, 0) END) * s.tokens AS tokens,
        (s.n + CASE WHEN s.rank IS NULL THEN 0 ELSE coalesce(q.piled, 0) END) * s.fresh AS fresh
    FROM seen s LEFT JOIN queues q ON q.server = s.server AND q.rank IS NOT DISTINCT FROM s.rank
),
fair AS (SELECT avg(n) AS n, nullif(avg(tokens), 0) AS tokens, nullif(avg(fresh), 0) AS fresh FROM places),
scored AS (
    SELECT place, p.n / f.n AS by_requests, greatest(p.tokens / f.tokens, p.fresh / f.fresh) AS by_tokens,
        waiting >= 2 AND waiting = (SELECT max(waiting) FROM places) AS queued
    FROM places p, fair f
)
SELECT (SELECT count(*) FROM places) AS places, (SELECT count(*) FROM rows) AS n,
    coalesce(max(by_requests) FILTER (WHERE queued), max(by_requests)) AS by_requests,
    coalesce(max(by_tokens) FILTER (WHERE queued), max(by_tokens)) AS by_tokens,
    coalesce(max(place) FILTER (WHERE queued), arg_max(place, by_requests)) AS place,
    coalesce(max(place) FILTER (WHERE queued), arg_max(place, by_tokens)) AS token_place,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM scored
"""


def arrival_skew(view: View, by: str = "requests") -> Fact:
    """Arrivals at the rank that queues (else the busiest) over the fair share, in requests or in tokens to compute."""
    places, n, by_requests, by_tokens, place, token_place, cites = ready(view).one(ARRIVALS, bounds(view))
    expected = _place_count(view)
    if not n or n < 20 or max(places, expected) < 2:
        return lacking(
            "the rank of each request", "the request log (meta_info.dp_rank, 0.5.23) or gateway records", n or 0
        )
    # Ranks that got nothing have no row: the fair share is over all of them.
    scale = max(places, expected) / places
    value = (by_requests if by == "requests" else by_tokens or 1.0) * scale
    where = place if by == "requests" else token_place
    return found(view, value, "ratio", n, cites, by=by, place=where, places=max(places, expected), ratio=rounded(value))


# A server that says nothing but in its scrapes is a place as well.
SEATS: Final = """
SELECT count(DISTINCT place) + (SELECT count(DISTINCT server) FROM points
    WHERE class = 'scrape' AND coalesce(role, '') <> 'client'
        AND server NOT IN (SELECT server FROM lane WHERE server IS NOT NULL))
FROM lane
"""


def _place_count(view: View) -> int:
    return int(ready(view).one(SEATS)[0])


KEYS: Final = """
WITH rows AS (
    SELECT routing_key AS key, coalesce(dp_rank, dp_rank_asked) AS rank, worker, source, line,
        greatest(coalesce(prompt_tokens, 0) - coalesce(cached_tokens, 0), 0) + coalesce(completion_tokens, 0) AS tokens
    FROM asks
    WHERE NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
keyed AS (
    SELECT key, count(*) AS n, sum(tokens) AS tokens, max(share) AS sticky
    FROM (SELECT key, tokens, count(*) OVER (PARTITION BY key, rank, worker) / count(*) OVER (PARTITION BY key) AS share
          FROM rows WHERE key IS NOT NULL)
    GROUP BY key
),
top AS (SELECT * FROM keyed ORDER BY tokens DESC, n DESC, key LIMIT 1)
SELECT (SELECT count(*) FROM rows) AS n, (SELECT count(*) FROM rows WHERE key IS NOT NULL) AS with_key,
    (SELECT count(*) FROM keyed) AS keys, max(key) AS key, max(n) AS hits, max(sticky) AS sticky,
    max(tokens) / nullif((SELECT sum(tokens) FROM rows), 0) AS token_share,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows WHERE key = (SELECT key
         FROM top) GROUP BY source)) AS cites
FROM top
"""


def top_key_share(view: View) -> Fact:
    """Share of all work (tokens) that one routing key brings, where its requests stick to one rank; else 0."""
    n, with_key, keys, key, hits, sticky, token_share, cites = view.one(KEYS, bounds(view))
    if not n or with_key < 10:
        return lacking("routing keys", "--log-requests with the header x-smg-routing-key", n)
    share = max(token_share or 0.0, hits / n)
    value = share if (sticky or 0) >= 0.8 else 0.0
    return found(
        view,
        value,
        "share",
        n,
        cites,
        routing_key=key,
        hits=hits,
        keys=keys,
        sticky=rounded(sticky),
        share=rounded(share),
    )


AGE: Final = """
WITH rows AS (
    SELECT ts - snapshot_ts AS age_s, dp_rank, source, line FROM loads
    WHERE ts IS NOT NULL AND snapshot_ts IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n, median(age_s) AS typical, max(age_s) AS most, arg_max(dp_rank, age_s) AS dp_rank,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def snapshot_age_s(view: View) -> Fact:
    """Median age of a load answer when it was given; a dead scheduler's snapshot still answers."""
    n, typical, most, dp_rank, cites = view.one(AGE, bounds(view))
    if not n:
        return lacking("load answers with their snapshot time", "/v1/loads polled (0.5.23)")
    return found(view, typical, "s", n, cites, oldest=rounded(most), dp_rank=dp_rank, age=rounded(typical))


PICKS: Final = """
WITH rows AS (
    SELECT coalesce(attrs ->> 'worker', attrs ->> 'worker_id', peer) AS worker,
        try_cast(coalesce(attrs ->> 'cached_blocks', attrs ->> 'cached') AS DOUBLE) AS cached, source, line
    FROM events
    WHERE kind = 'routing' AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
picks AS (SELECT * FROM rows WHERE worker IS NOT NULL)
SELECT count(*) AS n, count(DISTINCT worker) AS workers, max(worker) AS worker, sum(coalesce(cached, 0)) AS cached,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM picks GROUP BY source)) AS cites
FROM picks
"""

# What is left of the window's start may still be in a worker that left: its last stretch counts. A log says nothing of
# an idle rank, so scrapes and load answers are asked where there are any.
GONE: Final = """
WITH asked AS (
    SELECT place, class, ts, coalesce(busy, 0) + waiting AS load, source, line FROM points
    WHERE waiting IS NOT NULL AND ts IS NOT NULL AND coalesce(role, 'unified') NOT IN ('prefill', 'decode', 'client')
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
rows AS (
    SELECT * FROM asked
    WHERE class IN ('scrape', 'loads', 'stats')
        OR NOT EXISTS (SELECT 1 FROM asked WHERE class IN ('scrape', 'loads', 'stats'))
),
busy AS (SELECT place, max(ts) FILTER (WHERE load > 0) AS last, max(ts) AS seen FROM rows GROUP BY place),
tails AS (
    SELECT place, count(*) FILTER (WHERE ts > coalesce(last, 0)) AS n, any_value(seen - coalesce(last, 0)) AS idle_s,
        max(ts) - min(ts) FILTER (WHERE ts > coalesce(last, 0)) AS span_s
    FROM rows JOIN busy USING (place) GROUP BY place
),
places AS (
    SELECT t.*, (SELECT avg(r.load) FROM rows r JOIN busy b ON b.place = t.place
        WHERE r.place <> t.place AND r.ts > coalesce(b.last, 0)) AS others
    FROM tails t
)
SELECT (SELECT count(*) FROM rows) AS n, count(*) AS places,
    count(*) FILTER (WHERE n >= 5 AND span_s >= 20 AND others >= 1 AND others * span_s >= $work) AS empty,
    min(place) FILTER (WHERE n >= 5 AND span_s >= 20 AND others >= 1 AND others * span_s >= $work) AS place,
    (SELECT max(load) FROM rows) AS most,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM places
"""

BUSY_S: Final = 120  # seconds of requests at each of the others meanwhile: of next to no traffic one may get none


# The gateway's own word: unhealthy, removed, or behind an open circuit, at the end of the window.
GATEWAY: Final = """
WITH rows AS (
    SELECT s.labels ->> 'worker' AS worker, m.ts, m.source, m.line,
        CASE s.name WHEN 'worker_health' THEN m.value <= 0 ELSE m.value IN (1, -1) END AS away
    FROM samples m JOIN series s USING (series)
    WHERE s.name IN ('worker_health', 'worker_cb_state')
        AND ($since::DOUBLE IS NULL OR m.ts >= $since) AND ($until::DOUBLE IS NULL OR m.ts <= $until)
),
workers AS (
    SELECT worker, count(*) FILTER (WHERE away) AS hits, arg_max(away, ts) AS still,
        max(ts) - min(ts) FILTER (WHERE away) AS span_s
    FROM rows WHERE worker IS NOT NULL GROUP BY worker
),
gone AS (SELECT * FROM workers WHERE still AND hits >= 3 AND span_s >= 20)
SELECT (SELECT count(*) FROM workers) AS workers, (SELECT count(*) FROM gone) AS away,
    (SELECT min(worker) FROM gone) AS worker, count(*) AS n,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows WHERE away GROUP BY source)) AS cites
FROM rows
"""


SHARES: Final = """
SELECT server, count(*) AS n, min(source) AS source, min(line) AS a, max(line) AS b FROM asks
WHERE server IS NOT NULL AND NOT coalesce(probe, false) AND coalesce(role, 'unified') NOT IN ('prefill', 'decode')
    AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
GROUP BY server ORDER BY server
"""
HAD: Final = 20  # requests of a server in each window: enough that none is no chance


def _left(view: View) -> Fact | None:
    """Servers that had their share of the requests in the baseline and none since, while another goes on."""
    now = {row[0]: row for row in ready(view).query(SHARES, bounds(view))}
    then = ready(view).query(SHARES, bounds(view.window(view.baseline, None)))
    had = [row for row in then if row[1] >= HAD]
    gone = [row for row in had if row[0] not in now]
    stay = [row for row in now.values() if row[1] >= HAD]
    if not gone or not stay:
        return None
    cites = [{"source": row[2], "a": row[3], "b": row[4]} for row in (*gone, *stay)]
    return found(
        view, len(gone), "workers", sum(row[1] for row in stay), cites, key="workers.left", worker=gone[0][0],
        workers=len(gone) + len(stay),
    )  # fmt: skip


def missing_workers(view: View) -> Fact:
    """Workers out of rotation: said by the gateway, empty for twenty seconds beside loaded ones, never a candidate.

    A gateway that scores one single worker again and again, with no cached block to bind it, has no other to choose.
    """
    known, away, worker, scrapes, cites = view.one(GATEWAY, bounds(view))
    if away:
        return found(view, away, "workers", scrapes, cites, key="workers.away", worker=worker, workers=known)
    if known >= 2:  # in rotation, by the word of whoever sends it requests: what it gets is a matter of placement
        return found(view, 0, "workers", scrapes, (), key="workers.away", worker="", workers=known)
    n, workers, worker, cached, cites = view.one(PICKS, bounds(view))
    named = view.one(
        "SELECT count(*), max(source), min(line), max(line), max(peer) FROM events WHERE kind = 'worker-out'"
    )
    if named[0]:
        span = [{"source": named[1], "a": named[2], "b": named[3]}]
        return found(view, named[0], "workers", named[0], span, key="workers.named", worker=named[4] or "")
    if n >= 3 and workers == 1 and not cached:
        return found(view, 1, "workers", n, cites, key="workers.one", worker=worker)
    if view.baseline is not None and (left := _left(view)) is not None:
        return left
    points, places, empty, place, most, cites = ready(view).one(GONE, {**bounds(view), "work": BUSY_S})
    if places and places >= 2 and most:
        return found(view, empty, "workers", points, cites, key="workers.empty", places=places, worker=place or "")
    if n >= 3:
        return found(view, 0, "workers", n, (), key="workers.several", workers=workers)
    return lacking("what each worker got", "scrapes of every replica over a minute, or the gateway's log", n)
