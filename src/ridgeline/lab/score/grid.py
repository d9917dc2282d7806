"""Which cases are recorded, fixed by seed range alone: fault x seed; severity, share, version, ranks in turn."""

from dataclasses import dataclass
from typing import Final

from ridgeline.lab.faults import FAULTS
from ridgeline.lab.faults.model import Fault

SHARES: Final = (0.3, 0.1, 0.5, 1.0)
RATES: Final = (2.0, 1.6, 2.3)


@dataclass(frozen=True)
class Cell:
    """One case to record."""

    fault: str
    seed: int
    version: str
    rate: float
    ranks: int | None
    severity: int
    share: float | None


def cell_of(fault: Fault, at: int, seed: int) -> Cell:
    """The case of a fault's ``seed``; ``at`` is the fault's place in the list."""
    turn = seed + at
    many = "ranks" in fault.needs or "workers" in fault.needs
    return Cell(
        fault.id,
        1000 * at + seed,
        fault.versions[turn % len(fault.versions)],
        RATES[turn % len(RATES)],
        2 + turn % 2 if many else None,
        1 + (turn // len(fault.versions)) % 3,
        SHARES[(turn // 3) % len(SHARES)] if fault.by is not None else None,
    )


def cells(first: int, last: int, only: tuple[str, ...] = ()) -> list[Cell]:
    """The grid for seeds ``first`` to ``last`` (not included); the seven healthy controls take four times as many."""
    out: list[Cell] = []
    for at, fault in enumerate(FAULTS):
        if only and fault.id not in only and fault.cause not in only and fault.layer not in only:
            continue
        span = last - first
        seeds = range(first, first + 4 * span) if fault.cause == "healthy" else range(first, last)
        out += [cell_of(fault, at, seed) for seed in seeds]
    return out
