"""The tiers behind the device's KV: whether there are any, and whether they still give what they gave."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.events import event_count
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.model.fact import Fact

STORED: Final = """
WITH rows AS (
    SELECT coalesce(cached_storage_tokens, 0) + coalesce(cached_host_tokens, 0) AS tier, cached_device_tokens,
        source, line
    FROM asks
    WHERE cached_device_tokens IS NOT NULL AND prompt_tokens > 0 AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
)
SELECT count(*) AS n, avg(tier) AS tier, avg(cached_device_tokens) AS device,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""
# A launch tells of each engine that it keeps KV on the device alone: the start-up line and /server_info print every
# argument, defaults included, so that the word is there and says no.
NO_TIER: Final = """
WITH engines AS (
    SELECT DISTINCT server FROM servers WHERE engine = 'sglang' AND coalesce(role, '') NOT IN ('client', 'gateway')
), keys AS (
    SELECT server, replace(key, '-', '_') AS key, lower(coalesce(value, '')) AS value, source, line FROM config
), off AS (
    SELECT * FROM keys WHERE key = 'enable_hierarchical_cache' AND value IN ('false', '0')
)
SELECT (SELECT count(*) FROM engines) AS engines,
    (SELECT count(*) FROM engines WHERE server IN (SELECT server FROM off)) AS without,
    (SELECT count(*) FROM keys
     WHERE (key IN ('enable_hierarchical_cache', 'enable_lmcache') AND value IN ('true', '1', ''))
        OR (key IN ('hicache_storage_backend', 'kv_transfer_config') AND value NOT IN ('', 'none', 'null'))) AS tiers,
    (SELECT list(DISTINCT {'source': source, 'a': line, 'b': line}) FROM off) AS cites
"""
HOW_TIERS: Final = "cached_tokens_details of requests (--enable-cache-report, or the request log of 0.5.9 on)"


def tier_lost(view: View) -> Fact:
    """Whether what came from host or storage tiers no longer comes, while the device gives as much as before.

    Where hits are not told apart by tier, failures of the store say it; a server that has no tier loses none.
    """
    if view.baseline is None:
        return lacking("a baseline", "--baseline FROM..TO, or evidence that also covers the time before")
    n, now, device, cites = view.one(STORED, bounds(view))
    before, then, device_then, _cites = view.one(STORED, bounds(view.window(view.baseline, None)))
    if n < 20 or before < 20:
        failed = event_count(view, "storage")
        if failed.value:
            return restated(failed, True, "", failed.statement.key or "event_count")
        engines, without, tiers, said = view.one(NO_TIER)
        if engines and without == engines and not tiers:
            return found(view, False, "", engines, said, key="tier.off")
        return lacking("hits by tier of requests in both windows", HOW_TIERS, min(n, before))
    fell = then >= 0.05 * (then + device_then) and now <= 0.5 * then and device >= 0.8 * device_then
    return found(
        view, bool(fell), "", n, cites, now=rounded(now), then=rounded(then), device=rounded(device),
        device_then=rounded(device_then),
    )  # fmt: skip
