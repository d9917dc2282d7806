"""Streams that stand still: without tokens, behind prefill batches, between chunks."""

from __future__ import annotations

from typing import Final

import numpy as np

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, restated, rounded, spans_of
from ridgeline.facts.points import ready
from ridgeline.facts.steps import STEPS_OF_A_REPORT, steps
from ridgeline.model.fact import Fact

HOW_DECODE: Final = "decode lines of the server log"
LONG_BATCH: Final = 4_096  # tokens: a chunk as small as this is cut for the streams' sake; more is a matter of pauses
LONG_TRAIN: Final = 65_536  # tokens of a train of prefill batches that streams feel


# A gauge keeps its last value between reports, so that a scrape says nothing: lines only.
STALLED: Final = """
WITH rows AS (
    SELECT *, lag(running) OVER w AS before, lag(gen_tps) OVER w AS tps_before FROM points
    WHERE class IN ('steps', 'stats') AND gen_tps IS NOT NULL AND running IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
    WINDOW w AS (PARTITION BY place, class ORDER BY ord)
),
-- Averages of ten seconds (vLLM's) in which prompts were computed: what ran may all have been at its first token.
busy AS (SELECT source, line FROM batches WHERE kind = 'stats' AND input_tps > 0),
still AS (SELECT * FROM rows WHERE running >= 1 AND before >= 1 AND gen_tps < 1.0 * running
    AND (source, line) NOT IN (SELECT (source, line) FROM busy))
SELECT (SELECT count(*) FROM rows WHERE running >= 1 AND before >= 1) AS n, count(*) AS hits,
    count(*) FILTER (WHERE tps_before < 1.0 * before) AS twice, min(gen_tps) AS tps, max(running) AS running,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM still GROUP BY source)) AS cites
FROM still
"""


def stalled_points(view: View) -> Fact:
    """Times that two lines in a row have running requests and less than one token a second for each.

    One such line is no proof: throughput is averaged since the previous line, idle time included.
    """
    n, hits, twice, tps, running, cites = ready(view).one(STALLED, bounds(view))
    if not n:
        return lacking("two lines in a row with running requests", "a longer stretch of the server log")
    return found(view, twice, "points", n, cites, hits=hits, tps=rounded(tps), running=running)


GAPS: Final = """
WITH rows AS (
    SELECT kind, running, new_tokens, gen_tps, accept_length, ts, source, line, lag(running) OVER w AS running_before,
        lag(ts) OVER w AS ts_before,
        coalesce(lag(CASE WHEN kind = 'prefill' THEN new_tokens END) OVER w, 0) AS prefilled, lag(line) OVER w AS since
    FROM batches WHERE kind IN ('prefill', 'decode') AND ts IS NOT NULL AND running IS NOT NULL
        AND coalesce(role, 'unified') <> 'prefill'
    WINDOW w AS (PARTITION BY server, dp_rank, source ORDER BY line)
)
SELECT ts - ts_before AS gap_s, prefilled, running_before, source, since, line,
    CASE WHEN kind = 'decode' AND gen_tps > 0 THEN running * coalesce(accept_length, 1) / gen_tps END AS step_s
FROM rows
WHERE running > 0 AND ts > ts_before
    AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
ORDER BY source, line
"""
CUT: Final = 3.0  # times what the throughput behind a gap tells of its length
HALT_S: Final = 1.5  # lines are stamped to the second: a shorter silence may be rounding


def halts(view: View) -> Fact:
    """Silences of the scheduler with requests in the batch that neither forty steps nor a prefill account for."""
    fit = steps(view)
    rows = ready(view).query(GAPS, bounds(view))
    if fit is None or len(rows) < 20:
        return lacking("twenty batch lines with times", HOW_DECODE, len(rows))
    usual = float(np.quantile([row[0] for row in rows], 0.9))
    # A decode line's throughput is that since the line before it: where it does not fit the gap, lines were cut out.
    lost = [
        (gap - max(usual, STEPS_OF_A_REPORT * fit.decode_s(before or 1, 0)) - fit.prefill_s(prefilled, 1), source, line)
        for gap, prefilled, before, source, _since, line, step_s in rows
        if step_s is None or gap <= CUT * STEPS_OF_A_REPORT * step_s
    ]
    still = [(seconds, source, line) for seconds, source, line in lost if seconds >= HALT_S]
    return found(
        view,
        len(still),
        "silences",
        len(rows),
        spans_of([(source, line) for _, source, line in still]),
        lost_s=rounded(sum(seconds for seconds, _, _ in still)),
        worst=rounded(max((seconds for seconds, _, _ in still), default=0.0)),
    )


def tokens_stop(view: View) -> Fact:
    """Whether requests in the batch get no tokens for a while: near-zero throughput twice in a row, or silences."""
    stalled, silent = stalled_points(view), halts(view)
    if stalled.value is not None and stalled.value >= 2:
        return restated(stalled, True, "", "stalled_points")
    if silent.value is not None:
        return restated(silent, bool(silent.value >= 3), "", "halts")
    return stalled if stalled.value is None else restated(stalled, False, "", "stalled_points")


