"""Sources read as tasks of a Ray cluster: each leaves Parquet parts in a shared folder, joined here in source order."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

from ridgeline.bundle.spill import Spill
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob
from ridgeline.spread.tasks import over


@dataclass(frozen=True)
class Errand:
    """One source for a task: its bytes' place, its number, and what the user said of it."""

    blob: Blob
    number: int
    size: int
    role: str | None


@dataclass(frozen=True)
class Terms:
    """What all errands share; ``folder`` is one that every node of the cluster sees."""

    folder: Path
    tz: tzinfo | None
    year: int | None


Parts = dict[str, tuple[Path, ...]]


def read_far(terms: Terms, errand: Errand) -> tuple[Reading, Parts]:
    """Run one errand: its `Reading`, and per table the parts it wrote. Begun twice it writes the same."""
    from ridgeline.bundle.readin import read_one

    reading = Reading(source=errand.number, path=errand.blob.shown, tz=terms.tz, year=terms.year)
    reading.role = errand.role
    home = terms.folder / f"{errand.number:07d}"
    shutil.rmtree(home, ignore_errors=True)  # what a killed worker left
    home.mkdir(parents=True)
    spill = Spill(0, home)
    read_one(errand.blob, reading, errand.size, spill, None)
    return reading, {table: spill.parts(table) for table in spill.tables()}


def read_over(
    where: str, errands: Sequence[Errand], spill: Spill, tz: tzinfo | None, year: int | None
) -> list[Reading]:
    """The readings of every errand, in order; their parts are in ``spill`` afterwards, in order too.

    Raises:
        InputError, Unsupported: see `ridgeline.spread.tasks.over`.
    """
    found: dict[int, tuple[Reading, Parts]] = dict(over(where, read_far, errands, Terms(spill.folder, tz, year)))
    for place in range(len(errands)):
        for table, parts in sorted(found[place][1].items()):
            spill.adopt(table, parts)
    return [found[place][0] for place in range(len(errands))]
