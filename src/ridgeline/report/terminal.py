"""The diagnosis on a terminal: finding first, then the ladder, evidence, strips, requests, and what to do next."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ridgeline.model.cause import Remedy
from ridgeline.model.diagnosis import Diagnosis, Finding
from ridgeline.model.fact import Fact, Missing, Statement
from ridgeline.model.picture import Strip, Timeline
from ridgeline.report.escape import plain
from ridgeline.words.catalogue import say

BARS: Final = "▁▂▃▄▅▆▇█"
STATE_STYLE: Final = {"answered": "green", "cannot-tell": "yellow", "not-reached": "bright_black"}
CONFIDENCE_STYLE: Final = {"high": "bold red", "medium": "bold yellow", "low": "yellow"}
VERDICT_STYLE: Final = {"finding": "bold red", "healthy": "bold green", "inconclusive": "bold yellow"}
STAGE_STYLE: Final = ("cyan", "yellow", "magenta", "green", "blue", "red")


def render(
    diagnosis: Diagnosis,
    console: Console,
    strips: Sequence[Strip] = (),
    timelines: Sequence[Timeline] = (),
    lang: str = "en",
) -> None:
    """Print the whole report. Every text that came from a source is escaped."""
    for part in (
        _head(diagnosis, lang),
        *(_finding(f, lang) for f in diagnosis.findings),
        _ladder(diagnosis, lang),
        _evidence(diagnosis, lang),
        _ruled_out(diagnosis),
        _strips(strips),
        _timelines(timelines),
        _coverage(diagnosis),
        _next(diagnosis),
    ):
        if part is not None:
            console.print(part)
            console.print()


def _text(statement: Statement, lang: str) -> str:
    return plain(say(statement.key, dict(statement.figures), lang), 2000)


def _head(d: Diagnosis, lang: str) -> RenderableType:
    line = Text.assemble((d.verdict, VERDICT_STYLE[d.verdict]), ("  " + _text(d.summary, lang), "bold"))
    if d.incident is None:
        return line
    words = f"window {_clock(d.incident.from_ts)} to {_clock(d.incident.to_ts)} ({d.how})"
    if d.baseline is not None:
        words += f", baseline {_clock(d.baseline.from_ts)} to {_clock(d.baseline.to_ts)}"
    return Group(line, Text(words, style="bright_black"))


def _finding(f: Finding, lang: str) -> RenderableType:
    head = Text.assemble((f.cause, CONFIDENCE_STYLE[f.confidence]), f"  {f.confidence} confidence, score {f.score:.2f}")
    lines: list[RenderableType] = [head, Padding(Text(_text(f.statement, lang)), (0, 0, 0, 2))]
    if f.scope:
        where = "; ".join(f"{key} = {', '.join(plain(v, 60) for v in values)}" for key, values in f.scope)
        lines.append(Padding(Text(f"where: {where}"), (0, 0, 0, 2)))
    if f.onset_ts is not None:
        lines.append(Padding(Text(f"since: {_clock(f.onset_ts)}"), (0, 0, 0, 2)))
    if f.because_of is not None:
        lines.append(Padding(Text(f"follows from: {f.because_of}"), (0, 0, 0, 2)))
    if f.caps:
        lines.append(Padding(Text("not surer because: " + "; ".join(f.caps), style="bright_black"), (0, 0, 0, 2)))
    lines += [Padding(_remedy(r), (0, 0, 0, 2)) for r in f.remedies]
    return Group(*lines)


def _remedy(r: Remedy) -> Text:
    words = Text.assemble((f"{r.kind}: ", "bold"), r.action)
    if r.flag:
        words.append(f"  {r.flag}", "cyan")
    notes = ["needs a restart"] if r.needs_restart else []
    notes += [f"loses {r.loses}"] if r.loses else []
    notes += [f"risk: {r.risk}"] if r.risk else []
    if notes:
        words.append(f"  ({'; '.join(notes)})", "bright_black")
    return words


def _ladder(d: Diagnosis, lang: str) -> RenderableType:
    table = Table("rung", "state", "answer", box=None, padding=(0, 1), header_style="bold", title_justify="left")
    for a in d.ladder:
        words = Text(_text(a.question, lang), style="bright_black")
        words.append("\n" + _text(a.answer, lang), "default")
        if a.evidence:
            words.append(f"  [{', '.join(a.evidence)}]", "bright_black")
        for m in a.missing:
            words.append("\n" + _missing(m), "yellow")
        table.add_row(a.rung, Text(a.state, style=STATE_STYLE[a.state]), words)
    return table


def _missing(m: Missing) -> str:
    return plain(f"missing: {m.signal}; {m.how}")


def _evidence(d: Diagnosis, lang: str) -> RenderableType | None:
    told = {name for f in d.findings for name in f.evidence} | {name for a in d.ladder for name in a.evidence}
    shown = [(name, fact) for name, fact in d.evidence if name in told]
    if not shown:
        return None
    table = Table("evidence", "value", "what", "from", box=None, padding=(0, 1), header_style="bold")
    for name, fact in shown:
        cites = ", ".join(plain(s, 60) for s in fact.sources[:3]) + (" …" if len(fact.sources) > 3 else "")
        table.add_row(name, value_of(fact), _text(fact.statement, lang), Text(cites, style="bright_black"))
    more = len(d.evidence) - len(shown)
    if not more:
        return table
    words = f"{more} more rule causes out; `ridgeline show` prints any of them with its source lines"
    return Group(table, Text(words, style="bright_black"))


def value_of(fact: Fact) -> str:
    """The value with its unit; "not measured" where there is none."""
    if fact.value is None:
        return "not measured"
    if isinstance(fact.value, bool):
        return "yes" if fact.value else "no"
    if isinstance(fact.value, float):
        return f"{fact.value:.4g} {fact.unit}".rstrip()
    return plain(f"{fact.value} {fact.unit}".rstrip(), 60)


def _ruled_out(d: Diagnosis) -> RenderableType | None:
    if not d.ruled_out:
        return None
    words = ", ".join(f"{cause} [{', '.join(ids)}]" if ids else cause for cause, ids in d.ruled_out)
    return Text.assemble(("ruled out  ", "bold"), words)


def spark(strip: Strip) -> str:
    """One character per bin, full height at the cap (or the highest reading); a gap is a space."""
    known = [v for v in strip.values if v is not None]
    top = strip.cap or max(known, default=0.0) or 1.0
    return "".join(
        " " if v is None else BARS[min(len(BARS) - 1, max(0, int(v / top * len(BARS))))] for v in strip.values
    )


def _strips(strips: Sequence[Strip]) -> RenderableType | None:
    if not strips:
        return None
    table = Table(box=None, padding=(0, 1), show_header=False)
    for s in strips:
        top = max((v for v in s.values if v is not None), default=0.0)
        table.add_row(s.name, plain(s.where, 40), spark(s), f"max {top:.4g}")
    span = f"{_clock(strips[0].from_ts)} to {_clock(strips[0].to_ts)}, a blank is a gap in the evidence"
    return Group(table, Text(span, style="bright_black"))


def bar(t: Timeline, total_s: float, width: int = 60) -> Text:
    """The request's stages to scale; time between the segments is left as dots."""
    out = Text()
    at = 0
    for k, s in enumerate(t.segments):
        begin, end = round(s.start_s / total_s * width), round(s.end_s / total_s * width)
        out.append("·" * (begin - at))
        out.append("█" * max(0, end - max(begin, at)), STAGE_STYLE[k % len(STAGE_STYLE)])
        at = max(at, end)
    return out


