"""From a cause to a decision: is a change worth touching production, which, what does it gain, what does it risk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.model.fact import Statement
from ridgeline.sim.fidelity.contract import rounded
from ridgeline.sim.whatif import gate
from ridgeline.sim.whatif.advise import figures_worse, payers, tentative, told, worth
from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.choose import HURT_FROM, Choice, Good, choose
from ridgeline.sim.whatif.compare import compare, ranked_by
from ridgeline.sim.whatif.contract import of_change, of_run
from ridgeline.sim.whatif.flags import named
from ridgeline.sim.whatif.hypotheses import Hypothesis, hypotheses
from ridgeline.sim.whatif.paired import statistic
from ridgeline.sim.whatif.pool import OnDone
from ridgeline.sim.whatif.reserve import CAUSE, held_back
from ridgeline.sim.whatif.result import SHARES, Compared, Comparison, Objective
from ridgeline.sim.whatif.sentence import action, beside, of_remedy, without
from ridgeline.sim.whatif.slo import Limit
from ridgeline.sim.whatif.stretches import slow_stretches
from ridgeline.sim.whatif.together import merged, pairs
from ridgeline.sim.whatif.variants import Variant
from ridgeline.words.catalogue import CATALOGUES, said, text_in
from ridgeline.words.phrases import phrase
from ridgeline.words.whatif import NO_SETTING

SCHEMA: Final = "ridgeline.decision/1"
WORSE: Final = 0.25
"""A change that makes the 90th percentile of another figure worse by more than this is none."""
WORSE_S: Final = 0.05
FEWEST_IN_WINDOW: Final = 30
REPEATS: Final = 5
# Cause or layer → the figure it hurts by its nature; everything else waits for its first token.
HURT: Final = {"decode": Objective("tpot_s", "p90"), "memory.retraction-storm": Objective("e2e_s", "p90"),
               "queue.limit-rejected": Objective("lost", "share")}  # fmt: skip
SPIKES: Final = frozenset({"queue.burst", "queue.limit-rejected"})
"""Causes that come and go: without a window their requests are those of the stretches that stand out."""
SHOWN_PREFIXES: Final = frozenset({"hashes", "groups", "keys"})
"""Evidence that tells which prompts share a prefix, not only how much each found."""
WAITS: Final = Objective("ttft_s", "p90")


@dataclass(frozen=True)
class Decision:
    """``verdict``: change | no-gain | no-setting | not-trusted | no-evidence | no-traffic; ``worth``: None: unknown."""

    cause: str
    verdict: str
    worth: bool | None
    statement: Statement
    flag: str | None = None
    needs: tuple[str, ...] = ()
    price: str | None = None
    risks: tuple[str, ...] = ()
    chosen: Compared | None = None
    comparison: Comparison | None = None
    notes: tuple[str, ...] = ()
    equal: tuple[str, ...] = ()  # settings that give as much within the noise, best first

    @property
    def sentence(self) -> str:
        """In English."""
        return said(self.statement)


def no_setting(cause: str, route: str, instead: Sequence[str] = ()) -> Decision:
    """The decision where the cause has nothing to try; ``instead``: what else the diagnosis says to do."""
    why = NO_SETTING.get(route, NO_SETTING["none"])
    return Decision(
        cause,
        "no-setting",
        False,
        Statement("decide.no-setting", (("cause", cause), ("why", why), ("instead", tuple(instead)))),
    )


def no_traffic(cause: str, reason: str) -> Decision:
    """The decision where nothing can be simulated."""
    return Decision(cause, "no-traffic", None, Statement("decide.no-traffic", (("cause", cause), ("reason", reason))))


def unseen_prefixes(cause: str) -> Decision:
    """The decision on a cache's cause where nothing tells which prompts share what."""
    return Decision(cause, "no-evidence", None, Statement("decide.unseen", (("cause", cause),)))


def objective_for(
    basis: Basis, cause: str, limits: Sequence[Limit], bad: NDArray[np.int64] | None, good: NDArray[np.int64] | None
) -> Objective:
    """What a change has to improve: goodput with limits, else the figure that such a cause hurts where the incident did
    raise it, else the one whose 90th percentile it raised most over the good time, as observed."""
    if limits:
        return Objective("goodput")
    usual = HURT.get(cause, HURT.get(cause.partition(".")[0], WAITS))
    if usual.metric == "lost" and basis.traffic is not None:
        return usual if "rejected" in basis.traffic.outcome else WAITS
    ratios = hurt_by(basis, bad, good)
    if usual is not WAITS and ratios.get(usual.metric, 0.0) >= HURT_FROM:
        return usual
    worst = max(ratios, key=lambda metric: ratios[metric], default="")
    return Objective(worst, "p90") if worst and ratios[worst] >= HURT_FROM else usual


