"""Shares with what stands behind them: cases counted, and an interval; over faults, each fault weighs the same."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ridgeline.lab.score.measure import Result
from ridgeline.stats.intervals import clopper_pearson

Z: float = 1.959963984540054


@dataclass(frozen=True)
class Share:
    """``hits`` of ``n`` cases; ``value`` and its 95 % interval as shares, None where there is no case.

    ``groups``: faults the value is a mean over; 0 where it is the share of all cases.
    """

    hits: int
    n: int
    value: float | None
    low: float | None
    high: float | None
    groups: int = 0


def of_cases(values: Iterable[bool | None]) -> Share:
    """The share among the values that say anything; the exact (Clopper-Pearson) interval."""
    known = [v for v in values if v is not None]
    if not known:
        return Share(0, 0, None, None, None)
    hits = sum(known)
    ends = clopper_pearson(hits, len(known))
    return Share(hits, len(known), hits / len(known), ends.low, ends.high)


def over_groups(groups: Iterable[list[bool | None]]) -> Share:
    """The mean of the groups' shares. Its interval is normal, with each group's variance from (hits + 1) / (n + 2)."""
    known = [[v for v in values if v is not None] for values in groups]
    known = [values for values in known if values]
    if not known:
        return Share(0, 0, None, None, None)
    value = sum(sum(v) / len(v) for v in known) / len(known)
    softened = [((sum(v) + 1) / (len(v) + 2), len(v) + 2) for v in known]
    half = Z * math.sqrt(sum(p * (1 - p) / n for p, n in softened)) / len(known)
    return Share(
        sum(map(sum, known)), sum(map(len, known)), value, max(0.0, value - half), min(1.0, value + half), len(known)
    )


def over_faults(results: Iterable[Result], figure: Callable[[Result], bool | None]) -> Share:
    """The mean over faults of a figure's share per fault."""
    per: dict[str, list[bool | None]] = defaultdict(list)
    for r in results:
        per[r["truth"]["fault"]].append(figure(r))
    return over_groups(per.values())


def percent(value: float | None) -> str:
    """A share in per cent with one decimal, or a dash."""
    return "-" if value is None else f"{100 * value:.1f} %"


def said(share: Share) -> str:
    """``93.1 % (90.2 to 95.4; 812 of 870)``."""
    if share.value is None or share.low is None or share.high is None:
        return "-"
    return f"{percent(share.value)} ({100 * share.low:.1f} to {100 * share.high:.1f}; {share.hits} of {share.n})"
