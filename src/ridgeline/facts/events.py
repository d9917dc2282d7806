"""Happenings: counts by kind, who they hit, silence, and counters that stand still while requests arrive."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.head import STANDS_S, head_blocked
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

HOW_LOG: Final = "the server log"

COUNT: Final = """
WITH rows AS (
    SELECT * FROM events
    WHERE list_contains($kinds, kind)
        AND ($text::VARCHAR IS NULL OR contains(lower(coalesce(text, '') || ' ' || coalesce(attrs, '')), lower($text)))
        AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since - $before_s)
        AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until)
)
SELECT count(*) AS hits, count(DISTINCT coalesce(rid, room::VARCHAR)) AS requests, min(ts) AS first, max(ts) AS last,
    max(value) AS value, arg_min(text, coalesce(ts, 0)) AS text, max(peer) AS peer,
    (SELECT count(*) FROM sources WHERE kind IN ('log', 'text')) AS watched,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


KINDS: Final = "SELECT DISTINCT kind FROM events ORDER BY kind"
# Only a log could have shown a happening that is not there: an answer or a client file proves no absence.
WATCHED: Final = "SELECT count(*) FROM sources WHERE kind IN ('log', 'text')"


# What ended a process stands behind the line that says that it did: the exception at the end of the trace.
RAISED: Final = """
SELECT t.text FROM events c
JOIN events t ON t.source = c.source AND t.line > c.line AND t.line <= c.line + $reach
WHERE c.kind = 'crash' AND c.text = $shown AND t.kind = 'traceback' AND contains(t.text, ':')
ORDER BY c.source, c.line, t.line LIMIT 1
"""
UNREAD_ERRORS: Final = "SELECT count(*) FROM unread WHERE severity IN ('error', 'fatal')"
TRACE: Final = "Traceback (most recent call last):"
TRACE_LINES: Final = 400


def event_count(view: View, kinds: str, text: str | None = None, before_s: float = 0.0) -> Fact:
    """Events of the given kinds (comma separated), of those whose text holds `text`; copies of ranks are folded.

    With `before_s`, so many seconds before the window count as well: users feel some happenings only later.
    """
    wanted = kinds.split(",")
    unread = view.one(UNREAD_ERRORS)[0] if kinds == "crash" else 0
    if not {kind for (kind,) in view.query(KINDS)}.intersection(wanted):
        watched = view.one(WATCHED)[0]
        if not watched:
            return lacking("log lines", HOW_LOG)
        if unread:  # one of them may be the last word of a process
            return lacking("what the unread error lines say", "ridgeline sources --unread")
        return found(view, 0, "events", watched, (), key="event_count.none", kinds=kinds, text="", requests=0)
    asked = {**bounds(view), "kinds": wanted, "text": text, "before_s": before_s}
    hits, requests, first, last, value, shown, peer, watched, cites = view.one(COUNT, asked)
    if not watched and not hits:
        return lacking("log lines", HOW_LOG)
    if shown and shown.endswith(TRACE):
        raised = view.query(RAISED, {"shown": shown, "reach": TRACE_LINES})
        shown = f"{shown.removesuffix(TRACE)}{raised[0][0]}" if raised else shown
    return found(
        view,
        hits,
        "events",
        hits or watched,
        cites,
        kinds=kinds,
        requests=requests,
        span_s=rounded(_span(first, last)),
        seconds=value,
        first_at=None if first is None else f"{first:.3f}",
        text=(shown or "")[:160],
        peer=peer or "",
    )


def _span(first: float | None, last: float | None) -> float | None:
    return None if first is None or last is None else last - first


