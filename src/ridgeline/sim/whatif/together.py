"""A second round: where nothing below the price of a server mends alone, the best of it with one more change."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ridgeline.sim.settings import SettingError, Settings
from ridgeline.sim.whatif.advise import CLOSE
from ridgeline.sim.whatif.choose import Good, mends, removed
from ridgeline.sim.whatif.compare import ranked
from ridgeline.sim.whatif.hypotheses import Hypothesis, made_of
from ridgeline.sim.whatif.result import Compared, Comparison
from ridgeline.sim.whatif.variants import Variant, variant_of
from ridgeline.words.whatif import LIFTS, PRICES

MOST_PAIRS: Final = 14
MOST_SERVERS: Final = 2
LEADS: Final = 2


def pairs(
    helps: Sequence[Compared], found: Comparison, tries: Mapping[str, Hypothesis], before: Good | None
) -> list[Hypothesis]:
    """Changes to take together: the best that help and need no server, each with `LIFTS`, with the other and with more
    servers; none where one of them mends alone, or no good time (``before``) says what mending is.

    ``tries``: by the variant's name. A pair costs what the dearer of both costs.
    """
    cheap = [run for run in sorted(helps, key=lambda run: run.score) if tries[run.variant.name].price != "server"]
    if before is None or any(mends(run, found, before) for run in cheap):
        return []
    leads: list[Hypothesis] = []
    for one in (tries[run.variant.name] for run in cheap):
        if all(keys(one) != keys(known) for known in leads):
            leads.append(one)
    servers = [one for one in tries.values() if one.price == "server"][:MOST_SERVERS]
    base = found.base.variant.settings
    out: list[Hypothesis] = []
    for lead in leads[:LEADS]:
        for other in (*leads[:LEADS], *made_of(LIFTS, base, 0), *servers):
            both = None if keys(other) & keys(lead) else joined(lead, other, base)
            if both is not None and all(both.variant.name != known.variant.name for known in out):
                out.append(both)
    return out[:MOST_PAIRS]


def keys(one: Hypothesis) -> set[str]:
    """What a change moves."""
    return {name for name, _ in one.variant.changes} | ({"unpin"} if one.variant.unpin else set())


def adds(run: Compared, first: Comparison, before: Good | None) -> bool:
    """Whether a change gives more than what is part of it: of the objective, or of the harm that is left."""
    mine = set(run.variant.changes)
    parts = [one for one in first.runs[1:] if set(one.variant.changes) <= mine and (run.variant.unpin or
             not one.variant.unpin)]  # fmt: skip
    least = CLOSE * abs(first.base_figure)
    share = removed(run, first, before)
    return all(run.score < one.score - least or share > removed(one, first, before) + CLOSE for one in parts)


def joined(one: Hypothesis, other: Hypothesis, base: Settings) -> Hypothesis | None:
    """Both changes as one; None where they contradict each other."""
    changes: dict[str, Any] = {**dict(one.variant.changes), **dict(other.variant.changes)}
    try:
        settings = replace(base, **changes)
    except SettingError:
        return None
    variant = Variant(variant_of(base, settings).changes, settings, one.variant.unpin or other.variant.unpin)
    risks = dict.fromkeys(risk for risk in (one.risk, other.risk) if risk)
    return Hypothesis(variant, max(one.price, other.price, key=PRICES.index), "; ".join(risks))


def merged(first: Comparison, second: Comparison, before: Good | None) -> Comparison:
    """Two comparisons on the same base as one; of the second only what gives more than each of its parts alone."""
    runs = ranked([*first.runs, *(run for run in second.runs[1:] if adds(run, first, before))])
    return replace(
        first, runs=tuple(runs), planned=first.planned + second.planned,
        interrupted=first.interrupted or second.interrupted,
        warnings=tuple(dict.fromkeys((*first.warnings, *second.warnings))),
    )  # fmt: skip
