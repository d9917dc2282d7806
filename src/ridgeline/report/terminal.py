"""The diagnosis on a terminal: finding first, then the ladder, evidence, strips, requests, and what to do next."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from ridgeline.model.cause import Remedy
from ridgeline.model.diagnosis import Diagnosis, Finding
from ridgeline.model.fact import Fact, Statement
from ridgeline.model.picture import Strip, Timeline
from ridgeline.report.escape import plain
from ridgeline.report.missing import death_first, missing_of
from ridgeline.words.catalogue import SEMICOLON, name_in, say, text_in
from ridgeline.words.messages_en import MESSAGES

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
        *(_finding(f, lang) for f in death_first(diagnosis)),
        _ladder(diagnosis, lang),
        _evidence(diagnosis, lang),
        _ruled_out(diagnosis, lang),
        _missing(diagnosis, lang),
        _strips(strips, lang),
        _timelines(timelines, lang),
        _coverage(diagnosis, lang),
        _next(diagnosis, lang),
    ):
        if part is not None:
            console.print(part)
            console.print()


def _columns(heads: Sequence[str]) -> list[Column]:
    """Columns that wrap whatever has no blank to wrap at: Chinese, and long flags."""
    return [Column(head, overflow="fold") for head in heads]


def _text(statement: Statement, lang: str) -> str:
    return plain(say(statement.key, dict(statement.figures), lang), 2000)


def _head(d: Diagnosis, lang: str) -> RenderableType:
    verdict = say(f"page.verdict.{d.verdict}", {}, lang)
    line = Text.assemble((verdict, VERDICT_STYLE[d.verdict]), ("  " + _text(d.summary, lang), "bold"))
    if d.incident is None:
        return line
    told = {"from": _clock(d.incident.from_ts), "to": _clock(d.incident.to_ts), "how": d.how, "since": None}
    if d.baseline is not None:
        told |= {"since": _clock(d.baseline.from_ts), "until": _clock(d.baseline.to_ts)}
    return Group(line, Text(say("report.window", told, lang), style="bright_black"))


def _finding(f: Finding, lang: str) -> RenderableType:
    sure = say("report.confidence", {"confidence": f.confidence, "score": f.score}, lang)
    head = Text.assemble((f.cause, CONFIDENCE_STYLE[f.confidence]), f"  {sure}")
    lines: list[RenderableType] = [head, Padding(Text(_text(f.statement, lang)), (0, 0, 0, 2))]
    if f.scope:
        where = "; ".join(f"{key} = {', '.join(plain(v, 60) for v in values)}" for key, values in f.scope)
        lines.append(Padding(Text(say("report.where", {"where": where}, lang)), (0, 0, 0, 2)))
    if f.onset_ts is not None:
        lines.append(Padding(Text(say("report.since", {"at": _clock(f.onset_ts)}, lang)), (0, 0, 0, 2)))
    if f.because_of is not None:
        lines.append(Padding(Text(say("report.follows", {"cause": f.because_of}, lang)), (0, 0, 0, 2)))
    if f.caps:
        why = say("report.caps", {"why": SEMICOLON[lang].join(cap_in_words(cap, lang) for cap in f.caps)}, lang)
        lines.append(Padding(Text(plain(why), style="bright_black"), (0, 0, 0, 2)))
    lines += [Padding(_remedy(r, lang), (0, 0, 0, 2)) for r in f.remedies]
    return Group(*lines)


def cap_in_words(cap: str, lang: str = "en") -> str:
    """Why a finding is not surer: `open-twin: memory.leak` and the like, in words."""
    name, _, what = cap.partition(": ")
    if name.startswith("lab-precision-"):
        name, what = "lab-precision", f"{float(name.removeprefix('lab-precision-')):.0%}"
    return say(f"cap.{name}", {"what": what}, lang) if f"cap.{name}" in MESSAGES else cap


def _remedy(r: Remedy, lang: str) -> Text:
    words = Text.assemble((f"{say(f'remedy.{r.kind}', {}, lang)}: ", "bold"), plain(text_in(r.action, lang)))
    if r.flag:
        words.append(f"  {r.flag}", "cyan")
    restart = say("report.restart", {}, lang) if r.needs_restart else None
    told = {"restart": restart, "loses": r.loses, "risk": r.risk}
    if notes := say("report.price", told, lang):
        words.append(f"  ({notes})", "bright_black")
    return words


def _ladder(d: Diagnosis, lang: str) -> RenderableType:
    heads = [say(f"report.{name}", {}, lang) for name in ("rung", "state", "answer")]
    table = Table(*_columns(heads), box=None, padding=(0, 1), header_style="bold", title_justify="left")
    for a in d.ladder:
        words = Text(_text(a.question, lang), style="bright_black")
        words.append("\n" + _text(a.answer, lang), "default")
        if a.evidence:
            words.append(f"  [{', '.join(a.evidence)}]", "bright_black")
        state = say(f"state.{a.state}", {}, lang)
        table.add_row(a.rung, Text(state, style=STATE_STYLE[a.state]), words)
    return table


def _missing(d: Diagnosis, lang: str) -> RenderableType | None:
    lacks = missing_of(d)
    if not lacks:
        return None
    heads = [say(f"report.{name}", {}, lang) for name in ("missing", "how", "for")]
    table = Table(*_columns(heads), box=None, padding=(0, 1), header_style="bold")
    for m, rungs in lacks:
        signal, how = plain(text_in(m.signal, lang)), plain(text_in(m.how, lang))
        table.add_row(Text(signal, style="yellow"), how, Text(", ".join(rungs), style="bright_black"))
    return table


def _evidence(d: Diagnosis, lang: str) -> RenderableType | None:
    told = {name for f in d.findings for name in f.evidence} or {name for a in d.ladder for name in a.evidence}
    shown = [(name, fact) for name, fact in d.evidence if name in told]
    if not shown:
        return None
    heads = [say(f"report.{name}", {}, lang) for name in ("evidence", "value", "what", "from")]
    table = Table(*_columns(heads), box=None, padding=(0, 1), header_style="bold")
    for name, fact in shown:
        cites = ", ".join(plain(s, 60) for s in fact.sources[:3]) + (" …" if len(fact.sources) > 3 else "")
        table.add_row(name, value_of(fact, lang), _text(fact.statement, lang), Text(cites, style="bright_black"))
    more = say("report.more", {"more": len(d.evidence) - len(shown), "last": d.evidence[-1][0]}, lang)
    return Group(table, Text(more, style="bright_black")) if len(d.evidence) > len(shown) else table


def value_of(fact: Fact, lang: str = "en") -> str:
    """The value with its unit, shares in percent; "not measured" where there is none."""
    number = isinstance(fact.value, int | float) and not isinstance(fact.value, bool)
    unit = fact.unit if number and fact.unit in ("share", "ratio") else "other"
    return plain(say(f"value.{unit}", {"value": fact.value, "unit": fact.unit if number else ""}, lang).rstrip(), 60)


def _ruled_out(d: Diagnosis, lang: str) -> RenderableType | None:
    if not d.ruled_out:
        return None
    layers: dict[str, list[str]] = {}
    for cause, ids in d.ruled_out:
        layer, _, name = cause.partition(".")
        layers.setdefault(layer, []).append(f"{name} [{', '.join(ids)}]" if ids else name)
    table = Table(*_columns((say("report.ruled-out", {}, lang), "")), box=None, padding=(0, 1), header_style="bold")
    for layer, names in layers.items():
        table.add_row(layer, Text(", ".join(names), style="bright_black"))
    return table


def spark(strip: Strip) -> str:
    """One character per bin, full height at the cap (or the highest reading); a gap is a space."""
    known = [v for v in strip.values if v is not None]
    top = strip.cap or max(known, default=0.0) or 1.0
    return "".join(
        " " if v is None else BARS[min(len(BARS) - 1, max(0, int(v / top * len(BARS))))] for v in strip.values
    )


def _strips(strips: Sequence[Strip], lang: str) -> RenderableType | None:
    if not strips:
        return None
    table = Table(box=None, padding=(0, 1), show_header=False)
    for s in strips:
        top = max((v for v in s.values if v is not None), default=0.0)
        table.add_row(s.name, plain(s.where, 40), spark(s), f"max {top:.4g}")
    told = {"from": _clock(strips[0].from_ts), "to": _clock(strips[0].to_ts)}
    return Group(table, Text(say("report.strips", told, lang), style="bright_black"))


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


def timelines(bars: Sequence[Timeline], lang: str = "en") -> RenderableType:
    """Bars of several requests on one scale, each with its figures and stage times below."""
    longest = max((t.total_s or 0.0 for t in bars), default=0.0) or 1.0
    lines: list[RenderableType] = []
    for t in bars:
        head = Text.assemble(
            (plain(t.rid, 60), "bold"),
            f"  {name_in(t.label, lang)}  ",
            *(f"{name_in(k, lang)} {plain(v, 40)}  " for k, v in t.facts),
        )
        lines += [head, Padding(bar(t, longest), (0, 0, 0, 2))]
        stages = "  ".join(f"{name_in(s.stage, lang)} {s.end_s - s.start_s:.3f} s" for s in t.segments)
        lines.append(Padding(Text(stages, style="bright_black"), (0, 0, 0, 2)))
        lines += [Padding(Text(plain(text_in(m, lang)), style="yellow"), (0, 0, 0, 2)) for m in t.missing]
    return Group(*lines)


def _timelines(bars: Sequence[Timeline], lang: str) -> RenderableType | None:
    return timelines(bars, lang) if bars else None


def _coverage(d: Diagnosis, lang: str) -> RenderableType | None:
    if not d.coverage:
        return None
    heads = [say(f"report.{name}", {}, lang) for name in ("read", "as", "rows", "unread", "notes")]
    table = Table(*_columns(heads), box=None, padding=(0, 1), header_style="bold")
    for c in d.coverage:
        notes = Text(
            "\n".join(plain(text_in(n.removeprefix(f"{c.source}: "), lang)) for n in c.notes), style="bright_black"
        )
        unread = Text(str(c.unparsed), style="yellow" if c.unparsed else "default")
        table.add_row(plain(c.source, 80), c.kind, str(c.rows), unread, notes)
    return table


def _next(d: Diagnosis, lang: str) -> RenderableType | None:
    if not d.next:
        return None
    steps = (Padding(Text(plain(text_in(step, lang), 2000)), (0, 0, 0, 2)) for step in d.next)
    return Group(Text(say("report.next", {}, lang), style="bold"), *steps)


def _clock(ts: float) -> str:
    return datetime.fromtimestamp(ts, UTC).strftime("%Y-%m-%d %H:%M:%S")
