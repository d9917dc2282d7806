"""Which of the settings that help is chosen: the cheapest that mends, else the cheapest that is as good as the best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ridgeline.sim.whatif.advise import CLOSE
from ridgeline.sim.whatif.compare import scores
from ridgeline.sim.whatif.paired import Change, change, of_metric
from ridgeline.sim.whatif.result import SHARES, Compared, Comparison
from ridgeline.words.whatif import PRICES, Price

ENOUGH: Final = 0.9
"""Gains are alike where the smaller is this share of the other."""
REMOVED: Final = 0.95
"""A change mends where it takes away this share of what the incident added over the good time to the 90th percentile of
every metric it hurt, and of the 99th percentile `REMOVED_TAIL` of it."""
REMOVED_TAIL: Final = 0.85
HURT_FROM: Final = 1.25
"""From this ratio to the good time on a metric counts as hurt."""
BY_SIZE: Final = frozenset({"memory", "server"})
"""Kinds of change of which more costs more."""
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

    Of memory and servers, of which more is always better, the least that mends is taken, and where nothing does the
    least that takes away as much of the harm as any (of the objective, where no good time, ``before``, was seen).
    ``good``: at least one; ``price``: by the variant's name.
    """
    best = min(good, key=lambda run: run.score)
    mending = [run for run in good if before is not None and mends(run, found, before)]
    share = {run.variant.name: removed(run, found, before) for run in good}
    picks = []
    for kind in PRICES:
        mine = [run for run in good if price[run.variant.name] == kind]
        if mine:
            picks.append(pick(mine, kind, mending, share, CLOSE * abs(found.base_figure)))
    chosen = next(
        run
        for i, run in enumerate(picks)
        if run in mending
        or all(
            as_good(run, dear, found) and share[run.variant.name] >= ALIKE * share[dear.variant.name]
            for dear in picks[i + 1 :]
        )
    )
    alike = [run for run in good if run is not chosen and equal(run, chosen, found)]
    more = best if best is not chosen and best not in alike else None
    less = min(picks[: picks.index(chosen)], key=lambda run: run.score, default=None)
    cheaper = any(run.score < chosen.score for run in picks)
    return Choice(
        chosen, tuple(sorted(alike, key=lambda run: run.score)), more, cheaper, None if less in alike else less
    )


def pick(
    mine: Sequence[Compared], kind: Price, mending: Sequence[Compared], share: Mapping[str, float], near: float
) -> Compared:
    """Of one kind of change the first that does it: a flag costs the same whatever its value, so the best (within
    ``near``); of memory and servers the least."""
    among = [run for run in mine if run in mending] or mine
    if kind in BY_SIZE:
        most = max(share[run.variant.name] for run in among)
        if most > 0:
            return next(run for run in among if among is not mine or share[run.variant.name] >= ENOUGH * most)
    top = min(run.score for run in among)
    best = [run for run in among if run.score <= top + near]
    most = max(share[run.variant.name] for run in best) - CLOSE
    return min((run for run in best if share[run.variant.name] >= most), key=moves)


def moves(run: Compared) -> int:
    """How many things a setting changes."""
    return len(run.variant.changes) + run.variant.unpin


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


def removed(run: Compared, found: Comparison, before: Good | None) -> float:
    """Share of the harm that a setting takes away: of how many times worse than in the good time (as logarithms, over
    all metrics, at the 90th and 99th percentile) it is today. Where no good time was seen: of the objective itself."""
    today = rest = 0.0
    for metric, then in (before or {}).items():
        base, now = found.base.figures.get(metric), run.figures.get(metric)
        if base is None or now is None:
            continue
        for name, good in zip(("p90", "p99"), then, strict=True):
            if good > 0:
                today += max(0.0, float(np.log(max(base[name], good) / good)))
                rest += max(0.0, float(np.log(max(now[name], good) / good)))
    if today:
        return 1 - rest / today
    return -run.score / abs(found.base_figure) if found.base_figure else 0.0


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
    if by.metric in SHARES:
        old, new = (scores(run.outcomes, by, found.limits) for run in (one, other))
        moved = change(old, new, "mean")
    else:
        moved = change(of_metric(one.outcomes, by.metric), of_metric(other.outcomes, by.metric), by.statistic)
    return None if moved is None or moved.low is None else moved
