"""Series over time for the change-point search, and the span of the evidence."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.points import ready

# At most 2,000 medians of equal stretches of time for each signal. `worse` is the direction that is trouble.
SERIES: Final = """
WITH raw AS (
    SELECT 'waiting' AS what, ts, waiting AS value FROM lane WHERE waiting IS NOT NULL AND ts IS NOT NULL
    UNION ALL
    SELECT 'ttft_s', received_ts, coalesce(ttft_s, first_token_ts - received_ts) FROM asks
    WHERE received_ts IS NOT NULL AND NOT coalesce(probe, false)
    UNION ALL
    SELECT 'tpot_s', received_ts, coalesce(tpot_s, decode_s / nullif(completion_tokens - 1, 0)) FROM asks
    WHERE received_ts IS NOT NULL AND NOT coalesce(probe, false)
    UNION ALL
    SELECT 'e2e_s', received_ts, coalesce(e2e_s, finished_ts - received_ts) FROM asks
    WHERE received_ts IS NOT NULL AND NOT coalesce(probe, false)
    UNION ALL
    SELECT 'hit_share', received_ts, cached_tokens / nullif(prompt_tokens, 0) FROM asks
    WHERE received_ts IS NOT NULL AND NOT coalesce(probe, false)
    UNION ALL
    SELECT 'accept_length', ts, accept_length FROM points WHERE accept_length > 0 AND ts IS NOT NULL
),
span AS (SELECT min(ts) AS lo, max(ts) AS hi FROM raw WHERE value IS NOT NULL),
binned AS (
    SELECT what, least(floor((ts - lo) / ((hi - lo) / 2000)), 1999) AS bin, median(ts) AS ts, median(value) AS value
    FROM raw, span WHERE value IS NOT NULL AND hi > lo GROUP BY what, bin
)
SELECT what, list(ts ORDER BY ts), list(value ORDER BY ts) FROM binned GROUP BY what ORDER BY what
"""
WORSE: Final = {"waiting": 1, "ttft_s": 1, "tpot_s": 1, "e2e_s": 1, "hit_share": -1, "accept_length": -1}


def series(view: View) -> dict[str, tuple[list[float], list[float]]]:
    """Signal → times and values."""
    return {what: (times, values) for what, times, values in ready(view).query(SERIES)}


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


def late_onset(view: View) -> float | None:
    """When the wait began that a watchdog or a PD timeout ended: its line comes `value` seconds after it."""
    onset: float | None = view.one(LATE)[0]
    return onset
