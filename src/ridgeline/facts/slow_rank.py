"""One rank slower than the others at the same work: by its decode reports, and by the tokens of its requests."""

from __future__ import annotations

from typing import Final

import numpy as np

from ridgeline.bundle.view import View
from ridgeline.facts.make import bounds, found, lacking, rounded, spans_of
from ridgeline.facts.points import ready
from ridgeline.facts.steps import FARTHEST, FEWEST, Steps, shared_batch, steps, steps_by_place
from ridgeline.model.fact import Fact

RANKS: Final = """
WITH rows AS (
    SELECT place, running * coalesce(accept_length, 1) / gen_tps AS step_s, running, source, line,
        lag(busy) OVER (PARTITION BY place ORDER BY ord) AS before
    FROM lane
    WHERE gen_tps > 0 AND running > 0
        AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
),
places AS (
    SELECT place, median(step_s) AS step_s, median(running) AS running, count(*) AS n FROM rows
    WHERE before > 0 GROUP BY place HAVING count(*) >= 3
)
SELECT count(*) AS places, sum(n)::BIGINT AS n, max(step_s) AS slow, median(step_s) AS usual, min(step_s) AS fast,
    arg_max(place, step_s) AS place, arg_max(running, step_s) / nullif(median(running), 0) AS load_ratio,
    (SELECT list({'source': source, 'a': a, 'b': b} ORDER BY source)
     FROM (SELECT source, min(line) AS a, max(line) AS b FROM rows GROUP BY source)) AS cites
FROM places
"""


def slow_rank_ratio(view: View) -> Fact:
    """Step time of the slowest rank over the others', at the same batch.

    With a baseline each rank's reports are held against what its fit gives for the same batch and prefill, and the
    seconds of a token that requests had there against those of the baseline's slow ones; the larger counts. Without
    one, ranks whose steps can be fitted are compared at a batch that both have seen, prefill set apart: a slow rank
    also piles up requests. Else medians of steps, and only at no larger a batch.
    """
    if view.baseline is not None:
        readings = [fact for fact in (_grown(view), _of_requests(view)) if fact is not None]
        if readings:
            return max(readings, key=lambda fact: fact.value)
    fits = steps_by_place(view)
    if len(fits) >= 2 and (curves := _curves(view, fits)) is not None:
        return curves
    places, n, slow, usual, fast, place, load_ratio, cites = ready(view).one(RANKS, bounds(view))
    if places < 2:
        return lacking("decode lines of two ranks", "the server log of every rank, or per-rank /v1/loads", n or 0)
    reference = fast if places == 2 else usual
    value = slow / reference if load_ratio is None or load_ratio <= 1.2 else 1.0
    return found(
        view, value, "ratio", n, cites, place=place, slow=rounded(slow), usual=rounded(reference), ratio=rounded(value)
    )


FEW: Final = 3  # reports of a rank in a short window: enough only where each of them is slow


def _grown(view: View) -> Fact | None:
    """The rank whose steps grew by most beyond the baseline's fit of the same work, over the median of the others.

    A slow rank reports seldom: with fewer than five reports a rank counts by its fastest one.
    """
    then = steps(view.window(view.baseline, None))
    if then is None:
        return None
    fits = steps_by_place(view, FEW)
    ratios: dict[str, tuple[float, float, float]] = {}
    for place, fit in sorted(fits.items()):
        near = fit.running <= FARTHEST * float(then.running.max())
        expected, actual = then.gives(fit)[near], fit.step_s[near]
        if near.sum() < FEW or not (expected > 0).all():
            continue
        grown = actual / expected
        ratio = float(np.median(grown) if near.sum() >= FEWEST else grown.min())
        ratios[place] = (ratio, float(np.median(actual)), float(np.median(expected)))
    if len(ratios) < 2 or max(int(fits[place].n) for place in ratios) < FEWEST:
        return None
    place = max(ratios, key=lambda name: (ratios[name][0], name))
    others = float(np.median([ratio for name, (ratio, _, _) in ratios.items() if name != place]))
    value, slow, usual = ratios[place][0] / others, ratios[place][1], ratios[place][2] * others
    return found(
        view, value, "ratio", sum(fit.n for fit in fits.values()),
        spans_of([c for fit in fits.values() for c in fit.cites]),
        place=place, slow=rounded(slow), usual=rounded(usual), ratio=rounded(value),
    )  # fmt: skip


