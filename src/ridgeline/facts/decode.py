"""Decode: seconds of a step against the batch, graphs, speculation, streams that stand still."""

from __future__ import annotations

from typing import Final

import numpy as np

from ridgeline.bundle.view import View
from ridgeline.facts.change import change
from ridgeline.facts.make import bounds, found, lacking, restated, rounded, spans_of
from ridgeline.facts.points import ready
from ridgeline.facts.steps import shared_batch, steps
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
    """Seconds of a decode step now over then, both by their own window's fit, at a batch that both have seen.

    The fit (`facts/steps.py`) sets apart the prefill that ran between two reports. Averages of seconds (vLLM's) do
    that poorly: there the tokens of requests that met little prefill must have become slower as well.
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
    if not now.batches.any() and not then.batches.any():
        # Two fits of averages part base and batch anyhow: one fit, and only where it has seen such batches, is surer.
        times = now.step_s / then.gives_paced(now)
        near = now.running <= np.quantile(then.running, 0.95)
        seen = int(near.sum()) >= 5
        value = float(np.median(times[near] if seen else times))
        if not seen and value >= LIKELY:
            return lacking("a baseline with batches of this size", "a longer --baseline", int(near.sum()))
        actual = expected * value
        tokens = change(view, "seconds", what="tpot_s", q=0.1)
        if tokens.value is not None and tokens.n >= 10 and tokens.value < value:
            value, actual = tokens.value, expected * tokens.value
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


SURE: Final = 1.4  # times as long by the fit alone
LIKELY: Final = 1.25  # where tokens of requests say so too
FELT: Final = 1.2


def decode_slowed(view: View) -> Fact:
    """Whether a step of the same batch takes longer and users have it: clear by the fit, or by fit and tokens together.

    Never where tokens of requests come no slower than before, whatever a fit says.
    """
    fit, tokens = step_excess(view), change(view, "seconds", what="tpot_s")
    if fit.value is None:
        return fit
    felt = tokens.value if tokens.n >= 10 else None
    if fit.value < LIKELY or (felt is not None and felt < 1.05):
        return restated(fit, False, "", "step_excess")
    if fit.value >= SURE:
        return restated(fit, True, "", "step_excess")
    return tokens if felt is None else restated(fit, bool(felt >= FELT), "", "step_excess")


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


HALVED: Final = 0.5  # of what a request gets in a batch that has a graph
GRAPH_LOST: Final = """
WITH rows AS (
    SELECT running, graph, gen_tps / running AS each_tps, source, line FROM batches
    WHERE kind = 'decode' AND graph IS NOT NULL AND running > 0
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n, count(*) FILTER (WHERE NOT graph) AS missed, max(running) FILTER (WHERE graph) AS with_graph,
    median(each_tps) FILTER (WHERE NOT graph AND running > (SELECT max(running) FROM rows WHERE graph)) AS beyond_tps,
    median(each_tps) FILTER (WHERE graph AND 2 * running >= (SELECT max(running) FROM rows WHERE graph)) AS graph_tps,
    count(*) FILTER (WHERE NOT graph AND running <= (SELECT max(running) FROM rows WHERE graph)) AS within,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows WHERE NOT graph GROUP BY source)) AS cites
FROM rows
"""


def graph_lost(view: View) -> Fact:
    """Share of decode lines without a graph at a batch size that the baseline (or other lines) ran with one.

    A batch beyond the largest captured size runs without a graph by design, and counts only where each request gets
    half as much there, or less, as in the larger batches with one; a device without graphs never has one.
    """
    n, missed, with_graph, beyond_tps, graph_tps, within, cites = view.one(GRAPH_LOST, bounds(view))
    if n < 3:
        return lacking("the graph flag on decode lines", "decode lines of the server log", n)
    if view.baseline is not None:
        then = view.one(GRAPH_LOST, bounds(view.window(view.baseline, None)))
        if then[0] >= 3 and then[1] <= 0.2 * then[0]:
            return found(view, missed / n, "share", n, cites, missed=missed, largest=then[2])
    if missed >= 3 and n - missed >= 3 and beyond_tps and graph_tps and beyond_tps <= HALVED * graph_tps:
        told = {"captured": with_graph, "beyond": rounded(beyond_tps), "below": rounded(graph_tps)}
        return found(view, missed / n, "share", n, cites, key="graph_lost.beyond", missed=missed, **told)
    return found(view, within / n if with_graph else 0.0, "share", n, cites, missed=missed, largest=with_graph)
