"""The link between prefill and decode: how fast KV moves, and whether it moves slower than before (SIGNALS §9)."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.change import change
from ridgeline.facts.histograms import observed
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.facts.points import ready
from ridgeline.facts.prefill import prompt_tokens
from ridgeline.model.fact import Fact

SPEED: Final = """
WITH rows AS (
    SELECT transfer_gb_s AS gb_s, transfer_mb AS mb, source, line FROM asks
    WHERE transfer_gb_s > 0
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
)
SELECT count(*) AS n, median(gb_s) AS gb_s, median(mb) AS mb,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def transfer_speed(view: View) -> Fact:
    """Median KV transfer speed of requests, GB/s as stated; a small prompt cannot show the link's speed."""
    n, gb_s, mb, cites = view.one(SPEED, bounds(view))
    if n < 5:
        return lacking("transfer speeds of requests", "ReqTimeStats lines of the prefill server (0.5.9 on)", n)
    return found(view, gb_s, "GB/s", n, cites, mb=rounded(mb), speed=rounded(gb_s))


CROWDED: Final = 1.5  # times the arrivals of before: requests are slower on the same link for sharing it
GAUGED: Final = """
WITH rows AS (
    SELECT m.ts, m.value, m.source, m.line FROM samples m JOIN series s USING (series)
    WHERE s.name = 'kv_transfer_speed_gb_s' AND m.value > 0
),
asked AS (
    SELECT received_ts AS ts, transfer_gb_s AS value, source, line FROM asks
    WHERE transfer_gb_s > 0 AND received_ts IS NOT NULL
),
best AS (SELECT * FROM asked UNION ALL SELECT * FROM rows WHERE (SELECT count(*) FROM asked) < 30),
thirds AS (SELECT *, ntile(3) OVER (ORDER BY ts, source, line) AS third FROM best)
SELECT count(*) AS n, median(value) FILTER (WHERE third = 1) AS then, median(value) FILTER (WHERE third = 3) AS now,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM best GROUP BY source)) AS cites
FROM thirds
"""


def transfer_slowed(view: View) -> Fact:
    """Transfer speed over that of the baseline; with no baseline, the last third of the evidence over its first.

    Where no speed is said (0.5.3), the time in which a request's KV moves, then over now, at prompts of equal length.
    """
    more = change(view, "arrival_rate").value
    if more is not None and more >= CROWDED:
        how = "a stretch of as many requests as before: more at once share the same link"
        return lacking("the link's speed at the load of before", how)
    against = change(view, "transfer_speed")
    if against.value is not None:
        return against
    if (moved := _moved(view)) is not None:
        return moved
    n, then, now, cites = ready(view).one(GAUGED)
    if n < 15 or not then:
        return lacking("transfer speeds over time", "ReqTimeStats lines or /metrics of the prefill server", n)
    return found(view, now / then, "ratio", n, cites, now=rounded(now), then=rounded(then), ratio=rounded(now / then))


FEWEST: Final = 20  # transfers in each window


def _moved(view: View) -> Fact | None:
    """Mean seconds of the stage prefill_transfer_kv_cache before over now; None where either is not seen."""
    if view.baseline is None:
        return None
    before = view.window(view.baseline, None)
    now, then = observed(view, "kv_move_s"), observed(before, "kv_move_s")
    length, length_then = prompt_tokens(view).value, prompt_tokens(before).value
    if min(now.n, then.n) < FEWEST or now.value is None or then.value is None or not length or not length_then:
        return None
    spent, spent_then = (dict(fact.statement.figures)["total_s"] / fact.n for fact in (now, then))
    if not spent or not spent_then:
        return None
    value = (spent_then / length_then) / (spent / length)
    return restated(now, value, "ratio", "link.moved", now=rounded(spent), then=rounded(spent_then))
