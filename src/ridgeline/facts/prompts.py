"""Prompts beside each other: drifting heads, tokens written and never read, equal prompts split by key."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, rounded
from ridgeline.model.fact import Fact

WRITES: Final = """
WITH rows AS (
    SELECT w.number AS written, coalesce(q.cached_tokens, 0) AS read, w.source, w.line
    FROM request_attrs w LEFT JOIN requests q ON q.source = w.source AND q.line = w.line
    WHERE w.name IN ('cache_write_tokens', 'cache_creation', 'cache_creation_tokens')
)
SELECT count(*) AS n, sum(written) AS written, sum(read) AS read,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def written_never_read(view: View) -> Fact:
    """Tokens written to a prompt cache over several requests of which none was ever read back."""
    n, written, read, cites = view.one(WRITES)
    if n < 2:
        return lacking("cache writes and reads of requests", "the client's usage records", n)
    value = written if written and not read else 0
    return found(view, value, "tokens", n, cites, read=read)


FEWEST: Final = 8  # prompts

# A prompt and the earlier one it resembles most: where they part, and what stands there (the prompt readers say).
DRIFTS: Final = """
WITH pairs AS (
    SELECT drift, common_tokens, tokens, drift IS NOT NULL AND common_tokens < 0.5 * tokens AS early, source, line
    FROM prompts p LEFT JOIN (SELECT rid, min(received_ts) AS ts FROM requests GROUP BY rid) q USING (rid)
    WHERE common_tokens IS NOT NULL AND tokens > 0
        AND ($since::DOUBLE IS NULL OR q.ts IS NULL OR q.ts >= $since)
        AND ($until::DOUBLE IS NULL OR q.ts IS NULL OR q.ts <= $until)
    QUALIFY row_number() OVER (PARTITION BY coalesce(p.rid, concat(source, ':', line)), p.unit ORDER BY source, line)
        = 1
)
SELECT count(*) AS n, count(*) FILTER (WHERE early) AS drifting, mode(drift) FILTER (WHERE early) AS kind,
    median(common_tokens) FILTER (WHERE early) AS at, median(common_tokens / tokens) AS common,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM pairs GROUP BY source)) AS cites
FROM pairs
"""


def drifting_head(view: View) -> Fact:
    """What differs early in prompts that should be equal (clock, uuid, counter, …); empty where nothing.

    In most of them; or, beside a baseline, in a tenth that is five times as large as before: one caller's prompts.
    """
    n, drifting, kind, at, common, cites = view.one(DRIFTS, bounds(view))
    if not n:
        return lacking("prompts or their ids", "--log-requests --log-requests-level 3, or a request dump")
    began = False
    if view.baseline is not None and drifting >= max(FEWEST, 0.1 * n):
        before, drifted, *_rest = view.one(DRIFTS, bounds(view.window(view.baseline, None)))
        began = before >= FEWEST and drifting / n >= 5 * drifted / before
    value = f"{kind} after {at:.0f}" if began or drifting >= 0.5 * n else ""
    return found(view, value, "", n, cites, drifting=drifting, common=rounded(common))


# The engine's own word counts as well: where prompts find what they share under their own key, none is kept apart.
SPLIT: Final = """
WITH spaces AS (SELECT rid, any_value(namespace) AS namespace FROM prompts WHERE namespace IS NOT NULL GROUP BY rid),
asked AS (SELECT rid, min(received_ts) AS ts, max(cached_tokens) AS cached FROM requests GROUP BY rid),
pairs AS (
    SELECT p.namespace <> n.namespace AND p.common_tokens >= 0.5 * coalesce(p.tokens, p.seen_tokens)
            AND coalesce(q.cached, 0) < 0.5 * p.common_tokens AS other, p.source, p.line
    FROM prompts p JOIN spaces n ON p.neighbour = n.rid LEFT JOIN asked q ON q.rid = p.rid
    WHERE p.namespace IS NOT NULL AND coalesce(p.tokens, p.seen_tokens) > 0
        AND ($since::DOUBLE IS NULL OR q.ts IS NULL OR q.ts >= $since)
        AND ($until::DOUBLE IS NULL OR q.ts IS NULL OR q.ts <= $until)
    QUALIFY row_number() OVER (PARTITION BY p.rid ORDER BY p.source, p.line) = 1
)
SELECT count(*) AS n, avg(CASE WHEN other THEN 1.0 ELSE 0.0 END) AS value,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM pairs WHERE other GROUP BY source)) AS cites
FROM pairs
"""


def split_by_key(view: View) -> Fact:
    """Share of prompts whose nearest equal lies under another adapter, salt or extra key, and that found it not."""
    n, value, cites = view.one(SPLIT, bounds(view))
    if n < 10:
        return lacking(
            "prompt ids with their namespaces", "--log-requests --log-requests-level 3, or a request dump", n
        )
    return found(view, value, "share", n, cites, share=rounded(value))
