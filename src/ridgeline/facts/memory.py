"""The KV pool: how full, what holds it, what was put back, and whether the growth is anyone's own decode."""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.facts.outputs import ENDED, HOW_ENDS, ended_share
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

HOW_USAGE: Final = "batch lines of the server log, /metrics with --enable-metrics, or /v1/loads"
TINY_POOL_TOKENS: Final = 8192  # less than one common context: no served model is meant to run in it

USAGE: Final = """
WITH rows AS (
    SELECT ord, usage, source, line FROM lane
    WHERE usage IS NOT NULL AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n, median(usage) AS usage, max(usage) AS peak, arg_min(usage, ord) AS first, arg_max(usage,
    ord) AS last,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


# Of several pools on one line the fullest counts: which one that is, where it is not the one of full attention.
FULLEST: Final = """
SELECT CASE WHEN median(mamba_usage) > median(coalesce(full_usage, usage)) + 0.05 THEN 'mamba usage'
            WHEN median(swa_usage) > median(coalesce(full_usage, usage)) + 0.05 THEN 'swa token usage' END
FROM batches
WHERE ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
"""


def fullest(view: View) -> str | None:
    """The log's own word for the pool that is fullest, where a line has several and it is not that of the tokens."""
    name = view.one(FULLEST, bounds(view))[0]
    return None if name is None else str(name)


def usage(view: View, stat: str = "median") -> Fact:
    """Locked share of the fullest pool; `stat` is median, peak, first or last."""
    n, median, peak, first, last, cites = ready(view).one(USAGE, bounds(view))
    if not n:
        return lacking("pool usage", HOW_USAGE)
    value = {"median": median, "peak": peak, "first": first, "last": last}[stat]
    return found(view, value, "share", n, cites, stat=stat, peak=peak, first=first, last=last, which=fullest(view))


RETRACTIONS: Final = """
WITH rows AS (
    SELECT ts, rid, coalesce(count, 1) AS requests, kind, source, line FROM events
    WHERE kind IN ('retraction', 'preemption')
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
counters AS (
    SELECT s.series, max(m.value) - min(m.value) AS delta, count(*) AS n
    FROM samples m JOIN series s USING (series)
    WHERE s.name IN ('num_retracted_requests', 'num_preemptions', 'num_preemptions_total')
        AND ($since::DOUBLE IS NULL OR m.ts >= $since) AND ($until::DOUBLE IS NULL OR m.ts <= $until)
    GROUP BY s.series
),
watched AS (
    SELECT count(*) AS n, max(ts) - min(ts) AS span_s FROM points
    WHERE ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS events, coalesce(sum(requests), 0)::BIGINT AS requests, min(ts) AS first, max(ts) AS last,
    (SELECT max(delta) FROM counters WHERE n >= 2) AS counted,
    (SELECT n FROM watched) AS watched, (SELECT span_s FROM watched) AS span_s,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def retractions(view: View) -> Fact:
    """Distinct retraction (or preemption) events; copies that each rank prints are folded."""
    events, requests, _first, _last, counted, watched, _span, cites = ready(view).one(RETRACTIONS, bounds(view))
    if not events and counted is None and not watched:
        return lacking("retractions", "the server log, or num_retracted_requests_total in /metrics (0.5.9 on)")
    moved = _whole(counted)
    return found(view, max(events, moved), "events", max(events, watched), cites, requests=max(requests, moved))


def _whole(counted: float | None) -> int:
    """A counter's movement; 0 where it is none or no number (a hostile scrape says +Inf)."""
    return int(counted) if counted is not None and isfinite(counted) else 0


def retractions_per_min(view: View) -> Fact:
    """Distinct retraction events for each minute that the evidence covers (at least ten seconds)."""
    events, requests, first, last, counted, watched, span_s, cites = ready(view).one(RETRACTIONS, bounds(view))
    total = max(events, _whole(counted))
    if not total:
        if not watched:
            return lacking("retractions", "the server log, or num_retracted_requests_total in /metrics (0.5.9 on)")
        return found(view, 0.0, "per minute", watched, cites, events=0, requests=0, span_s=rounded(span_s))
    covered = max(span_s or 0.0, (last - first) if first is not None and last is not None else 0.0, 10.0)
    value = 60.0 * total / covered
    return found(
        view,
        value,
        "per minute",
        max(events, watched),
        cites,
        events=total,
        requests=requests,
        span_s=rounded(covered),
        rate=rounded(value),
    )


