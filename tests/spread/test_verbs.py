"""The verbs that take `--on local-ray` give the bytes they give locally."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ridgeline.cli.ingest import ingest
from ridgeline.lab.score.grid import Cell
from ridgeline.lab.score.whole import run_all
from ridgeline.spread.tasks import connect

WHERE = "local-ray"
INCIDENT = Path(__file__).resolve().parents[2] / "examples" / "incident"


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray = connect(WHERE, 2)
    yield
    ray.shutdown()


def untimed(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in r.items() if k != "took_s"} for r in results]


def test_lab_score_cells() -> None:
    todo = [Cell("healthy/idle", 7, "0.5.23", 2.0, None, 1, None)]
    here = [untimed(found) for found in run_all(todo, ("full",), 1)]
    there = [untimed(found) for found in run_all(todo, ("full",), 2, WHERE)]
    assert here == there


def tables(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every table of a bundle, its rows sorted."""
    con = duckdb.connect()
    out = {}
    for path in sorted((folder / "tables").glob("*.parquet")):
        rows = con.read_parquet(str(path)).fetchall()
        out[path.name] = sorted(rows, key=repr)
    return out


def diagnosis(folder: Path) -> str:
    done = subprocess.run([sys.executable, "-m", "ridgeline", "diagnose", folder.name, "--format", "json"],
                          cwd=folder.parent, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode in (0, 2, 3), done.stderr
    return done.stdout


def test_ingest_gives_the_same_tables_and_the_same_diagnosis(tmp_path: Path) -> None:
    here, there = tmp_path / "here" / "b", tmp_path / "there" / "b"
    assert ingest(str(INCIDENT), output=here, quiet=True) == 0
    assert ingest(str(INCIDENT), output=there, quiet=True, on=WHERE) == 0
    assert tables(here) == tables(there)
    assert diagnosis(here) == diagnosis(there)


def test_simulate_gives_the_same_figures(tmp_path: Path) -> None:
    scenario = tmp_path / "s.parquet"
    made = "scenario poisson --requests 200 --rate 6 --input 1:900 --output 1:90 --seed 3 -o"
    run(*made.split(), str(scenario))
    asked = ("simulate", str(scenario), "--vary", "chunked_prefill_size=512,2048", "--repeat", "2", "--format", "json")
    here, there = run(*asked), run(*asked, "--on", WHERE)
    assert uncosted(here) == uncosted(there)


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "ridgeline", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def uncosted(text: str) -> list[str]:
    """The lines but those of what it cost to compute."""
    return [line for line in text.splitlines() if '"cpu_s"' not in line]
