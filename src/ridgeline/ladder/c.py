"""Ladder C, memory: which shortage, what usage counts, who holds it, why outputs end, kept on purpose, or lost.

The rungs are asked where the symptom or a finding is about memory, or where the evidence holds a shortage. C4's rule
holds only for a usage that counts evictable cache: SGLang's token_usage and vLLM's kv_cache_usage never do.
"""

from __future__ import annotations

from typing import Final

from ridgeline.ladder.context import Context, answer
from ridgeline.model.diagnosis import Answer

# Kinds of shortage in the order in which they end a server; a retraction is none, and comes last.
SHORTAGES: Final = (
    "host-oom",
    "cuda-oom",
    "slots-exhausted",
    "pool-full",
    "disk-full",
    "request-too-large",
    "retraction",
    "preemption",
)
PUT_BACK: Final = SHORTAGES[-2:]  # counted in requests: one line may put several back
KEPT_HITS: Final = 0.8
KEPT_SHARE: Final = 0.5


def wanted(context: Context) -> bool:
    """Whether there is anything about memory to ask."""
    if "memory" in context.asked.ladders or any(f.layer == "memory" for f in context.findings):
        return True
    ask = context.book.ask
    return any((ask("event_count", kinds=kind).value or 0) > 0 for kind in SHORTAGES[:4])


def which(context: Context) -> Answer:
    """C0: which "OOM" is it? Retraction (0.4.6's "Decode out of memory happened" too) is no shortage that kills."""
    ask = context.book.ask
    seen = [(kind, ask("event_count", kinds=kind)) for kind in SHORTAGES]
    told = [(kind, fact) for kind, fact in seen if (fact.value or 0) > 0]
    moved, failed, killed = ask("retractions"), ask("allocation_failures"), ask("killed")
    pages = dict(failed.statement.figures)
    short_of_pages = bool(failed.value) and (pages.get("free") or 0) >= (pages.get("asked") or float("inf"))
    kind = told[0][0] if told else "retraction" if moved.value else "none"
    key = "c0.pages" if kind == "pool-full" and short_of_pages else f"c0.{kind}"
    return answer(
        context,
        "C0",
        key,
        (*(fact for _, fact in told), moved, failed, killed),
        context.excluded("memory"),
        () if told or moved.value else (ask("event_count", kinds=",".join(SHORTAGES)),),
        times=told[0][1].value if told and kind not in PUT_BACK else dict(moved.statement.figures).get("requests"),
        others=", ".join(f"{other} ({fact.value})" for other, fact in told[1:]) or None,
        asked=pages.get("asked"),
        free=pages.get("free"),
        free_pages=pages.get("free_pages"),
        page=pages.get("page"),
    )


def used(context: Context) -> Answer:
    """C1: usage over time, and what it counts in this version."""
    ask = context.book.ask
    usage, last, pool = ask("usage"), ask("usage", stat="last"), ask("pool_tokens")
    told = dict(usage.statement.figures)
    return answer(
        context,
        "C1",
        f"c1.{'vllm' if context.served.vllm else 'sglang'}",
        (usage, last, pool),
        (),
        (usage,),
        usage=usage.value,
        first=told.get("first"),
        last=told.get("last"),
        peak=told.get("peak"),
        pool=None if told.get("which") else pool.value,  # `tokens` are of another pool than the fullest
        which=told.get("which"),
    )


def held(context: Context) -> Answer:
    """C2: how many run, and what each of them holds."""
    ask = context.book.ask
    each, batch, length = ask("tokens_per_running"), ask("batch_size"), ask("output_tokens")
    small = ask("pool_too_small")
    return answer(
        context,
        "C2",
        "c2.small" if small.value else "c2.held",
        (each, batch, length, small),
        (),
        (each,),
        each=each.value,
        batch=batch.value,
        length=length.value,
        pool=dict(small.statement.figures).get("pool"),
    )


def ended(context: Context) -> Answer:
    """C3: finish reasons against limits. Equal lengths are a limit; unlogged parameters leave it unknown."""
    ask = context.book.ask
    unlimited, own = ask("unlimited_outputs"), ask("runaway_outputs")
    told = dict(unlimited.statement.figures)
    if unlimited.statement.key == "outputs.identical":
        key = "c3.limit"
    elif unlimited.value is not None and unlimited.value >= 0.3:
        key = "c3.runaway" if unlimited.statement.key == "outputs.runaway" else "c3.unlimited"
    else:
        key = "c3.bounded"
    return answer(
        context,
        "C3",
        key,
        (unlimited, own),
        tuple(c for c in context.excluded("memory") if c == "memory.no-token-limit"),
        (unlimited,),
        cut=told.get("cut"),
        unset=told.get("unset"),
        longest=told.get("longest"),
        common=told.get("common"),
        share=unlimited.value,
    )


def kept(context: Context) -> Answer:
    """C4: is it cache that is kept on purpose? Only where the usage seen counts what can be evicted."""
    ask = context.book.ask
    free, hits, usage = ask("evictable_share"), ask("hit_ratio"), ask("usage")
    if free.value is None:
        # Usage of the pool is what requests lock: the rule does not apply to it as such.
        key = "c4.locked" if usage.value is not None else "c4.kept"
    elif free.value >= KEPT_SHARE and (hits.value or 0.0) > KEPT_HITS:
        key = "c4.kept"
    else:
        key = "c4.cold" if free.value >= KEPT_SHARE else "c4.not"
    return answer(
        context,
        "C4",
        key,
        (free, hits, usage),
        tuple(c for c in context.excluded("memory") if c == "memory.retained-cache"),
        (free,) if usage.value is None else (),
        evictable=free.value,
        hits=hits.value,
        usage=usage.value,
    )


def lost(context: Context) -> Answer:
    """C5: does usage stay when nothing runs, or beyond all that the requests in flight could hold?"""
    ask = context.book.ask
    leaked, idle, unowned = ask("leaked"), ask("idle_usage"), ask("unowned_share")
    told = dict(leaked.statement.figures)
    if leaked.value and leaked.statement.key == "leak.check":
        key = "c5.missing" if told.get("missing") else "c5.surplus" if told.get("surplus") else "c5.check"
    elif leaked.value:
        key = "c5.idle" if idle.value and idle.value >= 0.1 else "c5.unowned"
    else:
        key = "c5.none"
    return answer(
        context,
        "C5",
        key,
        (leaked, idle, unowned, ask("event_count", kinds="pool-leak-check")),
        tuple(c for c in context.excluded("memory") if c == "memory.leak"),
        (leaked,),
        idle=idle.value,
        unowned=unowned.value,
        missing=told.get("missing"),
        surplus=told.get("surplus"),
        total=told.get("total"),
    )


RUNGS: Final = (which, used, held, ended, kept, lost)