HELD: Final = """
WITH rows AS (
    SELECT server, dp_rank, running, tokens, usage, own_usage, source, line,
        tokens - lag(tokens) OVER w AS grew, lag(running) OVER w AS before
    FROM (
        SELECT server, dp_rank, running, coalesce(tokens, context_tokens) AS tokens,
            greatest(usage, full_usage, swa_usage, mamba_usage) AS usage,
            coalesce(full_usage, usage) AS own_usage, source, line -- of the pool that `tokens` are counted in
        FROM batches
        WHERE kind = 'decode' AND coalesce(tokens, context_tokens) > 0 AND running > 0
            AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
    )
    WINDOW w AS (PARTITION BY server, dp_rank ORDER BY source, line)
)
SELECT count(*) AS n, median(tokens / running) AS per_request,
    median(tokens / own_usage) FILTER (WHERE own_usage >= 0.05) AS pool, -- two decimals of less are no basis
    max(usage) AS peak, median(usage) AS usage, median(running) AS running,
    count(*) FILTER (WHERE grew IS NOT NULL) AS steps,
    count(*) FILTER (WHERE grew >= 0 AND grew <= 60.0 * running) AS own,
    median(grew / running) AS per_step,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def tokens_per_running(view: View) -> Fact:
    """Tokens that one running request holds, the median over decode lines."""
    n, per, pool, *_rest, cites = view.one(HELD, bounds(view))
    if not n:
        return lacking("tokens held by running requests", "decode lines of the server log")
    return found(view, per, "tokens", n, cites, pool=rounded(pool, 4), each=rounded(per, 4))


POOL: Final = """
WITH stated AS (
    SELECT pool_tokens AS pool, source, line FROM servers WHERE pool_tokens > 0
    UNION ALL SELECT pool_tokens, source, line FROM loads WHERE pool_tokens > 0
    UNION ALL
    SELECT try_cast(attrs ->> 'total' AS BIGINT), source, line FROM events
    WHERE kind = 'pool-leak-check' AND try_cast(attrs ->> 'total' AS BIGINT) > 0
    UNION ALL
    SELECT m.value, m.source, m.line FROM samples m JOIN series s USING (series)
    WHERE s.name = 'max_total_num_tokens' AND m.value > 0
)
SELECT count(*) AS n, min(pool) AS pool,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, min(line) AS b FROM stated GROUP BY source)) AS cites
FROM stated
"""


def pool_tokens(view: View) -> Fact:
    """Tokens of the KV pool: stated, or derived as tokens over usage from decode lines (then said so)."""
    n, pool, cites = view.one(POOL)
    if n:
        return found(view, pool, "tokens", n, cites, basis="stated", pool=rounded(pool, 4))
    n, _per, pool, *_rest, cites = view.one(HELD, bounds(view))
    if not n or pool is None:
        return lacking("the pool's size", "the start-up line max_total_num_tokens, /server_info or /v1/loads")
    return found(view, pool, "tokens", n, cites, basis="derived from tokens and usage", pool=rounded(pool, 4))


SHRUNK: Final = """
WITH boots AS (
    SELECT pool_tokens AS pool, lag(pool_tokens) OVER (PARTITION BY server, role ORDER BY boot_ts) AS before, boot_ts,
        source, line
    FROM servers WHERE pool_tokens > 0 AND boot_ts IS NOT NULL
)
SELECT count(before) AS n, arg_max(pool, boot_ts) AS pool, arg_max(before, boot_ts) AS before,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM boots GROUP BY source)) AS cites
FROM boots WHERE before IS NOT NULL
"""


def pool_too_small(view: View) -> Fact:
    """Whether the pool is smaller than one long context, or the last start brought half of the one before or less."""
    fact = pool_tokens(view)
    if fact.value is None:
        return fact
    n, pool, before, cites = view.one(SHRUNK)
    if n and pool <= 0.5 * before:
        return found(view, True, "", n, cites, key="pool.shrunk", pool=pool, before=before, basis="stated")
    context = view.one("SELECT min(context_len) FROM servers WHERE context_len > 0")[0]
    bound = min(context or TINY_POOL_TOKENS, TINY_POOL_TOKENS)
    return restated(fact, bool(fact.value < bound), "", "pool.small", bound=bound)


def runaway_outputs(view: View) -> Fact:
    """Whether a few requests fill the pool by their own decode alone: nobody waits, nothing else comes in.

    Needs three decode lines. Own decode: the growth between two lines is at most one log interval's tokens for
    each running request, which no admitted prompt would keep to.
    """
    n, per, pool, peak, used, running, steps, own, per_step, cites = view.one(HELD, bounds(view))
    if n < 3 or not steps:
        return lacking("three decode lines in a row", "a longer stretch of the server log", n)
    waits = view.one(SHARES_OF_WAIT, bounds(view))[0]
    told = {
        "per_request": rounded(per, 4),
        "usage": rounded(used),
        "running": rounded(running),
        "per_step": rounded(per_step),
        "own": own,
        "steps": steps,
        "pool": rounded(pool, 4),
    }
    value = bool(used >= 0.95 and running <= 8 and own >= 0.9 * steps and not waits and per >= 16384)
    return found(view, value, "", n, cites, peak=peak, **told)


SHARES_OF_WAIT: Final = """
SELECT count(*) FROM batches
WHERE waiting > 0 AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
"""

LIMITS: Final = """
WITH rows AS (
    SELECT finish_reason, max_new_tokens, params_logged, completion_tokens, source, line FROM asks
    WHERE finish_reason IN ('stop', 'length') AND completion_tokens IS NOT NULL AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR coalesce(finished_ts, received_ts) >= $since)
        AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
