"""The decision as statements: what to do first, what is equal, what was tried of the diagnosis' own remedy."""

from collections.abc import Mapping, Sequence
from typing import Final

from ridgeline.model.fact import Statement
from ridgeline.sim.whatif.advise import distrust, told, worth
from ridgeline.sim.whatif.choose import Choice
from ridgeline.sim.whatif.flags import named, parts_of
from ridgeline.sim.whatif.result import Compared, Comparison
from ridgeline.sim.whatif.variants import UNASKED, Variant
from ridgeline.words.whatif import BY_LOAD, COSTS, Price

MOST_EQUAL: Final = 3


def action(variant: Variant, tentative: bool = False) -> Statement:
    """A change as an order: what to set, and who stops asking for a rank; ``tentative``: inside a sentence."""
    flags = (("flags", parts_of(variant.changes, variant.settings)[0]),)
    if variant.unpin:
        return Statement("decide.let-go.try" if tentative else "decide.let-go", flags)
    return Statement("decide.flags" if tentative else "decide.set", flags)


def short(run: Compared, price: Mapping[str, Price]) -> Statement:
    """A setting, its gain and its price in a few words."""
    flags, _ = parts_of(run.variant.changes, run.variant.settings)
    what = ((UNASKED,) if run.variant.unpin or not flags else ()) + flags
    share = None if run.gain is None else run.gain.relative
    return Statement("decide.run", (("what", what), ("share", share), ("cost", COSTS[price[run.variant.name]])))


def beside(choice: Choice, price: Mapping[str, Price]) -> tuple[Statement, ...]:
    """What gives more, what is as good within the noise, and why the chosen one was chosen; each a sentence."""
    chosen, out = choice.chosen, []
    if choice.less is not None:
        out.append(Statement("decide.less", (("run", short(choice.less, price)),)))
    if choice.best is not None:
        out.append(Statement("decide.more", (("run", short(choice.best, price)),)))
    if not choice.equal:
        return tuple(out)
    more = len(choice.equal) - MOST_EQUAL
    runs = tuple(short(run, price) for run in choice.equal[:MOST_EQUAL])
    out.append(Statement("decide.equal", (("runs", runs), ("more", more if more > 0 else None))))
    kind = price[chosen.variant.name]
    if choice.cheaper:
        out.append(Statement("decide.cheaper", (("cost", COSTS[kind]),)))
    elif any(run.score < chosen.score for run in choice.equal):
        by_load = any(value in BY_LOAD for _, value in chosen.variant.changes)
        usual = "it places by load, whatever traffic comes next" if by_load else SMALLER
        why = {"server": "it needs fewer servers", "memory": "it needs less memory"}.get(kind, usual)
        out.append(Statement("decide.because", (("why", why),)))
    return tuple(out)


SMALLER: Final = "it is the smaller step or the lesser risk"


def of_remedy(flags: Sequence[str], found: Comparison, helps: Sequence[Compared], asked: int) -> tuple[Statement, ...]:
    """What became of the diagnosis' own remedies, where their flags were tried alone and none of them helped."""
    out = []
    for flag in flags:
        name = flag.split()[0]
        mine = [run for run in found.runs[1:] if not run.variant.unpin and name in flag_of(run).split()]
        exact = [run for run in mine if flag_of(run) == flag] or mine
        gains = [run.gain.relative for run in exact if run.gain is not None and run.gain.relative is not None]
        if not gains or any(run in helps for run in mine):
            continue
        figures = (
            ("flag", flag), ("judged", verdict_on(exact, found)), ("low", min(gains)),
            ("high", max(gains) if len(gains) > 1 else None),
            ("asked", asked if name == "--load-balance-method" and asked else None),
        )  # fmt: skip
        out.append(Statement("decide.remedy", figures))
    return tuple(dict.fromkeys(out))


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


def without(cause: str, found: Comparison, remedy: tuple[Statement, ...]) -> Statement:
    """Where nothing tried is worth it."""
    tried = [run for run in found.runs[1:] if run.gain is not None]
    best = min(tried, key=lambda run: run.score, default=None)
    near = None
    if best is not None:
        figures = (("n", len(tried)), ("name", best.variant.name), ("gain", told(best, found)))
        near = Statement("decide.near", figures)
    about = (("cause", cause), ("near", near), ("remedy", remedy))
    if found.gate is not None and not found.gate.trust:
        return Statement("decide.none.untrusted", (("why", distrust(found.gate)), *about))
    return Statement("decide.none.hurts" if best is not None and best.score >= 0 else "decide.none", about)
