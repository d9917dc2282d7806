"""Decode: seconds of a step against the batch, graphs, speculation, streams that stand still."""

from __future__ import annotations

from typing import Final

import numpy as np

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, restated, rounded, spans_of
from ridgeline.facts.points import ready
from ridgeline.facts.steps import STEPS_OF_A_REPORT, Steps, shared_batch, steps, steps_by_place
from ridgeline.model.fact import Fact

HOW_DECODE: Final = "decode lines of the server log"
LONG_BATCH: Final = 4_096  # tokens of one prefill batch; the usual chunk is a matter of prompts, not of pauses
LONG_TRAIN: Final = 65_536  # tokens of a train of prefill batches that streams feel

# A step gives each running request accept_length tokens, so a step lasts running x accept / throughput. The first
# line after an idle stretch averages over the idle time: it is left out (running before it was 0 or unknown).
STEPS: Final = """
WITH rows AS (
    SELECT *, lag(busy) OVER (PARTITION BY place ORDER BY ord) AS before, lag(ts) OVER (PARTITION BY place
        ORDER BY ord) AS last
    FROM points WHERE via IN ('decode', 'stats', 'scrape', 'loads') AND class = (
        SELECT CASE WHEN count(*) FILTER (WHERE class = 'steps') > 0 THEN 'steps'
                    WHEN count(*) FILTER (WHERE class = 'stats') > 0 THEN 'stats'
                    WHEN count(*) FILTER (WHERE class = 'scrape') > 0 THEN 'scrape' ELSE 'loads' END
        FROM points WHERE gen_tps > 0 AND running > 0)
),
steps AS (
    SELECT running, running * coalesce(accept_length, 1) / gen_tps AS step_s, gen_tps, source, line FROM rows
    WHERE gen_tps > 0 AND running > 0 AND before > 0
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n, median(step_s) AS step_s, median(running) AS running, median(gen_tps) AS tps,
    regr_slope(step_s, running) AS slope, regr_intercept(step_s, running) AS base, stddev_pop(running) AS spread,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM steps GROUP BY source)) AS cites
FROM steps
"""


def step_s(view: View) -> Fact:
    """Median seconds of one decode step, from running requests, accepted tokens and throughput."""
    n, step, running, tps, *_fit, cites = ready(view).one(STEPS, bounds(view))
    if n < 3:
        return lacking("three decode lines with throughput", HOW_DECODE, n)
    return found(view, step, "s", n, cites, running=running, tps=rounded(tps, 4), step=rounded(step))


def batch_size(view: View) -> Fact:
    """Median number of requests in the decode batch."""
    n, _step, running, _tps, *_fit, cites = ready(view).one(STEPS, bounds(view))
    if n < 3:
        return lacking("three decode lines with throughput", HOW_DECODE, n)
    return found(view, running, "requests", n, cites)


def step_excess(view: View) -> Fact:
    """Seconds of a decode step now over then, both by their own window's fit, at a batch that both have seen.

    The fit (`facts/steps.py`) sets apart the prefill that ran between two reports.
    """
    if view.baseline is None:
        return lacking("a baseline", "--baseline FROM..TO, or a log that also covers the time before")
    now, then = steps(view), steps(view.window(view.baseline, None))
    if now is None or then is None:
        return lacking("five decode lines in each window", HOW_DECODE, min(now.n if now else 0, then.n if then else 0))
    batch = shared_batch(now, then)
    if batch is None:
        return lacking("a baseline with batches of this size", "a longer --baseline", then.n)
    held = batch * float(np.median(now.held / now.running))
    actual, expected = now.decode_s(batch, held), then.decode_s(batch, held)
    if actual <= 0 or expected <= 0:
        return lacking("a usable fit of the steps", "a longer --baseline", then.n)
    value = actual / expected
    return found(
        view,
        value,
        "ratio",
        now.n,
        spans_of(now.cites),
        step=rounded(actual),
        expected=rounded(expected),
        running=rounded(batch),
        ratio=rounded(value),
    )


