"""The gateway's policy: by what rule it picks a worker, and whether it stopped keeping a prefix in one place."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

KEEPS: Final = ("cache_aware", "prefix_hash", "consistent_hashing", "manual", "bucket")
SPREADS: Final = ("random", "round_robin", "power_of_two")

PICKED: Final = """
WITH rows AS (
    SELECT s.labels ->> 'policy' AS policy, s.labels ->> 'worker' AS worker, m.ts, m.source, m.line
    FROM samples m JOIN series s USING (series)
    WHERE s.name = 'worker_selection' AND m.value > 0
        AND ($since::DOUBLE IS NULL OR m.ts >= $since) AND ($until::DOUBLE IS NULL OR m.ts <= $until)
)
SELECT count(*) AS n, arg_max(policy, (ts, line)) AS policy, count(DISTINCT worker) AS workers,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def policy_spread(view: View) -> Fact:
    """Whether the gateway changed from a rule that keeps a prefix or key on one of its workers to one that does not.

    An unchanged rule says nothing: missing. So does a gateway of one worker.
    """
    if view.baseline is None:
        return lacking("a baseline", "--baseline FROM..TO, or evidence that also covers the time before")
    n, policy, workers, cites = ready(view).one(PICKED, bounds(view))
    before, then, _workers, _cites = ready(view).one(PICKED, bounds(view.window(view.baseline, None)))
    if not n or not before or policy == then or workers < 2:
        return lacking(
            "which rule the gateway picks workers by", "/metrics of the gateway (smg_worker_selection_total)"
        )
    value = then in KEEPS and policy in SPREADS
    return found(view, value, "", n, cites, now=policy, then=then, places=workers)
