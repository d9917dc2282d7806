"""How often a token reaches the client, against how often the engine makes one."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, rounded
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

LINES: Final = 5  # decode lines with a throughput: fewer are too few for a usual step
REQUESTS: Final = 20

# What a benchmark prints of its run, or the client's own rows; the engine's steps by its lines.
GAPS: Final = """
WITH printed AS (
    SELECT m.value, m.source, m.line FROM samples m JOIN series s USING (series)
    WHERE s.name IN ('bench:median_itl', 'bench:median_tpot') AND m.value > 0
),
rows AS (
    SELECT coalesce(tpot_s, decode_s / nullif(completion_tokens - 1, 0)) AS value, source, line FROM records
    WHERE (role = 'client' OR kind = 'client') AND completion_tokens > 2
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
heard AS (
    SELECT * FROM printed
    UNION ALL
    SELECT * FROM rows WHERE value > 0 AND (SELECT count(*) FROM rows) >= $requests
),
made AS (
    SELECT running * coalesce(accept_length, 1) / gen_tps AS value, source, line FROM points
    WHERE class = 'steps' AND gen_tps > 0 AND running > 0 AND coalesce(role, 'unified') <> 'prefill'
        AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since)
        AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until)
)
SELECT (SELECT median(value) FROM heard) AS heard_s, (SELECT median(value) FROM made) AS made_s,
    (SELECT count(*) FROM heard) AS n, (SELECT count(*) FROM made) AS lines,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source) FROM (
        SELECT source, min(line) AS a, max(line) AS b
        FROM (SELECT * FROM heard UNION ALL SELECT * FROM made) GROUP BY source)) AS cites
"""


def itl_over_step(view: View) -> Fact:
    """Times the engine's usual gap between tokens of a request that the client sees (medians).

    The engine's gap is running requests over throughput, a speculative step's tokens counted. Much more at the client
    is lost behind the scheduler: detokenizing, the loop that sends, the network, a client that reads slowly.
    """
    heard_s, made_s, n, lines, cites = ready(view).one(GAPS, {**bounds(view), "requests": REQUESTS})
    if heard_s is None or made_s is None or lines < LINES:
        return lacking("the client's inter-token latency beside the engine's decode lines", "a benchmark's result", n)
    ratio = heard_s / made_s
    return found(view, ratio, "times", lines, cites, heard_s=rounded(heard_s), made_s=rounded(made_s))
