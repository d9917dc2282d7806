"""Prefill where no request says what it hit (vLLM): prompt lengths, and the hit ratio of counters."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.cache import hit_ratio
from ridgeline.facts.change import change
from ridgeline.facts.make import bounds, found, rounded
from ridgeline.model.fact import Fact

FEWEST: Final = 10  # requests with prefill times in each window
RISEN: Final = 1.3  # arrivals: prompts then share their steps with more others, and a prefill time says less

PROMPTS: Final = """
WITH rows AS (
    SELECT prefill_s, prompt_tokens, source, line FROM asks
    WHERE prefill_s > 0 AND prompt_tokens > 0 AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR received_ts >= $since) AND ($until::DOUBLE IS NULL OR received_ts <= $until)
)
SELECT count(*) AS n, avg(prefill_s) AS prefill_s, avg(prompt_tokens) AS prompt,
    regr_slope(prefill_s, prompt_tokens) AS slope, quantile_cont(prefill_s / prompt_tokens, 0.25) AS quick,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM rows
"""


def fresh_of_counters(view: View, prompt: float | None) -> float | None:
    """Mean uncached tokens of a prompt of so many, by the window's hit ratio; None where either is unknown."""
    hit = hit_ratio(view)
    return None if prompt is None or hit.value is None else prompt * (1 - hit.value)


def excess_by_prompts(view: View) -> Fact | None:
    """Prefill times over the baseline's line through prompt length, uncached tokens by the hit ratio of counters.

    The lower of that and of the quicker quarter's seconds for a token: these shared their steps with few others. None
    where it cannot be told, as where clearly more arrives than before.
    """
    if view.baseline is None:
        return None
    before = view.window(view.baseline, None)
    n, now_s, prompt, _slope, quick, cites = view.one(PROMPTS, bounds(view))
    n_then, then_s, prompt_then, slope, quick_then, _cites = view.one(PROMPTS, bounds(before))
    fresh, fresh_then = fresh_of_counters(view, prompt), fresh_of_counters(before, prompt_then)
    if min(n, n_then) < FEWEST or not fresh or not fresh_then or slope is None:
        return None
    grown = change(view, "arrival_rate").value
    if grown is None or grown >= RISEN:
        return None
    expected = then_s + max(slope, 0.0) * (prompt_then / fresh_then) * (fresh - fresh_then)
    if expected <= 0:
        return None
    quicker = (quick * prompt / fresh) / (quick_then * prompt_then / fresh_then)
    value = min(now_s / expected, quicker)
    return found(
        view, value, "ratio", n, cites, actual=rounded(now_s), expected=rounded(expected), ratio=rounded(value)
    )
