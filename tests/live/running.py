"""`ridgeline capture` and `watch` as real processes, none of which outlives its test."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

STARTED: list[subprocess.Popen[str]] = []


def start(verb: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """The verb, running; both of its outputs are pipes."""
    STARTED.append(
        subprocess.Popen([sys.executable, "-m", "ridgeline", verb, *map(str, arguments)], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    )  # fmt: skip
    return STARTED[-1]


def end_all() -> None:
    """A test that fails must not leave its process behind."""
    while STARTED:
        process = STARTED.pop()
        process.kill()
        process.communicate()


def until(condition: Callable[[], object], timeout_s: float = 60.0) -> None:
    """Wait until it holds; fails after ``timeout_s``."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.05)