long AS (SELECT * FROM rows WHERE finish_reason = 'length')
SELECT (SELECT count(*) FROM rows) AS n, count(*) AS cut, count(*) FILTER (WHERE params_logged) AS visible,
    count(*) FILTER (WHERE params_logged AND max_new_tokens IS NULL) AS unset,
    max(completion_tokens) AS longest, count(DISTINCT completion_tokens) AS lengths, mode(completion_tokens) AS common,
    sum(completion_tokens) FILTER (WHERE params_logged AND max_new_tokens IS NULL)
        / (SELECT nullif(sum(completion_tokens), 0) FROM rows) AS of_tokens,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM long GROUP BY source)) AS cites
FROM long
"""


def unlimited_outputs(view: View) -> Fact:
    """Share of finished requests, or of their tokens, that ended by `length` with no max_new_tokens set.

    Seen, not merely unlogged. A few that run to the context's end finish rarely and yet hold most of the pool: three
    or more count by their tokens.

    Identical lengths mean an explicit limit somewhere: the share is then 0. Without requests the batch lines
    may still show it (`runaway_outputs`).
    """
    n, cut, visible, unset, longest, lengths, common, of_tokens, cites = view.one(LIMITS, bounds(view))
    if not n:
        lines = runaway_outputs(view)
        if lines.value is None:
            return lacking("finish reasons", "--log-requests --log-requests-level 1, or the metrics exporter")
        ended = ended_share(view)
        if not lines.value and ended is not None and ended < ENDED:
            return lacking("finish reasons, and the outputs still being written", HOW_ENDS, lines.n)
        return restated(lines, 1.0 if lines.value else 0.0, "share", "outputs.runaway")
    told = {"cut": cut, "unset": unset, "longest": longest, "lengths": lengths, "common": common}
    if cut >= 5 and lengths == 1:
        return found(view, 0.0, "share", n, cites, key="outputs.identical", **told)
    if cut and not visible:
        return lacking(
            "sampling parameters", "--log-requests --log-requests-level 1: without them the limit is unknown", n
        )
    share = max(unset / n, of_tokens or 0.0) if unset >= 3 else unset / n
    return found(view, share, "share", n, cites, key="outputs.unlimited", **told)


# Gauges are refreshed every 30 s when idle, and one scrape between two batches may read 0 running: only a stretch of
# 45 s with nothing running, waiting or in transfer is idle.
IDLE: Final = """
WITH rows AS (
    SELECT place, class, ord, ts, usage, source, line,
        running = 0 AND coalesce(waiting, 0) = 0
            AND coalesce(bootstrap, 0) + coalesce(inflight, 0) + coalesce(prealloc, 0)
            + coalesce(transfer, 0) = 0 AS idle
    FROM points
    WHERE usage IS NOT NULL AND running IS NOT NULL AND ts IS NOT NULL AND class IN ('scrape', 'loads', 'stats')
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
marked AS (SELECT *, count(*) FILTER (WHERE NOT idle) OVER (PARTITION BY place, class ORDER BY ord) AS stretch
    FROM rows),
stretches AS (
    SELECT place, stretch, count(*) AS n, max(ts) - min(ts) AS span_s, arg_min(usage, ord) AS first, arg_max(usage,
        ord) AS last,
        max(ts) AS ended, source, min(line) AS a, max(line) AS b
    FROM marked WHERE idle GROUP BY place, class, stretch, source HAVING count(*) >= 3 AND max(ts) - min(ts) >= 45
)
SELECT coalesce(sum(n), 0)::BIGINT AS n, arg_max(first, ended) AS first, arg_max(last, ended) AS last,
    min(last) AS floor,
    max(span_s) AS span_s, list({'source': source, 'a': a, 'b': b} ORDER BY source, a) AS cites
FROM stretches
"""


def idle_usage(view: View) -> Fact:
    """Locked share of the pool after 45 s without work: the only figure that tells a leak from load."""
    n, first, last, floor, span_s, cites = ready(view).one(IDLE, bounds(view))
    if not n:
        return lacking("usage while no request runs", "scrapes of an idle minute after the load", n)
    return found(view, last, "share", n, cites, first=first, last=last, floor=floor, span_s=rounded(span_s))


EVICTABLE: Final = """
WITH rows AS (
    SELECT m.value, s.name, m.ts, m.source, m.line FROM samples m JOIN series s USING (series)
    WHERE s.name IN ('kv_evictable_tokens', 'kv_available_tokens', 'kv_used_tokens')
        AND ($since::DOUBLE IS NULL OR m.ts >= $since) AND ($until::DOUBLE IS NULL OR m.ts <= $until)
),
means AS (
    SELECT avg(value) FILTER (WHERE name = 'kv_evictable_tokens') AS evictable,
        avg(value) FILTER (WHERE name = 'kv_available_tokens') AS free,
        avg(value) FILTER (WHERE name = 'kv_used_tokens') AS used FROM rows
),
lines AS (
    SELECT try_cast(attrs ->> 'evictable' AS DOUBLE) AS evictable, try_cast(attrs ->> 'available' AS DOUBLE) AS free,
        try_cast(attrs ->> 'total' AS DOUBLE) AS total, source, line FROM events
    WHERE attrs ->> 'evictable' IS NOT NULL
)
SELECT (SELECT count(*) FROM rows) + (SELECT count(*) FROM lines) AS n,
    coalesce((SELECT evictable / nullif(evictable + free + used, 0) FROM means),
             (SELECT max(evictable / nullif(coalesce(total, evictable + free), 0)) FROM lines)) AS share,
    coalesce((SELECT evictable FROM means), (SELECT max(evictable) FROM lines)) AS evictable,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b
           FROM (SELECT source, line FROM rows UNION ALL SELECT source, line FROM lines) GROUP BY source)) AS cites
