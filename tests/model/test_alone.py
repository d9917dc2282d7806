"""The lock of a folder, and systems that have none."""

import subprocess
import sys
from pathlib import Path

import pytest

from ridgeline.model.alone import hold

WITHOUT = """
import sys
sys.modules["fcntl"] = sys.modules["resource"] = sys.modules["termios"] = None  # as on Windows: importing one fails
from ridgeline.cli import main
main(sys.argv[1:])
"""


def test_a_second_holder_is_refused_until_the_first_closes(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("wb") as first, path.open("rb") as second:
        hold(first, wait=True)
        with pytest.raises(BlockingIOError):
            hold(second, wait=False)
        first.close()
        hold(second, wait=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ["scenario", "poisson", "--requests", "50", "--rate", "5", "--input", "1:64", "--output", "1:16", "--seed", "1",
         "-o", "s.parquet"],
        ["sources", "server.log"],
        ["diagnose", "server.log", "--format", "json"],
        ["ingest", "server.log", "-o", "bundle"],
        ["capture", "--help"], ["watch", "--help"], ["replay", "--help"], ["minimise", "--help"],
    ],
    ids=lambda a: a[0],
)  # fmt: skip
def test_verbs_run_without_what_only_unix_has(tmp_path: Path, arguments: list[str]) -> None:
    line = "[2026-03-01 10:00:00] Decode batch, #running-req: 4, #token: 900, token usage: 0.10, #queue-req: 0\n"
    (tmp_path / "server.log").write_text(line * 3)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr and done.returncode in (0, 2, 3), done.stderr
