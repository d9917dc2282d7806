"""The client's view and the front end: own lag, the way there and back, disconnects, blocked loops."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.model.fact import Fact
from ridgeline.words.versions import Span

HOW_CLIENT: Final = "a client file (bench_serving, GuideLLM, AIPerf, or JSONL with send and chunk times)"

PAIRS: Final = """
WITH client AS (
    SELECT coalesce(client_rid, rid) AS key, rid, coalesce(ttft_s, first_token_ts - dispatched_ts,
        first_token_ts - received_ts)
        AS ttft_s, coalesce(e2e_s, finished_ts - received_ts) AS e2e_s, received_ts, source, line
    FROM records WHERE role = 'client' OR kind = 'client'
),
server AS (
    SELECT rid, any_value(coalesce(ttft_s, first_token_ts - received_ts, prefill_done_ts - received_ts)) AS ttft_s,
        -- each side of a pair sees its own part of a request, neither the whole
        any_value(e2e_s) FILTER (WHERE coalesce(role, 'unified') NOT IN ('prefill', 'decode')) AS e2e_s
    FROM records WHERE coalesce(role, '') NOT IN ('client', 'gateway') AND kind <> 'client' GROUP BY rid
),
joined AS (
    -- Where the engine says nothing of a first token: what of the whole answer's time it did not see. More than all
    -- of the client's TTFT lies behind the first token: that tells nothing of what came before it.
    SELECT c.ttft_s AS seen,
        coalesce(s.ttft_s, CASE WHEN c.e2e_s - s.e2e_s < c.ttft_s
            THEN c.ttft_s - greatest(c.e2e_s - s.e2e_s, 0) END) AS engine,
        c.source, c.line
    FROM client c JOIN server s ON s.rid IN (c.rid, c.key)
    WHERE c.ttft_s IS NOT NULL AND (s.ttft_s IS NOT NULL OR c.e2e_s - s.e2e_s < c.ttft_s)
        AND ($since::DOUBLE IS NULL OR c.received_ts >= $since) AND ($until::DOUBLE IS NULL OR c.received_ts <= $until)
)
SELECT count(*) AS n, median(seen - engine) AS gap_s, median(seen) AS seen, median(engine) AS engine,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM joined GROUP BY source)) AS cites
FROM joined
"""


def client_gap_share(view: View) -> Fact:
    """Share of the client's TTFT that lies outside the engine: network, gateway, or the client itself."""
    n, gap_s, seen, engine, cites = view.one(PAIRS, bounds(view))
    if n < 5 or not seen:
        return lacking("the client's TTFT beside the engine's", HOW_CLIENT, n)
    value = max(gap_s, 0.0) / seen
    return found(view, value, "share", n, cites, gap_s=rounded(gap_s), seen_s=rounded(seen), engine_s=rounded(engine))


LAG: Final = """
WITH rows AS (
    SELECT coalesce(r.dispatched_ts - r.received_ts, a.number) AS lag_s, r.source, r.line
    FROM records r LEFT JOIN request_attrs a ON a.source = r.source AND a.line = r.line AND a.name = 'send_lag_s'
    WHERE (r.role = 'client' OR r.kind = 'client') AND r.received_ts IS NOT NULL
        AND coalesce(r.dispatched_ts - r.received_ts, a.number) IS NOT NULL
        AND ($since::DOUBLE IS NULL OR r.received_ts >= $since) AND ($until::DOUBLE IS NULL OR r.received_ts <= $until)
)
SELECT count(*) AS n, median(lag_s) AS typical, quantile_cont(lag_s, 0.95) AS p95,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def generator_lag_s(view: View) -> Fact:
    """Median seconds by which the load generator sent later than it had planned."""
    n, typical, p95, cites = view.one(LAG, bounds(view))
    if n < 5:
        return lacking("planned and real send times", HOW_CLIENT, n)
    return found(view, typical, "s", n, cites, p95=rounded(p95), lag=rounded(typical))


# From dispatch on a request waits for the scheduler, whose loop is as long as the batch it runs: where the stamp is
# known, only what lies before it is the API server's.
BLOCKED: Final = """
WITH rows AS (
    SELECT received_ts AS ts, coalesce(dispatched_ts - received_ts, pre_queue_s, queued_ts - received_ts) AS before_s,
        source, line
    FROM asks
    WHERE received_ts IS NOT NULL AND coalesce(dispatched_ts - received_ts, pre_queue_s, queued_ts - received_ts) >= 0
        AND NOT coalesce(probe, false)
        AND coalesce(state, 'finished') = 'finished'
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
level AS (SELECT median(before_s) AS usual, quantile_cont(before_s, 0.95) AS high FROM rows),
held AS (SELECT r.*, r.ts + r.before_s AS freed FROM rows r, level l WHERE r.before_s >= greatest(4 * l.usual, 0.25)),
-- Requests held up by one stall are released together: their ends fall into the same half second.
bursts AS (SELECT floor(freed * 2) AS half, count(*) AS n FROM held GROUP BY half)
SELECT (SELECT count(*) FROM rows) AS n, count(*) AS held, max(before_s) AS worst,
    (SELECT coalesce(sum(n), 0) FROM bursts WHERE n >= 3) AS together, (SELECT count(*) FROM bursts
        WHERE n >= 3) AS stalls,
    (SELECT usual FROM level) AS usual,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM held GROUP BY source)) AS cites
