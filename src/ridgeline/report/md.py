"""The diagnosis as Markdown to paste into a ticket: at most 25 lines."""

from typing import Final

from ridgeline.model.diagnosis import Diagnosis
from ridgeline.model.fact import Statement
from ridgeline.report.escape import markdown
from ridgeline.report.missing import death_first, missing_of
from ridgeline.words.catalogue import say, text_in

MOST_LINES: Final = 25
UNDER: Final = {"en": ("under 1%", "over 99%"), "zh": ("不到 1%", "超过 99%")}  # "<" would begin a tag


def render(d: Diagnosis, lang: str = "en") -> str:
    """Verdict, findings, rungs, what is ruled out and missing, next steps; the least needed lines go first."""
    lines = [f"**{say(f'page.verdict.{d.verdict}', {}, lang)}**: {_text(d.summary, lang)}"]
    for f in death_first(d)[:3]:
        lines.append(f"- `{f.cause}` ({say(f'confidence.{f.confidence}', {}, lang)}): {_text(f.statement, lang)}")
        lines += [
            f"  - {say(f'remedy.{r.kind}', {}, lang)}: {markdown(text_in(r.action, lang))}"
            + (f" `{r.flag}`" if r.flag else "")
            for r in f.remedies[:2]
        ]
    rungs = [
        f"- {a.rung}: {_text(a.answer, lang)}" + (f" [{', '.join(a.evidence[:4])}]" if a.evidence else "")
        for a in d.ladder
        if a.state != "not-reached"
    ]
    ruled = _ruled(d, lang)
    asked = {step.partition(": ")[2] for step in d.next[:2]}
    lacks = [m for m, _ in missing_of(d) if m.how not in asked][:3]
    missing = [say("md.missing", {"signal": m.signal, "how": m.how}, lang) for m in lacks]
    steps = [
        say("md.next", {"step": f"`{step}`" if step.startswith("ridgeline ") else markdown(text_in(step, lang))}, lang)
        for step in d.next[:2]
    ]
    unread = [f"{c.source} {c.unparsed}" for c in sorted(d.coverage, key=lambda c: -c.unparsed) if c.unparsed]
    unparsed = sum(c.unparsed for c in d.coverage)
    named = markdown(", ".join(unread[:3]), 200)
    read = [say("md.read", {"sources": len(d.coverage), "unread": unparsed, "of": named}, lang)]
    room = MOST_LINES - len(lines) - len(ruled) - len(missing) - len(steps) - len(read)
    return (
        "\n".join([*lines, *rungs[: max(0, room)], *ruled, *map(markdown, missing), *steps, *read][:MOST_LINES]) + "\n"
    )


def _ruled(d: Diagnosis, lang: str) -> list[str]:
    """The causes that are ruled out: all of them, by layer, on one line."""
    layers: dict[str, list[str]] = {}
    for cause, _ in d.ruled_out:
        layer, _, name = cause.partition(".")
        layers.setdefault(layer, []).append(name)
    told = "; ".join(f"{layer}: {', '.join(names)}" for layer, names in layers.items())
    return [say("md.ruled", {"causes": told}, lang)] if told else []


def _text(statement: Statement, lang: str) -> str:
    said = say(statement.key, dict(statement.figures), lang)
    return markdown(said.replace("<1%", UNDER[lang][0]).replace(">99%", UNDER[lang][1]), 400)
