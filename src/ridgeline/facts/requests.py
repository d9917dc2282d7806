"""Requests: quantiles with their censored counts, the slices of their time, outcomes, arrivals."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.histograms import observed
from ridgeline.facts.log_ends import FAILED, REFUSED, answered_share
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.model.fact import Fact

HOW_TIMES: Final = "--enable-metrics with the request log or the metrics exporter, or ReqTimeStats lines"

# A request that never finished has waited at least until the evidence ends: it counts as longer than all finished.
TIMES: Final = """
WITH rows AS (
    SELECT coalesce(queue_s, scheduled_ts - queued_ts) AS queue_s,
        coalesce(ttft_s, first_token_ts - received_ts) AS ttft_s, coalesce(e2e_s, finished_ts - received_ts) AS e2e_s,
        coalesce(tpot_s, decode_s / nullif(completion_tokens - 1, 0)) AS tpot_s, prefill_s, decode_s,
        coalesce(pre_queue_s, queued_ts - received_ts) AS pre_queue_s, return_s, unaccounted_s, tokenize_s, dispatch_s,
        grammar_s, transfer_s, alloc_wait_s, bootstrap_s, prealloc_s, storage_wait_s, itl_max_s, completion_tokens,
        prompt_tokens, coalesce(censored, state IN ('unfinished', 'received'), false) AS censored, source, line
    FROM asks
    WHERE NOT coalesce(probe, false) AND coalesce(state, '') NOT IN ('rejected')
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
long AS (UNPIVOT (SELECT * EXCLUDE (completion_tokens, prompt_tokens) FROM rows)
         ON COLUMNS(* EXCLUDE (censored, source, line)) INTO NAME what VALUE seconds),
picked AS (SELECT * FROM long WHERE what = $what AND seconds >= 0)
SELECT count(*) AS n, quantile_cont(seconds, $q) AS value,
    (SELECT count(*) FROM rows WHERE censored) AS censored, sum(seconds) AS total,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM picked GROUP BY source)) AS cites
FROM picked
"""


def seconds(view: View, what: str, q: float = 0.5) -> Fact:
    """The `q` quantile of one time of the requests (`queue_s`, `ttft_s`, `tpot_s`, …); censored are counted."""
    n, value, censored, _total, cites = view.one(TIMES, {**bounds(view), "what": what, "q": q})
    if not n:
        scraped = observed(view, what, q)
        return scraped if scraped.value is not None else lacking(f"{what} of requests", HOW_TIMES)
    return found(view, value, "s", n, cites, what=what, q=q, censored=censored, seconds=rounded(value))


SLICES: Final = """
WITH rows AS (
    SELECT coalesce(ttft_s, first_token_ts - received_ts) AS ttft_s, coalesce(e2e_s,
        finished_ts - received_ts) AS e2e_s,
        queue_s, coalesce(pre_queue_s, queued_ts - received_ts, tokenize_s + coalesce(dispatch_s, 0)) AS pre_queue_s,
        prefill_s, decode_s, return_s, grammar_s, unaccounted_s, storage_wait_s,
        coalesce(bootstrap_s, 0) + coalesce(alloc_wait_s, prealloc_s, 0) + coalesce(transfer_s, 0) AS disagg_s,
        source, line
    FROM asks
    WHERE NOT coalesce(probe, false) AND coalesce(state, 'finished') IN ('finished')
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
slow AS (
    SELECT * FROM rows WHERE e2e_s >= (SELECT quantile_cont(e2e_s, 0.5) FROM rows)
)
SELECT count(*) AS n, sum(e2e_s) AS e2e_s, sum(ttft_s) AS ttft_s, sum(queue_s) AS queue_s,
    sum(pre_queue_s) AS pre_queue_s,
    sum(prefill_s) AS prefill_s, sum(decode_s) AS decode_s, sum(return_s) AS return_s, sum(grammar_s) AS grammar_s,
    sum(unaccounted_s) AS unaccounted_s, sum(disagg_s) AS disagg_s, sum(storage_wait_s) AS storage_wait_s,
    sum(ttft_s) FILTER (WHERE queue_s IS NOT NULL) AS ttft_with_queue,
    sum(e2e_s) FILTER (WHERE return_s IS NOT NULL) AS e2e_with_return,
    sum(ttft_s) FILTER (WHERE pre_queue_s IS NOT NULL) AS ttft_with_pre,
    sum(ttft_s) FILTER (WHERE prefill_s IS NOT NULL) AS ttft_with_prefill,
    sum(e2e_s) FILTER (WHERE decode_s IS NOT NULL) AS e2e_with_decode,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM slow GROUP BY source)) AS cites
