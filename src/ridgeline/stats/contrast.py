"""Is B different from A: quantiles, means and shares of two samples, with an interval and a gate.

Intervals come from the bootstrap with an explicit seed. For independent values the bootstrap distribution of
an order statistic and of a share is known (Beta and binomial), so nothing is resampled and a million rows
cost a sort. For autocorrelated series (`block` > 1) whole blocks are resampled (Carlstein, 1986) and the
gate runs on one figure per block, for a thousand neighbouring samples are not a thousand facts.

Gate: Mann-Whitney for means and the middle of the distribution; Fisher's exact test on the values above the
pooled quantile for tails, where ranks see nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ridgeline.model.contrast import Contrast, ContrastVerdict
from ridgeline.stats.intervals import finite_or_censored, order_rank, quantile

Floats = NDArray[np.float64]

SEED = 20
REPLICATES = 2000
# Independent pieces per side below which no difference is claimed, and values needed beyond a quantile.
FEWEST = 8
FEWEST_BEYOND = 4
# More pieces than this are pooled: the bootstrap of 2,000 pieces is as good and bounds the time.
MOST_PIECES = 2000


def contrast_quantile(
    a: ArrayLike,
    b: ArrayLike,
    q: float,
    *,
    block: int = 1,
    margin: float = 0.1,
    margin_abs: float = 0.0,
    level: float = 0.95,
    seed: int = SEED,
) -> Contrast:
    """Difference of the `q` quantiles. NaN is dropped; +inf stands for "not over yet" and ranks last.

    `margin` (a share of A's figure) and `margin_abs` (in its unit) say which difference would not matter.
    """
    x, y = finite_or_censored(a), finite_or_censored(b)
    name = f"p{100 * q:g}"
    beyond = min(q, 1 - q)
    enough = min(_pieces(x, block), _pieces(y, block)) * beyond >= FEWEST_BEYOND if 0 < q < 1 else False
    left, right = quantile(x, q), quantile(y, q)
    if left is None or right is None or not enough or _few(x, y, block):
        needs = math.ceil(FEWEST_BEYOND / beyond) if beyond > 0 else None
        why = f"needs at least {max(needs, FEWEST)} independent values on either side" if needs else "an extreme"
        return _too_few(name, left, right, x.size, y.size, level, why)
    if math.isinf(left) or math.isinf(right):
        return _too_few(name, left, right, x.size, y.size, level, "too many are not over yet: the quantile is open")
    rng = np.random.default_rng(seed)
    if block > 1:
        draws = _block_quantiles(y, q, block, rng) - _block_quantiles(x, q, block, rng)
    else:
        draws = _order_draws(y, q, rng) - _order_draws(x, q, rng)
    tail = q < 0.25 or q > 0.75
    p = _tail_gate(x, y, q, block) if tail else _rank_gate(x, y, block)
    return _judge(name, left, right, draws, p, "fisher-above-quantile" if tail else "mann-whitney", x.size, y.size,
                  level, max(margin * abs(left), margin_abs))  # fmt: skip


def contrast_mean(
    a: ArrayLike,
    b: ArrayLike,
    *,
    block: int = 1,
    margin: float = 0.1,
    margin_abs: float = 0.0,
    level: float = 0.95,
    seed: int = SEED,
) -> Contrast:
    """Difference of the means. NaN is dropped; an infinite value has no mean: ValueError."""
    x, y = finite_or_censored(a), finite_or_censored(b)
    if bool(np.any(np.isinf(x))) or bool(np.any(np.isinf(y))):
        raise ValueError("a mean of values that are not over yet does not exist: use a quantile")
    left = float(x.mean()) if x.size else None
    right = float(y.mean()) if y.size else None
    if left is None or right is None or _few(x, y, block):
        return _too_few("mean", left, right, x.size, y.size, level, f"needs at least {FEWEST} independent values")
    rng = np.random.default_rng(seed)
    draws = _block_means(y, block, rng) - _block_means(x, block, rng)
    p = _rank_gate(x, y, block)
    return _judge("mean", left, right, draws, p, "mann-whitney", x.size, y.size, level,
                  max(margin * abs(left), margin_abs))  # fmt: skip


def contrast_share(
    hits_a: int,
    n_a: int,
    hits_b: int,
    n_b: int,
    *,
    margin: float = 0.1,
    margin_abs: float = 0.01,
    level: float = 0.95,
    seed: int = SEED,
) -> Contrast:
    """Difference of two shares of independent cases; ValueError unless 0 <= hits <= n."""
    for hits, n in ((hits_a, n_a), (hits_b, n_b)):
        if not 0 <= hits <= n:
            raise ValueError(f"{hits} of {n}: hits must lie between 0 and n")
    left, right = hits_a / n_a if n_a else None, hits_b / n_b if n_b else None
    if left is None or right is None or min(n_a, n_b) < FEWEST:
        return _too_few("share", left, right, n_a, n_b, level, f"needs at least {FEWEST} cases on either side")
    from scipy.stats import fisher_exact

    rng = np.random.default_rng(seed)
    # Jeffreys' prior keeps the interval from collapsing where a side has no hit or no miss.
    draws = rng.beta(hits_b + 0.5, n_b - hits_b + 0.5, REPLICATES) - rng.beta(
        hits_a + 0.5, n_a - hits_a + 0.5, REPLICATES
    )
    p = float(fisher_exact([[hits_a, n_a - hits_a], [hits_b, n_b - hits_b]]).pvalue)
    return _judge("share", left, right, draws, p, "fisher", n_a, n_b, level, max(margin * left, margin_abs))


def _pieces(x: Floats, block: int) -> int:
    if block < 1:
        raise ValueError(f"block of {block}: needs at least 1")
    return x.size // block


def _few(x: Floats, y: Floats, block: int) -> bool:
    return min(_pieces(x, block), _pieces(y, block)) < FEWEST


def _order_draws(x: Floats, q: float, rng: np.random.Generator) -> Floats:
    """Draws from the exact bootstrap distribution of the q quantile: its rank is Beta distributed."""
    n = x.size
    rank = order_rank(n, q)
    at = np.ceil(rng.beta(rank, n - rank + 1, REPLICATES) * n).astype(np.int64)
    return np.asarray(np.sort(x)[np.clip(at, 1, n) - 1], np.float64)


def _blocks(x: Floats, block: int) -> tuple[int, int]:
    """Size and number of blocks, larger ones where there would be too many; a short rest is left out."""
    size = max(block, math.ceil(x.size / MOST_PIECES))
    return size, x.size // size


def _picks(pieces: int, rng: np.random.Generator) -> Floats:
    """How often each piece is drawn, one row per replicate."""
    return rng.multinomial(pieces, np.full(pieces, 1 / pieces), REPLICATES).astype(np.float64)


def _block_means(x: Floats, block: int, rng: np.random.Generator) -> Floats:
    size, pieces = _blocks(x, block)
    sums = x[: size * pieces].reshape(pieces, size).mean(axis=1)
    return np.asarray(_picks(pieces, rng) @ sums / pieces)


def _block_quantiles(x: Floats, q: float, block: int, rng: np.random.Generator) -> Floats:
    """Quantiles of samples made of whole blocks, by counting against candidates around the quantile."""
    size, pieces = _blocks(x, block)
    kept = x[: size * pieces]
    near = np.geomspace(1e-4, 1.0, 128)
    wanted = np.unique(np.concatenate([q - q * near, [q], q + (1 - q) * near]))
    candidates = np.unique(np.quantile(kept, wanted, method="inverted_cdf"))
    candidates = np.union1d(candidates, [kept.max()])
    below = np.stack([(kept <= level).reshape(pieces, size).sum(axis=1) for level in candidates], axis=1)
    reached = _picks(pieces, rng) @ below.astype(np.float64)
    return np.asarray(candidates[np.argmax(reached >= q * kept.size - 1e-9, axis=1)])


def _rank_gate(x: Floats, y: Floats, block: int) -> float:
    """Two-sided Mann-Whitney p-value, of one median per block where values hang together."""
    from scipy.stats import mannwhitneyu

    if block > 1:
        x, y = _medians(x, block), _medians(y, block)
    if x.max() == x.min() == y.max() == y.min():
        return 1.0
    return float(mannwhitneyu(x, y, alternative="two-sided").pvalue)


def _medians(x: Floats, block: int) -> Floats:
    pieces = x.size // block
    return np.asarray(np.median(x[: pieces * block].reshape(pieces, block), axis=1))


def _tail_gate(x: Floats, y: Floats, q: float, block: int) -> float:
    """Fisher's exact p-value on how many values lie above the pooled quantile.

    Values that hang together count once per block: an exceedance and its neighbours are one fact.
    """
    from scipy.stats import fisher_exact

    pooled = np.sort(np.concatenate([x, y]))
    cut = pooled[order_rank(pooled.size, q) - 1]
    n_x, n_y = x.size // block, y.size // block
    tables = {
        (min(n_x, math.ceil(over_x / block)), min(n_y, math.ceil(over_y / block)))
        for over_x, over_y in (
            (float((x > cut).sum()), float((y > cut).sum())),
            # Where many values equal the cut, the difference may sit in them.
            *([(float((x >= cut).sum()), float((y >= cut).sum()))] if (pooled == cut).sum() > 1 else []),
        )
    }
    p_values = [float(fisher_exact([[k_x, n_x - k_x], [k_y, n_y - k_y]]).pvalue) for k_x, k_y in sorted(tables)]
    return min(1.0, len(p_values) * min(p_values))


def _judge(
    name: str,
    left: float,
    right: float,
    draws: Floats,
    p: float,
    gate: str,
    n_a: int,
    n_b: int,
    level: float,
    margin: float,
) -> Contrast:
    """The verdict: see `model.contrast.Contrast`."""
    # An open end of a draw (censored values) makes that end of the interval infinite, or unknown.
    with np.errstate(invalid="ignore"):
        ends = np.quantile(draws[~np.isnan(draws)], [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    difference = right - left
    low, high = min(float(ends[0]), difference), max(float(ends[1]), difference)
    verdict: ContrastVerdict
    if p < 1 - level and (low > 0 or high < 0) and abs(difference) > margin:
        verdict, why = "different", "gate passed and the interval excludes zero"
    elif -margin <= low and high <= margin:
        verdict, why = "same", "the whole interval lies within the margin"
    elif p >= 1 - level and (low > 0 or high < 0):
        verdict, why = "too-few", "the interval excludes zero but the gate did not pass"
    else:
        verdict, why = "too-few", "the interval is wider than the margin"
    return Contrast(name, left, right, difference, low, high, level, margin, n_a, n_b, p, gate, verdict, why)


def _too_few(
    name: str, left: float | None, right: float | None, n_a: int, n_b: int, level: float, why: str
) -> Contrast:
    known = left is not None and right is not None and math.isfinite(left) and math.isfinite(right)
    difference = right - left if known and left is not None and right is not None else None
    return Contrast(name, left, right, difference, None, None, level, 0.0, n_a, n_b, None, "none", "too-few", why)
