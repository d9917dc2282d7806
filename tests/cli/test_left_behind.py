"""Nothing stays in the temporary folder or the working one, whatever a verb was asked and however it ended."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

INCIDENT = Path(__file__).resolve().parents[2] / "examples" / "incident"
DUMP = INCIDENT.parent / "dumps" / "crash_dump.pkl"
ASKED = {
    "sources": ["sources", "in"],
    "diagnose": ["diagnose", "in"],
    "show": ["show", "E1", "in"],
    "classes": ["classes", "in"],
    "prefix": ["prefix", "in"],
    "sample": ["sample", "in", "-o", "out.parquet"],
    "ingest": ["ingest", "in", "-o", "out", "--embed"],
    "report": ["report", "in", "-o", "out.html"],
    "export": ["export", "csv", "in", "-o", "out"],
    "compare": ["compare", "in", "in"],
    "dump": ["dump", "show", str(DUMP)],
    "record": ["lab", "record", "fault.hang", "-o", "out/case", "--seed", "3"],
    "nothing there": ["diagnose", "no-such-file"],
    "a bad option": ["diagnose", "in", "--from", "yesterday"],
    "no place to write": ["ingest", "in", "-o", "in"],
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A working folder with the incident in it, a temporary folder and a home."""
    for name in ("work", "temp", "home"):
        (tmp_path / name).mkdir()
    shutil.copytree(INCIDENT, tmp_path / "work" / "in")
    return tmp_path


def environment(place: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(place / "temp"), "RIDGELINE_KEY_FILE": str(place / "home" / "key")}


def before_and_after(place: Path) -> tuple[set[str], set[str]]:
    temp = {str(p.relative_to(place)) for p in (place / "temp").rglob("*")}
    work = {p.name for p in (place / "work").iterdir()} | {p.name for p in (place / "work" / "in").iterdir()}
    return temp, work


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_a_verb(place: Path, asked: list[str]) -> None:
    _, before = before_and_after(place)
    done = subprocess.run(
        [sys.executable, "-m", "ridgeline", *asked], cwd=place / "work", env=environment(place), capture_output=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1, 2, 3), done.stderr
    temp, after = before_and_after(place)
    assert temp == set()
    assert {name.partition(".")[0] for name in after - before} <= {"out"}
    assert before <= after


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_one_that_is_told_to_stop(place: Path, how: signal.Signals) -> None:
    big = place / "work" / "in" / "big.log"
    lines = (INCIDENT / "server.log").read_bytes()
    with big.open("wb") as file:
        for _ in range(400):
            file.write(lines)
    child = subprocess.Popen(
        [sys.executable, "-m", "ridgeline", "ingest", "in", "-o", "out", "--quiet"], cwd=place / "work",
        env=environment(place), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not any((place / "temp").iterdir()) and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(how)
    child.wait(60)
    temp, after = before_and_after(place)
    assert temp == set()
    assert "out" not in after or child.returncode == 0
    assert not [name for name in after if name.startswith(".out")]
