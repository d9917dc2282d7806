"""A comparison on a terminal and as Markdown: verdict first, then what may be compared, the figures, the classes."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ridgeline.model.comparison import ClassChange, Comparison, Estimate, Figure, value_said
from ridgeline.report.escape import markdown as escaped
from ridgeline.report.escape import plain

STYLE: Final = {"recovered": "bold green", "improved": "bold green", "not-recovered": "bold red", "worse": "bold red",
                "no-change": "bold yellow", "inconclusive": "bold yellow"}  # fmt: skip
CHANGE_STYLE: Final = {"better": "green", "worse": "red", "same": "default", "unclear": "bright_black"}
SHOWN_CLASSES: Final = 8
SHOWN_SETTINGS: Final = 12


def render(c: Comparison, console: Console) -> None:
    """Print the whole comparison; every text that came from a source is escaped."""
    head = Text.assemble((c.verdict, STYLE[c.verdict]), ("  " + plain(c.summary, 2000), "bold"))
    console.print(head)
    for name, low, high in c.spans:
        if low is not None and high is not None:
            console.print(Text(f"{name.lower():9} {_clock(low)} to {_clock(high)}", style="bright_black"))
    for part in (_checks(c), _figures(c), _classes(c)):
        if part is not None:
            console.print()
            console.print(part)
    if c.needs is not None:
        console.print()
        console.print(Text.assemble(("needs  ", "bold"), plain(c.needs.statement)))
    for note in c.notes:
        console.print(Text(f"note: {plain(note)}", style="bright_black"))


def _checks(c: Comparison) -> RenderableType:
    table = Table("comparable?", "incident" if c.reference != "baseline" else "baseline", "after", "", box=None,
                  padding=(0, 1), header_style="bold")  # fmt: skip
    for check in c.checks:
        style = {"same": "green", "unknown": "bright_black", "differs": "yellow"}[check.state]
        words = plain(check.statement) if check.state != "same" else "alike"
        table.add_row(
            check.name.replace("_", " "), plain(check.incident, 60), plain(check.after, 60), Text(words, style=style)
        )
    for s in c.settings[:SHOWN_SETTINGS]:
        table.add_row(Text("argument", style="yellow"), f"{plain(s.key, 60)} {plain(s.incident or 'not set', 40)}",
                      plain(s.after or "not set", 40), Text("changed", style="yellow"))  # fmt: skip
    more = len(c.settings) - SHOWN_SETTINGS
    return Group(table, Text(f"{more} more arguments differ; --format json lists them")) if more > 0 else table


def _figures(c: Comparison) -> RenderableType | None:
    if not c.figures:
        return None
    third = any(f.baseline is not None for f in c.figures)
    bound = any(f.slo is not None for f in c.figures)
    heads = ["figure", "incident", "after", *(["baseline"] if third else []), *(["SLO"] if bound else []),
             "after / incident (95 %)", "n (worth)", "change"]  # fmt: skip
    table = Table(*heads, box=None, padding=(0, 1), header_style="bold")
    for f in c.figures:
        slo = [f"{value_said(f.slo, f.unit)} {f.after_slo}" if f.slo is not None else ""] if bound else []
        table.add_row(
            f.name, _value(f.incident, f.unit), _value(f.after, f.unit),
            *([_value(f.baseline, f.unit) if f.baseline else ""] if third else []), *slo, difference_said(f),
            f"{f.after.n} ({f.after.n_eff:.0f})" if f.after.spread is not None else f"{f.after.n}",
            Text(_changed(f), style=CHANGE_STYLE[f.change]),
        )  # fmt: skip
    basis = ", ".join(dict.fromkeys(f.basis for f in c.figures))
    words = f"from {basis}; n is worth less than it counts where requests shared the same bad minutes"
    return Group(table, *(Text(line, style="bright_black") for line in (words, *_rule(c))))


def _changed(f: Figure) -> str:
    """The change in a word; a star where it is one by the figure's own interval only."""
    return "too few" if f.contrast.p_value is None else f.change + ("*" if alone(f) else "")


