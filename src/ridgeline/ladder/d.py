"""Ladder D, the prefix cache: flushed or misread, the same ids, eviction, page alignment, placement; in this order."""

from __future__ import annotations

from ridgeline.facts.reuse import FULL
from ridgeline.ladder.context import Context, answer
from ridgeline.model.diagnosis import Answer


def flushed(context: Context) -> Answer:
    """D0: was the cache emptied or switched off, or does only the gauge mislead?"""
    ask = context.book.ask
    flush, off, gauge = ask("flush_explains"), ask("cache_off"), ask("misread_rate")
    hits = ask("hit_ratio")
    # A flush that was seen explains a loss only where one was measured around it.
    told = flush.statement.key != "flush.seen" or any(f.cause == "cache.flushed" for f in context.findings)
    emptied = "flushed" if told else "emptied"
    word = "off" if off.value else emptied if flush.value else "misread" if gauge.value else "neither"
    causes = {"off": "cache.disabled", "misread": "cache.metric-artefact"}
    named = "cache.flushed" if word == emptied else causes.get(word)
    return answer(
        context,
        "D0",
        f"d0.{word}",
        (flush, off, gauge, hits),
        _excluded(context, "cache.flushed", "cache.disabled", "cache.metric-artefact"),
        (flush,) if named is None else (),
    )


def same(context: Context) -> Answer:
    """D1: are the ids the same: drifting heads, keys that split equal prompts."""
    ask = context.book.ask
    content, keys, kind = ask("content_changed"), ask("keys_split"), ask("first_difference")
    grew = content.statement.key == "drift.other"  # told by the tokens that hit, not by the prompts themselves
    word = "keys" if keys.value else "drift" if content.value else "grew" if grew else "same"
    needs = () if keys.value or content.value else (content,)
    ruled = _excluded(context, "cache.prompt-drift", "cache.key-split")
    return answer(context, "D1", f"d1.{word}", (content, keys, kind), ruled, needs)


def evicted(context: Context) -> Answer:
    """D2: is the pool so full that prefixes have to give way?"""
    ask = context.book.ask
    peak, tokens, lost = ask("usage", stat="peak"), ask("evicted_tokens"), ask("prefix_loss", reason="eviction")
    full = peak.value is not None and peak.value >= FULL
    ruled = _excluded(context, "cache.eviction")
    key = "d2.full" if full else "d2.room"
    return answer(context, "D2", key, (peak, tokens, lost), ruled, (peak,), peak=peak.value)


def aligned(context: Context) -> Answer:
    """D3: what do whole pages lose? Only with a page size that is stated."""
    ask = context.book.ask
    bite, loss = ask("pages_bite"), ask("prefix_loss", reason="page_misaligned")
    ruled = _excluded(context, "cache.page-misaligned")
    return answer(context, "D3", "d3.bites" if bite.value else "d3.little", (bite, loss), ruled, (bite,))


def placed(context: Context) -> Answer:
    """D4: are requests of one key spread over more ranks than before?"""
    ask = context.book.ask
    spread, lost = ask("scattered"), ask("prefix_loss", reason="scattered_routing")
    ruled = _excluded(context, "cache.scattered-routing")
    one = spread.statement.key == "places.one"
    key = "d4.spread" if spread.value else "d4.one" if one else "d4.kept"
    return answer(context, "D4", key, (spread, lost), ruled, (spread,))


def _excluded(context: Context, *causes: str) -> tuple[str, ...]:
    return tuple(c for c in context.excluded("cache") if c in causes)


RUNGS = (flushed, same, evicted, aligned, placed)
