"""Which requests: classes of slow ones with their intervals, representatives beside their twins, the prefix split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ridgeline.bundle.view import View
from ridgeline.facts.classes import Slow, slow_classes
from ridgeline.facts.points import ready
from ridgeline.facts.prefix import HOW_PROMPTS, prefix_loss
from ridgeline.facts.timeline import timelines
from ridgeline.model.chart import Bars, Column, Picture, Range, Ranges, Stack, Stacks, Tone
from ridgeline.model.fact import Missing
from ridgeline.prefix.split import REASONS

HOW_CLASSES: Final = "--log-requests --log-requests-level 1, or the metrics exporter"
CLASS_COLUMNS: Final = (
    Column("class"), Column("requests", "count"), Column("slow", "count"), Column("share slow", "share"),
    Column("low", "share"), Column("high", "share"), Column("lift", "ratio"), Column("of all slow", "share"),
)  # fmt: skip


def classes(view: View) -> Picture:
    """The classes that mark slow requests: the share of each that is slow, with its interval, beside that of all."""
    slow = slow_classes(ready(view))
    if slow is None:
        return Picture("classes", None, missing=(Missing("thirty requests with times and attributes", HOW_CLASSES),))
    return classes_of(slow)


def classes_of(slow: Slow) -> Picture:
    """The outcome of a class search as a picture; without a class the sentence says so."""
    search = slow.search
    usual = search.slow / search.rows if search.rows else 0.0
    found = [(slow.label(c), "marked", c) for c in search.classes[:6]]
    found += [(f"{slow.label(c)} (length explains it)", "other", c) for c in search.explained_by_strata[:3]]
    figures = (
        ("n", search.rows), ("slow", search.slow), ("threshold", slow.threshold_s), ("what", slow.what),
        ("usual", usual), ("name", found[0][0] if found else ""), ("share", found[0][2].share if found else None),
    )  # fmt: skip
    if not found:
        return Picture("classes", None, figures, says="picture.classes.none")
    rows: list[Range] = []
    for label, tone, c in found:
        shown: Tone = "marked" if tone == "marked" else "other"
        rows.append(Range(label, shown, c.share, c.interval.low, c.interval.high))
    table = [
        (label, c.rows, c.slow, c.share, c.interval.low, c.interval.high, c.lift, c.coverage) for label, _, c in found
    ]
    return Picture("classes", Ranges("share", tuple(rows), usual), figures, CLASS_COLUMNS, tuple(table))


WATERFALL_COLUMNS: Final = (Column("request"), Column("is"), Column("stage"), Column("from", "s"), Column("to", "s"))


def waterfall(view: View, pairs: Sequence[tuple[str, str | None]]) -> Picture:
    """Representatives, each above its twin, from head to tail."""
    bars = [t for t in timelines(ready(view), pairs) if t.segments]
    if not bars:
        how = "--log-requests or the metrics exporter: a request that stands for the slow ones, with its stages"
        return Picture("waterfall", None, missing=(Missing("a slow request with its stages", how),))
    rows = tuple((t.rid, t.label, s.stage, s.start_s, s.end_s) for t in bars for s in t.segments)
    longest = max(bars[0].segments, key=lambda s: s.end_s - s.start_s)
    seconds = longest.end_s - longest.start_s
    beside = next((t for t in bars[1:2] if t.label != bars[0].label), None)
    same = [s for s in beside.segments if s.stage == longest.stage] if beside else []
    figures = (
        ("rid", bars[0].rid), ("seconds", seconds), ("stage", longest.stage),
        ("twin_s", same[0].end_s - same[0].start_s if same else None),
    )  # fmt: skip
    return Picture("waterfall", Bars(tuple(bars)), figures, WATERFALL_COLUMNS, rows)


PREFIX_COLUMNS: Final = (
    Column("window"),
    Column("prompts", "count"),
    Column("what became of it"),
    Column("share", "share"),
)
# A colour for each reason; what was never seen before is no loss.
TONES: Final[dict[str, Tone]] = {
    "scattered_routing": "transfer", "eviction": "queue", "key_split": "return", "page_misaligned": "before",
    "prompt_drift": "prefill", "never_seen": "other",
}  # fmt: skip


def prefix(view: View) -> Picture:
    """What became of the prompt tokens: found in the cache, or lost to which reason; incident and baseline."""
    windows = [("incident" if view.incident else "all", view.incident)]
    windows += [("baseline", view.baseline)] if view.baseline else []
    bars: list[Stack] = []
    table: list[tuple[str, int, str, float]] = []
    for name, window in windows:
        within = ready(view).window(window, None)
        facts = [(reason, prefix_loss(within, reason)) for reason in REASONS]
        known = [(reason, fact) for reason, fact in facts if fact.value is not None]
        if not known:
            continue
        hit = dict(known[0][1].statement.figures).get("hit") or 0.0
        parts: list[tuple[str, Tone, float]] = [("hit", "hit", float(hit))]
        parts += [
            (reason.replace("_", "-"), TONES[reason], float(fact.value)) for reason, fact in known if fact.value > 0
        ]
        rest = max(0.0, 1.0 - sum(v for _, _, v in parts))
        parts += [("not shown by the source", "unaccounted", rest)] if rest > 5e-4 else []
        bars.append(Stack(name, known[0][1].n, tuple(parts)))
        table += [(name, known[0][1].n, part, value) for part, _, value in parts]
    if not bars:
        return Picture("prefix", None, missing=(Missing("prompts or their ids", HOW_PROMPTS),))
    could = {reason.replace("_", "-") for reason in REASONS if reason != "never_seen"}  # what a cache might have kept
    lost = [p for p in bars[0].parts if p[0] in could]
    worst = max(lost, key=lambda p: p[2]) if lost else ("nothing", "other", 0.0)
    figures = (("hit", bars[0].parts[0][2]), ("lost", worst[2]), ("reason", worst[0]))
    return Picture("prefix", Stacks("share", tuple(bars)), figures, PREFIX_COLUMNS, tuple(table))
