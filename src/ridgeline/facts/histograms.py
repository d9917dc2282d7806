"""Latency histograms of scrapes: what was observed between the first and the last scrape of the window."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, rounded, spans_of
from ridgeline.model.fact import Fact
from ridgeline.stats.buckets import Histogram, histogram, merge, over_scrapes, quantile

MOST: Final = 240  # scrapes of one series that are differenced; more add nothing but time
HOW: Final = "/metrics with --enable-metrics, scraped at least twice"
# What is asked → the names the engines give it.
NAMES: Final = {
    "ttft_s": ("time_to_first_token_seconds",),
    "queue_s": ("queue_time_seconds", "request_queue_time_seconds"),
    "e2e_s": ("e2e_request_latency_seconds",),
    "prefill_s": ("request_prefill_time_seconds", "prefill_forward"),
    "kv_move_s": ("prefill_transfer_kv_cache",),
    "decode_s": ("request_decode_time_seconds",),
    "tpot_s": ("request_time_per_output_token_seconds", "inter_token_latency_seconds"),
}
SCRAPES: Final = """
SELECT h.series, coalesce(s.stage, s.name) AS name, h.le, h.cumulative, h.sum, h.source, h.line
FROM histograms h JOIN series s USING (series)
WHERE list_contains($names, coalesce(s.stage, s.name)) AND len(h.le) > 0 AND coalesce(s.labels ->> 'priority', '') = ''
    AND ($since::DOUBLE IS NULL OR h.ts >= $since) AND ($until::DOUBLE IS NULL OR h.ts <= $until)
ORDER BY h.series, h.ts, h.line
"""


def observed(view: View, what: str, q: float = 0.5) -> Fact:
    """The `q` quantile of one latency, from bucket differences; `total_s` is the sum of all observations."""
    rows = view.query(SCRAPES, {**bounds(view), "names": list(NAMES.get(what, ()))})
    # Where an engine has two names for it, the first of our list that is there.
    named = next((name for name in NAMES.get(what, ()) if any(row[1] == name for row in rows)), None)
    used = [row for row in rows if row[1] == named]
    parts = [part for _, group in groupby(used, key=lambda row: row[0]) if (part := _between(list(group))) is not None]
    if not parts:
        return lacking(f"{what} in histograms", HOW)
    whole = merge(parts)
    estimate = quantile(whole, q)
    if estimate is None:
        return lacking(f"{what} observed between two scrapes", HOW)
    value = estimate.point if estimate.point is not None else estimate.low
    return found(
        view,
        value,
        "s",
        int(whole.count),
        spans_of([(row[5], row[6]) for row in used]),
        low=estimate.low,
        high=estimate.high,
        key="observed",
        what=what,
        q=q,
        at_least=rounded(estimate.low),
        at_most=rounded(estimate.high),
        total_s=whole.total,
    )


def _between(scrapes: Sequence[tuple[Any, ...]]) -> Histogram | None:
    """What one series observed over its scrapes (at most `MOST` of them); torn or unusable scrapes are left out."""
    step = max(1, len(scrapes) // MOST)
    kept = [*scrapes[:-1:step], scrapes[-1]]
    parts = []
    for _series, _name, le, cumulative, total, _source, _line in kept:
        try:
            parts.append(histogram(le, cumulative, total))
        except ValueError:
            continue
    seen = over_scrapes(parts)
    return None if seen is None or seen.histogram.count <= 0 else seen.histogram
