"""The baseline against what was observed: the comparison is no better than this."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.model.fact import Statement
from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fidelity.contract import figure, rounded
from ridgeline.sim.fidelity.figures import METRICS, NOTHING, STATISTICS, Figure, figures, observed_and_predicted
from ridgeline.sim.fidelity.gate import judge, passes
from ridgeline.sim.fit.run import Floats
from ridgeline.sim.timing import PS
from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.run import Outcome
from ridgeline.words.catalogue import said, text_in

OFF: Final = 0.2
CACHED_SHARE: Final = 0.05
"""Cached tokens that are off by less than this share of all prompt tokens move nothing."""
RETRACTED_SHARE: Final = 0.02
REFUSED_SHARE: Final = 0.005
RANK_SHARE: Final = 0.1
PASS_SLACK: Final = 1.1
"""A full prefill pass may take so many times its tokens' cost: attention comes on top."""


@dataclass(frozen=True)
class Gate:
    """Whether the simulated baseline is production as it was seen; figures as of ``ridgeline.fidelity/1``."""

    trust: bool
    why: tuple[str, ...]
    figures: dict[str, dict[str, Figure]]
    cached_tokens: tuple[float, float] | None  # observed, predicted
    retractions: tuple[float, float] | None
    rank_share: tuple[dict[str, float], dict[str, float]] | None
    held_out: dict[str, Any] | None
    requests: int


def gate(basis: Basis, baseline: Outcome) -> Gate | None:
    """Judge the baseline run of ``basis``; None: nothing was observed, so nothing can be compared."""
    traffic = basis.traffic
    if traffic is None or not any(bool(traffic.known(metric).any()) for metric in METRICS):
        return None
    rows = np.flatnonzero(traffic.measured)
    predicted = {name: values.astype(np.float64) for name, values in baseline.values.items()}
    table: dict[str, dict[str, Figure]] = {}
    for metric in METRICS:
        seen, guess = observed_and_predicted(traffic, predicted, rows, metric)
        table[metric] = figures(seen, guess, bounds_like(basis.held_out, metric, guess))
    # how wide the bounds are is judged on the held-out requests, where they come from
    bare = {m: {s: replace(f, low=None, high=None) for s, f in row.items()} for m, row in table.items()}
    if basis.settings.decode_workers:
        bare["queue_s"] = {
            s: NOTHING if passes("queue_s", f) is False and one_pass_off(f, basis) else f
            for s, f in bare["queue_s"].items()
        }
    trust, reasons = judge(bare, ())
    why = list(reasons)
    if not basis.fitted:
        trust = False
        why.append("step times are a preset, not fitted on this server")
    cached = totals(traffic, "cached_tokens", baseline.cached.astype(np.float64))
    prompts = float(traffic.scenario["input_tokens"][rows].sum())
    if cached and apart(*cached, CACHED_SHARE * prompts):
        trust = False
        why.append(f"cached tokens: predicted {cached[1]:.0f}, observed {cached[0]:.0f}; which prompts share a prefix "
                   "is not in the evidence, or the cache works otherwise")  # fmt: skip
    seen_put_back = known_total(traffic, "retractions")
    put_back = None if seen_put_back is None else (seen_put_back, float(baseline.summary["retractions"]))
    if put_back and apart(*put_back, RETRACTED_SHARE * traffic.n):
        trust = False
        why.append(f"retractions: predicted {put_back[1]:.0f}, observed {put_back[0]:.0f}; the pool's size or "
                   "max_new_tokens may be other than read")  # fmt: skip
    turned_away = float(sum(state == "rejected" for state in traffic.outcome))
    refused = float(baseline.summary["outcomes"].get("queue-full", 0))
    if turned_away and apart(turned_away, refused, REFUSED_SHARE * traffic.n):
        trust = False
        why.append(f"refused requests: predicted {refused:.0f}, observed {turned_away:.0f}")
    shares = rank_shares(traffic, baseline.rank) if basis.settings.workers == 1 and basis.settings.dp_size > 1 else None
    if shares:
        worst = max(abs(shares[0].get(k, 0.0) - shares[1].get(k, 0.0)) for k in {*shares[0], *shares[1]})
        if worst > RANK_SHARE:
            trust = False
            why.append(f"requests of a rank: off by {worst:.0%} of all requests; the balancing method may be other "
                       "than read")  # fmt: skip
    figures_off = held_out_off(basis.held_out)
    if figures_off:
        trust = False
        why += [f"held out: {reason}" for reason in figures_off[:2]]
    return Gate(trust, tuple(dict.fromkeys(why)), table, cached, put_back, shares, basis.held_out, len(rows))


