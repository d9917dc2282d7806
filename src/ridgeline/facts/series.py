"""Series over time for the change-point search, and the span of the evidence."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds
from ridgeline.facts.points import ready
from ridgeline.facts.standstill import FROZEN, stands_still

FROZEN_SINCE: Final = 7  # the column of FROZEN that says when it began

# At most 2,000 equal stretches of time for each signal, at least ten requests in each. Latencies by their 90th
# percentile: an incident that hits a fifth of the requests does not move the median. Load points by their median.
SERIES: Final = """
WITH asked AS (
    SELECT received_ts AS ts, coalesce(ttft_s, first_token_ts - received_ts) AS ttft_s,
        coalesce(tpot_s, decode_s / nullif(completion_tokens - 1, 0)) AS tpot_s,
        coalesce(e2e_s, finished_ts - received_ts) AS e2e_s, cached_tokens / nullif(prompt_tokens, 0) AS hit_share,
        CASE WHEN completion_tokens > 0 AND finish_reason IN ('stop', 'length')
            THEN CASE WHEN finish_reason = 'stop' AND completion_tokens <= 2 THEN 1.0 ELSE 0.0 END END AS cut_short,
        prompt_tokens, return_s,
        CASE WHEN (state IN ('aborted', 'error') OR finish_reason IN ('abort', 'error') OR status_code >= 500)
                AND (status_code >= 500 OR (status_code IS NULL AND abort_message <> ''))
                AND NOT regexp_matches(coalesce(abort_message, ''), '(?i)aborted by|disconnect|queue is full|unclosed')
            THEN 1.0 WHEN state = 'finished' THEN 0.0 END AS failed
    FROM asks WHERE received_ts IS NOT NULL AND NOT coalesce(probe, false)
),
-- Of what a well-served prompt finds in the cache less than half: a few callers' loss does not move the median.
usual AS (SELECT quantile_cont(hit_share, 0.75) AS hit_share FROM asked),
-- What only the client sees: its own delay before it sends, and the way through whatever stands before the engine.
sent AS (
    SELECT r.received_ts AS ts, r.ttft_s, r.itl_max_s AS gap_s,
        coalesce(r.dispatched_ts - r.received_ts, a.number) AS send_lag_s,
        coalesce(r.tpot_s, (r.e2e_s - r.ttft_s) / nullif(r.completion_tokens - 1, 0)) AS tpot_s, r.e2e_s,
        r.prompt_tokens
    FROM records r LEFT JOIN request_attrs a ON a.source = r.source AND a.line = r.line AND a.name = 'send_lag_s'
    WHERE (r.role = 'client' OR r.kind = 'client') AND r.received_ts IS NOT NULL
),
stepped AS (
    SELECT ts, running * coalesce(accept_length, 1) / gen_tps AS step_s,
        lag(busy) OVER (PARTITION BY place ORDER BY ord) AS before
    FROM points WHERE class = 'steps' AND gen_tps > 0 AND running > 0 AND ts IS NOT NULL
),
raw AS (
    SELECT 'waiting' AS what, ts, waiting AS value, 0.5 AS q FROM totals WHERE ts IS NOT NULL
    UNION ALL SELECT 'accept_length', ts, accept_length, 0.5 FROM points WHERE accept_length > 0 AND ts IS NOT NULL
    UNION ALL SELECT 'ttft_s', ts, ttft_s, 0.9 FROM asked
    UNION ALL SELECT 'tpot_s', ts, tpot_s, 0.9 FROM asked
    UNION ALL SELECT 'e2e_s', ts, e2e_s, 0.9 FROM asked
    UNION ALL SELECT 'return_s', ts, return_s, 0.9 FROM asked
    UNION ALL SELECT 'hit_share', ts, hit_share, 0.5 FROM asked
    UNION ALL SELECT 'cut_short', ts, cut_short, NULL FROM asked
    UNION ALL SELECT 'failed', ts, failed, NULL FROM asked
    UNION ALL SELECT 'missed', ts, CASE WHEN asked.hit_share < 0.5 * usual.hit_share THEN 1.0 ELSE 0.0 END, NULL
        FROM asked, usual WHERE asked.hit_share IS NOT NULL AND usual.hit_share >= 0.2
    UNION ALL SELECT 'step_s', ts, step_s, 0.5 FROM stepped WHERE before > 0
    UNION ALL SELECT 'line_hit_share', ts, cached_tokens / (new_tokens + cached_tokens), 0.5 FROM batches
        WHERE kind = 'prefill' AND ts IS NOT NULL AND new_tokens + cached_tokens > 0 AND new_seq > 0
            AND NOT EXISTS (SELECT 1 FROM asked WHERE hit_share IS NOT NULL)
    UNION ALL SELECT 'client_ttft_s', ts, ttft_s, 0.9 FROM sent
    UNION ALL SELECT 'send_lag_s', ts, send_lag_s, 0.9 FROM sent
    UNION ALL SELECT 'gap_s', ts, gap_s, 0.5 FROM sent
    UNION ALL SELECT 'client_tpot_s', ts, tpot_s, 0.9 FROM sent
    UNION ALL SELECT 'client_e2e_s', ts, e2e_s, 0.9 FROM sent
    UNION ALL SELECT 'prompt_tokens', ts, prompt_tokens, 0.9 FROM asked
    UNION ALL SELECT 'prompt_tokens', ts, prompt_tokens, 0.9 FROM sent
        WHERE NOT EXISTS (SELECT 1 FROM asked WHERE prompt_tokens IS NOT NULL)
),
span AS (SELECT min(ts) AS lo, max(ts) AS hi FROM raw WHERE value IS NOT NULL),
sized AS (
    SELECT what,
        CASE WHEN what IN ('waiting', 'accept_length') THEN 2000 WHEN what IN ('failed', 'missed') THEN 40
            ELSE least(2000, greatest(40, count(value) // 10)) END
            AS bins
    FROM raw GROUP BY what
),
binned AS (
    SELECT what, least(floor((ts - lo) / ((hi - lo) / bins)), bins - 1) AS bin, median(ts) AS ts,
        CASE any_value(q) WHEN 0.9 THEN quantile_cont(value, 0.9) WHEN 0.5 THEN median(value) ELSE avg(value) END
            AS value
    FROM raw JOIN sized USING (what), span WHERE value IS NOT NULL AND hi > lo GROUP BY what, bin
)
SELECT what, list(ts ORDER BY ts), list(value ORDER BY ts) FROM binned GROUP BY what ORDER BY what
"""
WORSE: Final = {
    "waiting": 1, "ttft_s": 1, "tpot_s": 1, "e2e_s": 1, "hit_share": -1, "accept_length": -1, "client_ttft_s": 1,
    "send_lag_s": 1, "cut_short": 1, "step_s": 1, "gap_s": 1, "line_hit_share": -1,
    "client_tpot_s": 1, "client_e2e_s": 1, "prompt_tokens": 1, "return_s": 1, "failed": 1, "missed": 1,
}  # fmt: skip
# What comes in is no harm by itself, nor is a cache that gives a little less: such a change frames an incident only
# where users fare worse from then on, and then a smaller one does.
INPUT: Final = frozenset({"prompt_tokens", "missed"})
GENTLE: Final = frozenset({*INPUT, "hit_share"})


def series(view: View) -> dict[str, tuple[list[float], list[float]]]:
    """Signal → times and values."""
    return {what: (times, values) for what, times, values in ready(view).query(SERIES)}


# A start that brought another value of what pool, cache and admission depend on; its line comes after the flags'.
RESET: Final = """
WITH stated AS (
    SELECT coalesce(server, '') AS server, key, value, ts, lag(value) OVER (
        PARTITION BY server, key ORDER BY ts, source, line) AS before
    FROM config WHERE ts IS NOT NULL AND list_contains($keys, replace(key, '-', '_'))
)
SELECT min(ts) FROM stated WHERE value <> before
"""
SETTINGS: Final = (
    "max_total_tokens", "max_total_num_tokens", "mem_fraction_static", "page_size", "disable_radix_cache",
    "max_running_requests", "chunked_prefill_size", "max_prefill_tokens", "schedule_conservativeness",
    "schedule_policy", "kv_cache_dtype", "disable_cuda_graph", "enable_prefix_caching", "max_num_seqs",
    "gpu_memory_utilization", "max_num_batched_tokens",
)  # fmt: skip


def reset(view: View) -> float | None:
    """When a server first came back with another of these settings; None where none did."""
    at: float | None = view.one(RESET, {"keys": list(SETTINGS)})[0]
    return at


SPAN: Final = """
SELECT min(lo), max(hi) FROM (
    SELECT min(ts) AS lo, max(ts) AS hi FROM lane
    UNION ALL SELECT min(received_ts), max(coalesce(finished_ts, received_ts)) FROM asks
)
"""


def span(view: View) -> tuple[float, float] | None:
    """First and last wall-clock moment of load points and requests."""
    lo, hi = ready(view).one(SPAN)
    return None if lo is None or hi is None or hi <= lo else (lo, hi)


LATE: Final = """
SELECT min(ts - coalesce(value, 0)) AS onset FROM events
WHERE kind IN ('watchdog', 'kvpoll-timeout') AND ts IS NOT NULL
"""


# A server that still ran requests at its last line, long before the last arrival; its last progress is that line.
SILENT: Final = """
WITH ends AS (
    SELECT server, max(ts) AS last, arg_max(running, (ts, line)) AS running
    FROM batches WHERE ts IS NOT NULL GROUP BY server
)
SELECT min(last) FROM ends
WHERE running > 0 AND last + 10 < (SELECT max(received_ts) FROM asks WHERE NOT coalesce(probe, false))
"""
LAST_LINE: Final = "SELECT max(ts) FROM events WHERE ts IS NOT NULL"


def late_onset(view: View) -> float | None:
    """When the wait began that a watchdog or a PD timeout ended: its line comes `value` seconds after it.

    Without such a line: the last progress of a server that stands still.
    """
    onset: float | None = view.one(LATE)[0]
    if onset is None and stands_still(view).value is True:
        frozen = view.window(None, None).one(FROZEN, bounds(view.window(None, None)))
        silent = view.one(SILENT)[0]
        onset = silent if silent is not None else frozen[FROZEN_SINCE]
    return onset


def last_line(view: View) -> float | None:
    """The last event of the evidence: a watchdog's line may come long after the last request."""
    last: float | None = view.one(LAST_LINE)[0]
    return last
