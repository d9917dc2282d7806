"""Happenings: counts by kind, and what they did to whom."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, quoted, restated, rounded
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
SELECT t.text || CASE WHEN contains(t.text, ': ') THEN '' -- a bare exception tells nothing without its place
    ELSE coalesce(' at ' || regexp_replace(t.attrs ->> 'frame', '^.*/', ''), '') END
FROM events c
JOIN events t ON t.source = c.source AND t.line > c.line AND t.line <= c.line + $reach
WHERE c.kind = 'crash' AND c.text = $shown AND t.kind = 'traceback'
    AND (contains(t.text, ': ') OR t.attrs ->> 'exception' IS NOT NULL)
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
        text=quoted(shown),
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
    return found(view, max(hits, int(counted)), "events", max(hits, watched, 1), cites, text=quoted(text))
