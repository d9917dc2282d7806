"""Each page of docs/adding is followed to the letter, on a copy of the sources: what it says will be there is there."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
STEP: Final = re.compile(
    r"^Write `(?P<write>[^`]+)`:\n\n```\w+\n(?P<whole>.*?)^```"
    r"|^In `(?P<edit>[^`]+)`, after `(?P<after>[^`]+)`, add:\n\n```\w+\n(?P<more>.*?)^```"
    r"|^```console\n(?P<session>.*?)^```",
    re.DOTALL | re.MULTILINE,
)


def follow(page: str, where: Path) -> int:
    """Do what the page says in ``where``; the number of steps taken."""
    steps = 0
    for m in STEP.finditer((ROOT / "docs" / "adding" / page).read_text(encoding="utf-8")):
        steps += 1
        if m["write"]:
            path = where / m["write"]
            assert not path.exists(), path
            path.write_text(m["whole"], encoding="utf-8")
        elif m["edit"]:
            path = where / m["edit"]
            text = path.read_text(encoding="utf-8")
            assert text.count(m["after"] + "\n") >= 1, f"{page}: {m['edit']} has no line {m['after']!r}"
            path.write_text(text.replace(m["after"] + "\n", m["after"] + "\n" + m["more"], 1), encoding="utf-8")
        else:
            session(page, m["session"], where)
    return steps


def session(page: str, text: str, where: Path) -> None:
    """Run each command; every line the page shows below it is among what it prints."""
    command, shown = "", []
    for line in [*text.splitlines(), "$ "]:
        if not line.startswith("$ "):
            shown.append(line)
            continue
        if command:
            words = command.split()
            assert words[0] == "ridgeline"
            done = subprocess.run(
                [sys.executable, "-m", "ridgeline", *words[1:]], cwd=where, capture_output=True, text=True,
                env={"PYTHONPATH": str(where / "src"), "HOME": str(Path.home()), "PATH": "/usr/bin:/bin"}, check=False,
            )  # fmt: skip
            said = done.stdout + done.stderr
            assert done.returncode in (0, 2, 3), f"{page}: {command}\n{said}"
            for wanted in shown:
                assert wanted in said, f"{page}: {command} does not show {wanted!r}:\n{said}"
        command, shown = line[2:].strip(), []


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_a_reader_then_a_measure_then_a_cause(copy: Path) -> None:
    assert follow("reader.md", copy) == 7
    assert follow("measure.md", copy) == 4
    assert follow("cause.md", copy) == 3


@pytest.mark.parametrize(("page", "steps"), [("fault.md", 2), ("policy.md", 2)])
def test_a_page_of_its_own(page: str, steps: int, copy: Path) -> None:
    assert follow(page, copy) == steps
