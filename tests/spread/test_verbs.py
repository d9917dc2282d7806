"""The verbs that take `--on local-ray` give the bytes they give locally, also where a worker is killed mid-way."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ridgeline.bundle.find import find
from ridgeline.bundle.open import read_sources
from ridgeline.bundle.stored import open_bundle
from ridgeline.cli.ingest import ingest
from ridgeline.facts.points import ready
from ridgeline.lab.score.grid import Cell
from ridgeline.lab.score.whole import Task, run_all
from ridgeline.spread.tasks import connect

WHERE = "local-ray"
ROOT = Path(__file__).resolve().parents[2]
INCIDENT = ROOT / "examples" / "incident"


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray = connect(WHERE, 2)
    yield
    ray.shutdown()


@contextmanager
def a_worker_killed(task: str) -> Iterator[list[int]]:
    """While the block runs, the first worker of this process' cluster that is busy with ``task`` is killed."""
    killed: list[int] = []
    ended = threading.Event()

    def watch() -> None:
        while not killed and not ended.wait(0.002):
            for pid in workers(task):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield killed
    finally:
        ended.set()
        thread.join()


def workers(task: str) -> list[int]:
    """Processes below this one that say they run ``task``."""
    mine = {os.getpid()}
    parents: dict[int, int] = {}
    titles: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                titles[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
    below = set(mine)
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return sorted(pid for pid in below - mine if titles[pid].startswith(f"ray::{task}"))


def untimed(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in r.items() if k != "took_s"} for r in results]


def test_lab_score_cells() -> None:
    todo = [Task(Cell("healthy/idle", 7, "0.5.23", 2.0, None, 1, None), ("full",))]
    here = [(task, untimed(found)) for task, found in run_all(todo, 1)]
    with a_worker_killed("run_task") as killed:
        there = [(task, untimed(found)) for task, found in run_all(todo, 2, WHERE)]
    assert len(killed) == 1
    assert here == there


def tables(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every table of a bundle, its rows sorted."""
    con = duckdb.connect()
    out = {}
    for path in sorted((folder / "tables").glob("*.parquet")):
        parts = sorted(str(part) for part in path.glob("*.parquet")) if path.is_dir() else [str(path)]
        out[path.name] = sorted(con.read_parquet(parts).fetchall(), key=repr)
    return out


def diagnosis(folder: Path, *more: str) -> str:
    done = subprocess.run([sys.executable, "-m", "ridgeline", "diagnose", folder.name, "--format", "json", *more],
                          cwd=folder.parent, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode in (0, 2, 3), done.stderr
    return done.stdout


def test_ingest_gives_the_same_tables_and_the_same_diagnosis(tmp_path: Path) -> None:
    here, there = tmp_path / "here" / "b", tmp_path / "there" / "b"
    assert ingest(str(INCIDENT), output=here, quiet=True) == 0
    with a_worker_killed("read_far") as killed:
        assert ingest(str(INCIDENT), output=there, quiet=True, on=WHERE) == 0
    assert len(killed) == 1
    assert tables(here) == tables(there)
    assert (there / "tables" / "requests.parquet").is_dir()
    assert (here / "tables" / "requests.parquet").is_file()
    assert diagnosis(here) == diagnosis(there)
    window = ("--from", "2026-11-30T03:41:00Z", "--to", "2026-11-30T03:43:00Z")
    assert diagnosis(here, *window) == diagnosis(there, *window)


def test_diagnose_of_raw_files_is_the_same(tmp_path: Path) -> None:
    shutil.copytree(INCIDENT, tmp_path / "logs")
    assert diagnosis(tmp_path / "logs") == diagnosis(tmp_path / "logs", "--on", WHERE)


def test_many_files_are_read_in_their_order(tmp_path: Path) -> None:
    lines = gzip.decompress((INCIDENT / "request_log.log.gz").read_bytes()).splitlines(keepends=True)
    for at in range(0, len(lines), 10):
        (tmp_path / f"part-{at // 10:03d}.log").write_bytes(b"".join(lines[at : at + 10]))
    found = find([str(tmp_path)])
    assert len(found.blobs) > 90
    asked = "SELECT * FROM records ORDER BY source, line"
    here, there = (read_sources(found, on=on)[0].query(asked) for on in (None, WHERE))
    assert here == there


def test_a_window_reads_only_the_row_groups_of_its_time(tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    with log.open("w") as file:
        for i in range(300_000):
            at = 1796011165.0 + i * 0.01
            file.write(
                f'{{"timestamp": "2026-11-30T04:00:00.000000", "event": "request.finished", "rid": "r{i:08x}", '
                f'"obj": {{"rid": "r{i:08x}"}}, "out": {{"meta_info": {{"id": "r{i:08x}", "prompt_tokens": 9, '
                f'"completion_tokens": 3, "e2e_latency": 0.5, "request_received_ts": {at:.2f}}}}}}}\n'
            )
    bundle = tmp_path / "b"
    assert ingest(str(log), output=bundle, quiet=True, on=WHERE) == 0
    view = open_bundle(bundle)
    con = ready(view).con
    sql = "SELECT sum(prompt_tokens) FROM asks WHERE ($since::DOUBLE IS NULL OR received_ts >= $since)"
    assert scanned(con, sql, {"since": 0.0}, tmp_path) == 300_000
    assert scanned(con, sql, {"since": 1796011165.0 + 2999.0}, tmp_path) < 123_000
    # a class is looked for in its own column, and rows that cannot be of it are left where they are
    by_class = "SELECT sum(received_ts) FROM asks WHERE prompt_tokens >= $floor"
    assert scanned(con, by_class, {"floor": 10}, tmp_path) == 0


def scanned(con: duckdb.DuckDBPyConnection, sql: str, parameters: dict[str, Any], folder: Path) -> int:
    """How many rows a statement reads from its files."""
    profile = folder / "profile.json"
    profile.unlink(missing_ok=True)
    con.execute("PRAGMA enable_profiling = 'json'")
    con.execute(f"PRAGMA profiling_output = '{profile}'")
    con.execute(sql, parameters).fetchall()
    con.execute("PRAGMA disable_profiling")
    # an answer from what stands beside the columns has no profile
    return int(json.loads(profile.read_text())["query"]["total_rows_scanned"]) if profile.exists() else 0


def test_simulate_gives_the_same_figures(tmp_path: Path) -> None:
    scenario = tmp_path / "s.parquet"
    made = "scenario poisson --requests 200 --rate 6 --input 1:900 --output 1:90 --seed 3 -o"
    run(*made.split(), str(scenario))
    asked = ("simulate", str(scenario), "--vary", "chunked_prefill_size=512,2048", "--repeat", "2", "--format", "json")
    here = run(*asked)
    with a_worker_killed("far") as killed:
        there = run(*asked, "--on", WHERE)
    assert len(killed) == 1
    assert uncosted(here) == uncosted(there)


def test_a_search_gives_the_same_figures(tmp_path: Path) -> None:
    scenario = tmp_path / "s.parquet"
    made = "scenario poisson --requests 60 --rate 6 --input 1:900 --output 1:90 --seed 3 -o"
    run(*made.split(), str(scenario))
    asked = ("simulate", str(scenario), "--search", "goodput", "--slo", "ttft_p99=2s", "--bounds",
             "chunked_prefill_size=512:2048", "--trials", "4", "--format", "json")  # fmt: skip
    assert uncosted(run(*asked)) == uncosted(run(*asked, "--on", WHERE))


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "ridgeline", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def uncosted(text: str) -> list[str]:
    """The lines but those of what it cost to compute."""
    return [line for line in text.splitlines() if '"cpu_s"' not in line]
