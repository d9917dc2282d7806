"""The newcomer's hour: the commands of the quick start, in order, on a fresh clone, in an environment of its own."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = (ROOT / "docs" / "quick-start.md").read_text(encoding="utf-8")
BIN: Final = ".venv-mine/bin"
pytestmark = pytest.mark.slow


def commands() -> list[str]:
    """Every command the page shows, in order: sessions, then what is to be typed with one's own folder."""
    shown = re.finditer(r"^\$ (.+)$|^    (ridgeline .+?)(?:\s{2,}#.*)?$", PAGE, re.MULTILINE)
    return [m[1] or m[2] for m in shown]


def bash(command: str, where: Path, home: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HOME": str(home), "PATH": f"{where / BIN}{os.pathsep}{os.environ['PATH']}"}
    env = {k: v for k, v in env.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")}
    return subprocess.run(["bash", "-c", command], cwd=where, env=env, capture_output=True, text=True, check=False)


def test_the_page_shows_the_whole_way() -> None:
    found = commands()
    assert found[0].startswith("git clone")
    assert [c.split()[1] for c in found if c.startswith("ridgeline ")] == [
        "diagnose", "sources", "diagnose", "diagnose", "show", "decide", "report",
    ]  # fmt: skip


def test_from_a_clone_to_the_diagnosis_of_ones_own_log(tmp_path: Path) -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no git, or no checkout to clone")
    home, own = tmp_path / "home", tmp_path / "own-logs"
    home.mkdir()
    own.mkdir()
    # one's own log: what a server writes, without any of the files beside it
    shutil.copy(ROOT / "examples" / "incident" / "server.log", own / "today.log")
    where = tmp_path
    for command in commands():
        command = command.replace("https://example.com/ridgeline.git", str(ROOT)).replace("/var/log/sglang", str(own))
        if command.startswith("cd "):
            where = where / command[3:]
            continue
        done = bash(command, where, home)
        if "pip install" in command and done.returncode:
            pytest.skip(f"no package index can be reached: {done.stderr.strip().splitlines()[-1][:200]}")
        assert done.returncode in (0, 2, 3), f"{command}\n{done.stdout}\n{done.stderr}"
        if "--version" in command:
            assert done.stdout.startswith("ridgeline ")
        elif command == f"ridgeline diagnose {own}":
            assert done.returncode == 2 and "routing.hot-key" in done.stdout
    assert (where / "incident.html").stat().st_size > 10_000
    assert sorted(p.name for p in own.iterdir()) == ["today.log"]
