"""Decode: seconds of a step against the batch, graphs, speculation, streams that stand still."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, rounded
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

HOW_DECODE: Final = "decode lines of the server log"

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
    """Step time now over what the baseline window's own fit (step = base + slope x running) gives for this batch."""
    if view.baseline is None:
        return lacking("a baseline", "--baseline FROM..TO, or a log that also covers the time before")
    now = ready(view).one(STEPS, bounds(view))
    then = view.one(STEPS, bounds(view.window(view.baseline, None)))
    if now[0] < 5 or then[0] < 5:
        return lacking("five decode lines in each window", HOW_DECODE, min(now[0], then[0]))
    slope, base, spread = then[4], then[5], then[6]
    # A baseline of one batch size gives no slope: its step time then stands for the same batch only.
    if slope is None or not spread or slope < 0:
        if abs(now[2] - then[2]) > 0.2 * max(then[2], 1):
            return lacking("a baseline with batches of this size", "a longer --baseline", then[0])
        expected = then[1]
    else:
        expected = base + slope * now[2]
    if expected <= 0:
        return lacking("a usable fit of the baseline's steps", "a longer --baseline", then[0])
    value = now[1] / expected
    return found(
        view,
        value,
        "ratio",
        now[0],
        now[-1],
        step=rounded(now[1]),
        expected=rounded(expected),
        running=now[2],
        ratio=rounded(value),
    )


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
    """Step time of the slowest rank over the others', at no larger a batch."""
    places, n, slow, usual, fast, place, load_ratio, cites = ready(view).one(RANKS, bounds(view))
    if places < 2:
        return lacking("decode lines of two ranks", "the server log of every rank, or per-rank /v1/loads", n or 0)
    reference = fast if places == 2 else usual
    value = slow / reference if load_ratio is None or load_ratio <= 1.2 else 1.0
    return found(
        view, value, "ratio", n, cites, place=place, slow=rounded(slow), usual=rounded(reference), ratio=rounded(value)
    )


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