"""


def evictable_share(view: View) -> Fact:
    """Share of the pool that holds cache nobody locks (free on demand)."""
    n, share, evictable, cites = view.one(EVICTABLE, bounds(view))
    if not n or share is None:
        return lacking("evictable tokens", "kv_evictable_tokens in /metrics (0.5.23), or the pool lines of a stall")
    return found(view, share, "share", n, cites, evictable=evictable, share=rounded(share))


ALLOCATION: Final = """
WITH rows AS (
    SELECT value AS asked, try_cast(attrs ->> 'available' AS DOUBLE) AS free,
        try_cast(attrs ->> 'evictable' AS DOUBLE) AS evictable, source, line FROM events
    WHERE kind = 'pool-full' AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n, max(asked) AS asked, min(free) AS free, max(evictable) AS evictable,
    (SELECT max(page) FROM (
        SELECT page_size AS page FROM servers WHERE page_size > 0
        UNION ALL SELECT try_cast(value AS BIGINT) FROM config WHERE key IN ('page_size', 'page-size'))) AS page,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def allocation_failures(view: View) -> Fact:
    """Allocations from the KV pool that failed, with the page arithmetic: free pages against pages asked for."""
    n, asked, free, evictable, page, cites = view.one(ALLOCATION, bounds(view))
    if not n:
        if not view.one("SELECT count(*) FROM sources WHERE kind IN ('log', 'text')")[0]:
            return lacking("allocation failures", "the server log")
        nothing: dict[str, Any] = dict.fromkeys(("asked", "free", "evictable", "page", "free_pages"))
        return found(view, 0, "events", 0, (), **nothing)
    free_pages = None if free is None or not page else int(free // page)
    return found(
        view, n, "events", n, cites, asked=asked, free=free, evictable=evictable, page=page, free_pages=free_pages
    )
