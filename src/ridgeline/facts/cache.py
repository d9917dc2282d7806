"""The prefix cache: hit ratios from counters and requests, lines without a hit, rates that are no ratio of now."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, restated, rounded
from ridgeline.facts.points import ready
from ridgeline.model.fact import Fact

HOW_HITS: Final = "cached_tokens of requests, cached_tokens_total, or #cached-token of prefill lines"

# Requests know best, then counters, then prefill lines; never the gauge (overwritten by every batch).
RATIO: Final = """
WITH asked AS (
    SELECT sum(prompt_tokens) AS prompt, sum(cached_tokens) AS hit, count(*) AS n FROM asks
    WHERE prompt_tokens > 0 AND cached_tokens IS NOT NULL AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
counters AS (
    SELECT s.name, s.labels, max(m.value) - min(m.value) AS delta FROM samples m JOIN series s USING (series)
    WHERE s.name IN ('prompt_tokens', 'cached_tokens', 'prefix_cache_hits', 'prefix_cache_queries')
        AND ($since::DOUBLE IS NULL OR m.ts >= $since) AND ($until::DOUBLE IS NULL OR m.ts <= $until)
    GROUP BY s.series, s.name, s.labels HAVING count(*) >= 2
),
totals AS (
    SELECT coalesce(sum(delta) FILTER (WHERE name = 'prefix_cache_queries'),
                    sum(delta) FILTER (WHERE name = 'prompt_tokens')) AS prompt,
        coalesce(sum(delta) FILTER (WHERE name = 'prefix_cache_hits'),
                 sum(delta) FILTER (WHERE name = 'cached_tokens')) AS hit, count(*) AS n FROM counters
),
lines AS (
    SELECT sum(new_tokens + cached_tokens) AS prompt, sum(cached_tokens) AS hit, count(*) AS n, sum(new_seq) AS seqs
    FROM batches WHERE kind = 'prefill' AND new_tokens IS NOT NULL AND cached_tokens IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
cited AS (
    SELECT source, line FROM asks WHERE cached_tokens IS NOT NULL
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
    UNION ALL
    SELECT source, line FROM batches WHERE kind = 'prefill' AND cached_tokens IS NOT NULL
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT a.n, a.prompt, a.hit, t.n, t.prompt, t.hit, l.n, l.prompt, l.hit, l.seqs,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM cited GROUP BY source)) AS cites
FROM asked a, totals t, lines l
"""


def hit_ratio(view: View) -> Fact:
    """Cached prompt tokens over all prompt tokens."""
    a_n, a_all, a_hit, t_n, t_all, t_hit, l_n, l_all, l_hit, _seqs, cites = view.one(RATIO, bounds(view))
    for n, everything, hit, basis in (
        (a_n, a_all, a_hit, "requests"),
        (t_n, t_all, t_hit, "counters"),
        (l_n, l_all, l_hit, "prefill lines"),
    ):
        if n and everything and hit is not None:
            value = hit / everything
            return found(view, value, "share", n, cites, basis=basis, hit=hit, all=everything, ratio=rounded(value))
    return lacking("cached tokens", HOW_HITS)


ZERO: Final = """
WITH rows AS (
    SELECT new_seq, new_tokens, cached_tokens, greatest(usage, full_usage, swa_usage, mamba_usage) AS usage,
        source, line
    FROM batches
    WHERE kind = 'prefill' AND cached_tokens IS NOT NULL AND new_seq > 0
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
)
SELECT count(*) AS n, sum(new_seq)::BIGINT AS seqs, sum(cached_tokens)::BIGINT AS hit, max(usage) AS usage,
    median(new_tokens / new_seq) AS prompt,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""

SETTING: Final = """
WITH stated AS (
    SELECT *, coalesce(ts, 1e18) > coalesce($until, 1e17) AND ts IS NOT NULL AS later FROM config
    WHERE replace(key, '-', '_') IN ('disable_radix_cache', 'enable_prefix_caching', 'no_enable_prefix_caching')
),
valid AS (SELECT * FROM stated WHERE NOT later AND (ts IS NOT NULL OR NOT EXISTS (
    SELECT 1 FROM stated WHERE ts IS NOT NULL AND NOT later))),
-- Of the starts seen, the last one before the window ends counts.
latest AS (SELECT * FROM valid QUALIFY row_number() OVER (PARTITION BY server, key
    ORDER BY ts DESC NULLS LAST, source, line DESC) = 1)
SELECT count(*) FILTER (WHERE
        (replace(key, '-', '_') = 'disable_radix_cache' AND lower(coalesce(value, '')) IN ('true', '1', ''))
        OR (replace(key, '-', '_') = 'enable_prefix_caching' AND lower(value) IN ('false', '0'))
        OR replace(key, '-', '_') = 'no_enable_prefix_caching') AS off,
    max(source), min(line), count(*) AS known
FROM latest
"""


def cache_off(view: View) -> Fact:
    """Whether the configuration switches the prefix cache off; missing where no configuration is seen."""
    hits, source, line, known = view.one(SETTING, {"until": bounds(view)["until"]})
    if hits:
        return found(view, True, "", hits, [{"source": source, "a": line, "b": line}], key="cache.off")
    if not known:
        return lacking("disable_radix_cache", "/server_info or the start-up line server_args")
    return found(view, False, "", known, (), key="cache.on")


def sequences_without_hit(view: View) -> Fact:
    """Sequences prefilled in a row without one cached token, the pool never full; 0 where any token was found."""
    n, seqs, hit, usage, prompt, cites = view.one(ZERO, bounds(view))
    if n < 3:
        return lacking("three prefill lines", "the server log", n)
    value = seqs if hit == 0 and (usage is None or usage < 0.9) else 0
    return found(
        view, value, "sequences", n, cites, hit=hit, usage=rounded(usage), prompt=rounded(prompt, 4), seqs=seqs
    )


GAUGE: Final = """
WITH rows AS (
    SELECT hit_rate AS rate, running, usage, source, line, row_number() OVER (ORDER BY source, line) AS nth FROM batches
    WHERE hit_rate IS NOT NULL AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
moves AS (SELECT *, rate - lag(rate) OVER (ORDER BY nth) AS up FROM rows)
SELECT count(*) AS n, count(*) FILTER (WHERE up < -0.0005) AS down, count(*) FILTER (WHERE up > 0.0005) AS up,
    arg_min(rate, nth) AS first, arg_max(rate, nth) AS last, max(running) AS running,
        max(usage) - min(usage) AS usage_moved,
    list(up ORDER BY nth) FILTER (WHERE up IS NOT NULL) AS steps, list(rate ORDER BY nth) AS rates,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM moves
"""


def cumulative_rate(view: View) -> Fact:
    """Whether a printed hit rate is a running total since the start rather than the ratio of now.

    Such a rate only climbs, from a cold start, in ever smaller steps, at next to no load: n equal requests of which
    all but the first hit give (n-1)/n.
    """
    n, down, up, first, last, running, moved, steps, _rates, cites = view.one(GAUGE, bounds(view))
    if n < 3:
        return lacking("three printed hit rates", "stats lines of the log", n)
    shrinking = all(b <= a + 1e-9 for a, b in pairwise(steps))
    calm = (running or 0) <= 2 and (moved or 0) <= 0.05
    value = bool(first <= 0.01 and last > 0.05 and not down and up >= 2 and shrinking and calm)
    return found(view, value, "", n, cites, first=rounded(first), last=rounded(last), running=running)


GAUGE_ZERO: Final = """
WITH rows AS (
    SELECT m.value, m.source, m.line FROM samples m JOIN series s USING (series)
    WHERE s.name = 'cache_hit_rate' AND ($since::DOUBLE IS NULL OR m.ts >= $since) AND ($until::DOUBLE IS NULL
        OR m.ts <= $until)
)
SELECT count(*) AS n, count(*) FILTER (WHERE value <= 0.001) AS zeros,
    (SELECT avg(CASE WHEN cached_tokens = 0 THEN 1.0 ELSE 0.0 END) FROM asks
     WHERE cached_tokens IS NOT NULL AND prompt_tokens > 0 AND NOT coalesce(probe, false)
         AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until))
        AS missed,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def gauge_against_hits(view: View) -> Fact:
    """How far the scraped gauge cache_hit_rate lies below the ratio of real tokens where it reads 0; else 0.

    It reads 0 in most scrapes, or in a quarter of them and at least twice as often as requests themselves find nothing.
    """
    n, zeros, missed, cites = ready(view).one(GAUGE_ZERO, bounds(view))
    real = hit_ratio(view)
    if n < 3 or real.value is None:
        return lacking("the gauge beside cached tokens", HOW_HITS, n)
    often = zeros >= 0.25 * n and missed is not None and zeros >= 2 * missed * n
    value = real.value if often or zeros >= 0.7 * n else 0.0
    return found(view, value, "share", n, cites, zeros=zeros, real=rounded(real.value))


SHORT: Final = """
WITH stats AS (
    SELECT b.input_tps * 10 AS prompt FROM batches b WHERE b.kind = 'stats' AND b.input_tps > 0
),
asked AS (SELECT prompt_tokens AS prompt FROM asks WHERE prompt_tokens > 0),
page AS (
    SELECT max(page) AS page FROM (SELECT page_size AS page FROM servers UNION ALL
        SELECT try_cast(value AS BIGINT) FROM config
        WHERE key IN ('page_size', 'page-size', 'block_size', 'block-size'))
)
SELECT (SELECT page FROM page) AS page, (SELECT median(prompt) FROM asked) AS prompt, (SELECT count(*) FROM asked) AS n,
    (SELECT max(prompt) FROM stats) AS from_stats, (SELECT count(*) FROM batches WHERE kind = 'stats') AS stats,
    (SELECT max(coalesce(running, 0) + coalesce(waiting, 0)) FROM batches WHERE kind = 'stats') AS at_once
"""
VLLM_BLOCK_TOKENS: Final = 16  # vLLM's default block size on GPUs


def page_loss(view: View) -> Fact:
    """Share of a typical prompt that whole pages can never match: 1 - floor((prompt - 1) / page) x page / prompt.

    At most prompt - 1 tokens match. SGLang's default page is 1 token; vLLM's block is 16 unless stated. A stats line
    tells the prompt's length only where requests come one at a time: else its throughput is that of several.
    """
    page, prompt, n, from_stats, stats, at_once = view.one(SHORT)
    if prompt is None and from_stats is not None and (at_once or 0) <= 1:
        prompt, n = from_stats, stats
    if page is None and stats:
        page = VLLM_BLOCK_TOKENS
    if prompt is None or page is None:
        return lacking("prompt lengths and the page size", "the request log and /server_info", n or 0)
    usable = (max(int(prompt) - 1, 0) // page) * page
    value = 1 - usable / prompt
    return found(view, value, "share", n, (), page=page, prompt=round(prompt), usable=usable, loss=rounded(value))


EVICTIONS: Final = """
SELECT count(*) AS n, max(delta) AS evicted FROM (
    SELECT s.series, max(m.value) - min(m.value) AS delta FROM samples m JOIN series s USING (series)
    WHERE s.name = 'evicted_tokens'
        AND ($since::DOUBLE IS NULL OR m.ts >= $since) AND ($until::DOUBLE IS NULL OR m.ts <= $until)
    GROUP BY s.series HAVING count(*) >= 2
)
"""


def evicted_tokens(view: View) -> Fact:
    """Tokens of cache evicted from the device within the window (counter, one rank)."""
    n, evicted = view.one(EVICTIONS, bounds(view))
    if not n:
        return lacking("evictions", "evicted_tokens_total in /metrics (0.5.6 on), scraped twice")
    return found(view, evicted, "tokens", n, ())


SPREAD: Final = """
WITH rows AS (
    SELECT coalesce(routing_key, session_id, extra_key) AS key, concat_ws(' ', server, dp_rank, worker) AS place,
        cached_tokens / nullif(prompt_tokens, 0) AS hit, source, line
    FROM asks
    WHERE cached_tokens IS NOT NULL AND (dp_rank IS NOT NULL OR worker IS NOT NULL OR server IS NOT NULL)
        AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
),
pairs AS (SELECT key, place, count(*)::DOUBLE AS n FROM rows WHERE key IS NOT NULL GROUP BY ALL),
keyed AS (SELECT key, sum(n) AS n, sum(n) * sum(n) / sum(n * n) AS places FROM pairs GROUP BY key HAVING sum(n) >= 4)
SELECT (SELECT count(*) FROM rows) AS n, count(*) AS keys, sum(places * n) / sum(n) AS places,
    (SELECT avg(hit) FROM rows) AS hit,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM keyed
"""


def places_per_key(view: View) -> Fact:
    """Ranks, workers or servers over which the requests of one key are spread: the effective number (inverse Simpson).

    Over keys with four requests or more, weighted by requests.
    """
    n, keys, places, hit, cites = view.one(SPREAD, bounds(view))
    if not keys:
        return lacking(
            "keys or sessions with the rank that served them", "the request log of 0.5.23 or gateway records", n
        )
    return found(view, places, "places", n, cites, keys=keys, hit=rounded(hit))


def no_reuse(view: View) -> Fact:
    """Whether nothing is reused: the cache is switched off, or twenty sequences in a row found not one token."""
    off = cache_off(view)
    if off.value:
        return off
    lost = sequences_without_hit(view)
    if lost.value is None:
        return lost
    return restated(lost, bool(lost.value >= 20), "", "sequences_without_hit")


def misread_rate(view: View) -> Fact:
    """Whether the printed hit rate misleads: a running total, or a gauge at 0 beside real hits."""
    total, gauge = cumulative_rate(view), gauge_against_hits(view)
    if total.value:
        return restated(total, True, "", "cumulative_rate")
    if gauge.value is not None:
        return restated(gauge, bool(gauge.value >= 0.3), "", "gauge_against_hits")
    return total if total.value is None else restated(total, False, "", "cumulative_rate")


ROUNDS: Final = """
WITH rows AS (
    SELECT s.name, m.value, m.line, s.source, row_number() OVER (PARTITION BY s.series ORDER BY m.line) AS nth,
        count(*) OVER (PARTITION BY s.series) AS of
    FROM samples m JOIN series s USING (series)
    WHERE starts_with(s.name, 'bench:') AND (contains(s.name, 'ttft') OR contains(s.name, 'cache_hit'))
)
SELECT min(of) AS n, arg_min(value, nth) FILTER (WHERE contains(name, 'ttft')) AS ttft_first,
    arg_max(value, nth) FILTER (WHERE contains(name, 'ttft')) AS ttft_last,
    arg_min(value, nth) FILTER (WHERE contains(name, 'hit')) AS hit_first,
    arg_max(value, nth) FILTER (WHERE contains(name, 'hit')) AS hit_last, list(DISTINCT source) AS sources
FROM rows
"""


def hits_cost_time(view: View) -> Fact:
    """Whether TTFT rises by half while the hit ratio rises too: what hits costs the time, not what is computed."""
    n, ttft_first, ttft_last, hit_first, hit_last, sources = view.one(ROUNDS)
    if not n or n < 3 or ttft_first is None or hit_first is None or not ttft_first:
        return lacking("rounds with TTFT and hit ratio", "the table a multi-round benchmark prints", n or 0)
    value = bool(ttft_last >= 1.5 * ttft_first and hit_last >= hit_first + 0.2)
    spans = [{"source": s, "a": None, "b": None} for s in sorted(sources)]
    return found(
        view, value, "", n, spans, ttft_first=ttft_first, ttft_last=ttft_last, hit_first=hit_first, hit_last=hit_last
    )