def hurt_by(basis: Basis, bad: NDArray[np.int64] | None, good: NDArray[np.int64] | None) -> dict[str, float]:
    """By how many times the incident raised the 90th percentile of each metric, as observed; empty: not known."""
    ratios: dict[str, float] = {}
    if basis.traffic is not None and bad is not None and good is not None:
        for metric in ("ttft_s", "tpot_s", "e2e_s"):
            now, then = (statistic(basis.traffic.observed[metric][rows], "p90") for rows in (bad, good))
            if now == now and then > 0:
                ratios[metric] = now / then
    return ratios


def rows_within(basis: Basis, window: tuple[float, float] | None) -> NDArray[np.int64] | None:
    """Requests that arrived in the incident's window (wall seconds); None: all."""
    if window is None or basis.traffic is None:
        return None
    arrival = basis.traffic.origin_ts + basis.traffic.arrival_s
    rows = np.flatnonzero((arrival >= window[0]) & (arrival <= window[1]))
    return rows if len(rows) >= FEWEST_IN_WINDOW else None


def decide(
    basis: Basis,
    cause: str,
    route: str,
    window: tuple[float, float] | None = None,
    good_time: tuple[float, float] | None = None,
    *,
    limits: Sequence[Limit] = (),
    remedies: Sequence[str] = (),
    seen: Good | None = None,
    repeats: int = REPEATS,
    seed: int = 0,
    jobs: int | None = None,
    on_done: OnDone | None = None,
) -> Decision:
    """Try what the cause suggests on the traffic and choose; windows in wall seconds; ``remedies``: flags that the
    diagnosis names; ``seen``: what the good time was, where its requests are not part of the traffic."""
    tries = hypotheses(cause, basis.settings, basis.pinned)
    if not tries:
        return no_setting(cause, route)
    if cause.startswith("cache.") and basis.traffic is not None and basis.traffic.prefix not in SHOWN_PREFIXES:
        return unseen_prefixes(cause)
    bad, good = rows_within(basis, window), rows_within(basis, good_time)
    if window is None and basis.traffic is not None and cause in SPIKES:
        bad, good = slow_stretches(basis.traffic) or (None, good)
    told_before = basis.notes
    if cause == CAUSE:
        basis = held_back(basis, bad, window[0] if window else None)
    variants = [Variant((), basis.settings), *(one.variant for one in tries)]
    found = compare(
        basis, variants, repeats=repeats, seed=seed, jobs=jobs, limits=limits,
        objective=objective_for(basis, cause, limits, bad, good), over=bad, on_done=on_done,
    )  # fmt: skip
    found = replace(found, warnings=(*basis.notes[len(told_before) :], *found.warnings))
    by_variant = {one.variant.name: one for one in tries}
    helps = [run for run in found.runs[1:] if worth(run, found) and harmless(run, found.objective)]
    before = good_figures(basis, found.objective, good) or (None if found.objective.metric in SHARES else seen)
    more = pairs(helps, found, by_variant, before)
    if more and not found.interrupted:
        further = compare(
            basis, [variants[0], *(one.variant for one in more)], repeats=repeats, seed=seed, jobs=jobs, limits=limits,
            objective=found.objective, over=bad, on_done=on_done,
        )  # fmt: skip
        found = merged(found, further, before)
        by_variant |= {one.variant.name: one for one in more}
        helps = [run for run in found.runs[1:] if worth(run, found) and harmless(run, found.objective)]
    if not helps and found.objective.metric not in SHARES:
        found, helps = by_another_figure(found, hurt_by(basis, bad, good))
    remedy = of_remedy(remedies, found, helps, basis.pinned)
    if not helps:
        return without_gain(cause, found, remedy)
    prices = {name: one.price for name, one in by_variant.items()}
    choice = choose(helps, found, prices, before)
    return with_gain(cause, found, choice, by_variant, remedy)


def by_another_figure(found: Comparison, ratios: Mapping[str, float]) -> tuple[Comparison, list[Compared]]:
    """Ranked by the next figure that the incident hurt and a change surely helps, and what helps; the comparison as it
    is where there is none. A first token that waits for whole passes may vary too much to tell."""
    for metric in sorted(ratios, key=lambda name: -ratios[name]):
        if metric != found.objective.metric and ratios[metric] >= HURT_FROM:
            other = ranked_by(found, Objective(metric, "p90"))
            helps = [run for run in other.runs[1:] if worth(run, other) and harmless(run, other.objective)]
            if helps:
                return other, helps
    return found, []


