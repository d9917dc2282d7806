"""A comparison on a terminal and as Markdown: verdict first, then what may be compared, the figures, the classes."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from ridgeline.model.comparison import ClassChange, Comparison, Estimate, Figure, value_said
from ridgeline.report.columns import padded
from ridgeline.report.escape import markdown as escaped
from ridgeline.report.escape import plain
from ridgeline.words.catalogue import WORDS, said, say, text_in
from ridgeline.words.phrases import phrase

STYLE: Final = {"recovered": "bold green", "improved": "bold green", "not-recovered": "bold red", "worse": "bold red",
                "no-change": "bold yellow", "inconclusive": "bold yellow"}  # fmt: skip
CHANGE_STYLE: Final = {"better": "green", "worse": "red", "same": "default", "unclear": "bright_black"}
SHOWN_CLASSES: Final = 8
SHOWN_SETTINGS: Final = 12


def render(c: Comparison, console: Console, lang: str = "en") -> None:
    """Print the whole comparison; every text that came from a source is escaped."""
    verdict, summary = WORDS[lang].get(c.verdict, c.verdict), plain(said(c.ruling, lang), 2000)
    console.print(Text.assemble((verdict, STYLE[c.verdict]), ("  " + summary, "bold")))
    for name, low, high in c.spans:
        if low is not None and high is not None:
            side = padded(_head(name.lower(), lang), 9)
            span = say("compare.span", {"from": _clock(low), "to": _clock(high)}, lang)
            console.print(Text(f"{side} {span}", style="bright_black"))
    for part in (_checks(c, lang), _figures(c, lang), _classes(c, lang)):
        if part is not None:
            console.print()
            console.print(part)
    if c.needs is not None:
        console.print()
        needs = plain(text_in(c.needs.statement, lang))
        console.print(Text.assemble((f"{_head('needs', lang)}  ", "bold"), needs))
    for note in c.notes:
        console.print(Text(plain(say("compare.note", {"text": note}, lang)), style="bright_black"))


def _head(name: str, lang: str) -> str:
    return say(f"compare.{name}", {}, lang)


def _table(*heads: str) -> Table:
    """Chinese has no blanks to break at: cells fold, so that nothing is cut off."""
    return Table(*(Column(head, overflow="fold") for head in heads), box=None, padding=(0, 1), header_style="bold")


def _checks(c: Comparison, lang: str) -> RenderableType:
    heads = ("comparable", "incident" if c.reference != "baseline" else "baseline", "after")
    table = _table(*(_head(name, lang) for name in heads), "")
    for check in c.checks:
        style = {"same": "green", "unknown": "bright_black", "differs": "yellow"}[check.state]
        words = plain(text_in(check.statement, lang)) if check.state != "same" else _head("alike", lang)
        sides = (plain(phrase(side, lang), 60) for side in (check.incident, check.after))
        table.add_row(phrase(check.name.replace("_", " "), lang), *sides, Text(words, style=style))
    unset = _head("not-set", lang)
    for s in c.settings[:SHOWN_SETTINGS]:
        both = (f"{plain(s.key, 60)} {plain(s.incident or unset, 40)}", plain(s.after or unset, 40))
        table.add_row(Text(_head("argument", lang), style="yellow"), *both,
                      Text(_head("changed", lang), style="yellow"))  # fmt: skip
    more = len(c.settings) - SHOWN_SETTINGS
    return Group(table, Text(say("compare.more", {"n": more}, lang))) if more > 0 else table


def _figures(c: Comparison, lang: str) -> RenderableType | None:
    if not c.figures:
        return None
    third = any(f.baseline is not None for f in c.figures)
    bound = any(f.slo is not None for f in c.figures)
    heads = ["figure", "incident", "after", *(["baseline"] if third else []), *(["SLO"] if bound else []),
             "ratio", "worth", "change"]  # fmt: skip
    named = (name if name == "SLO" else _head(name, lang) for name in heads)
    table = _table(*named)
    for f in c.figures:
        slo = [_slo(f, lang)] if bound else []
        table.add_row(
            f.name, _value(f.incident, f.unit, lang), _value(f.after, f.unit, lang),
            *([_value(f.baseline, f.unit, lang) if f.baseline else ""] if third else []), *slo,
            difference_said(f, lang),
            f"{f.after.n} ({f.after.n_eff:.0f})" if f.after.spread is not None else f"{f.after.n}",
            Text(_changed(f, lang), style=CHANGE_STYLE[f.change]),
        )  # fmt: skip
    words = say("compare.basis", {"basis": tuple(dict.fromkeys(f.basis for f in c.figures))}, lang)
    return Group(table, *(Text(line, style="bright_black") for line in (words, *_rule(c, lang))))


def _slo(f: Figure, lang: str) -> str:
    return "" if f.slo is None else f"{value_said(f.slo, f.unit)} {_head(f'slo.{f.after_slo}', lang)}"


def _changed(f: Figure, lang: str) -> str:
    """The change in a word; a star where it is one by the figure's own interval only."""
    if f.contrast.p_value is None:
        return phrase("too few", lang)
    return WORDS[lang].get(f.change, f.change) + ("*" if alone(f) else "")


