"""The installed program asked from outside: a process of its own that is handed a command line and nothing else.

Starting Python and importing costs more than a small diagnosis, so one process per job imports everything once
(`ridgeline.cli.forked`) and answers each question in a forked child. It is started as a program, before and apart from
any recording: what the lab knows of a case is in another process, and the child sees only the files it is pointed at.
"""

import atexit
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TIMEOUT_S: Final = 300
KEPT: Final = ("PATH", "HOME", "PYTHONPATH", "RIDGELINE_CACHE_DIR", "LANG", "TMPDIR")
"""What of our environment the program gets."""


@dataclass(frozen=True)
class Said:
    """What a command line gave: exit status (minus the signal where one ended it), both outputs, seconds it took."""

    status: int
    out: str
    error: str
    took_s: float


_RUNNING: Final[dict[int, subprocess.Popen[str]]] = {}
"""The answering process of each of our processes: a forked one must not talk into its parent's pipe."""


def environment() -> dict[str, str]:
    """Our environment as far as it is the program's business."""
    return {k: v for k, v in os.environ.items() if k in KEPT}


def answering() -> subprocess.Popen[str]:
    """The process that answers, started where there is none or where it has ended."""
    mine = _RUNNING.get(os.getpid())
    if mine is None or mine.poll() is not None:
        stop()
        mine = subprocess.Popen(
            [sys.executable, "-m", "ridgeline.cli.forked"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=environment(),
        )
        _RUNNING[os.getpid()] = mine
        atexit.register(stop)
    return mine


def stop() -> None:
    """End this process's answering process, if it has one."""
    mine = _RUNNING.pop(os.getpid(), None)
    if mine is not None:
        for pipe in (mine.stdin, mine.stdout):
            if pipe is not None:
                pipe.close()
        mine.wait(TIMEOUT_S)


def ridgeline(*arguments: str) -> Said:
    """Run ``ridgeline ARGUMENTS``; after `TIMEOUT_S` seconds it is ended."""
    start = time.monotonic()
    process = answering()
    assert process.stdin is not None
    assert process.stdout is not None
    with tempfile.TemporaryDirectory(prefix="ridgeline-said-") as folder:
        asked = {"arguments": arguments, "folder": folder, "limit_s": TIMEOUT_S}
        try:
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            told = process.stdout.readline()
        except BrokenPipeError:
            told = ""
        took = time.monotonic() - start
        if not told:
            stop()
            return Said(1, "", "the process that answers is gone", took)
        read = [Path(folder, name) for name in ("stdout", "stderr")]
        out, error = (path.read_text(encoding="utf-8", errors="replace") if path.exists() else "" for path in read)
        return Said(int(json.loads(told)["status"]), out, error, took)
