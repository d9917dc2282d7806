"""Is there enough to say anything: points, requests, time, unread error-like lines, what the symptom would need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, rounded
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

POINTS: Final = """
WITH rows AS (
    SELECT * FROM lane
    WHERE waiting IS NOT NULL AND running IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n, count(*) FILTER (WHERE running > 0) AS working, count(gen_tps) AS rated,
    max(ts) - min(ts) AS span_s, count(DISTINCT place) AS places,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def load_points(view: View) -> Fact:
    """Load points that know both running and waiting requests."""
    n, working, rated, span_s, places, cites = ready(view).one(POINTS, bounds(view))
    if not n:
        return lacking("running and waiting requests", "batch lines, /metrics with --enable-metrics, or /v1/loads")
    return found(view, n, "points", n, cites, working=working, rated=rated, span_s=rounded(span_s), places=places)


RATES: Final = """
WITH rows AS (
    SELECT class, count(gen_tps) AS n, arg_max(source, line) AS source, min(line) AS a, max(line) AS b FROM points
    WHERE gen_tps IS NOT NULL AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
    GROUP BY class
    UNION ALL
    SELECT 'counter', count(*) - 1, max(m.source), min(m.line), max(m.line) FROM samples m JOIN series s USING (series)
    WHERE s.name IN ('generation_tokens', 'realtime_tokens')
        AND ($since::DOUBLE IS NULL OR m.ts >= $since) AND ($until::DOUBLE IS NULL OR m.ts <= $until)
    GROUP BY s.series
),
best AS (SELECT * FROM rows ORDER BY n DESC, class LIMIT 1)
SELECT count(*) AS known, max(n) AS n, max(class) AS class, list({'source': source, 'a': a, 'b': b}) AS cites FROM best
"""


def rated_points(view: View) -> Fact:
    """Points at which a throughput is known: lines, gauges, or a counter that is scraped again."""
    known, n, basis, cites = ready(view).one(RATES, bounds(view))
    if not known or n < 1:
        return lacking("throughput", "decode lines of the server log, or gen_throughput in /metrics")
    return found(view, n, "points", n, cites, basis=basis)


TROUBLE: Final = """
WITH rows AS (
    SELECT source, line FROM unread WHERE severity IN ('error', 'fatal')
    UNION ALL
    SELECT source, line FROM events WHERE kind IN ('other-error', 'traceback', 'crash', 'cuda-oom', 'host-oom')
)
SELECT count(*) AS hits, (SELECT count(*) FROM sources) AS sources,
    arg_min({'source': source, 'line': line}, (source, line)) AS first,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def error_lines(view: View) -> Fact:
    """Error-like lines that no cause has explained, unread ones included."""
    hits, sources, first, cites = view.one(TROUBLE)
    return found(view, hits, "lines", max(hits, sources), cites, sources=sources, at=_at(view, first))


def _at(view: View, first: Mapping[str, Any] | None) -> str | None:
    """`server.log:18` of a row."""
    if first is None or first["source"] is None:
        return None
    name = view.names.get(first["source"], f"source {first['source']}")
    return name if first["line"] is None else f"{name}:{first['line']}"


BAD_EVENTS: Final = """
WITH rows AS (
    SELECT kind, ts, source, line FROM events
    WHERE kind NOT IN ('ready', 'startup', 'health-ok', 'http', 'warmup', 'compile', 'shutdown', 'scheduler-status',
                       'config-changed', 'cache-flushed', 'weights-updated', 'other-warning', 'lora', 'routing',
                       'request-invalid', 'restart', 'streaming-backlog')
        OR (kind = 'http' AND try_cast(attrs ->> 'status' AS INTEGER) >= 500)
)
SELECT count(*) AS hits, mode(kind) AS kind, (SELECT count(*) FROM sources) AS sources,
    (SELECT string_agg(n || ' ' || kind, ', ' ORDER BY n DESC, kind)
     FROM (SELECT kind, count(*) AS n FROM rows GROUP BY kind ORDER BY n DESC, kind LIMIT 3)) AS kinds,
    arg_min({'source': source, 'line': line}, (coalesce(ts, 1e18), source, line)) AS first,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def bad_events(view: View) -> Fact:
    """Events that a healthy service does not have (retractions, aborts, failures, watchdogs, HTTP 5xx)."""
    hits, kind, sources, kinds, first, cites = view.one(BAD_EVENTS)
    told = {"most": kind or "none", "kinds": kinds, "at": _at(view, first)}
    return found(view, hits, "events", max(hits, sources), cites, **told)


CHANGES: Final = """
WITH rows AS (
    SELECT kind, ts, source, line FROM events
    WHERE kind IN ('restart', 'config-changed', 'weights-updated', 'cache-flushed', 'lora')
        AND ts BETWEEN coalesce($since, 0) - 600 AND coalesce($since, 1e18) + 60
)
SELECT count(*) AS hits, string_agg(DISTINCT kind, ', ' ORDER BY kind) AS kinds, (SELECT count(*)
    FROM sources) AS sources,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def changes_near_onset(view: View) -> Fact:
    """Restarts, settings, weights, flushes, adapters within ten minutes before the onset: candidates only."""
    if view.incident is None:
        return lacking("an onset", "--from and --to, or evidence long enough for a change-point")
    hits, kinds, sources, cites = view.one(CHANGES, {"since": view.incident.from_ts})
    return found(view, hits, "events", max(hits, sources), cites, kinds=kinds or "none")