def alone(f: Figure) -> bool:
    """Whether the figure's own interval excludes no change, although the change is not claimed."""
    low, high = f.contrast.low, f.contrast.high
    beyond = abs(f.contrast.difference or 0.0) > f.contrast.margin
    return f.change == "unclear" and beyond and low is not None and high is not None and (low > 0 or high < 0)


def _rule(c: Comparison) -> list[str]:
    """When a figure counts as changed, and what the star means."""
    corrected = [sum(f.contrast.p_value is not None and f.drives is drives for f in c.figures)
                 for drives in (True, False)]  # fmt: skip
    rule = (
        f"better or worse: more than {100 * c.margin:g} % apart, and beyond chance ({100 * c.alpha:g} %) after "
        f"correcting for {corrected[0]} figures that decide; same: the whole interval within that margin"
    )
    starred = sorted({corrected[not f.drives] for f in c.figures if alone(f)})
    if not starred:
        return [rule]
    many = " or ".join(map(str, starred))
    return [rule, f"* its own interval excludes no change, but not after correcting for {many} figures"]


def _value(e: Estimate, unit: str) -> str:
    if e.least != e.most:
        return f"{value_said(e.least, unit)} to {value_said(e.most, unit)}"
    return value_said(e.value, unit)


def difference_said(f: Figure) -> str:
    """Times as a ratio, shares as a difference, with the interval; nothing where there is none."""
    c = f.contrast
    if c.low is None or c.high is None or c.difference is None or c.a is None:
        return "-"
    if f.unit == "s":
        return f"x{_ratio(c.a, c.difference)} ({_ratio(c.a, c.low)} to {_ratio(c.a, c.high)})"
    scale, unit = (100.0, " points") if f.unit == "share" else (1.0, "")
    return f"{scale * c.difference:+.2g} ({scale * c.low:+.2g} to {scale * c.high:+.2g}){unit}"


def _ratio(a: float, difference: float) -> str:
    return f"{max(a + difference, 0.0) / a:.3g}" if a > 0 and math.isfinite(difference) else "?"


def _classes(c: Comparison) -> RenderableType | None:
    rows = _ranked(c)
    if not rows:
        return None
    table = Table("class", "figure", "incident", "after", "n", "change", box=None, padding=(0, 1), header_style="bold")
    for row in rows[:SHOWN_CLASSES]:
        table.add_row(f"{plain(row.attribute, 40)} {plain(row.value, 40)}", row.figure, value_said(row.contrast.a, "s"),
                      value_said(row.contrast.b, "s"), f"{row.n_incident}, {row.n_after}",
                      Text(row.change, style=CHANGE_STYLE[row.change]))  # fmt: skip
    return table


def _ranked(c: Comparison) -> list[ClassChange]:
    """Classes that changed first, the surest first."""
    return sorted(
        c.classes, key=lambda r: (r.change in ("same", "unclear"), r.p_adjusted if r.p_adjusted is not None else 2)
    )


def markdown(c: Comparison) -> str:
    """At most 25 lines for a ticket."""
    lines = [f"**{c.verdict}**: {escaped(c.summary, 600)}"]
    lines += [f"- not alike: {escaped(check.statement)}" for check in c.checks if check.state == "differs"]
    lines += [f"- argument `{escaped(s.key)}`: {escaped(s.incident or 'not set')} to {escaped(s.after or 'not set')}"
              for s in c.settings[:4]]  # fmt: skip
    if c.figures:
        lines += ["", "| figure | incident | after | after / incident (95 %) | change |", "|---|---|---|---|---|"]
        shown = [f for f in c.figures if f.drives or f.slo is not None or f.change != "unclear"]
        for f in shown[: max(0, 19 - len(lines))]:
            cells = (f.name, *(_value(e, f.unit) for e in (f.incident, f.after)), difference_said(f), _changed(f))
            lines.append(f"| {' | '.join(cells)} |")
        lines += ["", *(escaped(line) for line in _rule(c))]
    if c.needs is not None:
        lines += ["", f"Needs: {escaped(c.needs.statement)}"]
    return "\n".join(lines) + "\n"


def _clock(ts: float) -> str:
    try:
        return datetime.fromtimestamp(ts, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return "no date"  # a number that no calendar holds
