"""Cold starts: the first requests after a boot against later ones, to the first token and from token to token."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.backlog import rush_felt
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.model.fact import Fact

HOW_REQUESTS: Final = "--enable-metrics with the request log, the metrics exporter, or ReqTimeStats lines"
WARM_S: Final = 90.0  # from here on a server counts as warm, where ten requests came so late
CLEAR: Final = 3.0
NO_RUSH: Final = 10.0  # times as long from token to token: prompts that came at once pause streams, not by that much
AS_FAST: Final = 2.0  # times the tokens for each second of waiting, at most: slower than that is slow
NOTICED_S: Final = 0.1  # seconds for a token; a young batch varies by less than that more

COLD: Final = """
WITH boot AS (
    SELECT max(ts) AS ts FROM events
    WHERE kind IN ('ready', 'restart', 'weights-updated')
        -- A start long before the incident, or after it, is not what the incident is.
        AND ($since::DOUBLE IS NULL OR ts >= $since - 120) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
rows AS (
    SELECT coalesce(ttft_s, first_token_ts - received_ts) - coalesce(queue_s, 0) AS ttft_s,
        received_ts - (SELECT ts FROM boot) AS age_s, prompt_tokens - cached_tokens AS fresh, source, line
    FROM asks
    WHERE received_ts IS NOT NULL AND coalesce(ttft_s, first_token_ts - received_ts) IS NOT NULL
        AND NOT coalesce(probe, false)
),
-- The client's view, where the server says nothing of first tokens.
seen AS (
    SELECT * FROM rows
    UNION ALL
    SELECT c.ttft_s, c.received_ts - (SELECT ts FROM boot), a.prompt_tokens - a.cached_tokens, c.source, c.line
    FROM requests c LEFT JOIN asks a ON a.rid IN (c.rid, c.client_rid)
    WHERE c.role = 'client' AND c.ttft_s IS NOT NULL AND c.received_ts IS NOT NULL AND NOT EXISTS (SELECT 1 FROM rows)
),
-- The first five, of many requests the first fiftieth (at most fifty): a few in one batch wait for each other.
ranked AS (
    SELECT *, row_number() OVER (ORDER BY age_s) AS nth, least(greatest(5, count(*) OVER () // 50), 50) AS young
    FROM seen WHERE age_s >= 0
),
-- While one of the first ones waited for its first token, and what was computed for them in that time.
reaches AS (
    SELECT fresh, age_s AS a, age_s + ttft_s AS b, max(age_s + ttft_s) OVER (
        ORDER BY nth ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reach
    FROM ranked WHERE nth <= young
),
work AS (SELECT sum(fresh) / nullif(sum(greatest(0, b - greatest(a, coalesce(reach, a)))), 0) AS rate FROM reaches),
compiles AS (
    SELECT count(*) AS n FROM events WHERE kind = 'compile' AND ts > (SELECT ts FROM boot)
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n, median(ttft_s) FILTER (WHERE nth <= young) AS first,
    coalesce(CASE WHEN count(*) FILTER (WHERE age_s > $warm) >= 10 THEN median(ttft_s) FILTER (WHERE age_s > $warm) END,
        median(ttft_s) FILTER (WHERE nth > 2 * young)) AS later,
    median(fresh) FILTER (WHERE nth <= young) AS fresh_first,
    median(fresh) FILTER (WHERE nth > 2 * young) AS fresh_later,
    (SELECT rate FROM work) AS rate, (SELECT n FROM compiles) AS compiles,
    max(age_s) FILTER (WHERE nth <= young) AS until_s,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM ranked WHERE nth <= young GROUP BY source)) AS cites
FROM ranked
"""


def _to_first_token(view: View) -> Fact:
    """TTFT (without queueing) of the first requests after a boot, over that of later ones for as many tokens.

    After a boot the prefix cache is empty too, and the first prompts are computed whole: where uncached tokens are not
    told, only lines of compiling tell a cold start from that. Less than half a second more is a warm-up that nobody
    notices: the ratio then counts as 1.
    """
    n, first, later, fresh_first, fresh_later, rate, compiles, until_s, cites = view.one(
        COLD, {**bounds(view), "warm": WARM_S}
    )
    if n < 16 or not later or first is None:
        return lacking(
            "requests right after a boot", "the log from the line 'ready to roll' on, with TTFT of requests", n
        )
    told = fresh_first is not None and fresh_later
    like = later * max(1.0, fresh_first / fresh_later) if told else later
    value = first / like if first - like >= 0.5 else 1.0
    if told and rate and fresh_later / later < AS_FAST * rate:
        value = 1.0  # many whole prompts came together: each waits for the others, computed as fast as ever
    if value > 1 and not told and not compiles:
        return lacking("uncached tokens of the first requests", HOW_REQUESTS, n)
    return found(
        view,
        value,
        "ratio",
        n,
        cites,
        first=rounded(first),
        later=rounded(later),
        compiles=compiles,
        until_s=rounded(until_s),
        ratio=rounded(value),
    )


COLD_TOKENS: Final = """
WITH boot AS (
    SELECT max(ts) AS ts FROM events
    WHERE kind IN ('ready', 'restart', 'weights-updated')
        AND ($since::DOUBLE IS NULL OR ts >= $since - 120) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
told AS (
    SELECT coalesce(tpot_s, decode_s / nullif(completion_tokens - 1, 0)) AS tpot_s,
        received_ts - (SELECT ts FROM boot) AS age_s, source, line
    FROM asks WHERE completion_tokens >= 8 AND NOT coalesce(probe, false)
),
seen AS (
    SELECT * FROM told WHERE tpot_s IS NOT NULL
    UNION ALL
    SELECT tpot_s, received_ts - (SELECT ts FROM boot), source, line FROM requests
    WHERE role = 'client' AND tpot_s IS NOT NULL AND completion_tokens >= 8
        AND NOT EXISTS (SELECT 1 FROM told WHERE tpot_s IS NOT NULL)
),
ranked AS (SELECT *, row_number() OVER (ORDER BY age_s) AS nth FROM seen WHERE age_s >= 0)
SELECT count(*) AS n, median(tpot_s) FILTER (WHERE nth <= 10) AS first, median(tpot_s) FILTER (WHERE age_s > $warm)
    AS later, count(*) FILTER (WHERE age_s > $warm) AS warm, max(age_s) FILTER (WHERE nth <= 10) AS until_s,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM ranked WHERE nth <= 10 GROUP BY source)) AS cites
FROM ranked
"""


def _token_by_token(view: View) -> Fact | None:
    """The same for seconds from token to token: what is compiled or captured first holds up steps as well."""
    n, first, later, warm, until_s, cites = view.one(COLD_TOKENS, {**bounds(view), "warm": WARM_S})
    if warm < 10 or not later or first is None or n - warm < 10 or until_s > WARM_S:
        return None
    value = first / later if first - later >= NOTICED_S else 1.0
    return found(
        view, value, "ratio", n, cites, key="cold_start_ratio.tokens", first=rounded(first), later=rounded(later),
        until_s=rounded(until_s), ratio=rounded(value),
    )  # fmt: skip


def cold_start_ratio(view: View) -> Fact:
    """First requests after a boot over later ones: the larger of the ratio to the first token and of that for a token.

    The first five (of many requests the first fiftieth) or ten against those of at least a minute and a half later,
    where there are ten.
    """
    first, tokens = _to_first_token(view), _token_by_token(view)
    # Steps of a young batch vary: less than three times as long, they neither prove a cold start nor a slow one.
    clear = tokens is not None and tokens.value >= CLEAR and (first.value is None or tokens.value > first.value)
    return tokens if tokens is not None and clear else first


def rush_explains(view: View) -> Fact:
    """Whether the first requests after a boot are slow because many came at once; not where each token crawls too."""
    rush, cold = rush_felt(view), cold_start_ratio(view)
    if rush.value and cold.statement.key == "cold_start_ratio.tokens" and cold.value >= NO_RUSH:
        return restated(cold, False, "", "cold_start_ratio.tokens")
    return rush if rush.value is None else restated(rush, rush.value, "", "rush_felt")
