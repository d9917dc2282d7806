"""The waiting queue: how long, how it moves, and the regime it stands in (DESIGN §1, A1b)."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.facts.memory import fullest
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

HOW_QUEUE: Final = "batch lines of the server log, /metrics with --enable-metrics, or /v1/loads"
PINNED_ROWS: Final = 4  # fewer rows at one running count may be chance: no limit is inferred from them

# A point stands until the next one, for a minute at most, the last one for the usual gap: prefill lines come in crowds
# just while requests wait. (`least` skips nulls, so the last point's gap is filled before it.)
SHARES: Final = """
WITH gaps AS (
    SELECT *, lead(ts) OVER (ORDER BY ord) - ts AS gap_s FROM totals
    WHERE ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
rows AS (
    SELECT *, CASE WHEN ts IS NOT NULL THEN least(coalesce(gap_s, (SELECT median(gap_s) FROM gaps)), 60) END AS stands_s
    FROM gaps
)
SELECT count(*) AS n, count(*) FILTER (WHERE waiting > 0) AS queued, max(waiting) AS peak,
    median(waiting) AS typical,
    sum(stands_s) FILTER (WHERE waiting > 0) / nullif(sum(stands_s), 0) AS of_time,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def waiting_share(view: View) -> Fact:
    """Share of the time (of the load points, where they have no times) at which requests waited on any rank."""
    n, queued, peak, typical, of_time, cites = ready(view).one(SHARES, bounds(view))
    if not n:
        return lacking("waiting requests", HOW_QUEUE)
    value = of_time if of_time is not None and queued else queued / n
    return found(view, value, "share", n, cites, queued=queued, peak=peak, typical=rounded(typical))


PRESSURE: Final = """
WITH rows AS (
    SELECT * FROM lane
    WHERE waiting IS NOT NULL AND busy IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n, count(*) FILTER (WHERE waiting > 0) AS queued,
    coalesce(median(waiting / greatest(busy, 1)) FILTER (WHERE waiting > 0), 0) AS pressure,
    median(waiting) FILTER (WHERE waiting > 0) AS waiting, median(busy) FILTER (WHERE waiting > 0) AS busy,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows WHERE waiting > 0 GROUP BY source)) AS cites
FROM rows
"""


def queue_pressure(view: View) -> Fact:
    """Median of waiting per slot-holding request over the points that have a queue; 0 where none has one."""
    n, queued, pressure, waiting, busy, cites = ready(view).one(PRESSURE, bounds(view))
    if not n:
        return lacking("waiting and running requests", HOW_QUEUE)
    # A queue at one point in ten is a moment, not a state.
    value = pressure if queued >= max(1, 0.1 * n) else 0.0
    return found(
        view,
        value,
        "ratio",
        n,
        cites,
        key="queue_pressure" if queued else "queue_pressure.none",
        queued=queued,
        waiting=rounded(waiting),
        busy=rounded(busy),
        ratio=rounded(value),
    )


STANDING: Final = """
WITH rows AS (
    SELECT * FROM lane
    WHERE waiting IS NOT NULL AND busy IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
places AS (
    SELECT count(*) AS n, min(waiting) AS waiting, median(busy) AS busy, max(busy) - min(busy) AS moved FROM rows
    GROUP BY place
)
SELECT sum(n)::BIGINT AS n, count(*) FILTER (WHERE n >= 5) AS places,
    count(*) FILTER (WHERE n >= 5 AND waiting > 0 AND moved <= 0.05 * busy) AS standing, median(busy) AS busy,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM places
"""


def standing_queue(view: View) -> Fact:
    """Share of ranks and replicas on which somebody waits at every load point while the running count stands still."""
    n, places, standing, running, cites = ready(view).one(STANDING, bounds(view))
    if not places:
        return lacking("waiting and running requests", HOW_QUEUE, n or 0)
    return found(view, standing / places, "share", n, cites, places=places, standing=standing, running=rounded(running))


MOTION: Final = """
WITH rows AS (
    SELECT ord, ts, waiting, source, line FROM totals
    WHERE ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
live AS (SELECT * FROM rows WHERE ord >= (SELECT min(ord) FROM rows WHERE waiting > 0)),
parts AS (SELECT *, ntile(3) OVER (ORDER BY ord) AS third, ntile(20) OVER (ORDER BY ord) AS part FROM live)
SELECT count(*) AS n, avg(waiting) FILTER (WHERE third = 1) AS early,
    avg(waiting) FILTER (WHERE third = (SELECT max(third) FROM parts)) AS late,
    avg(waiting) FILTER (WHERE part = (SELECT max(part) FROM parts)) AS end_level, max(waiting) AS peak,
    arg_min(waiting, ord) AS first, arg_max(waiting, ord) AS last, max(ts) - min(ts) AS span_s,
    (SELECT count(*) FROM rows) AS seen,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM parts
"""


def queue_motion(view: View) -> Fact:
    """How the queue of all ranks together moves from its first point on: none, growing, flat, draining, drained."""
    n, early, late, end_level, peak, first, last, span_s, seen, cites = ready(view).one(MOTION, bounds(view))
    if not seen:
        return lacking("waiting requests", HOW_QUEUE)
    if not n:
        return found(view, "none", "", seen, cites, key="queue_motion.none", first=0, last=0, peak=0, span_s=None)
    if n < 2:
        return lacking("a second load point", "a longer stretch of the same source", n)
    if peak >= 4 and last <= 0.05 * peak and end_level <= 0.25 * peak:
        motion = "drained"
    elif late >= 1.2 * early:
        motion = "growing"
    elif late <= 0.9 * early:
        motion = "draining"
    else:
        motion = "flat"
    return found(view, motion, "", n, cites, first=first, last=last, peak=peak, span_s=rounded(span_s))


CAPPED: Final = """
WITH rows AS (
    SELECT *, max(busy) OVER (PARTITION BY place) AS most, lag(busy) OVER (PARTITION BY place ORDER BY ord) AS before
    FROM lane
    WHERE waiting IS NOT NULL AND busy IS NOT NULL
        AND (cap IS NOT NULL OR coalesce(role, '') <> 'prefill')  -- there a batch of prompts stands still, no limit
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
queued AS (SELECT * FROM rows WHERE waiting > 0)
SELECT count(*) AS n, count(*) FILTER (WHERE cap IS NULL) AS unstated,
    count(*) FILTER (WHERE cap IS NOT NULL AND (busy >= 0.97 * cap OR (cap >= 4 AND busy >= cap - 1))) AS at_stated,
    count(*) FILTER (WHERE cap IS NULL AND busy >= 1 AND busy >= 0.97 * most) AS at_most,
    count(*) FILTER (WHERE busy > before) AS rose, count(*) FILTER (WHERE busy <= before) AS held,
    max(cap) AS cap, max(most) AS most, median(usage * (1 + 1 / busy)) FILTER (WHERE busy >= 1) AS with_one_more,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM queued GROUP BY source)) AS cites
FROM queued
"""


def at_cap_share(view: View) -> Fact:
    """Share of the points with a queue at which the running count stood at its limit.

    The limit is the stated one (start-up line, server_info, loads); where none is, a running count that stands
    still while others wait is taken as one, and the sentence says that it is inferred; not where one more request as
    large as those that run would not fit the pool, for then the room holds it still as well as a limit would. One
    below a stated limit of four or more counts as at it: a slot is empty for a moment after each finish.
    """
    n, unstated, at_stated, at_most, rose, held, cap, most, fuller, cites = ready(view).one(CAPPED, bounds(view))
    if not n:
        return lacking("load points with a queue", HOW_QUEUE)
    if unstated == 0:
        return found(view, at_stated / n, "share", n, cites, hits=at_stated, cap=cap, basis="stated")
    if rose and not held:
        # It kept rising while others waited, so no limit held it at any but the last point.
        return found(view, 0.0, "share", n, cites, hits=0, cap=most, basis="never seen: running kept rising")
    if n < PINNED_ROWS or (fuller is not None and fuller > 1):
        return lacking("the running limit", "the start-up line with max_running_requests, /server_info or /v1/loads", n)
    hits = at_stated + at_most
    return found(view, hits / n, "share", n, cites, hits=hits, cap=most, basis="inferred from where it stands still")


CAP: Final = """
WITH rows AS (SELECT cap, source, line FROM points WHERE cap IS NOT NULL)
SELECT count(*) AS n, min(cap) AS low, max(cap) AS cap,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, min(line) AS b FROM servers WHERE max_running IS NOT NULL GROUP BY source))
        AS cites
FROM rows
"""


def running_cap(view: View) -> Fact:
    """The stated limit of running requests per rank."""
    n, low, cap, cites = ready(view).one(CAP)
    if not n:
        return lacking("the running limit", "the start-up line with max_running_requests, /server_info or /v1/loads")
    return found(view, cap, "requests", n, cites, lowest=low)


SLACK: Final = """
WITH rows AS (
    SELECT *, max(busy) OVER (PARTITION BY place) AS most FROM lane
    WHERE waiting IS NOT NULL AND busy IS NOT NULL AND usage IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
queued AS (SELECT * FROM rows WHERE waiting > 0),
slack AS (SELECT * FROM queued WHERE usage < $usage_below AND busy < coalesce(cap, most))
SELECT (SELECT count(*) FROM queued) AS n, count(*) AS hits, max(cap) AS cap, median(usage) AS usage,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM slack GROUP BY source)) AS cites
FROM slack
"""


def slack_share(view: View, usage_below: float = 0.9) -> Fact:
    """Share of the points with a queue that had neither a full pool nor a full batch."""
    n, hits, cap, usage, cites = ready(view).one(SLACK, {**bounds(view), "usage_below": usage_below})
    if not n:
        return lacking("load points with a queue and the pool's usage", HOW_QUEUE)
    return found(view, hits / n, "share", n, cites, hits=hits, cap=cap, usage=rounded(usage), usage_below=usage_below)


FULL: Final = """
WITH rows AS (
    SELECT * FROM lane -- on a decode server those that wait for room stand in a queue of their own
    WHERE (waiting > 0 OR prealloc > 0 OR retracted > 0) AND usage IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n, median(usage) AS usage, max(usage) AS peak, count(*) FILTER (WHERE usage >= 0.9) AS full_rows,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def usage_when_queued(view: View) -> Fact:
    """Median pool usage over the points with a queue."""
    n, usage, peak, full, cites = ready(view).one(FULL, bounds(view))
    if not n:
        return lacking("load points with a queue and the pool's usage", HOW_QUEUE)
    told = {"peak": rounded(peak), "full": full, "usage": rounded(usage), "which": fullest(view)}
    return found(view, usage, "share", n, cites, **told)


def pool_full(view: View) -> Fact:
    """Whether the pool is what requests wait for: 90 % full at the usual point with a queue.

    80 % do where it has been at 90 % too: admission keeps room for the next request and for outputs, so the last
    tenth or fifth of a small pool stays empty although it is full for whoever stands at the head.
    """
    fact, capped = usage_when_queued(view), at_cap_share(view)
    if fact.value is None:
        return fact
    peak = dict(fact.statement.figures)["peak"]
    near = fact.value >= 0.8 and peak >= 0.9 and (capped.value or 0.0) < 0.7
    return restated(fact, bool(fact.value >= 0.9 or near), "", "usage_when_queued")


def queue_peak(view: View) -> Fact:
    """Longest queue seen."""
    fact = waiting_share(view)
    return (
        fact if fact.value is None else restated(fact, dict(fact.statement.figures)["peak"], "requests", "queue_peak")
    )
