"""`--version` and the completion script."""

import subprocess
import sys
from pathlib import Path

from ridgeline import __version__


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "ridgeline", *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def test_version_names_the_build_and_what_it_runs_on() -> None:
    said = run("--version").split()
    assert said[:2] == ["ridgeline", __version__]
    for name in ("python", "duckdb", "numba", "zstandard", "live", "ray"):
        assert name in said


def test_completion_is_a_script_that_knows_the_verbs(tmp_path: Path) -> None:
    script = tmp_path / "ridgeline.bash"
    run("--install-completion", "--shell", "bash", "--output", str(script))
    text = script.read_text()
    assert "diagnose" in text
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