FROM slow
"""

SLICE_COLUMNS: Final = (
    "n", "e2e_s", "ttft_s", "queue_s", "pre_queue_s", "prefill_s", "decode_s", "return_s", "grammar_s", "unaccounted_s",
    "disagg_s", "storage_wait_s", "ttft_with_queue", "e2e_with_return", "ttft_with_pre", "ttft_with_prefill",
    "e2e_with_decode", "cites",
)  # fmt: skip
# What share of what: a slice before the first token is held against TTFT, a later one against E2E.
PARTS: Final = {
    "queue": ("queue_s", "ttft_with_queue"),
    "pre_queue": ("pre_queue_s", "ttft_with_pre"),
    "prefill": ("prefill_s", "ttft_with_prefill"),
    "grammar": ("grammar_s", "ttft_s"),
    "storage": ("storage_wait_s", "ttft_s"),
    "decode": ("decode_s", "e2e_with_decode"),
    "return": ("return_s", "e2e_with_return"),
    "disagg": ("disagg_s", "ttft_s"),
    "unaccounted": ("unaccounted_s", "e2e_s"),
}


def slice_share(view: View, part: str) -> Fact:
    """Share of TTFT (queue, pre_queue, prefill, …) or of E2E (decode, return, unaccounted), over the slower half."""
    row = dict(zip(SLICE_COLUMNS, view.one(SLICES, bounds(view)), strict=True))
    over, under = PARTS[part]
    if part == "queue" and not row["ttft_s"] and row["queue_s"] and row["queue_s"] >= 0.5 * (row["e2e_s"] or 0.0):
        under = "e2e_s"  # the scheduler's own line knows no first token: of a part of that time the wait is no less
    if not row["n"] or row[over] is None or not row[under]:
        scraped = _from_histograms(view, part)
        return scraped if scraped is not None else lacking(f"{over} of requests", HOW_TIMES, row["n"] or 0)
    value = row[over] / row[under]
    return found(
        view, value, "share", row["n"], row["cites"], part=part, spent_s=rounded(row[over]), of_s=rounded(row[under])
    )


def _from_histograms(view: View, part: str) -> Fact | None:
    """The share of a slice from the sums of scraped histograms: exact means, although of all requests."""
    if part not in ("queue", "prefill", "decode"):
        return None
    whole = observed(view, "e2e_s" if part == "decode" else "ttft_s")
    inner = observed(view, "ttft_s" if part == "decode" else f"{part}_s")
    spent, of = (dict(fact.statement.figures).get("total_s") for fact in (inner, whole))
    if spent is None or not of:
        return None
    seconds = of - spent if part == "decode" else spent
    told = {"part": part, "spent_s": rounded(seconds), "of_s": rounded(of)}
    return restated(whole, min(max(seconds / of, 0.0), 1.0), "share", "slice.observed", **told)


OUTCOMES: Final = """
WITH rows AS (
    SELECT state, finish_reason, abort_message, status_code, source, line FROM asks
    WHERE NOT coalesce(probe, false)
        -- A refused request may have no time of its own: it is counted rather than lost.
        AND ($since::DOUBLE IS NULL OR received_ts IS NULL OR received_ts >= $since)
        AND ($until::DOUBLE IS NULL OR received_ts IS NULL OR received_ts <= $until)
),
bad AS (
    SELECT * FROM rows
    WHERE CASE $what
        WHEN 'rejected' THEN state = 'rejected'
        WHEN 'aborted' THEN state = 'aborted' OR finish_reason = 'abort'
        WHEN 'error' THEN state = 'error' OR status_code >= 500
        WHEN 'invalid' THEN status_code BETWEEN 400 AND 499 AND status_code NOT IN (408, 429, 499)
        WHEN 'unfinished' THEN state IN ('unfinished', 'received')
    END
)
SELECT (SELECT count(*) FROM rows) AS n, count(*) AS hits, mode(abort_message) AS message,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM bad GROUP BY source)) AS cites
FROM bad
"""


STATED: Final = "SELECT count(*) FROM asks WHERE status_code IS NOT NULL"


def outcome_share(view: View, what: str) -> Fact:
    """Share of requests that were rejected, aborted, invalid, in error, or never finished.

    Access lines tell of the invalid and of errors where no record of a request has a status.
    """
    n, hits, message, cites = view.one(OUTCOMES, {**bounds(view), "what": what})
    if what in (REFUSED, FAILED) and not hits and not view.one(STATED)[0]:
        answered = answered_share(view, what)
        if answered.value:
            return restated(answered, answered.value, "share", "answered_share")
    if not n:
        return lacking("requests and their outcomes", "--log-requests, the metrics exporter, or a client file")
    return found(view, hits / n, "share", n, cites, hits=hits, what=what, message=(message or "")[:120])


ARRIVALS: Final = """
WITH rows AS (
    SELECT received_ts AS ts, prompt_tokens, source, line FROM asks
    WHERE received_ts IS NOT NULL AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
seconds AS (SELECT floor(ts) AS s, count(*) AS n FROM rows GROUP BY s)
SELECT count(*) AS n, max(ts) - min(ts) AS span_s, avg(prompt_tokens) AS prompt,
    (SELECT max(n) FROM seconds) AS most,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def arrival_rate(view: View) -> Fact:
    """Requests received per second over the window."""
    n, span_s, prompt, most, cites = view.one(ARRIVALS, bounds(view))
    window = view.incident
    covered = (window.to_ts - window.from_ts) if window else span_s
    if n < 10 or not covered:
        return lacking("arrival times of requests", "--log-requests (level 0 is enough), or a client file", n)
    return found(
        view, n / covered, "requests/s", n, cites, rate=rounded(n / covered), prompt=rounded(prompt), most=most
    )


RESERVE: Final = """
WITH limits AS (SELECT max(context_len) AS context FROM servers WHERE context_len > 0),
rows AS (
    SELECT least(coalesce(max_new_tokens, (SELECT context FROM limits) - prompt_tokens), 4096) AS asked,
        completion_tokens AS got, source, line
    FROM asks
    WHERE finish_reason IN ('stop', 'length') AND completion_tokens > 0 AND NOT coalesce(probe, false)
        AND (max_new_tokens IS NOT NULL OR params_logged)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
)
SELECT count(*) AS n, avg(asked) AS asked, avg(got) AS got, max(asked) AS most,
    (SELECT min(pool_tokens) FROM servers WHERE pool_tokens > 0) AS pool,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows WHERE asked IS NOT NULL
"""


def reserve_ratio(view: View) -> Fact:
    """What admission reserves for outputs, mean of min(max_new_tokens, 4096), over what requests really produce.

    SIGNALS §14.3: a candidate must fit its own whole reserve; a limit that is not set reserves the rest of the
    context. 4096 is SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION.
    """
    n, asked, got, most, pool, cites = view.one(RESERVE, bounds(view))
    if n < 10 or not got:
        return lacking("max_new_tokens beside real output lengths", "--log-requests --log-requests-level 1", n)
    value = asked / got
    return found(
        view,
        value,
        "ratio",
        n,
        cites,
        asked=rounded(asked, 4),
        got=rounded(got, 4),
        most=most,
        pool=pool,
        ratio=rounded(value),
    )


OUTPUTS: Final = """
WITH rows AS (
    SELECT completion_tokens, source, line FROM asks
    WHERE completion_tokens > 0 AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
)
SELECT count(*) AS n, avg(completion_tokens) AS value,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def output_tokens(view: View) -> Fact:
    """Mean output tokens of a request."""
    n, value, cites = view.one(OUTPUTS, bounds(view))
    if n < 10:
        return lacking("output lengths of requests", "--log-requests, or the metrics exporter", n)
    return found(view, value, "tokens", n, cites)


TYPICAL_RETURN: Final = """
WITH rows AS (
    SELECT return_s, coalesce(e2e_s, finished_ts - received_ts) AS e2e_s, source, line FROM asks
    WHERE return_s IS NOT NULL AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
)
SELECT count(*) AS n, median(return_s / nullif(e2e_s, 0)) AS value, median(return_s) AS return_s,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def typical_return(view: View) -> Fact:
    """Share of a typical request's time that the way back takes: high where all are late, low where only some are."""
    n, value, return_s, cites = view.one(TYPICAL_RETURN, bounds(view))
    if n < 10 or value is None:
        return lacking("return times of requests", HOW_TIMES, n)
    return found(view, value, "share", n, cites, return_s=rounded(return_s))


RETURN_GROWTH: Final = """
WITH rows AS (
    SELECT return_s, completion_tokens, source, line FROM asks
    WHERE return_s IS NOT NULL AND completion_tokens > 0 AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
)
SELECT count(*) AS n, corr(return_s, completion_tokens) AS value, median(return_s) AS return_s,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def return_follows_length(view: View) -> Fact:
    """Correlation of the way back (scheduler completion to response finished) with output length."""
    n, value, return_s, cites = view.one(RETURN_GROWTH, bounds(view))
    if n < 10 or value is None:
        return lacking("return times beside output lengths", HOW_TIMES, n)
    return found(view, value, "correlation", n, cites, return_s=rounded(return_s), value_3=rounded(value))
