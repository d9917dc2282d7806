"""What a diagnosis lacks, each way to get it once."""

from ridgeline.model.diagnosis import Diagnosis
from ridgeline.model.fact import Missing


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
