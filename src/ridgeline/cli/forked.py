"""Many command lines, one start: each runs in a forked child of a process that has imported all and read nothing.

`python -m ridgeline.cli.forked` reads one JSON object a line: `{"arguments": […], "folder": "/tmp/x", "limit_s": 300}`.
The child is the program as it would have been started alone, with standard input empty, `folder/stdout` and
`folder/stderr` as its output, the folder for temporary files, and killed after `limit_s` seconds. The answer is one
line: `{"status": 2}`, or minus the signal that ended it. What one child reads, no other has seen.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any, Final, NoReturn

ROOMS: Final = ("words", "model", "stats", "signals", "bundle", "prefix", "facts", "causes", "ladder", "report")
VERBS: Final = ("diagnose", "show", "evidence", "moments", "progress", "sources", "stored", "bounded")
OTHERS: Final = ("duckdb", "scipy.stats", "pyarrow.parquet", "rich.console")
APART: Final = ("ridgeline.report.page",)  # what only pages need, and an extra may lack


def load() -> None:
    """Import what `diagnose` and `show` import in the course of their work."""
    for room in ROOMS:
        package = importlib.import_module(f"ridgeline.{room}")
        for found in pkgutil.walk_packages(package.__path__, f"ridgeline.{room}."):
            if not found.name.startswith(APART):
                importlib.import_module(found.name)
    for name in (*(f"ridgeline.cli.{verb}" for verb in VERBS), *OTHERS):
        importlib.import_module(name)


def become(arguments: list[str], folder: Path, limit_s: int) -> NoReturn:
    """In a child: run the program with these arguments and leave."""
    from ridgeline.cli import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.alarm(limit_s)  # nobody handles it: the child ends
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)  # what it leaves, ended or not, goes with the folder
    status = 1
    try:
        for number, name in ((1, "stdout"), (2, "stderr")):
            opened = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(opened, number)
            os.close(opened)
        main(arguments)
    except SystemExit as e:
        status = e.code if isinstance(e.code, int) else int(e.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # neither the parent's exit handlers nor its open files are the child's to close
        os._exit(status)


def answer(asked: dict[str, Any]) -> int:
    """Exit status of the program run in a child, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        become([str(a) for a in asked["arguments"]], Path(asked["folder"]), int(asked["limit_s"]))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def serve() -> None:
    """Answer lines until there are no more."""
    load()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asked is interrupted as well, and then there are no more lines
    lines, said = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(nothing, number)  # what a child prints or reads is never taken for a line of this talk
    gc.collect()
    gc.freeze()  # what is imported stays for good: no child need look at it, or copy its pages
    for line in lines:
        print(json.dumps({"status": answer(json.loads(line))}), file=said, flush=True)


if __name__ == "__main__":
    serve()
