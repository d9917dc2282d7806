"""A score that is told to end: soon, with what it has on disk, and with no process left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


def members(group: int) -> list[int]:
    """Processes of a process group that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
        if int(after[2]) == group and after[0] != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see what is left behind")
@pytest.mark.parametrize("everyone", [False, True], ids=["the parent alone", "the whole group"])
def test_it_ends_and_goes_on_where_it_was(tmp_path: Path, everyone: bool) -> None:
    results = tmp_path / "results.jsonl"
    program = [
        sys.executable,
        "-m",
        "ridgeline",
        "lab",
        "score",
        "--seeds",
        "1:9",
        "--only",
        "queue.burst",
        "--jobs",
        "2",
    ]
    program += ["--results", str(results), "-o", str(tmp_path / "accuracy.md"), "--quiet"]
    running = subprocess.Popen(program, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        until = time.monotonic() + 240
        while not (results.is_file() and results.read_bytes()) and time.monotonic() < until:
            assert running.poll() is None
            time.sleep(0.1)
        if everyone:
            os.killpg(running.pid, signal.SIGTERM)
        else:
            running.terminate()
        _, said = running.communicate(timeout=120)
        assert running.returncode == 143 and b"Traceback" not in said
        assert 1 <= len(results.read_text().splitlines()) < 8
        until = time.monotonic() + 20
        while members(running.pid) and time.monotonic() < until:
            time.sleep(0.1)
        assert not members(running.pid)
    finally:
        if members(running.pid):
            os.killpg(running.pid, signal.SIGKILL)
