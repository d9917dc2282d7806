"""The recommendation: which change is worth it, in one sentence with the flag as it is typed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ridgeline.sim.whatif.classes import Group
from ridgeline.sim.whatif.flags import named
from ridgeline.sim.whatif.gate import Gate
from ridgeline.sim.whatif.paired import Change
from ridgeline.sim.whatif.result import LOST_SHARE, Compared, Comparison

WORTH: Final = 0.05
"""A gain below this share of the base is not worth touching production."""
WORTH_GOODPUT: Final = 0.01
"""The same for goodput, in requests of all requests."""
CLOSE: Final = 0.03
"""Settings whose gains differ by less than this share of the base are alike: the first one given is taken."""
PAYS: Final = 0.05
"""A class that is slower by more than this share, beyond its interval, pays."""


@dataclass(frozen=True)
class Advice:
    """``chosen``: None where no change is worth it; ``sentence`` holds its flag; ``pays``: who is worse off."""

    sentence: str
    chosen: Compared | None
    flag: str | None
    needs: tuple[str, ...]
    pays: tuple[str, ...]


def advise(found: Comparison) -> Advice:
    """Choose among the compared settings."""
    distrusted = found.gate is not None and not found.gate.trust
    others = [run for run in found.runs[1:] if run.gain is not None]
    if not others:
        return Advice("Nothing to compare: only the base setting was run.", None, None, (), ())
    good = [run for run in others if worth(run, found)]
    if not good:
        best = min(others, key=lambda run: run.score)
        closest = f"the best, {best.variant.name}, gives {told(best, found)}"
        sentence = f"No change is worth it: {closest}."
        if distrusted:
            sentence = f"{distrust(found.gate)}; nothing is recommended: in the simulation {closest}."
        elif best.score >= 0:
            sentence = f"None of the settings tried helps on this traffic: {closest}."
        return Advice(sentence, None, None, (), ())
    top = min(run.score for run in good)
    near = CLOSE * abs(found.base_figure)
    chosen = next(run for run in good if run.score <= top + near)
    flag, needs = named(chosen.variant.changes, chosen.variant.settings)
    pays = payers(chosen.classes)
    sentence = f"Set {flag}: {told(chosen, found)}"
    if distrusted:
        sentence = (f"{distrust(found.gate)}; at most worth trying on one server first: {flag} (in the simulation "
                    f"{told(chosen, found)})")  # fmt: skip
    if needs:
        sentence += f"; needs {' and '.join(needs)}"
    sentence += f"; pays: {', '.join(pays)}." if pays else "; no class pays."
    if found.gate is None:
        sentence = f"On this traffic in the simulation, never compared with a server: {sentence}"
    return Advice(sentence, chosen, flag, needs, pays)


def distrust(gate: Gate | None) -> str:
    """The first words where the simulator is not proven."""
    why = "; ".join(gate.why[:2]) if gate is not None else "nothing was observed to compare with"
    return f"Not to be trusted on this traffic: {why or 'no figure compares'}"


def worth(run: Compared, found: Comparison) -> bool:
    """Whether the gain is certain, large enough, and not bought with lost requests."""
    gain = run.gain
    lost = run.lost - found.base.lost > LOST_SHARE * max(1, found.basis.scenario.n)
    if gain is None or lost or not gain.certain or gain.delta >= 0:
        return False
    least = WORTH_GOODPUT if found.objective.metric == "goodput" else WORTH * abs(gain.before)
    return -gain.delta >= least


def payers(classes: Sequence[tuple[Group, Change]]) -> tuple[str, ...]:
    """Classes that are slower, by how much."""
    out = []
    for group, moved in classes:
        relative = moved.relative
        if moved.certain and relative is not None and relative > PAYS:
            out.append(f"{group.name} ({relative:+.0%})")
    return tuple(out)


def told(run: Compared, found: Comparison) -> str:
    """The change in words, with its interval."""
    gain = run.gain
    if gain is None:
        return "no figure"
    if found.objective.metric == "goodput":
        bounds = "" if gain.low is None or gain.high is None else f" ({-gain.high:+.1%} to {-gain.low:+.1%})"
        return f"{-gain.after:.1%} of the requests within the limits instead of {-gain.before:.1%}{bounds}"
    bounds = ""
    if gain.low is not None and gain.high is not None and gain.before:
        bounds = f", 95 % interval {gain.low / gain.before:+.0%} to {gain.high / gain.before:+.0%}"
    share = "" if gain.relative is None else f" ({gain.relative:+.0%}{bounds})"
    return f"{found.objective.text} {gain.before:.3g} s → {gain.after:.3g} s{share}"
