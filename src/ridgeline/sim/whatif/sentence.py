"""The decision in words: what to do first, what is equal, what was tried of the diagnosis' own remedy."""

from collections.abc import Mapping, Sequence
from typing import Final

from ridgeline.sim.whatif.advise import distrust, told, worth
from ridgeline.sim.whatif.choose import Choice
from ridgeline.sim.whatif.flags import named
from ridgeline.sim.whatif.result import Compared, Comparison
from ridgeline.sim.whatif.variants import Variant
from ridgeline.words.whatif import BY_LOAD, COSTS, LET_GO, Price

MOST_EQUAL: Final = 3


def action(variant: Variant, capital: bool = True) -> str:
    """A change as an order: what to set, and who stops asking for a rank."""
    flag, _ = named(variant.changes, variant.settings)
    text = f"set {flag}" if flag else ""
    if variant.unpin:
        text = f"{LET_GO}, and {text}" if flag else LET_GO
    return text[:1].upper() + text[1:] if capital else text


def short(run: Compared, price: Mapping[str, Price]) -> str:
    """A setting, its gain and its price in a few words."""
    flag, _ = named(run.variant.changes, run.variant.settings)
    text = flag or "no rank asked for"
    if run.variant.unpin and flag:
        text = f"no rank asked for and {flag}"
    share = None if run.gain is None else run.gain.relative
    return f"{text} ({'' if share is None else f'{share:+.0%}, '}{COSTS[price[run.variant.name]]})"


def beside(choice: Choice, price: Mapping[str, Price]) -> str:
    """What gives more, what is as good within the noise, and why the chosen one was chosen; each a sentence."""
    chosen, out = choice.chosen, ""
    if choice.less is not None:
        out = f" For less: {short(choice.less, price)}."
    if choice.best is not None:
        out += f" More is gained with {short(choice.best, price)}."
    if not choice.equal:
        return out
    shown = "; ".join(short(run, price) for run in choice.equal[:MOST_EQUAL])
    more = len(choice.equal) - MOST_EQUAL
    out += f" Equal within noise: {shown}{f' and {more} more' if more > 0 else ''}."
    better = any(run.score < chosen.score for run in choice.equal)
    if choice.cheaper:
        return f"{out} Chosen because it is cheaper ({COSTS[price[chosen.variant.name]]})."
    if not better:
        return out
    by_load = any(value in BY_LOAD for _, value in chosen.variant.changes)
    usual = "it places by load, whatever traffic comes next" if by_load else "it is the smaller step or the lesser risk"
    kind = price[chosen.variant.name]
    why = {"server": "it needs fewer servers", "memory": "it needs less memory"}.get(kind, usual)
    return f"{out} Chosen because {why}."


def of_remedy(flags: Sequence[str], found: Comparison, helps: Sequence[Compared], asked: int) -> str:
    """What became of the diagnosis' own remedies, where their flags were tried alone and none of them helped."""
    out = []
    for flag in flags:
        name = flag.split()[0]
        mine = [run for run in found.runs[1:] if not run.variant.unpin and name in flag_of(run).split()]
        exact = [run for run in mine if flag_of(run) == flag] or mine
        gains = [run.gain.relative for run in exact if run.gain is not None and run.gain.relative is not None]
        if not gains or any(run in helps for run in mine):
            continue
        span = f"{min(gains):+.1%}" if len(gains) == 1 else f"{min(gains):+.1%} to {max(gains):+.1%}"
        judged = verdict_on(exact, found)
        text = f"The diagnosis' remedy, {flag}, was tried alone and {judged} ({span})"
        pinned = name == "--load-balance-method" and asked
        out.append(text + (f": {asked} requests ask for a rank, and no method moves those" if pinned else ""))
    return "".join(f" {text}." for text in dict.fromkeys(out))


def verdict_on(runs: Sequence[Compared], found: Comparison) -> str:
    """What settings did that are not among those that help."""
    gains = [run.gain for run in runs if run.gain is not None]
    if any(worth(run, found) for run in runs):
        return "helps only at the cost of another figure"
    if not any(gain.delta for gain in gains):
        return "changes nothing here"
    return (
        "is worse here" if all(g.delta > 0 for g in gains) and any(g.certain for g in gains) else "does not help here"
    )


def flag_of(run: Compared) -> str:
    """The change as it is typed."""
    return named(run.variant.changes, run.variant.settings)[0]


def without(cause: str, found: Comparison, remedy: str) -> str:
    """Where nothing tried is worth it."""
    tried = [run for run in found.runs[1:] if run.gain is not None]
    best = min(tried, key=lambda run: run.score, default=None)
    near = "" if best is None else f"the best of {len(tried)}, {best.variant.name}, gives {told(best, found)}"
    if found.gate is not None and not found.gate.trust:
        tail = f"; in the simulation {near}" if near else ""
        return f"{distrust(found.gate)}; nothing is recommended for {cause}{tail}.{remedy}"
    if best is not None and best.score >= 0:
        return f"None of the settings the cause suggests helps on this traffic ({cause}; {near}).{remedy}"
    return f"Not worth touching production for {cause}{f'; {near}' if near else ''}.{remedy}"
