"""Which of the settings that help is chosen: the cheapest that cannot be told from the best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ridgeline.sim.whatif.advise import CLOSE
from ridgeline.sim.whatif.paired import Change, change, of_metric
from ridgeline.sim.whatif.result import Compared, Comparison
from ridgeline.sim.whatif.slo import within
from ridgeline.words.whatif import PRICES, Price

ENOUGH: Final = 0.9
"""Gains are alike where the smaller is this share of the other."""
LEAST: Final = 0.9
"""Of servers the least is taken that brings this share of the best gain; of memory as of `ENOUGH`."""
REMOVED: Final = 0.95
"""A change mends where it takes away this share of what the incident added over the good time to the 90th percentile of
every metric it hurt, and of the 99th percentile `REMOVED_TAIL` of it."""
REMOVED_TAIL: Final = 0.85
HURT_FROM: Final = 1.25
"""From this ratio to the good time on a metric counts as hurt."""
ALIKE: Final = 0.7
"""A cheaper change that cannot be told from a dearer one is taken from this share of its gain on: wide intervals alone
make nothing equal."""


Good = Mapping[str, tuple[float, float]]
"""The good time's own 90th and 99th percentile of each metric, as observed."""


@dataclass(frozen=True)
class Choice:
    """``equal``: others that cannot be told from the chosen one, best first; ``best``: the best, where it is better
    than that; ``cheaper``: whether the price decided; ``less``: what helps most of what costs less, where it gives
    clearly less."""

    chosen: Compared
    equal: tuple[Compared, ...]
    best: Compared | None
    cheaper: bool
    less: Compared | None = None


def choose(
    good: Sequence[Compared], found: Comparison, price: Mapping[str, Price], before: Good | None = None
) -> Choice:
    """Of every kind of change its own pick; of those the cheapest that is not clearly worse than any dearer one.

    Of memory and servers, of which more is always better, the least that mends is taken, and where nothing does, or
    no good time (``before``) was seen, the least that gives most of the best gain.
    ``good``: at least one; ``price``: by the variant's name.
    """
    best = min(good, key=lambda run: run.score)
    mending = [run for run in good if before is not None and mends(run, found, before)]
    picks = []
    for kind in PRICES:
        mine = [run for run in good if price[run.variant.name] == kind]
        if mine:
            top = min(mine, key=lambda run: run.score)
            # a flag costs the same whatever its value; of memory and servers the least that does it
            share = {"memory": ENOUGH, "server": LEAST}.get(kind)
            least = top.score + CLOSE * abs(found.base_figure) if share is None else share * best.score
            enough = [run for run in mine if run in mending] if share is not None and mending else mine
            picks.append(next((run for run in enough if run.score <= least or run in mending), top))
    chosen = next(
        run
        for i, run in enumerate(picks)
        if run in mending or all(as_good(run, dear, found) for dear in picks[i + 1 :])
    )
    alike = [run for run in good if run is not chosen and equal(run, chosen, found)]
    more = best if best is not chosen and best not in alike else None
    less = min(picks[: picks.index(chosen)], key=lambda run: run.score, default=None)
    cheaper = any(run.score < chosen.score for run in picks)
    return Choice(
        chosen, tuple(sorted(alike, key=lambda run: run.score)), more, cheaper, None if less in alike else less
    )


def mends(run: Compared, found: Comparison, before: Good) -> bool:
    """Whether a setting brings every metric that was hurt back to the good time's, but for a small rest."""
    hurt = 0
    for metric, (p90, p99) in before.items():
        base, now = found.base.figures.get(metric), run.figures.get(metric)
        if base is None or now is None or base["p90"] < HURT_FROM * p90:
            continue
        hurt += 1
        for name, then, share in (("p90", p90, REMOVED), ("p99", p99, REMOVED_TAIL)):
            if base[name] > then and now[name] - then > (1 - share) * (base[name] - then):
                return False
    return hurt > 0


def as_good(run: Compared, other: Compared, found: Comparison) -> bool:
    """Whether a setting brings most of what another does, or a good part and cannot be told from it."""
    if run.score <= ENOUGH * other.score:
        return True
    moved = between(other, run, found)
    return moved is not None and not moved.certain and run.score <= ALIKE * other.score


def equal(one: Compared, other: Compared, found: Comparison) -> bool:
    """Whether two settings give about the same gain, paired on the same requests with room for no difference."""
    moved = between(one, other, found)
    small, large = sorted((one.score, other.score), reverse=True)
    return moved is not None and not moved.certain and small <= ENOUGH * large


def between(one: Compared, other: Compared, found: Comparison) -> Change | None:
    """The change of the objective from one setting to another; None where no figure is known, or nothing bounds it."""
    by = found.objective
    if by.metric == "goodput":
        old, new = ([-within(o.values, found.limits).astype(np.float32) for o in run.outcomes] for run in (one, other))
        moved = change(old, new, "mean")
    else:
        moved = change(of_metric(one.outcomes, by.metric), of_metric(other.outcomes, by.metric), by.statistic)
    return None if moved is None or moved.low is None else moved