def timelines(bars: Sequence[Timeline]) -> RenderableType:
    """Bars of several requests on one scale, each with its figures and stage times below."""
    longest = max((t.total_s or 0.0 for t in bars), default=0.0) or 1.0
    lines: list[RenderableType] = []
    for t in bars:
        head = Text.assemble(
            (plain(t.rid, 60), "bold"), f"  {t.label}  ", *(f"{k} {plain(v, 40)}  " for k, v in t.facts)
        )
        lines += [head, Padding(bar(t, longest), (0, 0, 0, 2))]
        stages = "  ".join(f"{s.stage} {s.end_s - s.start_s:.3f} s" for s in t.segments)
        lines.append(Padding(Text(stages, style="bright_black"), (0, 0, 0, 2)))
        lines += [Padding(Text(plain(m), style="yellow"), (0, 0, 0, 2)) for m in t.missing]
    return Group(*lines)


def _timelines(bars: Sequence[Timeline]) -> RenderableType | None:
    return timelines(bars) if bars else None


def _coverage(d: Diagnosis) -> RenderableType | None:
    if not d.coverage:
        return None
    table = Table("read", "as", "rows", "unread", "notes", box=None, padding=(0, 1), header_style="bold")
    for c in d.coverage:
        notes = Text("\n".join(plain(n) for n in c.notes), style="bright_black")
        unread = Text(str(c.unparsed), style="yellow" if c.unparsed else "default")
        table.add_row(plain(c.source, 80), c.kind, str(c.rows), unread, notes)
    return table


def _next(d: Diagnosis) -> RenderableType | None:
    if not d.next:
        return None
    return Group(Text("next", style="bold"), *(Padding(Text(plain(step, 2000)), (0, 0, 0, 2)) for step in d.next))


def _clock(ts: float) -> str:
    return datetime.fromtimestamp(ts, UTC).strftime("%Y-%m-%d %H:%M:%S")
