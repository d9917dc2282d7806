"""Bars: parts that add up, shares with intervals, requests from head to tail."""

from __future__ import annotations

from typing import Final

from ridgeline.model.chart import Bars, Ranges, Stacks, Tone
from ridgeline.model.picture import Timeline
from ridgeline.report.page import units
from ridgeline.report.page.svg import WIDTH, Say, Scale, breadth, tag, text, title, x_axis

LEFT: Final = 190.0
RIGHT: Final = WIDTH - 84.0
ROW: Final = 38.0
STAGES: Final[tuple[tuple[str, Tone], ...]] = (
    ("unaccounted", "unaccounted"), ("return", "return"), ("decode", "decode"), ("first token", "prefill"),
    ("prefill", "prefill"), ("transfer", "transfer"), ("bootstrap", "transfer"), ("alloc", "transfer"),
    ("before", "before"), ("tokenize", "before"), ("queue", "queue"),
)  # fmt: skip
EVERYDAY: Final = (("state", "finished"), ("finish", "stop"), ("retractions", "0"))  # goes without saying


def stacks(drawing: Stacks, say: Say) -> tuple[float, str]:
    """(height, body): one bar for each group, the largest parts named inside."""
    totals = [sum(v for _, _, v in bar.parts) for bar in drawing.bars]
    high = 1.0 if drawing.unit == "share" else max([*totals, 1e-9])
    x = Scale(0.0, high, LEFT, RIGHT)
    parts = {name: tone for bar in drawing.bars for name, tone, _ in bar.parts}
    legend, top = _legend([(say(name), tone) for name, tone in parts.items()])
    bottom = top + ROW * len(drawing.bars)
    body = legend + x_axis(x, drawing.unit, bottom, top, 6)
    for k, bar in enumerate(drawing.bars):
        y, at = top + k * ROW + 6, 0.0
        body += text(LEFT - 12, y + 12, say(bar.name), "t b", "end", 26)
        body += text(LEFT - 12, y + 25, f"n = {bar.n:,}", "t s", "end")
        for name, tone, value in bar.parts:
            a, b = x(at), x(at + value)
            words = units.shown(value, drawing.unit)
            body += tag(
                "rect", title(f"{say(name)}: {words}"), class_=f"part {tone}", x=a, y=y, width=max(0.5, b - a - 1),
                height=ROW - 14,
            )  # fmt: skip
            named = f"{say(name)} {words}"
            for told in (named, words):
                if b - a > 10 + breadth(told, 11.5):
                    class_ = "t in" if tone != "other" else "t b"
                    body += text((a + b) / 2, y + 16, told, class_, "middle")
                    break
            at += value
        if drawing.unit != "share":
            body += text(x(at) + 6, y + 16, units.shown(totals[k], drawing.unit), "t b")
    return bottom + 26, body


def ranges(drawing: Ranges, say: Say) -> tuple[float, str]:
    """(height, body): a dot with its interval for each row; a line where all lie, or lay before."""
    top, left = 30.0, 330.0
    bottom = top + 30.0 * len(drawing.rows)
    ends = [v for r in drawing.rows for v in (r.low, r.value, r.high) if v is not None] + [drawing.usual or 0.0, 0.0]
    x = Scale(min(ends) * 1.05, max(ends) * 1.08 or 1.0, left, RIGHT)
    body = x_axis(x, drawing.unit, bottom, top, 6)
    if drawing.usual is not None:
        at = x(drawing.usual)
        body += tag("line", class_="cap", x1=at, x2=at, y1=top - 4, y2=bottom)
        words = f"{say(drawing.usual_name)}: {units.shown(drawing.usual, drawing.unit)}"
        body += text(min(at, WIDTH - 90), top - 10, words, "t s", "middle")
    for k, row in enumerate(drawing.rows):
        y = top + 30.0 * k + 15
        for k_line, line in enumerate(lines := _lines(say(row.name), left - 12)):
            at = y + 4 + 13 * k_line - 6.5 * (len(lines) - 1)
            body += text(left - 12, at, line, "t b" if row.tone == "marked" else "t", "end", 48)
        if row.low is not None and row.high is not None:
            body += tag("line", class_=f"line {row.tone}", x1=x(row.low), x2=x(row.high), y1=y, y2=y)
        told = units.shown(row.value, drawing.unit)
        body += tag(
            "circle", title(f"{say(row.name)}: {told}"), class_=f"dot {row.tone}", cx=x(row.value), cy=y, r=5
        )  # fmt: skip
        body += text(x(max(row.value, row.high or row.value)) + 8, y + 4, told, "t b")
    return bottom + 26, body


def _lines(name: str, room: float) -> list[str]:
    """A name in one line, or where it does not fit in two, cut at a comma near its middle."""
    cuts = [k + 1 for k, c in enumerate(name) if c in ",，" and 0 < k < len(name) - 1]
    if breadth(name) <= room or not cuts:
        return [name]
    cut = min(cuts, key=lambda k: abs(k - len(name) / 2))
    return [name[:cut].rstrip(), name[cut:].strip()]


def tone_of(stage: str) -> Tone:
    """The colour of a stage; of several in one (`decode … return`: no stamp between them) that of the first."""
    first = stage.split(" … ")[0]
    return next((tone for word, tone in STAGES if word in first), "other")


def waterfall(drawing: Bars, say: Say) -> tuple[float, str]:
    """(height, body): all requests on one scale, each with its shape in words above its bar."""
    longest = max((_length(t) for t in drawing.timelines), default=0.0) or 1.0
    x = Scale(0.0, longest, 0.0, WIDTH - 80.0)
    legend, top = _legend(list(dict.fromkeys((say(tone_of(s.stage)), tone_of(s.stage)) for t in drawing.timelines
                                             for s in t.segments)))  # fmt: skip
    body, y = "", top
    for t in drawing.timelines:
        slow = t.label == "slow"
        y += 12 if slow else 0
        facts = " · ".join(f"{say(k)} {_brief(v)}" for k, v in t.facts if (k, v) not in EVERYDAY)
        body += text(0, y + 12, say(t.label), "t b hot" if slow else "t b")
        body += text(120, y + 12, t.rid, "t m", most=34)
        body += text(390, y + 12, facts, "t s", most=80)
        for s in t.segments:
            a, b = x(max(0.0, s.start_s)), x(s.end_s)
            words = f"{say(s.stage)}: {units.seconds(s.end_s - s.start_s)}"
            body += tag("rect", title(words), class_=f"part {tone_of(s.stage)}", x=a, y=y + 18,
                        width=max(0.8, b - a - 0.5), height=16)  # fmt: skip
            if b - a > 10 + breadth(words, 11.5):
                body += text((a + b) / 2, y + 30, words, "t in", "middle")
        body += text(x(_length(t)) + 6, y + 31, units.seconds(_length(t)), "t b")
        y += 42
    return y + 26, legend + x_axis(x, "s", y, top, 8) + body


def _brief(value: str) -> str:
    """A keyed hash by its beginning: the whole stands in the tables."""
    return f"{value[:10]}…" if value.startswith("h:") and len(value) > 12 else value


def _length(t: Timeline) -> float:
    return max([t.total_s or 0.0, *(s.end_s for s in t.segments)])


def _legend(entries: list[tuple[str, Tone]]) -> tuple[str, float]:
    out, at, y = "", 0.0, 4.0
    for words, tone in entries:
        width = 34 + breadth(words)
        if at + width > WIDTH:
            at, y = 0.0, y + 20
        out += tag("rect", class_=f"part {tone}", x=at, y=y, width=12, height=12) + text(at + 18, y + 10, words, "t")
        at += width
    return out, y + 28
