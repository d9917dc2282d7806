"""What a diagnosis lacks, each thing once."""

from ridgeline.model.diagnosis import Diagnosis
from ridgeline.model.fact import Missing


def missing_of(d: Diagnosis) -> list[tuple[Missing, list[str]]]:
    """What is missing, each thing once, with the rungs that lack it; what most rungs lack first."""
    rungs: dict[Missing, list[str]] = {}
    for a in d.ladder:
        for m in a.missing:
            rungs.setdefault(m, []).append(a.rung)
    return sorted(rungs.items(), key=lambda item: -len(item[1]))