ORPHANS: Final = """
WITH rows AS (
    SELECT coalesce(rid, '') AS rid, coalesce(count, 1) AS times, ts, source, line FROM events
    WHERE (contains(lower(coalesce(text, '')), 'state was deleted') OR coalesce(attrs ->> 'orphan', '') = 'true')
        AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since)
        AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until)
)
SELECT count(DISTINCT rid) AS rids, coalesce(sum(times), 0)::BIGINT AS lines, max(ts) - min(ts) AS span_s,
    (SELECT count(*) FROM sources WHERE kind IN ('log', 'text')) + (SELECT count(*) FROM events) AS watched,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def orphan_outputs(view: View) -> Fact:
    """Outputs for each request whose client has gone: the engine still decodes it and it still holds a slot."""
    rids, lines, span_s, watched, cites = view.one(ORPHANS, bounds(view))
    if not watched:
        return lacking("log lines", HOW_LOG)
    value = lines / rids if rids else 0.0
    return found(view, value, "outputs", lines, cites, rids=rids, lines=lines, span_s=rounded(span_s))


SHRINK: Final = """
WITH rows AS (
    SELECT place, ord, busy, waiting, usage, cap, source, line FROM lane
    WHERE waiting > 0 AND busy IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
thirds AS (SELECT *, ntile(3) OVER (PARTITION BY place ORDER BY ord) AS third FROM rows)
SELECT count(*) AS n, quantile_cont(busy, 0.9) FILTER (WHERE third = 1) AS early,
    quantile_cont(busy, 0.9) FILTER (WHERE third = 3) AS late, median(usage) FILTER (WHERE third = 3) AS usage,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM thirds
"""


def ceiling_loss(view: View) -> Fact:
    """By what share the most that runs at once fell between the first and the last third of the queued time."""
    n, early, late, usage, cites = ready(view).one(SHRINK, bounds(view))
    if n < 12 or not early:
        return lacking("twelve load points with a queue", "a longer stretch of log or scrapes", n)
    value = 1 - late / early
    return found(view, value, "share", n, cites, early=early, late=late, usage=rounded(usage), loss=rounded(value))


RAN: Final = """
SELECT count(*) AS n, quantile_cont(busy, 0.9) AS most, arg_max(cap, ord) AS cap FROM lane
WHERE busy IS NOT NULL AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
"""


def slots_held(view: View) -> Fact:
    """Whether slots stay taken by requests nobody waits for: outputs without an owner, or a sinking ceiling."""
    orphans = orphan_outputs(view)
    if orphans.value is not None and orphans.value >= 5:
        return restated(orphans, True, "", "orphans.outputs")
    loss = ceiling_loss(view)
    if loss.value is None:
        return loss if orphans.value is None else restated(orphans, False, "", "orphans.none")
    told = dict(loss.statement.figures)
    empty, late = told["usage"] is not None and told["usage"] < 0.5, told["late"]
    _n, _most, cap = ready(view).one(RAN, bounds(view))
    if cap is not None and late > 0.7 * cap:
        # At a limit that is stated, however low, none is lost.
        return restated(loss, False, "", "ceiling.fell")
    if view.baseline is not None and empty and loss.value < 0.3:
        # Those that were lost before the queue stood: fewer run now beside a queue than ran then without one.
        n, then, _cap = ready(view).one(RAN, bounds(view.window(view.baseline, None)))
        if n >= 12 and then and late <= 0.7 * then:
            return restated(loss, True, "", "ceiling.fell", early=rounded(then), loss=rounded(1 - late / then))
    return restated(loss, bool(loss.value >= 0.3 and empty), "", "ceiling.fell")


def killed(view: View) -> Fact:
    """Whether the kernel or the container runtime says that it killed a process for host memory.

    Exit status -9 alone is also what an operator's kill leaves: then it is not known who sent it.
    """
    said = event_count(view, "host-oom")
    if said.value:
        return restated(said, True, "", "event_count")
    signal = event_count(view, "crash", "exit code -9")
    if signal.value and not event_count(view, "traceback,cuda-oom,watchdog").value:
        return lacking("who sent SIGKILL", "dmesg of the host, or the container's last state (OOMKilled)")
    return restated(said, False, "", said.statement.key) if said.value is not None else said


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
        return restated(silent, not alive, "", "hang.alive" if alive else "hang.silent")
    # vLLM's statistics come from its front end: they go on beside a scheduler that admits nothing any more.
    told_by_front = frozen.value is None and (head_blocked(view).value or 0) >= STANDS_S
    if mute.value or told_by_front or (age is not None and age >= OLD_S):
        return lacking("whether the scheduler still moves", "/health and /v1/loads polled for a minute, or py-spy dump")
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


CORRUPT: Final = """
WITH rows AS (
    SELECT coalesce(text, '') AS text, source, line FROM events
    WHERE regexp_matches(coalesce(text, ''), '(?i)checksum mismatch|corrupt|invalid kv blocks')
        AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since)
        AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until)
),
counted AS (
    SELECT max(delta) AS delta FROM (
        SELECT max(m.value) - min(m.value) AS delta FROM samples m JOIN series s USING (series)
        WHERE s.name = 'corrupted_requests' GROUP BY s.series)
)
SELECT count(*) AS hits, coalesce((SELECT delta FROM counted), 0) AS counted, min(text) AS text,
    (SELECT count(*) FROM events) + (SELECT count(*) FROM sources WHERE kind = 'log') AS watched,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def corrupt_outputs(view: View) -> Fact:
    """Signs that output cannot be trusted: checksums that differ, KV read after it was given up, corrupted requests.

    That no line says so proves nothing: an engine that answers wrongly logs nothing of it.
    """
    hits, counted, text, watched, cites = view.one(CORRUPT, bounds(view))
    if not hits and not counted:
        return lacking("answers known to be right", "the same requests sent to a clean server", watched)
    return found(view, max(hits, int(counted)), "events", max(hits, watched, 1), cites, text=(text or "")[:160])