# Requests that ended in the window: in a short one few of those that came have. A rank's name is that of its lines.
TOKENS_OF_RANKS: Final = """
WITH rows AS (
    SELECT concat_ws(' ', server, role, 'DP' || dp_rank) AS place,
        coalesce(tpot_s, decode_s / nullif(completion_tokens - 1, 0)) AS tpot_s, source, line
    FROM asks
    WHERE dp_rank IS NOT NULL AND completion_tokens >= 8 AND coalesce(retractions, 0) = 0
        AND NOT coalesce(probe, false)
        AND ($since::DOUBLE IS NULL OR finished_ts >= $since) AND ($until::DOUBLE IS NULL OR finished_ts <= $until)
)
SELECT place, count(*) AS n, median(tpot_s) AS tpot_s, quantile_cont(tpot_s, 0.25) AS quick,
    quantile_cont(tpot_s, 0.95) AS slow, min(source) AS source, min(line) AS a, max(line) AS b
FROM rows WHERE tpot_s > 0 GROUP BY place ORDER BY place
"""
WIDEST: Final = """
SELECT place, max(running) AS most, median(running) AS usual FROM lane
WHERE running > 0 AND ($since::DOUBLE IS NULL OR ts >= $since) AND ($until::DOUBLE IS NULL OR ts <= $until)
GROUP BY place
"""
ENOUGH_OF_A_RANK: Final = 5


def _of_requests(view: View) -> Fact | None:
    """Seconds of a token at the slowest rank over what its slow requests had in the baseline, and over the others'.

    Short requests come and go between two reports, so that the batch of a line is not that of the stretch it averages.
    The baseline's 95th percentile had its fullest batches: a batch beyond those is not compared.
    """
    ready(view)
    before = view.window(view.baseline, None)
    now = {row[0]: row for row in view.query(TOKENS_OF_RANKS, bounds(view)) if row[1] >= ENOUGH_OF_A_RANK}
    then = {row[0]: row for row in view.query(TOKENS_OF_RANKS, bounds(before)) if row[1] >= 4 * ENOUGH_OF_A_RANK}
    both = sorted(now.keys() & then.keys())
    if len(both) < 2:
        return None
    place = max(both, key=lambda name: (now[name][2] / then[name][2], name))
    usual = float(np.median([now[name][2] for name in both if name != place]))
    slow_then = max(float(then[name][4]) for name in both)
    widest = {row[0]: (row[1], row[2]) for row in view.query(WIDEST, bounds(before))}
    running = {row[0]: row[2] for row in view.query(WIDEST, bounds(view))}
    most = max((w[0] for w in widest.values()), default=None)
    if most is None or running.get(place) is None or running[place] > most:
        return None
    # Three of four requests must be as slow: one long pause makes no slow rank.
    value = min(now[place][3] / usual, now[place][2] / max(slow_then, usual))
    cites = [{"source": now[name][5], "a": now[name][6], "b": now[name][7]} for name in both]
    return found(
        view, value, "ratio", sum(now[name][1] for name in both), cites,
        place=place, slow=rounded(now[place][2]), usual=rounded(usual), ratio=rounded(value),
    )  # fmt: skip


def _curves(view: View, fits: dict[str, Steps]) -> Fact | None:
    """The rank that is slower than the median of the others by most; None where no two have a batch in common."""
    best: tuple[float, str, float, float] | None = None
    for place, fit in sorted(fits.items()):
        pairs = []
        for other in (o for name, o in sorted(fits.items()) if name != place):
            batch = shared_batch(fit, other)
            if batch is None:
                continue
            held = batch * float(np.median(fit.held / fit.running))
            own, theirs = fit.decode_s(batch, held), other.decode_s(batch, held)
            if own > 0 and theirs > 0:
                pairs.append((own / theirs, own, theirs))
        if pairs:
            ratio, own, theirs = sorted(pairs)[len(pairs) // 2]
            best = max(best, (ratio, place, own, theirs)) if best else (ratio, place, own, theirs)
    if best is None:
        return None
    value, place, own, theirs = best
    cites = spans_of([c for fit in fits.values() for c in fit.cites])
    return found(
        view, value, "ratio", sum(fit.n for fit in fits.values()), cites,
        place=place, slow=rounded(own), usual=rounded(theirs), ratio=rounded(value),
    )  # fmt: skip