def alone(f: Figure) -> bool:
    """Whether the figure's own interval excludes no change, although the change is not claimed."""
    low, high = f.contrast.low, f.contrast.high
    beyond = abs(f.contrast.difference or 0.0) > f.contrast.margin
    return f.change == "unclear" and beyond and low is not None and high is not None and (low > 0 or high < 0)


def _rule(c: Comparison, lang: str) -> list[str]:
    """When a figure counts as changed, and what the star means."""
    corrected = [sum(f.contrast.p_value is not None and f.drives is drives for f in c.figures)
                 for drives in (True, False)]  # fmt: skip
    rule = say("compare.rule", {"margin": 100 * c.margin, "alpha": 100 * c.alpha, "n": corrected[0]}, lang)
    starred = sorted({corrected[not f.drives] for f in c.figures if alone(f)})
    return [rule, say("compare.star", {"n": tuple(map(str, starred))}, lang)] if starred else [rule]


def _value(e: Estimate, unit: str, lang: str) -> str:
    if e.least != e.most:
        ends = {"least": value_said(e.least, unit), "most": value_said(e.most, unit)}
        return say("compare.range", ends, lang)
    return phrase(value_said(e.value, unit), lang)


def difference_said(f: Figure, lang: str = "en") -> str:
    """Times as a ratio, shares as a difference, with the interval; nothing where there is none."""
    c = f.contrast
    if c.low is None or c.high is None or c.difference is None or c.a is None:
        return "-"
    if f.unit == "s":
        times = {"ratio": _ratio(c.a, c.difference), "low": _ratio(c.a, c.low), "high": _ratio(c.a, c.high)}
        return say("compare.times", times, lang)
    scale, key = (100.0, "compare.points") if f.unit == "share" else (1.0, "compare.plain")
    ends = {"difference": c.difference, "low": c.low, "high": c.high}
    return say(key, {name: f"{scale * value:+.2g}" for name, value in ends.items()}, lang)


def _ratio(a: float, difference: float) -> str:
    return f"{max(a + difference, 0.0) / a:.3g}" if a > 0 and math.isfinite(difference) else "?"


def _classes(c: Comparison, lang: str) -> RenderableType | None:
    rows = _ranked(c)
    if not rows:
        return None
    table = _table(*(_head(name, lang) for name in ("class", "figure", "incident", "after", "n", "change")))
    for row in rows[:SHOWN_CLASSES]:
        name = f"{plain(phrase(row.attribute, lang), 40)} {plain(phrase(row.value, lang), 40)}"
        table.add_row(name, row.figure, value_said(row.contrast.a, "s"),
                      value_said(row.contrast.b, "s"), f"{row.n_incident}, {row.n_after}",
                      Text(WORDS[lang].get(row.change, row.change), style=CHANGE_STYLE[row.change]))  # fmt: skip
    return table


def _ranked(c: Comparison) -> list[ClassChange]:
    """Classes that changed first, the surest first."""
    return sorted(
        c.classes, key=lambda r: (r.change in ("same", "unclear"), r.p_adjusted if r.p_adjusted is not None else 2)
    )


def markdown(c: Comparison, lang: str = "en") -> str:
    """At most 25 lines for a ticket."""
    lines = [f"**{WORDS[lang].get(c.verdict, c.verdict)}**: {escaped(said(c.ruling, lang), 600)}"]
    differing = [say("compare.not-alike", {"text": k.statement}, lang) for k in c.checks if k.state == "differs"]
    lines += [f"- {escaped(line)}" for line in differing]
    for s in c.settings[:4]:
        sides = {"before": escaped(s.incident or "not set"), "after": escaped(s.after or "not set")}
        lines.append("- " + say("compare.moved", {"key": escaped(s.key), **sides}, lang))
    if c.figures:
        heads = (_head(name, lang) for name in ("figure", "incident", "after", "ratio", "change"))
        lines += ["", f"| {' | '.join(heads)} |", "|---|---|---|---|---|"]
        shown = [f for f in c.figures if f.drives or f.slo is not None or f.change != "unclear"]
        for f in shown[: max(0, 19 - len(lines))]:
            sides_said = (_value(e, f.unit, lang) for e in (f.incident, f.after))
            lines.append(f"| {' | '.join((f.name, *sides_said, difference_said(f, lang), _changed(f, lang)))} |")
        lines += ["", *(escaped(line) for line in _rule(c, lang))]
    if c.needs is not None:
        lines += ["", escaped(say("compare.settle", {"text": c.needs.statement}, lang))]
    return "\n".join(lines) + "\n"


def _clock(ts: float) -> str:
    try:
        return datetime.fromtimestamp(ts, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return "no date"  # a number that no calendar holds
