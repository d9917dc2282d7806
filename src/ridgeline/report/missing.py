"""What a reader needs first: the death before the rest, and what is lacking, each way to get it once."""

from ridgeline.model.diagnosis import Diagnosis, Finding
from ridgeline.model.fact import Missing


def death_first(d: Diagnosis) -> list[Finding]:
    """The findings as they are read: what the summary says died or stood still comes first."""
    stopped = dict(d.summary.figures).get("stopped") if d.summary.key == "summary.stopped" else None
    return sorted(d.findings, key=lambda f: f.cause != stopped)


def missing_of(d: Diagnosis) -> list[tuple[Missing, list[str]]]:
    """What is missing, each way to get it once, with the rungs that lack it; what most rungs lack first."""
    signals: dict[str, list[str]] = {}
    rungs: dict[str, list[str]] = {}
    for a in d.ladder:
        for m in a.missing:
            signals.setdefault(m.how, []).append(m.signal)
            rungs.setdefault(m.how, []).append(a.rung)
    found = [
        (Missing("; ".join(dict.fromkeys(names)), how), list(dict.fromkeys(rungs[how])))
        for how, names in signals.items()
    ]
    return sorted(found, key=lambda item: -len(item[1]))
