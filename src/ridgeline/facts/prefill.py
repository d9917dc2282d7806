"""Prefill: cost of an uncached token, long prompts in the way, first-seen shapes, what holds a request before it."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.change import change
from ridgeline.facts.decode import step_excess
from ridgeline.facts.make import bounds, found, lacking, restated, rounded, spans_of
from ridgeline.facts.prefill_unhit import excess_by_prompts, fresh_of_counters
from ridgeline.facts.steps import steps
from ridgeline.model.fact import Fact

HOW_REQUESTS: Final = "--enable-metrics with the request log, the metrics exporter, or ReqTimeStats lines"

# Requests of one prefill batch end at the same moment and share its time: they are taken together, so that fuller
# batches under a queue do not look like a dearer token.
COST: Final = """
WITH rows AS (
    -- What hit is not computed: where it is not known, neither is what a token costs.
    SELECT prefill_s, greatest(prompt_tokens - cached_tokens, 1) AS fresh, prompt_tokens, source, line,
        coalesce(prefill_done_ts, first_token_ts, scheduled_ts + prefill_s) AS ended, server, dp_rank
    FROM asks
    WHERE prefill_s > 0 AND prompt_tokens > 0 AND NOT coalesce(probe, false) AND coalesce(retractions, 0) = 0
        AND (cached_tokens IS NOT NULL OR NOT $per_token)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
together AS (
    SELECT max(prefill_s) AS prefill_s, sum(fresh) AS fresh FROM rows
    GROUP BY server, dp_rank, coalesce(round(ended, 3)::VARCHAR, source || ':' || line)
)
SELECT (SELECT count(*) FROM rows) AS n, (SELECT median(prefill_s) FROM rows) AS prefill_s,
    (SELECT median(fresh) FROM rows) AS fresh, sum(prefill_s) / sum(fresh) AS per_token,
    (SELECT count(ended) FROM rows) AS stamped, (SELECT median(prompt_tokens) FROM rows) AS prompt,
    regr_slope(prefill_s, fresh) AS slope, regr_intercept(prefill_s, fresh) AS base, avg(fresh) AS mean_fresh,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM together
"""


def prefill_s(view: View) -> Fact:
    """Median seconds from first being scheduled to the end of prefill."""
    n, seconds, *_rest, cites = view.one(COST, {**bounds(view), "per_token": False})
    if n < 5:
        return lacking("prefill times of requests", HOW_REQUESTS, n)
    return found(view, seconds, "s", n, cites, seconds=rounded(seconds))


TOKENS: Final = """
WITH rows AS (
    SELECT prompt_tokens, prompt_tokens - cached_tokens AS fresh, source, line FROM asks
    WHERE prompt_tokens > 0 AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
)
SELECT count(*) AS n, count(fresh) AS known, avg(prompt_tokens) AS prompt, avg(fresh) AS fresh,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def fresh_tokens(view: View) -> Fact:
    """Mean uncached prompt tokens of a request: what it brings to compute. Counters tell the hits where it does not."""
    n, known, prompt, fresh, cites = view.one(TOKENS, bounds(view))
    if known < 5:
        counted = fresh_of_counters(view, prompt) if n >= 5 else None
        if counted is not None:
            return found(view, counted, "tokens", n, cites)
        return lacking("prompt and cached tokens of requests", HOW_REQUESTS, known)
    return found(view, fresh, "tokens", known, cites)


def prompt_tokens(view: View) -> Fact:
    """Mean prompt length of a request."""
    n, _known, prompt, _fresh, cites = view.one(TOKENS, bounds(view))
    if n < 5:
        return lacking("prompt lengths of requests", HOW_REQUESTS, n)
    return found(view, prompt, "tokens", n, cites)


def prefill_cost(view: View) -> Fact:
    """Seconds of prefill for one uncached token, over all requests."""
    n, _s, _fresh, per_token, *_rest, cites = view.one(COST, {**bounds(view), "per_token": True})
    if n < 5:
        return lacking("prefill times of requests", HOW_REQUESTS, n)
    return found(view, per_token, "s/token", n, cites, per_token=rounded(per_token))


def prefill_excess(view: View) -> Fact:
    """Seconds of prefill now over what the baseline gives for the same uncached tokens: the lower of two readings.

    One reads what prefill batches take of the time between decode reports (`facts/steps.py`), the other prefill times
    of requests: these also hold what else ran while a prompt was computed in chunks.
    """
    if view.baseline is None:
        return lacking("a baseline", "--baseline FROM..TO, or a log that also covers the time before")
    between, asked = _excess_between_steps(view), _excess_of_requests(view)
    if asked.value is None:
        asked = excess_by_prompts(view) or asked
    if between is not None and (asked.value is None or between.value < asked.value):
        return between
    return asked


def prefill_over_step(view: View) -> Fact:
    """How much more prefill grew than a decode step did: about 1 where every step, and so a short prompt's, is slower.

    A step's growth is that of its fit or, at an equal batch, that of tokens which met little prefill, if larger.
    """
    prefill, step = prefill_excess(view), step_excess(view)
    if prefill.value is None or step.value is None:
        return prefill if prefill.value is None else step
    batch, tokens = change(view, "batch_size"), change(view, "seconds", what="tpot_s", q=0.1)
    alike = batch.value is not None and batch.value < 1.25
    grown = max(1.0, step.value, tokens.value if alike and tokens.value is not None and tokens.n >= 10 else 0.0)
    figures = {"prefill": rounded(prefill.value), "step": rounded(grown)}
    return restated(prefill, prefill.value / grown, "ratio", "prefill_over_step", **figures)


def _excess_between_steps(view: View) -> Fact | None:
    then_view = view.window(view.baseline, None)
    now, then = steps(view), steps(then_view)
    # Averages of ten seconds (vLLM's) do not tell prefill from the decoding beside it: batches must be seen.
    if now is None or then is None or min((now.batches > 0).sum(), (then.batches > 0).sum()) < 10:
        return None
    tokens, batches = float(now.prefilled.mean()), float(now.batches.mean())
    actual, expected = now.prefill_s(tokens, batches), then.prefill_s(tokens, batches)
    if actual <= 0 or expected <= 0:
        return None
    value = actual / expected
    return found(
        view, value, "ratio", now.n, spans_of(now.cites), key="prefill_excess.steps", ratio=rounded(value),
        actual=rounded(1000 * actual / tokens), expected=rounded(1000 * expected / tokens),
    )  # fmt: skip


def _excess_of_requests(view: View) -> Fact:
    """Prefill times of requests over the baseline's fit of them (base + slope x uncached tokens)."""
    now, then = (
        view.one(COST, {**bounds(view), "per_token": True}),
        view.one(COST, {**bounds(view.window(view.baseline, None)), "per_token": True}),
    )
    if now[0] < 10 or then[0] < 10:
        return lacking("ten requests with prefill times in each window", HOW_REQUESTS, min(now[0], then[0]))
    if min(now[4], then[4]) < 0.5 * max(now[0], then[0]):
        return lacking("when each prefill ended", HOW_REQUESTS, now[4])
    slope, base = then[6], then[7]
    if slope is None or slope <= 0 or base is None or base + slope * now[8] <= 0:
        expected = then[3] * now[8]
    else:
        expected = base + slope * now[8]
    actual = now[3] * now[8]
    value = actual / expected if expected > 0 else None
    if value is None:
        return lacking("a usable fit of the baseline's prefills", "a longer --baseline", then[0])
    return found(
        view, value, "ratio", now[0], now[-1], actual=rounded(actual), expected=rounded(expected), ratio=rounded(value)
    )


GIANT: Final = """
WITH rows AS (
    SELECT server, dp_rank, new_seq, new_tokens, waiting, ts, source, line,
        sum(CASE WHEN new_seq <= 1 AND new_tokens >= 1024 AND coalesce(cached_tokens, 0) = 0 THEN 0 ELSE 1 END)
            OVER (PARTITION BY server, dp_rank ORDER BY source, line) AS run
    FROM batches
    WHERE kind = 'prefill' AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
runs AS (
    SELECT run, count(*) AS length, sum(new_tokens) AS tokens, min(waiting) AS waiting, source, min(line) AS a,
        max(line) AS b, max(new_tokens) AS chunk, max(ts) - min(ts) AS span_s
    FROM rows WHERE new_seq <= 1 AND new_tokens >= 1024
        AND coalesce(waiting, 0) > 0 GROUP BY run, server, dp_rank, source
),
worst AS (SELECT * FROM runs WHERE length >= 3 AND waiting > 0 ORDER BY tokens DESC, a LIMIT 1)
SELECT (SELECT count(*) FROM rows) AS n, (SELECT count(*)
    FROM worst) AS hits, max(length) AS chunks, max(tokens) AS tokens,
    max(waiting) AS waiting, max(span_s) AS span_s, (SELECT sum(new_tokens) FROM rows) AS all_tokens,
    (SELECT sum(tokens) FROM runs WHERE length >= 3) AS giant_tokens,
    (SELECT median(new_tokens) FROM rows WHERE new_seq > 0) AS usual,
    list({'source': source, 'a': a, 'b': b}) AS cites
FROM worst
"""


def giant_prefill(view: View) -> Fact:
    """Tokens of the longest run of one-request prefill batches (chunks of one giant prompt) while others waited."""
    n, hits, chunks, tokens, waiting, span_s, total, giant, _usual, cites = view.one(GIANT, bounds(view))
    if n < 3:
        return lacking("prefill lines", "the server log", n)
    if not hits:
        return found(view, 0, "tokens", n, ())
    return found(
        view,
        int(tokens),
        "tokens",
        n,
        cites,
        chunks=chunks,
        waiting=waiting,
        span_s=rounded(span_s),
        share=rounded(float(giant) / float(total)),
    )


FEW_GIANTS: Final = 0.04  # share of the requests
USUAL_WAIT: Final = """
SELECT CASE WHEN count(queue_s) >= 20 THEN quantile_cont(queue_s, 0.25) END FROM asks
WHERE queue_s IS NOT NULL AND NOT coalesce(probe, false)
    AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
"""
SHORT_WAITS: Final = """
WITH everyone AS (
    SELECT prompt_tokens, queue_s, coalesce(queued_ts, received_ts) AS queued, scheduled_ts,
        -- where no stamp says when prefill ended: at the latest when the whole answer had, less quick decoding of it
        coalesce(prefill_done_ts, first_token_ts, received_ts + ttft_s,
            coalesce(finished_ts, received_ts + e2e_s) - 0.02 * completion_tokens) AS prefill_done_ts,
        source, line
    FROM asks
    WHERE prompt_tokens > 0 AND coalesce(queued_ts, received_ts) IS NOT NULL AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
rows AS (SELECT * FROM everyone WHERE queue_s IS NOT NULL),
middle AS (
    -- Where nearly everyone waits, the quick ones are those of the time before.
    SELECT median(prompt_tokens) AS prompt, least(quantile_cont(queue_s, 0.25), $quick) AS quick FROM rows
),
chunk AS (SELECT min(chunked_prefill_size) AS chunk FROM servers WHERE chunked_prefill_size > 0),
giants AS (
    -- a giant need not be among those whose wait is known
    SELECT r.queued + coalesce(r.queue_s, 0) AS began,
        coalesce(r.prefill_done_ts, r.queued + coalesce(r.queue_s, 0) + 1.0) AS ended
    FROM everyone r, middle m
    WHERE r.prompt_tokens >= 8 * m.prompt AND r.prompt_tokens >= 4096
        AND r.prompt_tokens >= 2 * coalesce((SELECT chunk FROM chunk), 0)
),
slow AS (SELECT r.* FROM rows r, middle m WHERE r.prompt_tokens < 8 * m.prompt
    AND r.queue_s >= greatest(4 * m.quick, 0.2)),
behind AS (
    SELECT DISTINCT s.source, s.line FROM slow s JOIN giants g ON s.queued < g.ended AND s.queued + s.queue_s > g.began
)
SELECT (SELECT count(*) FROM rows) AS n, (SELECT count(*) FROM everyone) AS everyone,
    (SELECT count(*) FROM giants) AS giants, (SELECT count(*) FROM slow) AS slow,
    count(*) AS behind, (SELECT prompt FROM middle) AS prompt,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM behind GROUP BY source)) AS cites
FROM behind
"""


def waits_behind_giants(view: View) -> Fact:
    """Share of the slow-to-start requests that waited while a prompt of eight times the median was prefilled."""
    before = view.window(view.baseline, None) if view.baseline is not None else None
    quick = None if before is None else view.one(USUAL_WAIT, bounds(before))[0]
    n, everyone, giants, slow, behind, prompt, cites = view.one(SHORT_WAITS, {**bounds(view), "quick": quick})
    if n < 20:
        return lacking("queue times and prompt lengths of requests", HOW_REQUESTS, n)
    # A class of long prompts is more to compute; a giant is an exception that others meet.
    value = behind / slow if slow >= 5 and 0 < giants <= FEW_GIANTS * everyone else 0.0
    return found(view, value, "share", n, cites, giants=giants, slow=slow, behind=behind, prompt=prompt)
