"""What a server's log says of how requests end, where no record of a request does: access lines, and lines that lack.

An access line is written when the answer begins, a timing line of the scheduler when it has ended.
"""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, rounded
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

FEWEST: Final = 20  # access lines
# Of status codes: what the caller did wrong (not being slow, too many or gone), and what the server did.
REFUSED: Final = "invalid"
FAILED: Final = "error"

ACCESS: Final = r"""
WITH rows AS (
    SELECT try_cast(attrs ->> 'status' AS INTEGER) AS status, source, line FROM events
    WHERE kind = 'http' AND attrs ->> 'method' = 'POST'
        AND regexp_matches(coalesce(attrs ->> 'path', ''), '(generate|completions|messages|responses|embeddings)$')
        AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since)
        AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until)
),
bad AS (
    SELECT * FROM rows
    WHERE CASE $what WHEN 'invalid' THEN status BETWEEN 400 AND 499 AND status NOT IN (408, 429, 499)
        WHEN 'busy' THEN status IN (429, 503)
        ELSE status >= 500 AND status <> 503 END
)
SELECT (SELECT count(*) FROM rows) AS n, count(*) AS hits, mode(status) AS status,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM bad GROUP BY source)) AS cites
FROM bad
"""


def answered_share(view: View, what: str) -> Fact:
    """Share of the access lines of requests with a status that says ``invalid`` (4xx), ``error`` (5xx) or ``busy``.

    A server that is asked for too much answers 429 or 503: that is neither the caller's fault nor a failure.
    """
    n, hits, status, cites = ready(view).one(ACCESS, {**bounds(view), "what": what})
    if n < FEWEST:
        return lacking("access lines of requests", "the server log at its usual level", n)
    return found(view, hits / n, "share", n, cites, hits=hits, status=status)


UNENDED: Final = r"""
WITH begun AS (
    SELECT source, count(*) AS n, min(line) AS a, max(line) AS b FROM events
    WHERE kind = 'http' AND attrs ->> 'method' = 'POST' AND attrs ->> 'status' = '200'
        AND regexp_matches(coalesce(attrs ->> 'path', ''), '(generate|completions|messages|responses)$')
    GROUP BY source
),
ended AS (
    SELECT source, count(*) AS n FROM records
    WHERE coalesce(role, 'unified') = 'unified' AND queue_s IS NOT NULL AND forward_s IS NOT NULL
        AND NOT coalesce(probe, false)
    GROUP BY source
),
open AS (
    SELECT source, sum(running) AS running FROM (
        SELECT source, dp_rank, arg_max(running, line) AS running FROM batches
        WHERE kind IN ('prefill', 'decode') AND coalesce(role, 'unified') = 'unified' GROUP BY ALL)
    GROUP BY source
)
SELECT sum(b.n)::BIGINT AS begun, sum(e.n)::BIGINT AS ended,
    sum(greatest(b.n - e.n - coalesce(o.running, 0), 0))::BIGINT AS lacking,
    list({'source': b.source, 'a': b.a, 'b': b.b} ORDER BY b.source) AS cites
FROM begun b JOIN ended e USING (source) LEFT JOIN open o USING (source)
"""


def unended_share(view: View) -> Fact:
    """Share of the answers begun that have no timing line of their end, where a log has both kinds of line.

    Who leaves before the end gets none. Over the whole log: an end belongs to no window of its beginning.
    """
    begun, ended, left, cites = ready(view).one(UNENDED)
    if not begun or begun < FEWEST or ended < FEWEST:
        return lacking(
            "access lines beside timing lines of the scheduler", "--enable-request-time-stats-logging", begun or 0
        )
    return found(view, left / begun, "share", begun, cites, left=left, ended=ended)


STOPS: Final = """
WITH steps AS (
    SELECT place, ord, running, waiting, usage, source, line FROM points
    WHERE class = 'steps' AND coalesce(role, 'unified') = 'unified' AND running IS NOT NULL AND waiting IS NOT NULL
),
lasts AS (SELECT place, max(ord) AS ord FROM points WHERE class = 'prefill' AND new_seq > 0 GROUP BY place),
after AS (SELECT s.* FROM steps s JOIN lasts l ON l.place = s.place AND s.ord > l.ord),
places AS (
    SELECT place, count(*) AS n, arg_min(running, ord) AS first, arg_max(running, ord) AS last,
        min(waiting) AS least, arg_max(waiting, ord) AS waiting, arg_max(usage, ord) AS usage,
        list({'source': source, 'a': line, 'b': line} ORDER BY ord) AS rows
    FROM after GROUP BY place
),
worst AS (
    SELECT * FROM places WHERE n >= 3 AND waiting >= 2 AND waiting > least AND last <= 0.5 * first
        AND coalesce(usage, 0) < 0.5 ORDER BY waiting DESC, place LIMIT 1
)
SELECT (SELECT count(*) FROM steps) AS n, (SELECT count(*) FROM worst) AS hits, max(place) AS place,
    max(first) AS first, max(last) AS last, max(waiting) AS waiting, max(usage) AS usage,
    list({'source': rows[1].source, 'a': rows[1].a, 'b': rows[-1].b}) AS cites
FROM worst
"""


def admission_stops(view: View) -> Fact:
    """Whether a log ends with a queue that grows beside a batch and a pool that empty: nobody is admitted any more.

    A scheduler that stands still ends with its batch as it was; here it goes on until what runs has ended.
    """
    n, hits, place, first, last, waiting, usage, cites = ready(view).one(STOPS)
    if n < 3:
        return lacking("decode lines with the queue", "the server log", n)
    if not hits:
        return found(view, False, "", n, ())
    told = {"first": first, "last": last, "waiting": waiting, "usage": rounded(usage), "place": place or "the server"}
    return found(view, True, "", n, cites, **told)


PACE: Final = """
WITH boot AS (SELECT max(ts) AS ts FROM events WHERE kind IN ('ready', 'restart')),
rows AS (
    SELECT coalesce(forward_s, e2e_s - queue_s) / (completion_tokens + 8) AS pace_s, received_ts - b.ts AS age_s,
        source, line
    FROM asks, boot b
    WHERE received_ts >= b.ts AND completion_tokens > 0 AND NOT coalesce(probe, false)
),
ranked AS (SELECT *, row_number() OVER (ORDER BY age_s, source, line) AS nth FROM rows WHERE pace_s > 0)
SELECT count(*) AS n, count(*) FILTER (WHERE age_s > $warm) AS warm, median(pace_s) FILTER (WHERE nth <= 10) AS first,
    median(pace_s) FILTER (WHERE age_s > $warm) AS later,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM ranked WHERE nth <= 10 GROUP BY source)) AS cites
FROM ranked
"""
WARM_S: Final = 90.0


def boot_pace(view: View) -> Fact:
    """Times as long as later ones that the first ten requests after a boot were computed, for as many tokens.

    An empty cache, and the few that a server just started has beside each other, account for a part of it.
    """
    n, warm, first, later, cites = ready(view).one(PACE, {"warm": WARM_S})
    if n < 20 or warm < 10 or not later:
        return lacking("requests right after a boot", "the log from the line 'ready to roll' on", n)
    return found(view, first / later, "times", n, cites, first=rounded(first), later=rounded(later))
