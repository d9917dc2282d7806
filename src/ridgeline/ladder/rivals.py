"""A finding is no surer than the evidence that would tell it from its rivals.

A rival is a cause that is still possible, that other evidence already speaks for, and whose one open question decides:
either its unheard required signs would rule the finding out, or it would explain the finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ridgeline.causes.sign import HINT
from ridgeline.ladder.judge import Judgement

TELLING: Final = frozenset({"change", "event_count", "uneven_queues"})


def weighed(judged: Sequence[Judgement]) -> tuple[Judgement, ...]:
    """The same judgements; one that holds beside an unheard rival is low, with the rival's name as its cap.

    So is what such a one explains: the rival may explain it as well.
    """
    # Where each prompt hits as many tokens as before, prompts only grew: nothing is lost that could explain anything.
    grew = any(("of", "cached_each") in h.sign.args and h.answer is True for j in judged for h in j.heard)
    rivals = [r for r in judged if not r.holds and not r.ruled_out and (_speaks(r) or (_fell(r) and not grew))]
    found = {j.cause.id: [r for r in rivals if _unheard(j, r)] for j in judged if j.holds}
    direct = {cause: of for cause, of in found.items() if of}
    for j in judged:
        for cause in j.cause.explains if j.cause.id in direct else ():
            if cause in found:
                found[cause] = [*found[cause], *(r for r in direct[j.cause.id] if r not in found[cause])]
    return tuple(_against(j, found.get(j.cause.id, [])) for j in judged)


def _against(j: Judgement, rivals: Sequence[Judgement]) -> Judgement:
    if not rivals:
        return j
    names = ", ".join(sorted(r.cause.id for r in rivals))
    return replace(j, confidence="low", caps=(*j.caps, f"unheard-rival: {names}"))


def _speaks(r: Judgement) -> bool:
    """Whether half of its signs' weight speaks for it, a happening, or one supporting sign that points somewhere."""
    if any(h.answer is True and h.part == "required" and h.sign.measure == "event_count" for h in r.heard):
        return True
    pointed = any(h.answer is True and h.part == "supporting" and h.sign.weight >= HINT for h in r.heard)
    return pointed or (r.score >= 0.5 and any(h.answer is True and h.part == "required" for h in r.heard))


def _fell(r: Judgement) -> bool:
    """Whether prompts hit less than before, as the rival has it: what the hits were lost to may explain the rest."""
    return any(h.answer is True and h.part != "absent" and ("of", "hit_ratio") in h.sign.args for h in r.heard)


def _more(j: Judgement) -> bool:
    """Whether more arrives than before: then hits may be lost to that."""
    return any(h.answer is True and h.part == "supporting" and ("of", "arrival_rate") in h.sign.args for h in j.heard)


def _unheard(j: Judgement, r: Judgement) -> bool:
    """Whether what is unknown of the rival would rule the finding out, or would make it the rival's consequence.

    The latter needs a change, a happening, or queues uneven from moment to moment, that the rival requires, that is
    measured, and that the finding says nothing of.
    """
    if not _speaks(r):  # only lost hits speak for it, and a cause of the cache has its own reading of them
        own_reading = j.cause.layer in ("cache", "storage") or _fell(j) or _more(j)
        return j.cause.id in r.cause.explains and not own_reading
    own = {(h.sign.measure, h.sign.args) for h in j.heard if h.part == "required"}
    told = {
        (h.sign.measure, h.sign.args)
        for h in r.heard
        if h.part == "required"
        and h.answer is True
        and h.sign.measure in TELLING
        and h.fact.statement.key != "free_places"  # one place that queues is what the finding itself says
    }
    if j.cause.id in r.cause.explains and told - own:
        return True
    asked = {(h.sign.measure, h.sign.args) for h in r.heard if h.part == "required" and h.answer is None}
    missing = {(h.sign.measure, h.sign.args) for h in j.heard if h.part == "absent" and h.answer is None}
    # Without a baseline no comparison is heard: that says nothing for a rival.
    return bool(asked) and asked <= missing and not r.cause.comparative
