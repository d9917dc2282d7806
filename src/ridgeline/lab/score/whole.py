"""The whole score: grid, processes, results file, page, calibration."""

import json
import signal
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from ridgeline.lab.score.calibrate import calibration_text
from ridgeline.lab.score.grid import Cell, cells
from ridgeline.lab.score.measure import Result
from ridgeline.lab.score.page import accuracy_page
from ridgeline.lab.score.picture import confusion_svg
from ridgeline.lab.score.run import run_cell
from ridgeline.model.errors import InputError
from ridgeline.spread.tasks import over

PICTURE: Final = "images/accuracy.svg"
"""Where the picture lies, seen from the page."""
CHECK_EVERY: Final = 20
"""One case in so many has its claims recomputed."""


def parse_seeds(text: str) -> tuple[int, int]:
    """``A:B`` as (A, B).

    Raises:
        InputError: it is not two whole numbers, the second larger.
    """
    first, colon, last = text.partition(":")
    if not colon or not first.isdigit() or not last.isdigit() or int(last) <= int(first):
        raise InputError(f"lab score: --seeds {text!r} is not A:B with A below B")
    return int(first), int(last)


def earlier(path: Path) -> list[Result]:
    """Results a run has left; a cut last line is dropped."""
    if not path.is_file():
        return []
    out: list[Result] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            out.append(json.loads(line))
        except ValueError:
            break
    return out


def mend(path: Path) -> None:
    """Cut what a stopped run left of its last line, so that the next one begins on a line of its own."""
    raw = path.read_bytes() if path.is_file() else b""
    if raw and not raw.endswith(b"\n"):
        path.write_bytes(raw[: raw.rfind(b"\n") + 1])


def key(cell: dict[str, Any]) -> tuple[str, int]:
    """What names a cell."""
    return str(cell["fault"]), int(cell["seed"])


@dataclass(frozen=True)
class Task:
    """A cell and the arms it is still to be asked under."""

    cell: Cell
    arms: tuple[str, ...]

    @property
    def checked(self) -> bool:
        """Whether its evidence is recomputed: told by fault and seed alone, so that a resumed run checks the same."""
        return (self.cell.seed // 1000 + self.cell.seed) % CHECK_EVERY == 0


def missing(asked: list[Cell], arms: tuple[str, ...], have: list[Result]) -> list[Task]:
    """What the results there are leave to do; a case that harms nobody is done under every arm."""
    done: dict[tuple[str, int], set[str]] = {}
    for r in have:
        done.setdefault(key(r["cell"]), set()).update((r["arm"],) if r["admitted"] else ("full", *arms))
    left = [(cell, tuple(a for a in arms if a not in done.get((cell.fault, cell.seed), ()))) for cell in asked]
    # faults take turns, so that a run that is stopped has seen every one of them
    return sorted((Task(cell, todo) for cell, todo in left if todo), key=lambda t: (t.cell.seed % 1000, t.cell.seed))


def run_task(_shared: None, task: Task) -> list[Result]:
    """One task, wherever it runs."""
    return run_cell(task.cell, task.arms, task.checked)


def run_all(todo: list[Task], jobs: int, on: str | None = None) -> Generator[tuple[Task, list[Result]], None, None]:
    """Results of every task as they come; ``on``: a Ray cluster instead of processes. Closed, it begins no more."""
    if on is not None:
        for place, found in over(on, run_task, todo, None, jobs):
            yield todo[place], found
        return
    pool = ProcessPoolExecutor(jobs, initializer=mortal)
    try:
        asked = {pool.submit(run_task, None, task): task for task in todo}
        for done in as_completed(asked):
            yield asked.pop(done), done.result()
    finally:
        pool.shutdown(cancel_futures=True)


def mortal() -> None:
    """A process of the pool ends when it is told to; our own way of ending is for the process that was started."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def ordered(results: list[Result]) -> list[Result]:
    """In the order of the grid, whatever order they came in."""
    return sorted(results, key=lambda r: (r["cell"]["seed"] // 1000, r["cell"]["seed"], r["arm"]))


def run_score(
    seeds: str,
    arms: tuple[str, ...],
    jobs: int,
    results_file: Path,
    only: tuple[str, ...],
    tell: bool,
    report_only: bool = False,
    on: str | None = None,
) -> list[Result]:
    """Run what is missing of the grid (nothing with ``report_only``) and return every result."""
    first, last = parse_seeds(seeds)
    for name in only:
        if not cells(first, last, (name,)):
            raise InputError(
                f"lab score: --only {name!r} is no fault, cause or layer; `ridgeline lab faults` lists them"
            )
    grid = cells(first, last, only)
    asked = {(cell.fault, cell.seed) for cell in grid}
    have = [r for r in earlier(results_file) if key(r["cell"]) in asked]  # what other seeds gave is not of this score
    if report_only:
        return ordered(have)
    todo = missing(grid, arms, have)
    results_file.parent.mkdir(parents=True, exist_ok=True)
    mend(results_file)
    with results_file.open("a", encoding="utf-8") as out, closing(run_all(todo, jobs, on)) as running:
        for k, (task, found) in enumerate(running):
            out.write("".join(json.dumps(r, sort_keys=True) + "\n" for r in found))
            out.flush()
            have += found
            if tell:
                print(f"{k + 1}/{len(todo)} {task.cell.fault} seed {task.cell.seed}", flush=True)
    return ordered(have)


def coverage(results: list[Result], seeds: str, only: tuple[str, ...]) -> str:
    """How much of the grid the results cover, in words."""
    asked = {key(asdict(cell)) for cell in cells(*parse_seeds(seeds), only)}
    done = {key(r["cell"]) for r in results} & asked
    text = f"seeds {seeds}" + (f", only {', '.join(only)}" if only else "")
    return f"{text}, {len(done)} of {len(asked)} cells of the grid"


def write_outcome(results: list[Result], page_file: Path, calibration_file: Path | None, seeds: str, grid: str) -> None:
    """The page, the picture beside it, and if asked the calibration that can only lower confidence."""
    picture = page_file.parent / PICTURE
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_text(confusion_svg(results), encoding="utf-8")
    page_file.write_text(accuracy_page(results, grid, PICTURE), encoding="utf-8")
    if calibration_file is not None:
        calibration_file.parent.mkdir(parents=True, exist_ok=True)
        calibration_file.write_text(calibration_text(results, seeds), encoding="utf-8")