PAUSE: Final = """
WITH rows AS (
    SELECT new_tokens, source, line FROM batches
    WHERE kind = 'prefill' AND running >= 4 AND new_tokens > 0 AND coalesce(role, 'unified') <> 'prefill'
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n, quantile_cont(new_tokens, 0.95) AS tokens, max(new_tokens) AS most,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def prefill_pause(view: View) -> Fact:
    """Seconds for which one long prefill batch (95th percentile of tokens) halts the streams that run beside it."""
    n, tokens, most, cites = view.one(PAUSE, bounds(view))
    fit = steps(view)
    if n < 20 or fit is None or not fit.costs[3:].any():
        return lacking("twenty prefill batches beside running streams", HOW_DECODE, n)
    value = fit.prefill_s(tokens, 1)
    return found(view, value, "s", n, cites, pause=rounded(value), tokens=tokens, most=most)


def streams_paused(view: View) -> Fact:
    """Whether prefill batches make running streams wait: a long train of them, or single ones grown much longer."""
    train = prefill_train(view)
    if train.value is not None and train.value >= LONG_TRAIN:
        return restated(train, True, "", "prefill_train")
    now = prefill_pause(view)
    then = prefill_pause(view.window(view.baseline, None)) if view.baseline is not None else None
    if now.value is None or then is None or then.value is None:
        told = dict(now.statement.figures)
        long = now.value is not None and (now.value >= 1.0 or (now.value >= 0.5 and told["tokens"] > LONG_BATCH))
        if not long:
            return train if train.value is None else restated(train, False, "", "prefill_train.none")
        return lacking("a baseline", "--baseline FROM..TO, or a log that also covers the time before")
    told, before = dict(now.statement.figures), dict(then.statement.figures)
    # Fuller batches of the usual budget pause nobody for longer than before: these are longer than any of then.
    longer = (
        told["tokens"] >= 1.5 * before["tokens"] and told["tokens"] > LONG_BATCH and told["tokens"] > before["most"]
    )
    grew = now.value >= 0.5 and now.value >= 1.5 * then.value
    if grew and not longer and told["tokens"] > LONG_BATCH and told["most"] > 1.5 * before["most"]:
        # some are longer than any of then, the usual long one is not: it may be either
        return lacking("a baseline with batches of this size", "a longer --baseline")
    value = bool(grew and longer)
    return restated(now, value, "", "prefill_pause.grew", then=rounded(then.value))


TRAIN: Final = """
WITH rows AS (
    SELECT server, dp_rank, kind, running, new_tokens, ts, source, line,
        sum(CASE WHEN kind = 'prefill' THEN 0 ELSE 1 END) OVER (PARTITION BY server, dp_rank
            ORDER BY source, line) AS train
    FROM batches
    WHERE kind IN ('prefill', 'decode') AND coalesce(role, 'unified') <> 'prefill'
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
trains AS (
    SELECT server, dp_rank, train, count(*) AS length, arg_min(running, line) AS running, sum(new_tokens) AS tokens,
        max(ts) - min(ts) AS span_s, source, min(line) AS a, max(line) AS b
    FROM rows WHERE kind = 'prefill' GROUP BY server, dp_rank, train, source
),
worst AS (
    SELECT * FROM trains WHERE running >= 8 AND length >= 5 AND tokens / length >= 4096
    ORDER BY tokens DESC, a LIMIT 1
)
SELECT (SELECT count(*) FROM rows WHERE kind = 'prefill') AS n, (SELECT count(*) FROM worst) AS hits,
    max(length) AS length, max(running) AS running, max(tokens) AS tokens, max(span_s) AS span_s,
    list({'source': source, 'a': a, 'b': b}) AS cites
FROM worst
"""


def prefill_train(view: View) -> Fact:
    """Tokens prefilled in the longest train of prefill batches without one decode line, past streams already running.

    Eight streams must have run when it began (a batch that only fills an empty server pauses nobody), five batches
    in a row of at least 4,096 tokens each: decode lines appear every 40 steps, so a shorter train proves nothing.
    """
    n, hits, length, running, tokens, span_s, cites = view.one(TRAIN, bounds(view))
    if not n:
        return lacking("prefill lines", "the server log")
    if not hits:
        return found(view, 0, "tokens", n, ())
    return found(view, int(tokens), "tokens", n, cites, length=length, running=running, span_s=rounded(span_s))


PAUSES: Final = """
WITH rows AS (
    SELECT itl_max_s, coalesce(itl_p50_s, tpot_s) AS usual, source, line FROM requests
    WHERE itl_max_s IS NOT NULL AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
)
SELECT count(*) AS n, median(itl_max_s) AS typical, quantile_cont(itl_max_s, 0.95) AS p95, median(usual) AS usual,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def stream_gap_ratio(view: View) -> Fact:
    """Median longest gap of a stream over its usual gap."""
    n, typical, p95, usual, cites = view.one(PAUSES, bounds(view))
    if n < 5 or not usual:
        return lacking("gaps between chunks", "a client file with chunk times (bench_serving --output-details)", n)
    value = typical / usual
    return found(view, value, "ratio", n, cites, typical=rounded(typical), usual=rounded(usual), p95=rounded(p95))
