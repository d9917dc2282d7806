"""The docs cannot rot: every command shown is run, every verb is shown, every link leads somewhere."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from ridgeline.cli import VERBS

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import reference  # noqa: E402
from sessions import SESSION, output_of, shown  # noqa: E402

PAGES: Final = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SESSIONS: Final = [
    (page.name, int(m["lines"]), m["start"], m["command"], m["output"])
    for page in PAGES
    for m in SESSION.finditer(page.read_text(encoding="utf-8"))
]


def test_there_are_sessions() -> None:
    assert len(SESSIONS) >= 6


@pytest.mark.parametrize(
    ("page", "lines", "start", "command", "output"), SESSIONS, ids=[f"{s[0]}-{s[3]}" for s in SESSIONS]
)
def test_a_session_shows_what_the_command_prints(
    page: str, lines: int, start: str | None, command: str, output: str
) -> None:
    assert shown(output_of(command), lines, start) == output, f"run `python docs/sessions.py {page}`"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_verb_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for _, verb, _, _ in VERBS:
        assert f"ridgeline {verb}" in text, verb


@pytest.mark.parametrize("verb", [v[1] for v in VERBS])
def test_every_verb_has_help_with_every_option_told(verb: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ridgeline", verb, "--help"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout) > 200


def test_the_reference_is_the_programs_own() -> None:
    made = reference.pages()
    there = {str(p.relative_to(reference.HOME)): p.read_text(encoding="utf-8") for p in reference.HOME.rglob("*.md")}
    assert there == made, "run `python docs/reference.py`"
