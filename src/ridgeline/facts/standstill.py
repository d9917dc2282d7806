"""A scheduler that stands still: its watchdog, counters that freeze while requests arrive, answers that grow old."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.events import event_count
from ridgeline.facts.head import STANDS_S, head_blocked
from ridgeline.facts.log_ends import admission_stops
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

FROZEN: Final = """
WITH rows AS (
    SELECT place, ts, running, waiting, usage, gen_tps, source, line FROM points
    WHERE class IN ('scrape', 'loads') AND ts IS NOT NULL AND running IS NOT NULL AND waiting IS NOT NULL
        AND (usage IS NOT NULL OR gen_tps IS NOT NULL)  -- two small counts alone repeat by chance
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
marked AS (
    SELECT *, (running, waiting, coalesce(usage, -1), coalesce(gen_tps, -1))
        IS DISTINCT FROM lag((running, waiting, coalesce(usage, -1), coalesce(gen_tps, -1))) OVER w AS moved
    FROM rows WINDOW w AS (PARTITION BY place ORDER BY ts)
),
runs AS (
    SELECT place, stretch, max(ts) - min(ts) AS still_s, count(*) AS n, min(ts) AS began, max(ts) AS ended,
        any_value(running) AS running, any_value(waiting) AS waiting, source, min(line) AS a, max(line) AS b
    FROM (SELECT *, count(*) FILTER (WHERE moved) OVER (PARTITION BY place ORDER BY ts) AS stretch FROM marked)
    GROUP BY place, stretch, source
),
worst AS (
    SELECT *, (SELECT count(*) FROM asks q
               WHERE q.received_ts BETWEEN r.began AND r.ended AND NOT coalesce(q.probe, false)) AS arrived,
        (SELECT count(*) FROM asks q WHERE q.finished_ts > r.began + 5 AND q.finished_ts <= r.ended) AS finished
    FROM runs r WHERE running + waiting > 0 AND n >= 3 ORDER BY still_s DESC, place LIMIT 1
)
SELECT (SELECT count(*) FROM rows) AS n, max(still_s) AS still_s, max(running) AS running, max(waiting) AS waiting,
    max(arrived) AS arrived, max(finished) AS finished, max(place) AS place, max(began) AS began,
    list({'source': source, 'a': a, 'b': b}) AS cites
FROM worst
"""


def frozen_s(view: View) -> Fact:
    """Longest time in which queue, running, usage and throughput all stood still with work present, none finishing.

    Needs scrapes or load answers: a stalled scheduler prints no lines, and its gauges keep their last values.
    """
    n, still_s, running, waiting, arrived, finished, place, _began, cites = ready(view).one(FROZEN, bounds(view))
    if n < 3:
        return lacking("three scrapes or load answers with times", "/metrics or /v1/loads polled for a minute", n)
    if still_s is None or finished:
        return found(view, 0.0, "s", n, ())
    return found(
        view,
        still_s,
        "s",
        n,
        cites,
        still_s=rounded(still_s),
        running=running,
        waiting=waiting,
        arrived=arrived,
        place=place or "the server",
    )


# Arrivals count only where they never finished: a log that ends before the request log does is no hang.
# A server that reports every ten seconds is not silent after ten: three of its usual gaps are.
SILENCE: Final = """
WITH gaps AS (
    SELECT server, quantile_cont(gap_s, 0.9) AS gap_s
    FROM (SELECT server, ts - lag(ts) OVER (PARTITION BY server ORDER BY ts, line) AS gap_s FROM batches
          WHERE ts IS NOT NULL)
    GROUP BY server
),
ends AS (
    SELECT server, max(ts) AS last, arg_max(running, (ts, line)) AS running, arg_max(source, (ts, line)) AS source,
        arg_max(line, (ts, line)) AS line
    FROM batches WHERE ts IS NOT NULL GROUP BY server
),
after AS (
    SELECT e.*, count(q.received_ts) FILTER (WHERE coalesce(q.censored, false) OR q.state IN ('unfinished', 'received'))
            AS arrived,
        count(q.received_ts) FILTER (WHERE q.state = 'finished') AS finished,
            max(q.received_ts) - any_value(e.last) AS silent_s,
            (SELECT max(gap_s) FROM gaps g WHERE g.server IS NOT DISTINCT FROM e.server) AS gap_s
    FROM ends e LEFT JOIN asks q ON q.received_ts > e.last + 1 AND NOT coalesce(q.probe, false)
        AND (q.server IS NULL OR e.server IS NULL OR q.server = e.server)
    GROUP BY ALL
)
SELECT count(*) AS n, max(silent_s) AS silent_s, arg_max(arrived, coalesce(silent_s, 0)) AS arrived,
    arg_max(finished, coalesce(silent_s, 0)) AS finished, arg_max(running, coalesce(silent_s, 0)) AS running,
    coalesce(arg_max(gap_s, coalesce(silent_s, 0)), 0) AS gap_s,
    list({'source': source, 'a': line, 'b': line}) AS cites
FROM after
"""


def silent_arrivals(view: View) -> Fact:
    """Requests received after the last batch line of a server, none of which (and no other) finished any more."""
    n, silent_s, arrived, finished, running, gap_s, cites = view.one(SILENCE)
    if not n:
        return lacking("batch lines beside arrivals", "the server log together with the request log", n or 0)
    value = arrived if silent_s is not None and silent_s >= max(10, 3 * gap_s) and not finished else 0
    return found(view, value, "requests", n, cites, silent_s=rounded(silent_s), running=running)


# The scheduler stamps its figures: answers that go on giving one stamp while requests run come from a process that no
# longer looks. Two clocks may differ, so only the time over which the stamp stood counts beside its age.
HELD: Final = """
WITH rows AS (
    SELECT coalesce(server, '') AS place, coalesce(dp_rank, 0) AS rank, ts, snapshot_ts, running,
        coalesce(queue_waiting, waiting, 0) AS waiting, source, line
    FROM loads
    WHERE ts IS NOT NULL AND snapshot_ts IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
ends AS (SELECT place, rank, max(snapshot_ts) AS snapshot_ts FROM rows GROUP BY ALL),
held AS (
    SELECT r.place, r.rank, count(*) AS n, max(r.ts) - min(r.ts) AS held_s, max(r.ts) - any_value(r.snapshot_ts) AS age,
        max(r.running) AS running, max(r.waiting) AS waiting,
        list({'source': r.source, 'a': r.line, 'b': r.line}) AS cites
    FROM rows r JOIN ends e USING (place, rank, snapshot_ts) GROUP BY ALL HAVING max(r.running) + max(r.waiting) > 0
)
SELECT (SELECT count(*) FROM rows) AS known, n, held_s, age, running, waiting,
    list_transform(list_distinct(list_transform(cites, lambda c: c.source)), lambda s: {'source': s,
        'a': list_min([c.a for c in cites if c.source = s]), 'b': list_max([c.a for c in cites if c.source = s])})
FROM held ORDER BY held_s DESC, place, rank LIMIT 1
"""
HELD_LEAST: Final = 2  # answers that give one stamp


def snapshot_held_s(view: View) -> Fact:
    """How long load answers went on giving one and the same snapshot to the last, while requests were running."""
    rows = view.query(HELD, bounds(view))
    if not rows:
        known = view.one("SELECT count(*) FROM loads WHERE ts IS NOT NULL AND snapshot_ts IS NOT NULL")[0]
        if not known:
            return lacking("load answers with their snapshot time", "/v1/loads polled (0.5.23)")
        return found(view, 0.0, "s", known, ())
    known, n, held_s, age, running, waiting, cites = rows[0]
    if n < HELD_LEAST:
        return found(view, 0.0, "s", known, ())
    told = {"age": rounded(age), "held_s": rounded(held_s), "running": running, "waiting": waiting}
    return found(view, held_s, "s", n, cites, **told)


UNANSWERED: Final = """
WITH polls AS (
    SELECT ts, ok, source, line FROM scrapes
    WHERE contains(coalesce(endpoint, ''), 'health')
        AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since - 30)
        AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until + 30)
),
ends AS (SELECT max(ts) FILTER (WHERE ok) AS well FROM polls)
SELECT count(*) AS n, list({'source': source, 'a': line, 'b': line} ORDER BY source, line) AS cites
FROM polls WHERE NOT coalesce(ok, false) AND coalesce(ts > (SELECT well FROM ends), (SELECT well FROM ends) IS NULL)
"""


def unanswered(view: View) -> Fact:
    """Polls of /health that failed or got no answer, with none after them that did."""
    polled = view.one("SELECT count(*) FROM scrapes WHERE contains(coalesce(endpoint, ''), 'health')")[0]
    if not polled:
        return lacking("polls of /health", "GET /health polled")
    n, cites = view.one(UNANSWERED, bounds(view))
    return found(view, n, "polls", max(n, polled), cites if n else ())


STILL_S: Final = 30.0  # a snapshot that stands so long while requests run: idle ones are renewed as often
HOW_MOVES: Final = "/health and /v1/loads polled for a minute, or py-spy dump"
OLD_S: Final = 10.0  # beside a /health that does not answer


def stands_still(view: View) -> Fact:
    """Whether a scheduler stopped: its watchdog fired, or everything froze for half a minute while work was present.

    A /health that does not answer beside figures that stand says so as well; either of the two alone leaves it open.
    """
    dog = event_count(view, "watchdog")
    if dog.value:
        return restated(dog, True, "", "hang.watchdog")
    frozen, silent = frozen_s(view), silent_arrivals(view)
    held, mute = snapshot_held_s(view), unanswered(view)
    age = dict(held.statement.figures).get("age") if held.value else None
    if mute.value and age is not None and age >= OLD_S:
        return _both(restated(held, True, "", "hang.unanswered", still_s=None, mute=mute.value), mute)
    if mute.value and (frozen.value or 0) >= OLD_S / 2:
        return _both(restated(frozen, True, "", "hang.unanswered", age=None, mute=mute.value), mute)
    if held.value is not None and held.value >= STILL_S:
        return restated(held, True, "", "hang.stale")
    if frozen.value is not None and frozen.value >= 30 and dict(frozen.statement.figures)["arrived"]:
        return restated(frozen, True, "", "hang.frozen")
    if silent.value is not None and silent.value >= 3:
        # A scheduler that goes on counting a growing queue is alive: it admits nothing.
        alive = (head_blocked(view).value or 0) >= STANDS_S
        if not alive and admission_stops(view).value:  # it went on until what ran had ended: nobody is admitted
            return lacking("whether the scheduler still moves", HOW_MOVES)
        return restated(silent, not alive, "", "hang.alive" if alive else "hang.silent")
    # vLLM's statistics come from its front end: they go on beside a scheduler that admits nothing any more.
    told_by_front = frozen.value is None and (head_blocked(view).value or 0) >= STANDS_S
    if mute.value or told_by_front or (age is not None and age >= OLD_S):
        return lacking("whether the scheduler still moves", HOW_MOVES)
    if dog.value is None and frozen.value is None:
        return lacking("a watchdog line, or repeated scrapes", "the server log, or /v1/loads polled for a minute")
    return restated(dog if dog.value is not None else frozen, False, "", "hang.none")


def _both(fact: Fact, other: Fact) -> Fact:
    """The fact, resting on both sources."""
    return replace(
        fact,
        sources=tuple(sorted({*fact.sources, *other.sources})),
        kinds=tuple(sorted({*fact.kinds, *other.kinds})),
        n=fact.n + int(other.value or 0),
    )