GAPS: Final = """
WITH rows AS (
    SELECT kind, running, new_tokens, ts, source, line, lag(running) OVER w AS running_before, lag(ts) OVER w AS ts_before,
        coalesce(lag(CASE WHEN kind = 'prefill' THEN new_tokens END) OVER w, 0) AS prefilled, lag(line) OVER w AS since
    FROM batches WHERE kind IN ('prefill', 'decode') AND ts IS NOT NULL AND running IS NOT NULL
        AND coalesce(role, 'unified') <> 'prefill'
    WINDOW w AS (PARTITION BY server, dp_rank, source ORDER BY line)
)
SELECT ts - ts_before AS gap_s, prefilled, running_before, source, since, line FROM rows
WHERE running > 0 AND ts > ts_before
    AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
ORDER BY source, line
"""
HALT_S: Final = 2.5  # lines are stamped to the second: a shorter silence may be rounding


def halts(view: View) -> Fact:
    """Silences of the scheduler with requests in the batch that neither forty steps nor the last prefill account for."""
    fit = steps(view)
    rows = ready(view).query(GAPS, bounds(view))
    if fit is None or len(rows) < 20:
        return lacking("twenty batch lines with times", HOW_DECODE, len(rows))
    usual = float(np.quantile([row[0] for row in rows], 0.9))
    lost = [
        (gap - max(usual, STEPS_OF_A_REPORT * fit.decode_s(before or 1, 0)) - fit.prefill_s(prefilled, 1), source, line)
        for gap, prefilled, before, source, _since, line in rows
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
        if now.value is None or now.value < 1.0:
            return train if train.value is None else restated(train, False, "", "prefill_train.none")
        return lacking("a baseline", "--baseline FROM..TO, or a log that also covers the time before")
    told, before = dict(now.statement.figures), dict(then.statement.figures)
    # Fuller batches of the usual budget pause nobody for longer than before: these are longer than any of then.
    longer = told["tokens"] >= max(1.5 * before["tokens"], LONG_BATCH) and told["tokens"] > before["most"]
    value = bool(now.value >= 0.5 and longer and now.value >= 1.5 * then.value)
    return restated(now, value, "", "prefill_pause.grew", then=rounded(then.value))


GRAPH: Final = """
WITH rows AS (
    SELECT running, graph, source, line FROM batches
    WHERE kind = 'decode' AND graph IS NOT NULL AND running > 0
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n, count(*) FILTER (WHERE NOT graph) AS missed,
    max(running) FILTER (WHERE graph) AS largest_with, min(running) FILTER (WHERE NOT graph) AS smallest_without,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def graph_miss_share(view: View) -> Fact:
    """Share of decode lines that ran without a graph (a prefill line's flag says nothing: it is normally False)."""
    n, missed, largest, smallest, cites = view.one(GRAPH, bounds(view))
    if n < 3:
        return lacking("the graph flag on decode lines", HOW_DECODE, n)
    return found(view, missed / n, "share", n, cites, missed=missed, largest_with=largest, smallest_without=smallest)


ACCEPT: Final = """
WITH rows AS (
    SELECT accept_length AS value, source, line FROM points
    WHERE accept_length > 0 AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
    UNION ALL
    SELECT spec_accept_length, source, line FROM requests
    WHERE spec_accept_length > 0
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
)
SELECT count(*) AS n, median(value) AS value,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def accept_length(view: View) -> Fact:
    """Median tokens accepted per verify step, the bonus token included."""
    n, value, cites = ready(view).one(ACCEPT, bounds(view))
    if not n:
        return lacking("speculative acceptance", "decode lines (accept len) or spec_accept_length in /metrics")
    return found(view, value, "tokens", n, cites, accept=rounded(value))


# A gauge keeps its last value between reports, so that a scrape says nothing: lines only.
STALLED: Final = """
WITH rows AS (
    SELECT *, lag(running) OVER w AS before, lag(gen_tps) OVER w AS tps_before FROM points
    WHERE class IN ('steps', 'stats') AND gen_tps IS NOT NULL AND running IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
    WINDOW w AS (PARTITION BY place, class ORDER BY ord)
),
still AS (SELECT * FROM rows WHERE running >= 1 AND before >= 1 AND gen_tps < 1.0 * running)
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


RANKS: Final = """
WITH rows AS (
    SELECT place, running * coalesce(accept_length, 1) / gen_tps AS step_s, running, source, line,
        lag(busy) OVER (PARTITION BY place ORDER BY ord) AS before
    FROM lane
    WHERE gen_tps > 0 AND running > 0
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
places AS (
    SELECT place, median(step_s) AS step_s, median(running) AS running, count(*) AS n FROM rows
    WHERE before > 0 GROUP BY place HAVING count(*) >= 3
)
SELECT count(*) AS places, sum(n)::BIGINT AS n, max(step_s) AS slow, median(step_s) AS usual, min(step_s) AS fast,
    arg_max(place, step_s) AS place, arg_max(running, step_s) / nullif(median(running), 0) AS load_ratio,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM places
"""


def slow_rank_ratio(view: View) -> Fact:
    """Step time of the slowest rank over the others', at the same batch.

    Ranks whose steps can be fitted are compared at a batch that both have seen, prefill set apart: a slow rank also
    piles up requests. Else medians of steps, and only at no larger a batch.
    """
    fits = steps_by_place(view)
    if len(fits) >= 2 and (curves := _curves(view, fits)) is not None:
        return curves
    places, n, slow, usual, fast, place, load_ratio, cites = ready(view).one(RANKS, bounds(view))
    if places < 2:
        return lacking("decode lines of two ranks", "the server log of every rank, or per-rank /v1/loads", n or 0)
    reference = fast if places == 2 else usual
    value = slow / reference if load_ratio is None or load_ratio <= 1.2 else 1.0
    return found(
        view, value, "ratio", n, cites, place=place, slow=rounded(slow), usual=rounded(reference), ratio=rounded(value)
    )


def _curves(view: View, fits: dict[str, Steps]) -> Fact | None:
    """The rank that is slower than the median of the others by most; None where no two have a batch in common."""
    best: tuple[float, str, float, float] | None = None
    for place, fit in sorted(fits.items()):
        pairs = []
        for other in (o for name, o in sorted(fits.items()) if name != place):
            batch = shared_batch(fit, other)
            if batch is None:
                continue
            held = batch * float(np.median(fit.held / fit.running))
            own, theirs = fit.decode_s(batch, held), other.decode_s(batch, held)
            if own > 0 and theirs > 0:
                pairs.append((own / theirs, own, theirs))
        if pairs:
            ratio, own, theirs = sorted(pairs)[len(pairs) // 2]
            best = max(best, (ratio, place, own, theirs)) if best else (ratio, place, own, theirs)
    if best is None:
        return None
    value, place, own, theirs = best
    cites = spans_of([c for fit in fits.values() for c in fit.cites])
    return found(
        view, value, "ratio", sum(fit.n for fit in fits.values()), cites,
        place=place, slow=rounded(own), usual=rounded(theirs), ratio=rounded(value),
    )  # fmt: skip


GRAPH_LOST: Final = """
WITH rows AS (
    SELECT running, graph, source, line FROM batches
    WHERE kind = 'decode' AND graph IS NOT NULL AND running > 0
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n, count(*) FILTER (WHERE NOT graph) AS missed, max(running) FILTER (WHERE graph) AS with_graph,
    count(*) FILTER (WHERE NOT graph AND running <= (SELECT max(running) FROM rows WHERE graph)) AS within,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows WHERE NOT graph GROUP BY source)) AS cites
FROM rows
"""


def graph_lost(view: View) -> Fact:
    """Share of decode lines without a graph at a batch size that the baseline (or other lines) ran with one.

    A batch beyond the largest captured size runs without a graph by design; a device without graphs never has one.
    """
    n, missed, with_graph, within, cites = view.one(GRAPH_LOST, bounds(view))
    if n < 3:
        return lacking("the graph flag on decode lines", "decode lines of the server log", n)
    if view.baseline is not None:
        then = view.one(GRAPH_LOST, bounds(view.window(view.baseline, None)))
        if then[0] >= 3 and then[1] <= 0.2 * then[0]:
            return found(view, missed / n, "share", n, cites, missed=missed, largest=then[2])
    return found(view, within / n if with_graph else 0.0, "share", n, cites, missed=missed, largest=with_graph)
