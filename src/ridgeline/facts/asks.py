"""One row for each request that was asked: the table `asks`, made of what the bundle knows of each request.

The server's records count where they are known. What they lack and a client saw is taken from the client.
"""

from __future__ import annotations

from typing import Final

import duckdb

# A client's file and the server's own records are two rows of one request: where the server's are known, they count.
# One that only the scheduler's own timing line tells of has no arrival: its line less what the scheduler had it for is
# the latest it can be, good enough for a window and too late to say what came before the queue. The scheduler's stamps
# and its two times say when it was done, so that the rest of the answer's time is the way back.
ASKS: Final = """
CREATE VIEW asks AS
SELECT * REPLACE (
    coalesce(received_ts, logged_ts - coalesce(queue_s, 0) - coalesce(forward_s, 0)) AS received_ts,
    CASE WHEN received_ts IS NOT NULL THEN queued_ts END AS queued_ts,
    coalesce(e2e_s, CASE WHEN received_ts IS NULL THEN queue_s + forward_s END) AS e2e_s,
    coalesce(ttft_s, first_token_ts - received_ts, prefill_done_ts - received_ts) AS ttft_s,
    coalesce(return_s, CASE WHEN queued_ts >= received_ts AND state = 'finished'
        THEN greatest(received_ts + e2e_s - queued_ts - queue_s - forward_s, 0) END) AS return_s
)
FROM requests
WHERE coalesce(role, '') NOT IN ('client', 'gateway')
    OR NOT EXISTS (SELECT 1 FROM requests WHERE coalesce(role, '') NOT IN ('client', 'gateway'))
"""

# Where every server's record has its arrival, nothing is to be replaced, and Parquet can leave out what lies outside a
# window: only a plain column has its bounds beside it.
ARRIVALS: Final = """
SELECT coalesce(bool_and(received_ts IS NOT NULL), FALSE)
FROM requests
WHERE coalesce(role, '') NOT IN ('client', 'gateway')
"""
ASKS_PLAIN: Final = """
CREATE VIEW asks AS
SELECT * REPLACE (
    coalesce(ttft_s, first_token_ts - received_ts, prefill_done_ts - received_ts) AS ttft_s,
    coalesce(return_s, CASE WHEN queued_ts >= received_ts AND state = 'finished'
        THEN greatest(received_ts + e2e_s - queued_ts - queue_s - forward_s, 0) END) AS return_s
)
FROM requests WHERE coalesce(role, '') NOT IN ('client', 'gateway')
"""

# SGLang 0.5.3 has no stamps outside the scheduler, only how long it had a request: the rest of the answer's time lies
# before or after. A client that saw the first token parts the two: what is late there and was no wait in the queue,
# beyond what the quickest quarter needs for prefill, lay before.
UNSTAMPED: Final = """
SELECT count(*) FILTER (WHERE coalesce(role, '') NOT IN ('client', 'gateway') AND unaccounted_s IS NOT NULL) >= 20
    AND count(*) FILTER (WHERE coalesce(role, '') NOT IN ('client', 'gateway')
        AND (dispatched_ts IS NOT NULL OR prefill_done_ts IS NOT NULL OR ttft_s IS NOT NULL)) = 0
    AND count(*) FILTER (WHERE role = 'client' AND ttft_s IS NOT NULL) >= 20
FROM requests
"""
ASKS_UNSTAMPED: Final = """
CREATE TABLE asks AS
WITH seen AS (SELECT rid, any_value(ttft_s) AS seen_s FROM requests
    WHERE role = 'client' AND ttft_s IS NOT NULL GROUP BY rid),
joined AS (
    SELECT r.*, s.seen_s FROM requests r LEFT JOIN seen s ON s.rid = coalesce(r.client_rid, r.rid)
    WHERE coalesce(r.role, '') NOT IN ('client', 'gateway')
),
usual AS (SELECT quantile_cont(seen_s - queue_s, 0.25) AS prefill FROM joined),
parted AS (
    SELECT b.* EXCLUDE (seen_s), b.seen_s AS seen_s,
        CASE WHEN b.unaccounted_s >= 0
            THEN least(greatest(b.seen_s - b.queue_s - u.prefill, 0), b.unaccounted_s) END AS before_s
    FROM joined b, usual u
)
SELECT * EXCLUDE (seen_s, before_s) REPLACE (
    coalesce(received_ts, logged_ts - coalesce(queue_s, 0) - coalesce(forward_s, 0)) AS received_ts,
    CASE WHEN queued_ts >= received_ts THEN queued_ts END AS queued_ts,
    coalesce(e2e_s, CASE WHEN received_ts IS NULL THEN queue_s + forward_s END) AS e2e_s,
    seen_s AS ttft_s, coalesce(pre_queue_s, before_s) AS pre_queue_s,
    coalesce(return_s, CASE WHEN state = 'finished' THEN unaccounted_s - before_s END) AS return_s
)
FROM parted
"""

