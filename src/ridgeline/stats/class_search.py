"""Which requests are the slow ones: attributes and pairs of attributes that mark them.

Every value of every attribute is weighed; the best are refined by each value of each other attribute; the best
class is taken, its rows are removed, and the rest is searched again. Ranked by coverage x lift, for p-values
saturate at a million rows: p only gates, corrected for all values that were weighed (Benjamini-Hochberg). A
class must also be slower than its peers *within* strata (of length), so that no key is blamed for carrying
long prompts; where a class has no peers of its length, that is said instead.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ridgeline.stats.intervals import Interval, wilson_ends

Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
Key = tuple[tuple[str, int], ...]
Within = Literal["slower", "not-slower", "no-peers", "not-asked"]


@dataclass(frozen=True, slots=True)
class Limits:
    """When a class counts. `refine` is how many values are tried in pairs; `classes` how many are taken."""

    min_rows: int = 5
    min_slow: int = 5
    min_lift: float = 1.5
    max_q: float = 0.01
    min_coverage: float = 0.05
    level: float = 0.95
    refine: int = 16
    classes: int = 4


@dataclass(frozen=True, slots=True)
class SlowClass:
    """One class. `share` of its `rows` is slow, `coverage` of all slow rows are in it, `lift` is share over the
    share of all. `within_lift` compares with rows of the same stratum (Mantel-Haenszel); None without peers.

    `same_rows` are other keys that mark (nearly) the same rows: the data cannot tell which of them it is.
    """

    key: Key
    rows: int
    slow: int
    share: float
    interval: Interval
    lift: float
    coverage: float
    within_lift: float | None
    within: Within
    q_value: float
    same_rows: tuple[Key, ...] = ()

    @property
    def score(self) -> float:
        """What classes are ranked by."""
        return self.coverage * self.lift


@dataclass(frozen=True, slots=True)
class ClassSearch:
    """The outcome. `explained_by_strata`: looked marked until compared with rows of the same stratum.
    `no_peers`: marked, but no other row of the same stratum exists to compare with. `outlier` is the row of
    the one slow request where there is only one. `unexplained` slow rows lie in no class.
    """

    rows: int
    slow: int
    weighed: int
    classes: tuple[SlowClass, ...] = ()
    explained_by_strata: tuple[SlowClass, ...] = ()
    no_peers: tuple[SlowClass, ...] = ()
    outlier: int | None = None
    unexplained: int = 0


@dataclass(slots=True)
class _Table:
    """The rows still searched: slow flags, strata, and codes per attribute (negative: not known)."""

    slow: Flags
    strata: Codes
    codes: dict[str, Codes]
    exempt: frozenset[str]
    strata_given: bool
    slow_rows: NDArray[np.intp] = field(init=False)

    def __post_init__(self) -> None:
        self.slow_rows = np.flatnonzero(self.slow)

    def keep(self, rows: Flags) -> _Table:
        return _Table(self.slow[rows], self.strata[rows], {name: codes[rows] for name, codes in self.codes.items()},
                      self.exempt, self.strata_given)  # fmt: skip

    def mask(self, key: Key) -> Flags:
        rows = np.ones(self.slow.size, np.bool_)
        for name, code in key:
            rows &= self.codes[name] == code
        return rows


def bin_numbers(values: ArrayLike, bins: int = 8) -> tuple[Codes, tuple[float, ...]]:
    """Codes of about equally filled bins, and the inner edges: code `i` is edges[i-1] < value <= edges[i].

    NaN gets -1. Fewer distinct values give fewer bins.
    """
    x = np.asarray(values, np.float64).ravel()
    known = x[~np.isnan(x)]
    if known.size == 0:
        return np.full(x.size, -1, np.int64), ()
    cuts = np.unique(np.quantile(known, np.arange(1, bins) / bins, method="inverted_cdf"))
    cuts = cuts[cuts < known.max()]
    codes = np.searchsorted(cuts, x, side="left").astype(np.int64)
    codes[np.isnan(x)] = -1
    return codes, tuple(float(cut) for cut in cuts)


def search_classes(
    slow: ArrayLike,
    columns: Mapping[str, ArrayLike],
    *,
    strata: ArrayLike | None = None,
    exempt: Collection[str] = (),
    limits: Limits | None = None,
) -> ClassSearch:
    """Find the classes of slow rows.

    `slow`: one flag per row. `columns`: integer codes per attribute, negative for "not known" (never a class).
    `strata`: integer codes of what must not be mistaken for a cause, usually binned prompt length; `exempt`
    names the attributes that are that very thing, so that length itself may still be found. ValueError where
    lengths differ.
    """
    rules = limits or Limits()
    flags = np.asarray(slow, np.bool_).ravel()
    codes = {name: _as_codes(name, values, flags.size) for name, values in sorted(columns.items())}
    layer = np.zeros(flags.size, np.int64) if strata is None else _as_codes("strata", strata, flags.size)
    layer = layer - min(0, int(layer.min(initial=0)))
    table = _Table(flags, layer, codes, frozenset(exempt), strata is not None)
    n, k = flags.size, int(flags.sum())
    if k == 1:
        return ClassSearch(n, 1, 0, outlier=int(np.argmax(flags)), unexplained=1)
    found: list[SlowClass] = []
    confounded: list[SlowClass] = []
    alone: list[SlowClass] = []
    weighed = 0
    while len(found) < rules.classes and table.slow_rows.size >= max(rules.min_slow, rules.min_coverage * k):
        if table.slow_rows.size == table.slow.size:
            break
        ranked, tried = _search_once(table, rules)
        if not weighed:
            weighed = tried
            confounded = [entry for entry in ranked if entry.within == "not-slower"]
        alone += [entry for entry in ranked if entry.within == "no-peers"]
        good = [entry for entry in ranked if entry.within in ("slower", "not-asked")]
        if not good:
            break
        best = good[0]
        rows = table.mask(best.key)
        found.append(_with_twins(best, good[1:], table, rows))
        table = table.keep(~rows)
    left = int(table.slow_rows.size)
    taken = {entry.key for entry in found}
    return ClassSearch(n, k, weighed, tuple(found), _distinct(confounded, taken), _distinct(alone, taken), None, left)


def _as_codes(name: str, values: ArrayLike, n: int) -> Codes:
    codes = np.asarray(values).ravel()
    if codes.size != n:
        raise ValueError(f"{name}: {codes.size} codes for {n} rows")
    if codes.dtype.kind not in "iub":
        raise ValueError(f"{name}: codes must be integers, not {codes.dtype}")
    return codes.astype(np.int64, copy=False)


def _distinct(entries: list[SlowClass], taken: set[Key]) -> tuple[SlowClass, ...]:
    kept: dict[Key, SlowClass] = {}
    for entry in entries:
        if entry.key not in taken:
            kept.setdefault(entry.key, entry)
    return tuple(list(kept.values())[:8])


@dataclass(frozen=True, slots=True)
class _Candidate:
    key: Key
    rows: int
    slow: int
    p: float


def _search_once(table: _Table, rules: Limits) -> tuple[list[SlowClass], int]:
    """All classes of the present rows, best first, and how many values were weighed."""
    n, k = table.slow.size, int(table.slow_rows.size)
    singles, weighed = _weigh(table, None, (), rules, n, k)
    top = sorted(singles, key=lambda c: (-_score(c, n, k), c.key))[: rules.refine]
    pairs: dict[Key, _Candidate] = {}
    for parent in top:
        rows = np.flatnonzero(table.mask(parent.key))
        children, tried = _weigh(table, rows, parent.key, rules, n, k)
        weighed += tried
        for child in children:
            if _sharper(child, parent, rules):
                pairs.setdefault(child.key, child)
    everyone = [*singles, *pairs.values()]
    if not everyone:
        return [], weighed
    adjusted = _benjamini_hochberg([c.p for c in everyone], weighed)
    kept = [(c, q) for c, q in zip(everyone, adjusted, strict=True) if q <= rules.max_q]
    kept.sort(key=lambda item: (-_score(item[0], n, k), len(item[0].key), item[0].key))
    return [_describe(c, q, table, rules, n, k) for c, q in kept[: 4 * rules.refine]], weighed


def _score(c: _Candidate, n: int, k: int) -> float:
    return (c.slow / k) * (c.slow / c.rows) / (k / n)


def _sharper(child: _Candidate, parent: _Candidate, rules: Limits) -> bool:
    """Whether a pair's share lies clearly above its parent's: the intervals are apart."""
    low, _ = wilson_ends([child.slow], [child.rows], rules.level)
    _, high = wilson_ends([parent.slow], [parent.rows], rules.level)
    return bool(low[0] > high[0])


def _weigh(
    table: _Table, rows: NDArray[np.intp] | None, parent: Key, rules: Limits, n: int, k: int
) -> tuple[list[_Candidate], int]:
    """Candidates among the values of every attribute (outside `parent`) within `rows`, and how many were weighed.

    Only values with enough rows are weighed, and only those count as tests: how many of them are slow must not
    decide whether a test counts.
    """
    used = {name for name, _ in parent}
    slow = table.slow_rows if rows is None else rows[table.slow[rows]]
    found: list[tuple[Key, int, int]] = []
    weighed = 0
    for name, codes in table.codes.items():
        if name in used:
            continue
        here = codes if rows is None else codes[rows]
        here = here[here >= 0]
        if here.size == 0:
            continue
        values, counts = _count(here)
        enough = counts >= rules.min_rows
        # One value for all rows tells nothing apart.
        weighed += int(enough.sum()) if values.size > 1 or here.size < table.slow.size else 0
        marked, hits = _count(codes[slow][codes[slow] >= 0])
        at = np.searchsorted(values, marked)
        for value, hit, count in zip(marked.tolist(), hits.tolist(), counts[at].tolist(), strict=True):
            big = hit >= max(rules.min_slow, rules.min_coverage * k) and count >= rules.min_rows
            if big and count < n and (hit / count) >= rules.min_lift * (k / n):
                found.append((tuple(sorted((*parent, (name, value)))), count, hit))
    if not found:
        return [], weighed
    from scipy.stats import hypergeom

    counts_, hits_ = (np.array([entry[i] for entry in found]) for i in (1, 2))
    p = hypergeom.sf(hits_ - 1, n, k, counts_)
    candidates = [_Candidate(*entry, float(value)) for entry, value in zip(found, p, strict=True)]
    return candidates, weighed


def _count(codes: Codes) -> tuple[Codes, Codes]:
    """Distinct codes in order and how often each occurs, by counting where the codes are small."""
    if codes.size == 0:
        return codes, codes
    top = int(codes.max())
    if top <= 4 * codes.size + 1024:
        counts = np.bincount(codes)
        values = np.flatnonzero(counts)
        return values, counts[values]
    values, counts = np.unique(codes, return_counts=True)
    return values, counts


def _benjamini_hochberg(p: list[float], tests: int) -> list[float]:
    """Adjusted p-values of those given, among `tests` of which the rest found nothing (p = 1)."""
    from scipy.stats import false_discovery_control

    rest = max(0, tests - len(p))
    adjusted = false_discovery_control(np.concatenate([np.clip(p, 0.0, 1.0), np.ones(rest)]))
    return [float(value) for value in adjusted[: len(p)]]


def _describe(c: _Candidate, q: float, table: _Table, rules: Limits, n: int, k: int) -> SlowClass:
    low, high = wilson_ends([c.slow], [c.rows], rules.level)
    within_lift, within = _within_strata(c, table, rules)
    share = c.slow / c.rows
    return SlowClass(c.key, c.rows, c.slow, share, Interval(float(low[0]), float(high[0]), rules.level),
                     share / (k / n), c.slow / k, within_lift, within, q)  # fmt: skip


def _within_strata(c: _Candidate, table: _Table, rules: Limits) -> tuple[float | None, Within]:
    """The Mantel-Haenszel risk ratio against rows of the same stratum, and what it says of the class."""
    if not table.strata_given or any(name in table.exempt for name, _ in c.key):
        return None, "not-asked"
    inside = table.mask(c.key)
    size = int(table.strata.max()) + 1
    rows_in = np.bincount(table.strata[inside], minlength=size).astype(np.float64)
    slow_in = np.bincount(table.strata[inside & table.slow], minlength=size).astype(np.float64)
    rows_all = np.bincount(table.strata, minlength=size).astype(np.float64)
    slow_all = np.bincount(table.strata[table.slow_rows], minlength=size).astype(np.float64)
    rows_out, slow_out = rows_all - rows_in, slow_all - slow_in
    both = (rows_in > 0) & (rows_out > 0)
    # Too few of the class stand beside rows of their own length to say anything.
    if rows_in[both].sum() < max(rules.min_rows, 0.2 * c.rows) or slow_in[both].sum() < rules.min_slow:
        return None, "no-peers"
    a, b, r_in, r_out = slow_in[both], slow_out[both], rows_in[both], rows_out[both]
    total = r_in + r_out
    above, below = float((a * r_out / total).sum()), float((b * r_in / total).sum())
    ratio = math.inf if below == 0 else above / below
    # Cochran-Mantel-Haenszel: observed slow rows against those expected from each stratum's own share.
    expected = r_in * (a + b) / total
    variance = r_in * r_out * (a + b) * (total - a - b) / (total**2 * np.maximum(total - 1, 1))
    spread = math.sqrt(float(variance.sum()))
    sure = spread > 0 and (float((a - expected).sum()) - 0.5) / spread > 2.33
    return ratio, "slower" if sure and ratio >= rules.min_lift else "not-slower"


def _with_twins(best: SlowClass, others: list[SlowClass], table: _Table, rows: Flags) -> SlowClass:
    """The class with every other key of its size that marks nearly the same rows."""
    twins = []
    for other in others:
        if len(other.key) > len(best.key) or abs(other.rows - best.rows) > 0.05 * best.rows:
            continue
        mask = table.mask(other.key)
        if np.count_nonzero(mask & rows) >= 0.95 * np.count_nonzero(mask | rows):
            twins.append(other.key)
    return SlowClass(best.key, best.rows, best.slow, best.share, best.interval, best.lift, best.coverage,
                     best.within_lift, best.within, best.q_value, tuple(sorted(twins)))  # fmt: skip


def single_outlier(values: ArrayLike, factor: float = 5.0) -> int | None:
    """The row of the one value far beyond all others, or None.

    Far: its distance from the median is at least `factor` times that of the next largest. NaN is no value;
    needs eight values.
    """
    x = np.asarray(values, np.float64).ravel()
    known = np.flatnonzero(~np.isnan(x))
    if known.size < 8:
        return None
    order = known[np.argsort(x[known], kind="stable")]
    middle = float(np.median(x[known]))
    top, second = float(x[order[-1]]) - middle, float(x[order[-2]]) - middle
    return int(order[-1]) if top > 0 and top >= factor * max(second, 0.0) and top > second else None
