"""English of what `compare` says: why a verdict is what it is, and the heads of its tables."""

from typing import Final

COMPARE: Final[dict[str, str]] = {
    "verdict.figure": "{name:phrase}[[ {statistics}]]",
    "verdict.move": "{name} {before:phrase} to {after:phrase}",
    "verdict.bound": "{name} {after:phrase} against {bound:phrase}",
    "verdict.rest": "{name} {after:phrase}, was {before:phrase}, BASELINE {good:phrase}",
    "verdict.no-figure": "both sides share no figure that users feel (TTFT, TPOT, E2E, errors)",
    "verdict.uncomputed": "{names:join, } cannot be computed on both sides",
    "verdict.explained": "it would be {verdict:word} ({why}), but {reasons:join; }: {todo:join; }",
    "verdict.countered": (
        "{sure:join, } got {way:word}, but {doubt:join, } may have got {other:word}: not beyond chance yet"
    ),
    "verdict.better": "better: {figures:join, } ({moves:join, }); nothing users feel got worse",
    "verdict.worse": "worse: {figures:join, } ({moves:join, }); nothing got better",
    "verdict.hidden": "no difference is beyond chance, and {figures:join, } could still hide one",
    "verdict.no-change": "every figure users feel lies within the margin of what it was",
    "verdict.traded": (
        "better: {better:join, } ({better_moves:join, }); worse: {worse:join, } ({worse_moves:join, }): say with --slo "
        "what counts"
    ),
    "verdict.traded.whole": (
        "the whole request (E2E) decides; better: {better:join, } ({better_moves:join, }); worse: {worse:join, } "
        "({worse_moves:join, })"
    ),
    "verdict.slo.already": "INCIDENT meets the SLO already: there is nothing to recover from",
    "verdict.slo.worse": (
        "worse than in INCIDENT: {figures:join, } ({moves:join, }), and beyond the SLO: {bounds:join, }"
    ),
    "verdict.slo.beyond": "still beyond the SLO: {bounds:join, }",
    "verdict.slo.unclear": "not enough to tell whether the SLO is met: {bounds:join, }",
    "verdict.slo.chance": (
        "AFTER meets the SLO, but {figures:join, } is not beyond chance better than in INCIDENT: it may come back"
    ),
    "verdict.slo.met": (
        "AFTER meets the SLO ({bounds:join, }) and is measurably better than INCIDENT: {figures:join, }"
    ),
    "verdict.base.worse": "worse than in INCIDENT and above BASELINE: {figures:join, } ({rest:join, })",
    "verdict.base.unharmed": (
        "INCIDENT is not beyond chance worse than BASELINE in what users feel: recovery cannot be judged"
    ),
    "verdict.base.above": "still above BASELINE: {figures:join, } ({rest:join, })",
    "verdict.base.unclear": ("not enough to tell whether these are back at BASELINE: {figures:join, } ({rest:join, })"),
    "verdict.base.chance": (
        "back at BASELINE, but not beyond chance better than INCIDENT: {figures:join, } ({rest:join, })"
    ),
    "verdict.base.back": "back at BASELINE: {figures:join, } ({rest:join, })",
    "compare.span": "{from} to {to}",
    "compare.needs": "needs",
    "compare.note": "note: {text:phrase}",
    "compare.comparable": "comparable?",
    "compare.incident": "incident",
    "compare.after": "after",
    "compare.baseline": "baseline",
    "compare.alike": "alike",
    "compare.argument": "argument",
    "compare.not-set": "not set",
    "compare.changed": "changed",
    "compare.more": "{n} more arguments differ; --format json lists them",
    "compare.figure": "figure",
    "compare.ratio": "after / incident (95 %)",
    "compare.worth": "n (worth)",
    "compare.n": "n",
    "compare.change": "change",
    "compare.class": "class",
    "compare.basis": ("from {basis:join, }; n is worth less than it counts where requests shared the same bad minutes"),
    "compare.rule": (
        "better or worse: more than {margin:g} % apart, and beyond chance ({alpha:g} %) after correcting for {n} "
        "figures that decide; same: the whole interval within that margin"
    ),
    "compare.star": "* its own interval excludes no change, but not after correcting for {n:join or } figures",
    "compare.range": "{least:phrase} to {most:phrase}",
    "compare.times": "x{ratio} ({low} to {high})",
    "compare.points": "{difference} ({low} to {high}) points",
    "compare.plain": "{difference} ({low} to {high})",
    "compare.not-alike": "not alike: {text:phrase}",
    "compare.moved": "argument `{key}`: {before:phrase} to {after:phrase}",
    "compare.slo.met": "met",
    "compare.slo.missed": "missed",
    "compare.slo.unclear": "unclear",
    "compare.settle": "Needs: {text:phrase}",
}
