"""`ridgeline export` end to end: files that are whole, names hidden, mistakes in one line."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from ridgeline.cli import main

INCIDENT: Final = str(Path(__file__).resolve().parents[2] / "examples" / "incident")
SMALL: Final = f"{INCIDENT}/loads.scrapes.txt"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ridgeline", "export", *arguments], capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip


def test_a_trace_hides_names_unless_they_are_kept(tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    done = run("perfetto", INCIDENT, "-o", str(out), "--format", "json")
    assert done.returncode == 0, done.stderr
    (told,) = json.loads(done.stdout)["files"]
    assert told["bytes"] == out.stat().st_size and "513 requests" in told["holds"]
    assert "tenant-7" not in out.read_text() and json.loads(out.read_text())["traceEvents"]
    assert run("perfetto", INCIDENT, "-o", str(out), "--keep-text", "--from", "03:42", "--to", "03:43").returncode == 0
    assert "tenant-7" in out.read_text()
    assert 0 < sum(e["ph"] == "b" and "args" in e for e in json.loads(out.read_text())["traceEvents"]) < 513
    assert [p.name for p in tmp_path.iterdir()] == ["t.json"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("csv", SMALL, "-o", "x.csv", "--table", "nonsense"), "give one of"),
        (("perfetto", SMALL, "-o", "x.json", "--most", "0"), "above 0"),
        (("otlp", "none.log", "-o", "x.json"), "none.log"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: tuple[str, ...],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["export", *arguments, "--keep-text"])
    said = capsys.readouterr().err
    assert left.value.code == 1
    assert words in said and len(said.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "ridgeline", "export", "otlp", INCIDENT, "-o", str(pipe)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process, pipe.open() as f:
        assert '"resourceSpans"' in f.read()
        process.communicate(timeout=60)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
