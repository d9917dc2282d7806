"""Asking the installed program through one warm process: the same answers, and a crash is told as one."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ridgeline.lab.record import make_case, record
from ridgeline.lab.score import ask


def alone(*arguments: str) -> tuple[int, str]:
    """The program started by itself."""
    done = subprocess.run(
        [sys.executable, "-m", "ridgeline", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=ask.environment(),
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("name", "version"), [("healthy/idle", "0.5.23"), ("queue.running-cap/deploy", "0.5.3"), ("fault.crash", "vllm")]
)
def test_the_answer_is_that_of_the_program_started_alone(tmp_path: Path, name: str, version: str) -> None:
    folder = tmp_path / "evidence"
    record(make_case(name, seed=3, version=version, rate=0.7), folder)
    question = ("diagnose", str(folder), "--symptom", "auto", "--format", "json")
    said = ask.ridgeline(*question)
    assert (said.status, said.out) == alone(*question)
    assert json.loads(said.out)["schema"] == "ridgeline.diagnosis/1"


def test_errors_are_the_programs_own() -> None:
    said = ask.ridgeline("diagnose", "/no/such/place")
    assert said.status == 1
    assert said.out == ""
    assert "/no/such/place" in said.error
    assert "--symptom" in ask.ridgeline("diagnose", "--help").out


def test_a_child_that_is_ended_is_told_and_the_next_one_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "TIMEOUT_S", 1)
    assert ask.ridgeline("lab", "serve", "--port", "32741").status == -signal.SIGALRM
    assert ask.ridgeline("--version").status == 0


def test_a_process_that_is_gone_costs_one_answer() -> None:
    assert ask.ridgeline("--version").status == 0
    gone = ask.answering()
    gone.kill()
    gone.wait(30)
    assert ask.ridgeline("--version").status == 0  # found gone before it is asked: another one is started


def test_the_process_sees_our_environment_only_as_far_as_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIDGELINE_TRUTH", "memory.leak")
    ask.stop()
    process = ask.answering()
    ask.ridgeline("--version")
    assert b"memory.leak" not in Path(f"/proc/{process.pid}/environ").read_bytes()
    ask.stop()
    assert process.poll() is not None
