"""Where and whom: the places a finding's own signs name, and the class of requests that is clearly set apart.

A place comes from the figures of the signs a finding rests on. A class comes from the search over the requests that
were hit; what "hit" means follows from the cause: slow, failed, found less in the cache, longer, without a limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ridgeline.ladder.book import Book
from ridgeline.ladder.judge import Judgement
from ridgeline.model.fact import Fact

Scope = tuple[tuple[str, tuple[str, ...]], ...]

# Measures of being hit, the first that sets a class apart counts; by cause, else by layer, else SLOW.
SLOW: Final = ("ttft_s", "e2e_s")
WHO: Final[dict[str, tuple[str, ...]]] = {
    "cache": ("missed",),
    "decode": ("e2e_s",),
    "frontend": ("return_s", "e2e_s", "ttft_s"),
    "client": ("failed",),
    "client.load-generator": (),
    "memory.no-token-limit": ("unlimited",),
    "memory.oom-crash": (),
    "memory.host-oom": (),
    "memory.slots-exhausted": (),
    "fault.crash": (),
    "fault.hang": (),
    "fault.abort": ("failed",),
    "fault.wrong-output": ("short",),
    "queue.never-fits": ("failed",),
    "queue.limit-rejected": ("failed",),
    "queue.head-of-line": ("longer",),
    "prefill.prompt-mix": ("longer",),
}
# What a fact calls its value where it is not the name of the dimension.
CALLED: Final = {"priority": "slow_class", "server": "peer"}
SEVERAL: Final = ("worker", "dp_rank", "server")  # figures that may list several places
SERVERS: Final = "SELECT DISTINCT server FROM servers WHERE server IS NOT NULL"


def scope_of(j: Judgement, book: Book) -> tuple[Scope, tuple[Fact, ...]]:
    """Dimension → values of a finding: its places, and its class where one is clearly set apart; and what says so."""
    servers = [str(server) for (server,) in book.view.query(SERVERS)]
    out = places(j.cause.scope_by, servers, j.facts("required"), j.facts("supporting"))
    known = dict(out)
    classes, facts = hit(book, WHO.get(j.cause.id, WHO.get(j.cause.layer, SLOW)))
    # A class may hold more values than the one that a sign names; a place that a sign names stays. Of placement the
    # sign names who brings the work, and the class all who suffer from it.
    wider = j.cause.layer != "routing"
    more = {
        name: values for name, values in classes if name not in known or (wider and set(known[name]) <= set(values))
    }
    return tuple(sorted({**known, **more}.items())), facts


def hit(book: Book, who: Sequence[str] = SLOW) -> tuple[Scope, tuple[Fact, ...]]:
    """The class of the requests that were hit, by the first of these measures that sets one apart; and its fact."""
    for measure in who:
        fact = book.ask("affected", who=measure)
        if fact.value:
            told = dict(fact.statement.figures)
            names = str(told["names"]).split()
            return tuple((name, tuple(str(told[f"in_{name}"]).split(", "))) for name in names), (fact,)
    return (), ()


def places(by: Sequence[str], servers: Sequence[str], *parts: Sequence[Fact]) -> Scope:
    """Dimensions a cause declares, with the values that the first part of the facts names that names any.

    What only supports a finding may name the busiest place where the finding is another.
    """
    out: dict[str, list[str]] = {}
    for facts in parts:
        out |= _named([d for d in by if d not in out], servers, facts)
    return tuple((dimension, tuple(sorted(set(values)))) for dimension, values in sorted(out.items()))


def _named(by: Sequence[str], servers: Sequence[str], facts: Sequence[Fact]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for fact in facts:
        told = dict(fact.statement.figures)
        place = told.get("place")
        words = str(place).split() if isinstance(place, str) else []
        for dimension in by:
            value = told.get(dimension, told.get(CALLED.get(dimension, dimension)))
            if value in (None, "") and dimension == "dp_rank":
                value = next((w[2:] for w in words if w.startswith("DP") and w[2:].isdigit()), None)
            if value in (None, "") and dimension == "worker" and len(servers) > 1:
                value = next((w for w in words if w in servers), None)
            if value not in (None, ""):
                parts = str(value).split(", ") if dimension in SEVERAL else [str(value)]
                out.setdefault(dimension, []).extend(parts)
    return out
