"""The recommendation: which change is worth it, as one statement with the flag as it is typed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ridgeline.model.fact import Statement
from ridgeline.sim.whatif.classes import Group
from ridgeline.sim.whatif.flags import named, parts_of
from ridgeline.sim.whatif.gate import Gate
from ridgeline.sim.whatif.paired import Change
from ridgeline.sim.whatif.result import LOST_SHARE, Compared, Comparison, Objective
from ridgeline.words.catalogue import said

WORTH: Final = 0.05
"""A gain below this share of the base is not worth touching production."""
WORTH_GOODPUT: Final = 0.01
"""The same for goodput, in requests of all requests."""
CLOSE: Final = 0.03
"""Settings whose gains differ by less than this share of the base are alike: the first one given is taken."""
PAYS: Final = 0.05
"""A class or a figure that is slower by more than this share, beyond its interval, pays."""
PAID_BY: Final = frozenset({"ttft_s", "tpot_s", "e2e_s"})


@dataclass(frozen=True)
class Advice:
    """``chosen``: None where no change is worth it; ``statement`` holds its flag; ``pays``: who is worse off."""

    statement: Statement
    chosen: Compared | None
    flag: str | None
    needs: tuple[str, ...]
    pays: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """In English."""
        return said(self.statement)


def advise(found: Comparison) -> Advice:
    """Choose among the compared settings."""
    distrusted = found.gate is not None and not found.gate.trust
    others = [run for run in found.runs[1:] if run.gain is not None]
    if not others:
        return Advice(Statement("advise.nothing"), None, None, (), ())
    good = [run for run in others if worth(run, found)]
    if not good:
        best = min(others, key=lambda run: run.score)
        figures = (("name", best.variant.name), ("gain", told(best, found)))
        closest = ("closest", Statement("advise.closest", figures))
        statement = Statement("advise.none.hurts" if best.score >= 0 else "advise.none", (closest,))
        if distrusted:
            statement = Statement("advise.none.untrusted", (("why", distrust(found.gate)), closest))
        return Advice(statement, None, None, (), ())
    top = min(run.score for run in good)
    near = CLOSE * abs(found.base_figure)
    chosen = next(run for run in good if run.score <= top + near)
    flag, needs = named(chosen.variant.changes, chosen.variant.settings)
    pays = (*figures_worse(chosen, found.objective), *payers(chosen.classes))
    flags, gain = (("flags", parts_of(chosen.variant.changes, chosen.variant.settings)[0]),), told(chosen, found)
    head = Statement("decide.head", (("action", Statement("decide.set", flags)), ("gain", gain)))
    if distrusted:
        head = tentative(found.gate, "on one server", Statement("decide.flags", flags), gain)
    nobody = None if pays else "no class pays"
    statement = Statement("advise.change", (("head", head), ("needs", needs), ("pays", pays), ("nobody", nobody)))
    if found.gate is None:
        statement = Statement("advise.unseen", (("sentence", statement),))
    return Advice(statement, chosen, flag, needs, pays)


def tentative(gate: Gate | None, where: str, action: Statement, gain: Statement) -> Statement:
    """A change that is at most worth trying, because the simulator is not proven."""
    figures = (("why", distrust(gate)), ("where", where), ("action", action), ("gain", gain))
    return Statement("decide.head.untrusted", figures)


def distrust(gate: Gate | None) -> tuple[str, ...]:
    """Why the simulator is not proven."""
    if gate is None:
        return ("nothing was observed to compare with",)
    return gate.why[:2] or ("no figure compares",)


def worth(run: Compared, found: Comparison) -> bool:
    """Whether the gain is certain, large enough, and not bought with lost requests."""
    gain = run.gain
    lost = run.lost - found.base.lost > LOST_SHARE * max(1, found.basis.scenario.n)
    if gain is None or lost or not gain.certain or gain.delta >= 0:
        return False
    least = WORTH_GOODPUT if found.objective.metric == "goodput" else WORTH * abs(gain.before)
    return -gain.delta >= least


def figures_worse(run: Compared, by: Objective) -> tuple[str, ...]:
    """Figures other than the objective that get worse, by how much: a larger batch, say, is paid with each token."""
    out = []
    for metric, row in (run.changes or {}).items():
        moved = row["p90"]
        if metric in PAID_BY and metric != by.metric and moved is not None and moved.certain and moved.relative:
            name = Objective(metric, "p90").text
            out += [f"{name} ({moved.relative:+.0%})"] if moved.relative > PAYS else []
    return tuple(out)


def payers(classes: Sequence[tuple[Group, Change]]) -> tuple[str, ...]:
    """Classes that are slower, by how much."""
    out = []
    for group, moved in classes:
        relative = moved.relative
        if moved.certain and relative is not None and relative > PAYS:
            out.append(f"{group.name} ({relative:+.0%})")
    return tuple(out)


def told(run: Compared, found: Comparison) -> Statement:
    """The change in words, with its interval."""
    gain = run.gain
    if gain is None:
        return Statement("gain.none")
    bounded = gain.low is not None and gain.high is not None
    if found.objective.metric == "lost":
        name, moved = ("figure", found.objective.text), (("before", gain.before), ("after", gain.after))
        return Statement("gain.share", (name, *moved, ("low", gain.low), ("high", gain.high)))
    if found.objective.metric == "goodput":
        low, high = (-gain.high, -gain.low) if gain.low is not None and gain.high is not None else (None, None)
        of = (("after", -gain.after), ("before", -gain.before), ("low", low), ("high", high))
        return Statement("gain.goodput", of)
    low, high = (v / gain.before if bounded and v is not None and gain.before else None for v in (gain.low, gain.high))
    share, surely = (gain.relative, None) if low is None else (None, gain.relative)
    figures = (
        ("figure", found.objective.text), ("before", gain.before), ("after", gain.after), ("share", share),
        ("surely", surely), ("low", low), ("high", high),
    )  # fmt: skip
    return Statement("gain.time", figures)
