"""The diagnosis as Markdown to paste into a ticket: at most 25 lines."""

from typing import Final

from ridgeline.model.diagnosis import Diagnosis
from ridgeline.model.fact import Statement
from ridgeline.report.escape import markdown
from ridgeline.words.catalogue import say

MOST_LINES: Final = 25


def render(d: Diagnosis, lang: str = "en") -> str:
    """Verdict, findings, rungs, what is ruled out and missing, next steps; the least needed lines go first."""
    lines = [f"**{d.verdict}**: {_text(d.summary, lang)}"]
    for f in d.findings[:3]:
        lines.append(f"- `{f.cause}` ({f.confidence}): {_text(f.statement, lang)}")
        lines += [f"  - {r.kind}: {r.action}" + (f" `{r.flag}`" if r.flag else "") for r in f.remedies[:2]]
    rungs = [
        f"- {a.rung} {a.state}: {_text(a.answer, lang)}" + (f" [{', '.join(a.evidence[:4])}]" if a.evidence else "")
        for a in d.ladder
        if a.state != "not-reached"
    ]
    ruled = ["Ruled out: " + ", ".join(f"`{cause}`" for cause, _ in d.ruled_out[:12])] if d.ruled_out else []
    missing = list(dict.fromkeys(f"Missing: {m.signal} ({m.how})" for a in d.ladder for m in a.missing))[:3]
    steps = [f"Next: `{step}`" if step.startswith("ridgeline ") else f"Next: {markdown(step)}" for step in d.next[:2]]
    read = [f"Read: {len(d.coverage)} sources, {sum(c.unparsed for c in d.coverage)} lines not understood."]
    room = MOST_LINES - len(lines) - len(ruled) - len(missing) - len(steps) - len(read)
    return (
        "\n".join([*lines, *rungs[: max(0, room)], *ruled, *map(markdown, missing), *steps, *read][:MOST_LINES]) + "\n"
    )


def _text(statement: Statement, lang: str) -> str:
    return markdown(say(statement.key, dict(statement.figures), lang), 400)
