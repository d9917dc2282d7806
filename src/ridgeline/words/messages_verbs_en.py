"""English of what `prefix`, `request` and `classes` say."""

from typing import Final

VERBS: Final[dict[str, str]] = {
    "prefix.no-prompts": (
        "no prompts were read, so that lost tokens cannot be split by reason; what is known without them:"
    ),
    "prefix.nothing": "no prompts were read, and nothing else says how many prompt tokens were cached",
    "prefix.missing": "missing:",
    "prefix.lacks": "{signal:phrase}: {how:phrase}",
    "prefix.head": "{requests:,} prompts, {tokens:,} {unit:phrase}",
    "prefix.untold": "cannot be told",
    "prefix.blocks": "in blocks: {hit:,} of {blocks:,} found ({share:.1%})",
    "prefix.engine": "the engine found {cached:,} of {tokens:,} tokens ({share:.1%}) where it says; here {ours:.1%}",
    "prefix.by": "by {what:phrase}, most lost first:",
    "prefix.group": (
        "{name:phrase}: {requests:,} prompts, hit {hit:.1%}, lost {lost:,}[[, most by {reason} ({most:,})]]"
    ),
    "prefix.first": "first differences of prompts that should share:",
    "prefix.difference": (
        "{kind:phrase}: {prompts:,} prompts, {tokens:,} {unit:phrase} behind it; at {position:,} ({share:.0%} of the "
        "prompt, median); such as {where}"
    ),
    "prefix.note": "note: {text:phrase}",
    "request.facts": "{rid} ({label}): {stages:phrase}; {facts}",
    "request.no-twin": "no finished request of much the same shape was seen beside it",
    "classes.slow": "{slow} of {n} requests are slow ({what} of at least {threshold:.3g} s)",
    "classes.outlier": "one outlier, no class: {rid}",
    "classes.none": "no input attribute marks them",
    "classes.by-length": "explained by length alone:",
    "classes.no-peers": "nothing of the same length to compare with:",
    "classes.class": (
        "{attributes:join and }: {slow} of {n} are slow ({low:.0%} to {high:.0%}), lift {lift:.2f}"
        "[[, {within:.2f} within its lengths]][[{alone:phrase}]], holds {coverage:.0%} of the slow"
    ),
    "classes.same": "the same requests as {attributes:join and }",
    "classes.rest": "{n} slow requests are in none of these classes",
}