FROM held
"""


def aligned_stalls(view: View) -> Fact:
    """Share of the requests held before the scheduler that were released together with others: a loop stood still."""
    n, held, worst, together, stalls, usual, cites = view.one(BLOCKED, bounds(view))
    if n < 20:
        return lacking("times before the scheduler", "--enable-metrics with the request log (api_server stamps)", n)
    value = float(together) / held if held >= 10 else 0.0
    return found(view, value, "share", n, cites, held=held, stalls=stalls, worst=rounded(worst), usual=rounded(usual))


# Without a stage of its own (0.5.9), tokenizing is what lies between receipt and dispatch.
ENDS: Final = """
WITH told AS (
    SELECT coalesce(finished_ts, received_ts + e2e_s) AS ended, coalesce(role, '') AS role, source, line FROM requests
    WHERE coalesce(finished_ts, received_ts + e2e_s) IS NOT NULL AND NOT coalesce(probe, false)
        AND coalesce(state, 'finished') = 'finished'
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
-- One view of each request: the client's, where there is one.
rows AS (SELECT * FROM told WHERE (role = 'client') = (SELECT count(*) FILTER (WHERE role = 'client') > 0 FROM told)),
gaps AS (SELECT *, ended - lag(ended) OVER (ORDER BY ended, source, line) AS gap_s FROM rows),
marked AS (SELECT *, sum(CASE WHEN gap_s > 0.05 THEN 1 ELSE 0 END) OVER (ORDER BY ended, source, line) AS cluster
    FROM gaps),
clusters AS (SELECT cluster, count(*) AS n, max(gap_s) AS silence_s FROM marked GROUP BY cluster),
loose AS (SELECT * FROM clusters WHERE n >= 3 AND silence_s >= 1)
SELECT (SELECT count(*) FROM rows) AS n, coalesce(sum(n), 0) AS together, count(*) AS stalls,
    median(silence_s) AS silence_s,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM loose
"""


def ends_together(view: View) -> Fact:
    """Share of the answers that ended within 50 ms of two others, after a second or more without any end.

    A scheduler that stood still goes on decoding; only what waits for one loop ends at one moment.
    """
    n, together, stalls, silence_s, cites = view.one(ENDS, bounds(view))
    if n < 40:
        return lacking("forty answers and when they ended", "a client file, the request log or the exporter", n)
    return found(view, together / n, "share", n, cites, together=together, stalls=stalls, silence=rounded(silence_s))


def loop_blocked(view: View) -> Fact:
    """Whether one loop stood still for everyone: requests let go together before dispatch, or answers that end so."""
    held, ends = aligned_stalls(view), ends_together(view)
    if held.value is not None and held.value >= 0.6:
        return restated(held, True, "", "aligned_stalls")
    if ends.value is not None and ends.value >= 0.15 and dict(ends.statement.figures)["stalls"] >= 3:
        return restated(ends, True, "", "ends_together")
    if held.value is not None:
        return restated(held, False, "", "aligned_stalls")
    return held


TOKENIZE: Final = """
WITH rows AS (
    SELECT coalesce(tokenize_s, dispatched_ts - received_ts) AS tokenize_s, prompt_tokens,
        coalesce(endpoint, routing_key, '') AS class, source, line
    FROM asks
    WHERE coalesce(tokenize_s, dispatched_ts - received_ts) >= 0 AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
    UNION ALL
    SELECT s.duration_s, NULL, '', s.source, s.line FROM stages s
    WHERE s.stage = 'tokenize' AND s.duration_s IS NOT NULL AND NOT coalesce(s.probe, false)
        AND ($since::DOUBLE IS NULL OR s.start_ts >= $since) AND ($until::DOUBLE IS NULL OR s.start_ts <= $until)
),
classes AS (SELECT class, median(tokenize_s) AS typical FROM rows GROUP BY class HAVING count(*) >= 10)
SELECT count(*) AS n, least(median(tokenize_s), (SELECT min(typical) FROM classes)) AS typical,
    quantile_cont(tokenize_s, 0.95) AS p95, corr(tokenize_s, prompt_tokens) AS follows,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def tokenize_s(view: View) -> Fact:
    """Median seconds of tokenizing a request, of the quickest endpoint: a slow tokenizer is slow for all of them."""
    n, typical, p95, follows, cites = view.one(TOKENIZE, bounds(view))
    if n < 5:
        return lacking("tokenize times", "traces (stage tokenize) or api_server stamps of the request log", n)
    return found(view, typical, "s", n, cites, p95=rounded(p95), follows=rounded(follows), seconds=rounded(typical))


GONE: Final = r"""
WITH rows AS (
    SELECT rid, coalesce(text, '') || ' ' || coalesce(attrs, '') AS said, kind, source, line FROM events
    WHERE (kind IN ('client-disconnect')
        OR (kind IN ('abort', 'transfer-failed', 'bootstrap-failed', 'handshake-failed')
           AND (contains(coalesce(text, '') || coalesce(attrs, ''), 'Aborted by') OR attrs ->> 'by' = 'client')))
        AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since)
        AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until)
    UNION ALL
    -- vLLM says only that a request was aborted, under its own id: nobody but the caller aborts there.
    SELECT coalesce(r.client_rid, e.rid), coalesce(e.text, ''), 'abort', e.source, e.line
    FROM events e LEFT JOIN (SELECT DISTINCT rid, client_rid FROM records WHERE role = 'client' OR kind = 'client') r
        ON r.rid IN (e.rid, regexp_replace(e.rid, '-[0-9]+$', ''))
    WHERE e.kind = 'abort' AND regexp_matches(coalesce(e.text, ''), '^(Request \S+ aborted|Aborted request)')
        AND ($since::DOUBLE IS NULL OR e.ts IS NULL OR e.ts >= $since)
        AND ($until::DOUBLE IS NULL OR e.ts IS NULL OR e.ts <= $until)
    UNION ALL
    SELECT coalesce(client_rid, rid), coalesce(abort_message, ''), 'client', source, line FROM records
    WHERE (role = 'client' OR kind = 'client') AND state = 'aborted' AND coalesce(status_code, 200) < 400
        AND ($since::DOUBLE IS NULL OR received_ts IS NULL OR received_ts >= $since)
        AND ($until::DOUBLE IS NULL OR received_ts IS NULL OR received_ts <= $until)
    UNION ALL
    SELECT rid, coalesce(abort_message, ''), 'request', source, line FROM asks
    WHERE (state = 'aborted' OR finish_reason = 'abort')
        AND (contains(lower(coalesce(abort_message, '')), 'disconnect')
            OR contains(coalesce(abort_message, ''), 'Aborted by AbortReq'))
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
)
SELECT count(*) AS hits, count(DISTINCT rid) AS rids, (SELECT count(*) FROM asks) AS requests,
    (SELECT count(*) FROM sources WHERE kind = 'log') + (SELECT count(*) FROM events) AS watched,
    -- The scheduler's timing lines tell of no end but a good one: where they are all there is, aborts are not seen.
    (SELECT count(*) > 0 AND count(*) FILTER (finish_reason IN ('stop', 'length') OR status_code < 400) = 0
     FROM requests) AS endless,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def told_aborts(view: View) -> Fact:
    """Requests that ended because someone told the server to abort them (client gone, router, user)."""
    hits, rids, requests, watched, endless, cites = view.one(GONE, bounds(view))
    if (not watched and not requests) or (endless and not hits):
        return lacking("aborts", "the server log or the request log")
    return found(view, max(rids, hits and 1), "requests", hits or watched or requests, cites, requests=requests)


LOGS_BACKLOG: Final = Span("0.5.23")
VERSIONS: Final = "SELECT DISTINCT version FROM servers WHERE engine = 'sglang' AND version IS NOT NULL"
SLOW_CLIENT: Final = """
WITH rows AS (
    SELECT e.rid, q.client, q.user, e.source, e.line FROM events e LEFT JOIN asks q USING (rid)
    WHERE e.kind = 'streaming-backlog' AND ($since::DOUBLE IS NULL OR e.ts IS NULL OR e.ts >= $since)
        AND ($until::DOUBLE IS NULL OR e.ts IS NULL OR e.ts <= $until)
),
clients AS (SELECT coalesce(client, user) AS client, count(DISTINCT rid) AS n FROM rows GROUP BY ALL)
SELECT count(*) AS hits, count(DISTINCT rid) AS rids, (SELECT max(n) FROM clients WHERE client IS NOT NULL) AS most,
    (SELECT arg_max(client, n) FROM clients WHERE client IS NOT NULL) AS client,
    (SELECT count(*) FROM asks WHERE NOT coalesce(probe, false)) AS requests,
    (SELECT count(*) FROM sources WHERE kind = 'log') + (SELECT count(*) FROM events) AS watched,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def backlogged_streams(view: View) -> Fact:
    """Streams whose chunks piled up because the reader was slow; none only where the server is known to log them."""
    hits, rids, most, client, requests, watched, cites = view.one(SLOW_CLIENT, bounds(view))
    says = any(LOGS_BACKLOG.has(version) for (version,) in view.query(VERSIONS))
    if not watched or (not hits and not says):
        return lacking("streaming backlog lines", "the server log (0.5.23)")
    return found(
        view,
        max(rids, hits and 1),
        "streams",
        hits or watched,
        cites,
        requests=requests,
        client=client or "",
        most=most,
    )


def told_share(view: View) -> Fact:
    """Share of the known requests that were told to end; 1 where the log shows no other request."""
    fact = told_aborts(view)
    if fact.value is None:
        return fact
    requests = dict(fact.statement.figures)["requests"] or 0
    return restated(fact, fact.value / max(requests, fact.value, 1), "share", "told_share")


SERVER_ABORTS: Final = """
WITH rows AS (
    SELECT state, finish_reason, status_code, coalesce(abort_message, '') AS said, source, line FROM asks
    WHERE NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts IS NULL OR received_ts >= $since)
        AND ($until::DOUBLE IS NULL OR received_ts IS NULL OR received_ts <= $until)
),
bad AS (
    SELECT * FROM rows
    WHERE (state IN ('aborted', 'error') OR finish_reason IN ('abort', 'error') OR status_code >= 500)
        AND NOT contains(said, 'Aborted by') AND NOT contains(lower(said), 'disconnect')
        AND NOT contains(lower(said), 'queue is full') AND NOT contains(said, 'unclosed span')
            AND (status_code >= 500 OR (status_code IS NULL AND said <> ''))
)
SELECT (SELECT count(*) FROM rows) AS n, count(*) AS hits, mode(nullif(said, '')) AS message,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM bad GROUP BY source)) AS cites
FROM bad
"""


def server_aborts(view: View) -> Fact:
    """Share of requests that the server ended with an error of its own."""
    n, hits, message, cites = view.one(SERVER_ABORTS, bounds(view))
    if n < 10:
        return lacking("ten requests and their outcomes", "--log-requests, the metrics exporter, or a client file", n)
    return found(view, hits / n, "share", n, cites, hits=hits, message=(message or "")[:120])