def good_figures(basis: Basis, by: Objective, good: NDArray[np.int64] | None) -> Good | None:
    """What each metric was in the good time; None where none was seen, or limits are what counts."""
    if basis.traffic is None or good is None or by.metric in SHARES:
        return None
    told = {}
    for metric in ("ttft_s", "tpot_s", "e2e_s"):
        p90, p99 = (statistic(basis.traffic.observed[metric][good], name) for name in ("p90", "p99"))
        if p90 == p90 and p99 == p99:
            told[metric] = (p90, p99)
    return told or None


def harmless(run: Compared, by: Objective) -> bool:
    """Whether no other figure gets clearly worse. Where requests were refused, waiting is the price, and said."""
    for row in (run.changes or {}).values() if by.metric != "lost" else ():
        moved = row["p90"]
        if moved is not None and moved.delta > max(WORSE * moved.before, WORSE_S) and moved.certain:
            return False
    return True


def without_gain(cause: str, found: Comparison, remedy: tuple[Statement, ...]) -> Decision:
    """Nothing tried helps enough."""
    distrusted = found.gate is not None and not found.gate.trust
    return Decision(cause, "not-trusted" if distrusted else "no-gain", None if distrusted else False,
                    without(cause, found, remedy), comparison=found)  # fmt: skip


def with_gain(
    cause: str, found: Comparison, choice: Choice, tries: Mapping[str, Hypothesis], remedy: tuple[Statement, ...]
) -> Decision:
    """A change that helps."""
    chosen = choice.chosen
    one = tries[chosen.variant.name]
    flag, needs = named(chosen.variant.changes, chosen.variant.settings)
    trusted = found.gate is not None and found.gate.trust
    pays = (*figures_worse(chosen, found.objective), *payers(chosen.classes))
    risks = tuple(r for r in (*one.risk.split("; "), *(f"pays: {name}" for name in pays)) if r)
    gain = told(chosen, found)
    head = Statement("decide.head", (("action", action(chosen.variant)), ("gain", gain)))
    if not trusted:
        where = "beside production" if one.price == "server" else "on one server"
        head = tentative(found.gate, where, action(chosen.variant, tentative=True), gain)
    others = (*beside(choice, {name: known.price for name, known in tries.items()}), *remedy)
    statement = Statement("decide.change", (("head", head), ("needs", needs), ("beside", others), ("risks", risks)))
    return Decision(
        cause, "change" if trusted else "not-trusted", True if trusted else None, statement, flag or None, needs,
        one.price, risks, chosen, found, equal=tuple(run.variant.name for run in choice.equal),
    )  # fmt: skip


def to_json(decision: Decision, lang: str = "en") -> dict[str, Any]:
    """``decision.json``: schema ridgeline.decision/1; statements in ``lang``, the decision itself in every language."""
    found, chosen = decision.comparison, decision.chosen
    gain = None
    if chosen is not None and chosen.gain is not None and found is not None:
        gain = {"figure": found.objective.text, **(of_change(chosen.gain) or {})}
    return {
        "schema": SCHEMA,
        "cause": decision.cause,
        "verdict": decision.verdict,
        "worth_touching": decision.worth,
        "sentence": said(decision.statement, lang),
        "sentences": {each: said(decision.statement, each) for each in CATALOGUES},
        "change": None if chosen is None else {
            "settings": dict(chosen.variant.changes), "unpin": chosen.variant.unpin, "flag": decision.flag,
            "needs": list(decision.needs), "price": decision.price,
        },
        "gain": gain,
        "equal": [phrase(name, lang) for name in decision.equal],
        "risk": [text_in(risk, lang) for risk in decision.risks],
        "fidelity": gate.to_json(found.gate, lang) if found else None,
        "tried": [tried(run) for run in found.runs[1:]] if found else [],
        "base": of_run(found.base) if found else None,
        "notes": [text_in(note, lang) for note in (*decision.notes, *(found.warnings if found else ()))],
    }  # fmt: skip


def tried(run: Compared) -> dict[str, Any]:
    """One hypothesis and what it gave."""
    return {
        "settings": dict(run.variant.changes), "unpin": run.variant.unpin, "gain": of_change(run.gain),
        "goodput": rounded(run.goodput), "unfinished": run.lost,
    }  # fmt: skip
