"""What is shipped beside the code: the images, the service, the public checks. Read here; built where a builder is."""

import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from ridgeline.cli import VERBS

ROOT: Final = Path(__file__).resolve().parents[1]
CONTAINER: Final = ROOT / "deploy" / "Containerfile"
WORDS: Final = frozenset(("FROM", "COPY", "RUN", "USER", "ENV", "WORKDIR", "ENTRYPOINT", "VOLUME", "STOPSIGNAL", "CMD"))


def instructions() -> list[tuple[str, str]]:
    """(word, the rest) of each instruction, continued lines joined."""
    text = re.sub(r"\\\n\s*", " ", CONTAINER.read_text(encoding="utf-8"))
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines]


def ignored(name: str) -> bool:
    """Whether the builder is kept from a path of the repository."""
    left_out = False
    for pattern in (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines():
        if pattern.startswith("!"):
            left_out = left_out and name.split("/")[0] != pattern[1:]
        elif pattern == "*":
            left_out = True
    return left_out


def test_every_instruction_is_one() -> None:
    assert {word for word, _ in instructions()} <= WORDS
    assert instructions()[0][0] == "FROM"


def test_stages_are_known_and_bases_are_named_in_full() -> None:
    stages: list[str] = []
    for word, rest in instructions():
        if word == "FROM":
            base, *named = rest.split()
            assert base in stages or re.fullmatch(r"docker\.io/library/python:3\.\d+-slim", base), base
            if named:
                assert named[0] == "AS"
                stages.append(named[1])
    assert "ridgeline" in stages


def test_what_is_copied_is_there_and_not_kept_out() -> None:
    copied = 0
    for word, rest in instructions():
        parts = rest.split()
        if word != "COPY" or parts[0].startswith("--from="):
            continue
        for source in parts[:-1]:
            copied += 1
            assert (ROOT / source).exists(), source
            assert not ignored(source), source
    assert copied >= 3
    assert ignored(".venv") and ignored("tests") and ignored(".git")
    assert (ROOT / ".containerignore").read_bytes() == (ROOT / ".dockerignore").read_bytes()


def test_what_the_build_needs_is_copied() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    copied = {source for word, rest in instructions() if word == "COPY" for source in rest.split()[:-1]}
    for name in ("README.md", "LICENSE", "pyproject.toml"):
        assert name == "pyproject.toml" or name in text
        assert name in copied
    extras = re.search(r"'/src\[([\w,]+)\]'", CONTAINER.read_text(encoding="utf-8"))
    assert extras is not None
    for extra in extras[1].split(","):
        assert re.search(rf"^{extra} = \[", text, re.MULTILINE), extra


def test_nothing_runs_as_root_and_what_is_run_exists() -> None:
    words = [word for word, _ in instructions()]
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert [rest for word, rest in instructions() if word == "USER"] == ["ridgeline"]
    verbs = {verb for _, verb, _, _ in VERBS}
    for word, rest in instructions():
        if word == "ENTRYPOINT":
            said = re.findall(r'"([^"]+)"', rest)
            assert said[0] == "ridgeline"
            assert len(said) == 1 or said[1] in verbs
            page = (ROOT / "docs" / "reference" / "verbs" / f"{said[1]}.md").read_text() if len(said) > 1 else ""
            assert all(option in page for option in said if option.startswith("--"))


def test_the_service_starts_a_verb_with_options_it_has() -> None:
    text = (ROOT / "deploy" / "ridgeline-watch.service").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("[")] == ["[Unit]", "[Service]", "[Install]"]
    started = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)
    assert started is not None
    words = shlex.split(started[1])
    assert words[0].endswith("/ridgeline") and words[1] == "watch"
    page = (ROOT / "docs" / "reference" / "verbs" / "watch.md").read_text(encoding="utf-8")
    example = re.search(r"^#\s+RIDGELINE_OPTIONS=(.*)$", text, re.MULTILINE)
    assert example is not None
    for option in [*words, *shlex.split(example[1])]:
        if option.startswith("--"):
            assert option in page, option


def test_the_public_checks_run_what_is_there() -> None:
    yaml = pytest.importorskip("yaml")
    told = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    jobs = told["jobs"]
    assert set(jobs) == {"test", "systems", "audit", "image"}
    said = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in said:
        for target in re.findall(r"\bmake ([a-z]+)", command):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
        for path in re.findall(r"(?<![\w/])((?:\./)?(?:\.ci|deploy|tests|examples)/[\w./-]+)", command):
            assert (ROOT / path).exists(), path
    assert "make audit" in said and "./.ci/run" in said
    assert told["permissions"] == {"contents": "read"}
    lowest = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert lowest is not None and jobs["test"]["strategy"]["matrix"]["python"][0] == lowest[1]


def test_the_checks_that_decide_need_no_vulnerability_database() -> None:
    assert "audit" not in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