def one_pass_off(figure: Figure, basis: Basis) -> bool:
    """Whether a prefill server's queue is off by no more than one full pass: waits there are whole passes, and who is
    in this one or the next turns on a token."""
    if figure.observed is None or figure.predicted is None or basis.settings.chunked_prefill_size <= 0:
        return False
    model = basis.model
    full_s = (model.base_ps + model.prefill_token_ps * basis.settings.chunked_prefill_size) / PS
    return abs(figure.predicted - figure.observed) <= PASS_SLACK * full_s


def held_out_off(held_out: Mapping[str, Any] | None) -> list[str]:
    """Reasons that requests held out from the fit give against trust.

    They are half as many as all, and a 99th percentile is then one or two requests: it counts from twice the bound on.
    """
    if held_out is None or held_out["trust"]:
        return []
    table: dict[str, dict[str, Figure]] = {}
    for metric in METRICS:
        told = {s: Figure(**held_out["metrics"][metric][s]) for s in STATISTICS}
        if passes(metric, told["p99"], 2 * OFF):
            told["p99"] = NOTHING
        table[metric] = told
    trust, why = judge(table, ())
    return [] if trust else list(why)


def apart(seen: float, guess: float, least: float) -> bool:
    """Whether two totals differ by more than a fifth and by more than ``least``."""
    gap = abs(guess - seen)
    return gap > least and gap > OFF * max(seen, guess)


def bounds_like(held_out: Mapping[str, Any] | None, metric: str, guess: Floats | None) -> tuple[Floats, Floats] | None:
    """Bounds around a prediction, as wide in proportion as those that the held-out requests were given."""
    told = (held_out or {}).get("metrics", {}).get(metric, {})
    if guess is None or any((told.get(s) or {}).get(k) is None for s in STATISTICS for k in ("low", "high")):
        return None
    middle = np.array([told[s]["predicted"] for s in STATISTICS])
    scale = np.divide(guess, middle, out=np.ones_like(guess), where=middle > 0)
    low, high = (np.array([told[s][k] for s in STATISTICS]) * scale for k in ("low", "high"))
    return low, high


def known_total(traffic: Traffic, name: str) -> float | None:
    """Sum of an observed count; None where nobody counted."""
    values = traffic.observed[name][traffic.known(name)]
    return float(values.sum()) if len(values) else None


def totals(traffic: Traffic, name: str, predicted: NDArray[np.float64]) -> tuple[float, float] | None:
    """Observed and predicted sums over the requests of which it was observed."""
    use = traffic.known(name)
    return (float(traffic.observed[name][use].sum()), float(predicted[use].sum())) if use.any() else None


def rank_shares(traffic: Traffic, rank: NDArray[np.int16]) -> tuple[dict[str, float], dict[str, float]] | None:
    """Share of the requests per rank, observed and predicted; None where the rank was not seen."""
    use = traffic.known("dp_rank") & (rank >= 0)
    if not use.any():
        return None
    seen, guess = traffic.observed["dp_rank"][use].astype(np.int64), rank[use]
    return share_of(seen), share_of(guess.astype(np.int64))


def share_of(values: NDArray[np.int64]) -> dict[str, float]:
    """Each value's share."""
    names, counts = np.unique(values, return_counts=True)
    return {str(int(k)): round(float(c / len(values)), 6) for k, c in zip(names, counts, strict=True)}


def to_json(found: Gate | None, lang: str = "en") -> dict[str, Any] | None:
    """``fidelity`` of ``ridgeline.simulation/1``; null where nothing was observed."""
    if found is None:
        return None

    def both(values: tuple[float, float] | None) -> dict[str, float | None]:
        return {"observed": rounded(values[0]) if values else None, "predicted": rounded(values[1]) if values else None}

    shares = found.rank_share
    return {
        "trust": found.trust,
        "why": [text_in(why, lang) for why in found.why],
        "requests": found.requests,
        "metrics": {m: {s: figure(found.figures[m][s]) for s in STATISTICS} for m in METRICS},
        "cached_tokens": both(found.cached_tokens),
        "retractions": both(found.retractions),
        "rank_share": {"observed": shares[0], "predicted": shares[1]} if shares else None,
        "held_out": found.held_out,
    }


def verdict_of(found: Gate | None, lang: str = "en") -> str:
    """The verdict in one line."""
    if found is None:
        return said(Statement("gate.unseen"), lang)
    shown = next(
        (m for m in ("ttft_s", "e2e_s", "tpot_s", "queue_s") if found.figures[m]["mean"].error is not None), None
    )
    told = None
    if shown is not None:
        mean, name = found.figures[shown]["mean"], shown.removesuffix("_s").upper()
        figures = (("name", name), ("n", found.requests), ("predicted", mean.predicted), ("observed", mean.observed))
        told = Statement("gate.mean", figures)
    if found.trust:
        held = "requests held out from the fit are predicted" if found.held_out else None
        return said(Statement("gate.trusted", (("told", told), ("held", held))), lang)
    why = found.why or ("no figure compares",)
    return said(Statement("gate.untrusted", (("told", told or "nothing to compare"), ("why", why))), lang)
