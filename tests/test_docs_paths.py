"""Names that every file system takes, in the repository and as the verbs write them; no path of one system in code."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
INCIDENT: Final = ROOT / "examples" / "incident"
RESERVED: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
PORTS: Final = tuple(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))
DEVICES: Final = frozenset(("con", "prn", "aux", "nul", *PORTS))
# What a server that is asked to profile itself writes, and what Linux alone tells of a process (read only there).
ELSEWHERE: Final = ("/tmp/profile", "/proc/", "--logs '/var/log/sglang/*.log'")
# What users are told to type on their server, and what the lab's servers say of theirs.
OTHERS: Final = ("/words/", "/lab/emit/")


def unsafe(name: str) -> bool:
    return bool(
        RESERVED.search(name) or name.endswith((".", " ")) or name.split(".")[0].lower() in DEVICES or len(name) > 200
    )


def problems(paths: list[Path], root: Path) -> list[str]:
    """Names that some system refuses, and names that are the same where case does not count."""
    relative = [path.relative_to(root) for path in paths]
    wrong = [str(path) for path in relative if any(unsafe(part) for part in path.parts)]
    folded: dict[str, Path] = {}
    for path in relative:
        other = folded.setdefault(str(path).lower(), path)
        if other != path:
            wrong.append(f"{other} and {path}")
    return wrong


def test_files_of_the_repository() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a checkout")
    assert problems([ROOT / name for name in listed.stdout.decode().split("\0") if name], ROOT) == []


@pytest.mark.parametrize(
    "asked",
    [
        ["ingest", str(INCIDENT), "-o", "b", "--embed"],
        ["ingest", "a:b?c*.log", "-o", "b", "--embed"],
        ["export", "csv", str(INCIDENT), "-o", "t"],
        ["report", str(INCIDENT), "-o", "r.html"],
        ["sample", str(INCIDENT), "-o", "s.parquet"],
        ["lab", "record", "routing.hot-key", "-o", "case"],
        ["dump", "convert", str(INCIDENT.parent / "dumps" / "crash_dump.pkl"), "-o", "d.jsonl"],
    ],
    ids=lambda a: "-".join(a[:2])[:24],
)
def test_files_that_are_written(asked: list[str], tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    odd = "a:b?c*.log" in asked
    if odd:
        try:
            (work / "a:b?c*.log").write_bytes((INCIDENT / "server.log").read_bytes())
        except OSError:
            pytest.skip("this system takes no such name")
    env = {**os.environ, "RIDGELINE_KEY_FILE": str(tmp_path / "key")}
    done = subprocess.run(
        [sys.executable, "-m", "ridgeline", *asked], cwd=work, env=env, capture_output=True, check=False
    )
    assert done.returncode in (0, 2, 3), done.stderr
    made = [path for path in work.rglob("*") if path.name != "a:b?c*.log"]
    assert made
    assert problems(made, work) == []


def constants(path: Path) -> list[str]:
    """String constants of a module, without its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and node.body and isinstance(node.body[0], ast.Expr)
    }  # fmt: skip
    return [
        node.value for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]  # fmt: skip


def test_no_path_of_one_system_stands_in_code() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {text[:80]!r}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for text in constants(path)
        if re.search(r"(?<![\w.])/(tmp|var|home|root|usr|opt|dev|proc)/", text)
        and not any(allowed in text for allowed in ELSEWHERE)
        and not any(room in path.as_posix() for room in OTHERS)
    ]
    assert wrong == []


def test_paths_are_not_glued() -> None:
    glued = re.compile(r"os\.sep|\+ ?[\"']/[\"'] ?\+ ?\w*(path|folder|dir)\b")
    wrong = [
        f"{path.relative_to(ROOT)}:{n}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if glued.search(line)
    ]
    assert wrong == []