# Where the server's log tells of arrivals alone (vLLM's, with traces of a sample), a client that saw the answer knows
# the rest: lengths, and times that hold the way there and back as well. What the server itself says stands, and times
# stay on its clock; a row filled so cites the client's line.
UNTOLD: Final = """
SELECT count(*) >= 20
FROM requests r JOIN requests c ON c.rid = r.rid AND c.role = 'client' AND c.state = 'finished'
WHERE coalesce(r.role, '') NOT IN ('client', 'gateway') AND r.state IN ('received', 'unfinished')
    AND r.received_ts IS NOT NULL AND r.e2e_s IS NULL AND r.prompt_tokens IS NULL
"""
ASKS_SEEN: Final = """
CREATE TABLE asks AS
WITH seen AS (
    SELECT rid, any_value(prompt_tokens) AS prompt_tokens, any_value(cached_tokens) AS cached_tokens,
        any_value(completion_tokens) AS completion_tokens, any_value(ttft_s) AS ttft_s, any_value(tpot_s) AS tpot_s,
        any_value(e2e_s) AS e2e_s, any_value(finish_reason) AS finish_reason, any_value(source) AS source,
        any_value(line) AS line
    FROM requests WHERE role = 'client' AND state = 'finished' AND rid IS NOT NULL GROUP BY rid HAVING count(*) = 1
)
SELECT r.* REPLACE (
    coalesce(r.prompt_tokens, s.prompt_tokens) AS prompt_tokens,
    coalesce(r.cached_tokens, s.cached_tokens) AS cached_tokens,
    coalesce(r.completion_tokens, s.completion_tokens) AS completion_tokens,
    coalesce(r.ttft_s, r.first_token_ts - r.received_ts, r.prefill_done_ts - r.received_ts, s.ttft_s) AS ttft_s,
    coalesce(r.tpot_s, s.tpot_s) AS tpot_s,
    coalesce(r.e2e_s, s.e2e_s) AS e2e_s,
    coalesce(r.finished_ts, r.received_ts + s.e2e_s) AS finished_ts,
    coalesce(r.finish_reason, s.finish_reason) AS finish_reason,
    CASE WHEN s.rid IS NULL THEN r.state ELSE 'finished' END AS state,
    r.censored AND s.rid IS NULL AS censored,
    coalesce(s.source, r.source) AS source, coalesce(s.line, r.line) AS line
)
FROM requests r LEFT JOIN seen s ON s.rid = r.rid AND r.state IN ('received', 'unfinished') AND r.choice IS NULL
WHERE coalesce(r.role, '') NOT IN ('client', 'gateway')
ORDER BY r.request
"""


def asks_of(cursor: duckdb.DuckDBPyConnection) -> str:
    """The statement that makes `asks` of this evidence."""
    if cursor.execute(UNSTAMPED).fetchall()[0][0]:
        return ASKS_UNSTAMPED
    if cursor.execute(UNTOLD).fetchall()[0][0]:
        return ASKS_SEEN
    return ASKS_PLAIN if cursor.execute(ARRIVALS).fetchall()[0][0] else ASKS
