"""The whole score: grid, processes, results file, page, calibration."""

import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from ridgeline.lab.score.grid import Cell, cells
from ridgeline.lab.score.measure import Result, precision_by_level
from ridgeline.lab.score.page import accuracy_page, confusion_chart
from ridgeline.lab.score.run import run_cell
from ridgeline.model.errors import InputError, Unsupported
from ridgeline.spread.tasks import over

CHECK_EVERY: Final = 10
"""One full case in so many has its claims recomputed."""


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


def key(cell: dict[str, Any]) -> tuple[str, int]:
    """What names a cell."""
    return str(cell["fault"]), int(cell["seed"])


def numbered_cell(arms: tuple[str, ...], item: tuple[int, Cell]) -> list[Result]:
    """One cell as a task; every so many has its evidence recomputed."""
    return run_cell(item[1], arms, item[0] % CHECK_EVERY == 0)


def run_all(todo: list[Cell], arms: tuple[str, ...], jobs: int, on: str | None = None) -> Iterator[list[Result]]:
    """Results of every cell as they come; ``on``: a Ray cluster instead of processes."""
    if on is not None:
        for _place, found in over(on, numbered_cell, list(enumerate(todo)), arms, jobs):
            yield found
        return
    with ProcessPoolExecutor(jobs) as pool:
        asked = [pool.submit(numbered_cell, arms, item) for item in enumerate(todo)]
        for done in as_completed(asked):
            yield done.result()


def ordered(results: list[Result]) -> list[Result]:
    """In the order of the grid, whatever order they came in."""
    return sorted(results, key=lambda r: (r["cell"]["seed"] // 1000, r["cell"]["seed"], r["arm"]))


def write_picture(results: list[Result], path: Path) -> None:
    """The confusion of layers as SVG.

    Raises:
        Unsupported: the `page` extra is not installed.
    """
    try:
        import vl_convert
    except ImportError:
        raise Unsupported("lab score: the picture needs the page extra: pip install 'ridgeline[page]'") from None
    path.write_text(str(vl_convert.vegalite_to_svg(confusion_chart(results))), encoding="utf-8")


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
    have = earlier(results_file)
    if report_only:
        return ordered(have)
    done = {key(r["cell"]) for r in have}
    todo = [cell for cell in cells(first, last, only) if key(asdict(cell)) not in done]
    # faults take turns, so that a run that is stopped has seen every one of them
    todo.sort(key=lambda cell: (cell.seed % 1000, cell.seed))
    results_file.parent.mkdir(parents=True, exist_ok=True)
    with results_file.open("a", encoding="utf-8") as out:
        for k, found in enumerate(run_all(todo, arms, jobs, on)):
            for r in found:
                out.write(json.dumps(r, sort_keys=True) + "\n")
            out.flush()
            have += found
            if tell:
                cell = found[0]["cell"]
                print(f"{k + 1}/{len(todo)} {cell['fault']} seed {cell['seed']}", flush=True)
    return ordered(have)


def coverage(results: list[Result], seeds: str, only: tuple[str, ...]) -> str:
    """How much of the grid the results cover, in words."""
    asked = {key(asdict(cell)) for cell in cells(*parse_seeds(seeds), only)}
    done = {key(r["cell"]) for r in results} & asked
    text = f"seeds {seeds}" + (f", only {', '.join(only)}" if only else "")
    return f"{text}, {len(done)} of {len(asked)} cells of the grid"


def write_outcome(results: list[Result], page_file: Path, calibration_file: Path | None, grid: str) -> None:
    """The page and, if asked, the calibration that can only lower confidence."""
    page_file.parent.mkdir(parents=True, exist_ok=True)
    page_file.write_text(accuracy_page(results, grid), encoding="utf-8")
    if calibration_file is not None:
        table = precision_by_level([r for r in results if r["arm"] == "full"])
        calibration_file.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")
