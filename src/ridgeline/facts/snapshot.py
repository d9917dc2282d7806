"""What a single scrape says plainly: requests that wait for a grammar or an adapter, a tier that gives little back.

One look proves no state over time and no cause; it tells in which layer to go on looking.
"""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, rounded
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

GRAMMAR: Final = """
SELECT count(*) AS n, median(grammar) AS queue, max(grammar) AS peak, median(waiting) AS waiting,
    list(DISTINCT source) AS sources
FROM points
WHERE grammar IS NOT NULL AND ($since::DOUBLE IS NULL OR ts IS NULL OR ts >= $since)
    AND ($until::DOUBLE IS NULL OR ts IS NULL OR ts <= $until)
"""


def grammar_queue(view: View) -> Fact:
    """Requests that wait for their grammar to compile (median over scrapes); they are not in the waiting queue."""
    n, queue, peak, waiting, sources = ready(view).one(GRAMMAR, bounds(view))
    if not n:
        return lacking("requests waiting for a grammar", "num_grammar_queue_reqs in /metrics")
    spans = [{"source": s, "a": None, "b": None} for s in sorted(sources or ())]
    return found(view, queue, "requests", n, spans, queue=queue, peak=peak, waiting=waiting)


ADAPTERS: Final = """
WITH rows AS (
    SELECT s.name, m.value, m.source, m.line FROM samples m JOIN series s USING (series)
    WHERE s.name IN ('lora_pool_slots_used', 'lora_pool_slots_total')
        AND ($since::DOUBLE IS NULL OR m.ts IS NULL OR m.ts >= $since)
        AND ($until::DOUBLE IS NULL OR m.ts IS NULL OR m.ts <= $until)
)
SELECT count(*) AS n, median(value) FILTER (WHERE name = 'lora_pool_slots_used') AS used,
    max(value) FILTER (WHERE name = 'lora_pool_slots_total') AS slots,
    (SELECT median(waiting) FROM points WHERE waiting IS NOT NULL) AS waiting,
    (SELECT median(running) FROM points WHERE running IS NOT NULL) AS running,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def adapters_full(view: View) -> Fact:
    """Whether every adapter slot is in use while more wait than run: who needs another adapter cannot start."""
    n, used, slots, waiting, running, cites = ready(view).one(ADAPTERS, bounds(view))
    if used is None or not slots or waiting is None:
        return lacking("adapter slots beside the queue", "lora_pool_slots_used in /metrics (0.5.9 on)", n)
    value = bool(used >= slots and waiting > max(running or 0, 1))
    return found(view, value, "", n, cites, used=rounded(used), slots=rounded(slots), waiting=rounded(waiting))


TIERS: Final = """
WITH rows AS (
    SELECT s.series, s.name, s.labels ->> 'reason' AS reason, max(m.value) AS value, min(m.source) AS source,
        min(m.line) AS line
    FROM samples m JOIN series s USING (series)
    WHERE s.name IN ('storage_prefetch_hit_tokens', 'storage_prefetch_unfulfilled_tokens', 'hicache_dropped_tokens',
                     'hicache_backup_tokens')
    GROUP BY ALL
),
sums AS (
    SELECT coalesce(sum(value) FILTER (WHERE name = 'storage_prefetch_hit_tokens'), 0) AS hit,
        coalesce(sum(value) FILTER (WHERE name = 'storage_prefetch_unfulfilled_tokens'
            AND coalesce(reason, '') NOT IN ('below_threshold', 'device_covered', 'device_overlap')), 0) AS missed,
        coalesce(sum(value) FILTER (WHERE name = 'hicache_dropped_tokens'), 0) AS dropped,
        coalesce(sum(value) FILTER (WHERE name = 'hicache_backup_tokens'), 0) AS kept,
        arg_max(reason, value) FILTER (WHERE name <> 'storage_prefetch_hit_tokens') AS reason
    FROM rows
)
SELECT (SELECT count(*) FROM rows) AS n, hit, missed, dropped, kept, reason,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM sums
"""


def tier_short(view: View) -> Fact:
    """Share of tokens that the tiers behind the device did not keep or give back, of all since the start; the larger
    of the two (lost on the way down, not fetched in time)."""
    n, hit, missed, dropped, kept, reason, cites = view.one(TIERS)
    shares = [bad / (bad + good) for bad, good in ((missed, hit), (dropped, kept)) if bad + good > 0]
    if not shares:
        return lacking("what the tiers keep and give back", "hicache_* and storage_prefetch_* in /metrics (0.5.23)", n)
    figures = {"missed": rounded(missed), "dropped": rounded(dropped), "reason": reason, "share": rounded(max(shares))}
    return found(view, max(shares), "share", n, cites, **figures)
