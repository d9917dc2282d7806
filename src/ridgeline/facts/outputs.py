"""What came out: answers that stop at once, in which class, and how much decode was asked for."""

from __future__ import annotations

from typing import Any, Final

from ridgeline.bundle.view import View
from ridgeline.facts.events import corrupt_outputs
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.facts.points import ready
from ridgeline.facts.requests import arrival_rate, output_tokens
from ridgeline.model.fact import Fact

HOW_ENDS: Final = "finish reasons and output lengths of requests: --log-requests, or the metrics exporter"

# Ended by the model's own stop after one or two tokens, though more was allowed. Only a class that answers at length
# elsewhere, or did before, can be called cut short: classifiers answer in one token on purpose.
SHORT: Final = """
WITH rows AS (
    SELECT finish_reason = 'stop' AND completion_tokens <= 2 AND coalesce(max_new_tokens, 1000) > 2 AS short,
        completion_tokens, [
            'lora=' || lora, 'client=' || client, 'endpoint=' || endpoint, 'modality=' || modality,
            'routing_key=' || routing_key, CASE WHEN schema_set THEN 'schema_set=true' END,
            'dp_rank=' || dp_rank, 'all'
        ] AS classes, source, line
    FROM asks
    WHERE finish_reason IN ('stop', 'length') AND completion_tokens > 0 AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
long AS (SELECT unnest(classes) AS class, short, source, line FROM rows),
classes AS (
    SELECT class, count(*) AS n, count(*) FILTER (WHERE short) AS hits FROM long WHERE class IS NOT NULL
    GROUP BY class HAVING count(*) >= 10
),
whole AS (SELECT count(*) AS n, count(*) FILTER (WHERE short) AS hits FROM rows),
-- The class that holds the most of the short ones among those that are mostly short; else all.
best AS (
    SELECT class, n, hits FROM classes WHERE hits >= 5
    ORDER BY hits >= 0.8 * n DESC, hits >= 0.5 * n DESC, hits DESC, n, class LIMIT 1
)
SELECT w.n, w.hits, b.class, b.n, b.hits, (SELECT median(completion_tokens) FROM rows WHERE NOT short) AS usual,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows WHERE short GROUP BY source)) AS cites
FROM whole w LEFT JOIN best b ON true
"""


def short_share(view: View) -> Fact:
    """Share of the finished requests that stopped by themselves after one or two tokens."""
    n, hits, name, of, inside, usual, cites = view.one(SHORT, bounds(view))
    if n < 20:
        return lacking("twenty finished requests with their output lengths", HOW_ENDS, n)
    key, _, value = (name or "").partition("=")
    told: dict[str, Any] = {"hits": hits, "inside": inside, "of": of, "name": name or "all", "usual": rounded(usual)}
    return found(view, hits / n, "share", n, cites, **(told | ({key: value} if value else {})))


def wrong_outputs(view: View) -> Fact:
    """Whether output cannot be trusted: signs of corruption, or answers that began to stop at once."""
    said = corrupt_outputs(view)
    if said.value:
        return restated(said, True, "", "corrupt_outputs")
    short = short_share(view)
    if short.value is None:
        return short if said.value is None else restated(said, False, "", "corrupt_outputs.zero")
    if short.value < 0.02:
        return restated(short, False, "", "short_share.zero")
    if view.baseline is None:
        return lacking("how long answers were before", "--baseline FROM..TO, or a log that also covers it", short.n)
    then = short_share(view.window(view.baseline, None))
    if then.value is None:
        return then
    value = bool(short.value >= max(5 * then.value, then.value + 0.02))
    return restated(short, value, "", "short_share", then=rounded(then.value))


def decode_demand(view: View) -> Fact:
    """Output tokens asked for each second: arrivals times their mean length; else the throughput that was reached.

    In a steady state as many are given as are asked for, so that throughput stands in where no request is seen.
    """
    rate, length = arrival_rate(view), output_tokens(view)
    if rate.value is not None and length.value is not None:
        told = {"rate": rounded(rate.value), "length": rounded(length.value)}
        return restated(rate, rate.value * length.value, "tokens/s", "decode_demand", **told)
    n, given, cites = ready(view).one(GIVEN, bounds(view))
    if n < 5:
        return lacking("arrivals and output lengths, or throughput", HOW_ENDS, n)
    return found(view, given, "tokens/s", n, cites, key="decode_demand.given", given=rounded(given))


GIVEN: Final = """
WITH rows AS (
    SELECT gen_tps, source, line FROM lane
    WHERE gen_tps > 0 AND running > 0
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n, median(gen_tps) AS given,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


ENDED: Final = 0.6  # of the tokens generated: with fewer, long answers are still being written
MADE: Final = """
SELECT (SELECT sum(tps) FROM (SELECT avg(gen_tps) * (max(ts) - min(ts)) AS tps FROM points
        WHERE class = 'steps' AND gen_tps > 0
            AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until) GROUP BY place)),
    (SELECT sum(completion_tokens) FROM asks
     WHERE ($since::DOUBLE IS NULL OR coalesce(finished_ts, received_ts + e2e_s) >= $since)
         AND ($until::DOUBLE IS NULL OR coalesce(finished_ts, received_ts + e2e_s) <= $until))
"""


def ended_share(view: View) -> float | None:
    """Output tokens of the requests that ended over all that were generated meanwhile; None where one is not known.

    Far below 1: long answers are still being written, and hold what they have.
    """
    made, ended = ready(view).one(MADE, bounds(view))
    return None if not made or ended is None else float(ended) / float(made)
