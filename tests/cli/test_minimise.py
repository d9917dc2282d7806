"""`ridgeline minimise` against servers that really die: the request, its trigger, the tries it takes."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ridgeline.scenario.files import write_scenario
from ridgeline.scenario.model import PS, make
from tests.cli.test_replay import Done, run
from tests.replay.conftest import Server
from tests.replay.conftest import many as many
from tests.replay.conftest import serve as serve
from tests.replay.dumps import finished, request, write_dump

Serve = Callable[..., Server]
TRIGGER = "TRIGGER-0123456789"


def words(rng: random.Random, n: int) -> str:
    return " ".join(f"w{rng.randrange(1000)}" for _ in range(n))


def dump(path: Path, n: int, marks: dict[int, str], lengths: tuple[int, ...] = (60,), gap_s: float = 0.02) -> Path:
    """A dump of `n` ordinary requests, some with a mark in the middle of the prompt."""
    rng = random.Random(7)
    entries = []
    for i in range(n):
        text = words(rng, rng.choice(lengths))
        if i in marks:
            text = f"{text[: len(text) // 2]} {marks[i]} {text[len(text) // 2 :]}"
        sampling = {"temperature": 0.0 if i % 2 else 0.8, "max_new_tokens": 8, "top_p": 0.9, "stop": None}
        entries.append((request(f"r{i:04d}", text, sampling=sampling), finished(f"r{i:04d}", 9, [1], " w1"), i * gap_s))
    return write_dump(path, entries)


def minimised(path: Path, server: Server, fails: str, out: Path, *more: str) -> tuple[dict[str, Any], Done]:
    done = run("minimise", str(path), "--to", server.url, "--fails", fails, "-o", str(out), "--restart", server.restart,
               "--format", "json", *more)  # fmt: skip
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report, done


def bodies(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line)["body"] for line in (out / "minimal.jsonl").read_text().splitlines()]


def test_one_crashing_shape_among_two_thousand(serve: Serve, tmp_path: Path) -> None:
    path = dump(tmp_path / "d.pkl", 2000, {900: TRIGGER + " " + "y" * 4000}, (40, 80), gap_s=0.002)
    out = tmp_path / "out"
    report, done = minimised(path, serve(crash=TRIGGER), "crash", out)
    (body,) = bodies(out)
    assert done.returncode == 2 and report["state"] == "minimal" and report["spent"] <= 60
    assert TRIGGER in body["text"] and len(body["text"]) <= len(TRIGGER) + 64
    assert body["sampling_params"] == {"max_new_tokens": 1} and body["stream"] is False
    assert report["proof"]["failed"] == report["proof"]["tries"] == 3
    assert report["from"]["requests"] == 2000 and report["to"]["each"][0]["rid"] == "r0900"
    assert (out / "minimal.jsonl").stat().st_mode & 0o777 == 0o600


def test_token_ids_and_the_parameter_that_matters(serve: Serve, tmp_path: Path) -> None:
    rng = random.Random(3)
    entries = []
    for i in range(300):
        ids = [rng.randrange(1000, 9000) for _ in range(rng.choice((50, 700)))]
        sampling: dict[str, Any] = {"temperature": 0.0, "max_new_tokens": 64, "min_p": 0.1}
        if i == 120:
            ids[300:300] = [31, 32, 33]
            sampling |= {"regex": "a+", "top_k": 5}
        entries.append(
            (request(f"r{i}", None, ids, sampling=sampling, priority=1), finished(f"r{i}", 9, [1], " w1"), i * 0.01)
        )
    path = write_dump(tmp_path / "d.pkl", entries)
    out = tmp_path / "out"
    server = serve(crash_ids=[31, 32, 33], crash_params={"regex": "a+"})
    report, done = minimised(path, server, "crash", out)
    (body,) = bodies(out)
    assert done.returncode == 2 and report["spent"] <= 60
    assert len(body["input_ids"]) <= 3 + 16 and sorted(set(body["input_ids"]) & {31, 32, 33}) == [31, 32, 33]
    assert body["sampling_params"] == {"max_new_tokens": 1, "regex": "a+"} and "priority" not in body


def test_a_scenario_is_reduced_to_the_length_that_matters(serve: Serve, tmp_path: Path) -> None:
    columns = {"arrival_ps": np.arange(80) * (PS // 100), "input_tokens": np.where(np.arange(80) == 33, 900, 40),
               "output_tokens": np.full(80, 4)}  # fmt: skip
    write_scenario(make(columns), tmp_path / "s.parquet")
    report, done = minimised(tmp_path / "s.parquet", serve(crash="", least=600), "crash", tmp_path / "out")
    (body,) = bodies(tmp_path / "out")
    assert done.returncode == 2 and 600 <= len(body["input_ids"]) <= 616 and report["spent"] <= 60
    assert any("holds no text" in note for note in report["notes"])


def test_two_requests_that_only_fail_together(serve: Serve, tmp_path: Path) -> None:
    path = dump(tmp_path / "d.pkl", 400, {100: "MARK-A", 104: "MARK-B"}, gap_s=0.05)
    report, done = minimised(path, serve(pair=["MARK-A", "MARK-B"], token_s=0.02), "crash", tmp_path / "out")
    first, second = bodies(tmp_path / "out")
    assert done.returncode == 2 and report["state"] == "minimal"
    assert "MARK-A" in first["text"] and "MARK-B" in second["text"] and len(first["text"] + second["text"]) < 150
    script = (tmp_path / "out" / "reproduce.sh").read_text()
    assert script.count("curl") == 2 and script.rstrip().endswith("wait")


def test_a_fault_that_needs_what_was_left_in_the_server(serve: Serve, tmp_path: Path) -> None:
    path = dump(tmp_path / "d.pkl", 120, {30: "MARK-A", 90: "MARK-B"}, gap_s=0.01)
    report, _ = minimised(path, serve(after=["MARK-A", "MARK-B"]), "crash", tmp_path / "out")
    first, second = bodies(tmp_path / "out")
    assert "MARK-A" in first["text"] and "MARK-B" in second["text"]
    assert report["proof"]["failed"] == report["proof"]["tries"] >= 3


def test_a_fault_of_thirty_percent(serve: Serve, tmp_path: Path) -> None:
    path = dump(tmp_path / "d.pkl", 60, {20: TRIGGER}, gap_s=0.002)
    report, done = minimised(path, serve(crash=TRIGGER, rate=0.3, seed=11), "crash", tmp_path / "out")
    (body,) = bodies(tmp_path / "out")
    assert done.returncode == 2 and report["spent"] <= 600
    assert TRIGGER in body["text"] and len(body["text"]) < 200
    proof = report["proof"]
    assert proof["tries"] == 10 and 0 < proof["failed"] < 10


def test_the_printed_command_really_brings_it(serve: Serve, tmp_path: Path) -> None:
    server = serve(crash=TRIGGER)
    report, _ = minimised(dump(tmp_path / "d.pkl", 20, {7: TRIGGER}), server, "crash", tmp_path / "out")
    subprocess.run(["/bin/sh", "-c", server.restart], check=True)
    (command,) = report["curl"]
    wait_for(lambda: curl(server.url + "/health").returncode == 0)
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, timeout=20, check=False)
    assert done.returncode == 52, "an empty answer: the server died"
    assert curl(server.url + "/health").returncode == 7


@pytest.mark.parametrize(("fails", "mark"), [
    ("status:5xx", "@500"), ("error:stream-error", "@error"), ("finish:abort", "@abort"), ("finish:length", "@length"),
    ("ttft>150ms", "@slow 300 x"), ("cmd:grep -q 'Internal server error'", "@500"),
])  # fmt: skip
def test_other_predicates(serve: Serve, tmp_path: Path, fails: str, mark: str) -> None:
    rng = random.Random(5)
    entries = []
    for i in range(40):
        text = words(rng, 30)
        text = f"{text} {mark} {words(rng, 30)}" if i == 17 else text
        sampling = {"max_new_tokens": 16 if fails == "finish:length" else 8, "temperature": 0.0}
        entries.append((request(f"r{i}", text, sampling=sampling), finished(f"r{i}", 9, [1], " w1"), i * 0.005))
    path = write_dump(tmp_path / "d.pkl", entries)
    report, done = minimised(path, serve(), fails, tmp_path / "out")
    (body,) = bodies(tmp_path / "out")
    assert done.returncode == 2 and report["to"]["each"][0]["rid"] == (
        "r17" if fails != "finish:length" else body["rid"][8:]
    )
    assert report["restarts"] <= 2 and report["spent"] <= 60
    assert fails == "finish:length" or mark.split()[0] in body["text"]


def test_what_does_not_come_back_is_said(serve: Serve, tmp_path: Path) -> None:
    report, done = minimised(dump(tmp_path / "d.pkl", 20, {}), serve(), "crash", tmp_path / "out", "--repeat", "3")
    assert done.returncode == 3 and report["state"] == "not-reproduced" and report["spent"] == 4
    assert "try 2 of 600" in done.stderr and done.stderr.count("the first 3 tries all passed") == 1
    assert not (tmp_path / "out" / "minimal.jsonl").exists()


def test_a_spent_budget_keeps_the_smallest_so_far_and_more_goes_on(serve: Serve, tmp_path: Path) -> None:
    path, server, out = dump(tmp_path / "d.pkl", 200, {70: TRIGGER}), serve(crash=TRIGGER), tmp_path / "out"
    report, done = minimised(path, server, "crash", out, "--budget", "8")
    assert done.returncode == 2 and report["state"] == "reduced" and TRIGGER in bodies(out)[0]["text"]
    report, _ = minimised(path, server, "crash", out)
    assert report["state"] == "minimal" and report["resumed"] == 8
    other, done = run_other(path, server, out)
    assert other == 1 and "another dump, predicate or option" in done


def run_other(path: Path, server: Server, out: Path) -> tuple[int, str]:
    done = run(
        "minimise", str(path), "--to", server.url, "--fails", "error", "-o", str(out), "--restart", server.restart
    )
    return done.returncode, done.stderr


def test_killed_it_goes_on_where_it_was(serve: Serve, tmp_path: Path) -> None:
    path, server, out = dump(tmp_path / "d.pkl", 400, {150: TRIGGER}), serve(crash=TRIGGER), tmp_path / "out"
    command = [sys.executable, "-m", "ridgeline", "minimise", str(path), "--to", server.url, "--fails", "crash", "-o",
               str(out), "--restart", server.restart, "--quiet"]  # fmt: skip
    child = subprocess.Popen(command)
    tries = out / "tries.jsonl"
    wait_for(lambda: tries.exists() and tries.read_bytes().count(b"\n") >= 6)
    child.kill()
    child.wait()
    kept = tries.read_bytes()
    report, done = minimised(path, server, "crash", out)
    assert done.returncode == 2 and report["state"] == "minimal" and report["resumed"] >= 5
    assert tries.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1]), "no try was made again"
    assert TRIGGER in bodies(out)[0]["text"]


def test_interrupted_it_writes_the_smallest_so_far(serve: Serve, tmp_path: Path) -> None:
    path, server, out = dump(tmp_path / "d.pkl", 400, {150: TRIGGER}), serve(crash=TRIGGER), tmp_path / "out"
    command = [sys.executable, "-m", "ridgeline", "minimise", str(path), "--to", server.url, "--fails", "crash", "-o",
               str(out), "--restart", server.restart, "--quiet"]  # fmt: skip
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    tries = out / "tries.jsonl"
    wait_for(lambda: tries.exists() and b'"failed":true' in tries.read_bytes())
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=30)
    assert child.returncode == 130 and "Traceback" not in err
    assert any(TRIGGER in body["text"] for body in bodies(out))


def test_a_server_that_does_not_come_back_is_one_line(serve: Serve, tmp_path: Path) -> None:
    path, server = dump(tmp_path / "d.pkl", 30, {7: TRIGGER}), serve(crash=TRIGGER)
    given = ("minimise", str(path), "--to", server.url, "--fails", "crash", "--quiet")
    done = run(*given, "-o", str(tmp_path / "a"), "--ready", "1s")
    assert done.returncode == 1 and "goes on where it stopped" in done.stderr and len(done.stderr.splitlines()) == 1
    assert TRIGGER in (tmp_path / "a" / "minimal.jsonl").read_text(), "what was found is kept"
    done = run(*given, "-o", str(tmp_path / "b"), "--restart", "exit 7")
    assert done.returncode == 1 and "ended with 7" in done.stderr


def curl(url: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["curl", "-sS", "-m", "5", url], capture_output=True, check=False)


def wait_for(true: Callable[[], bool]) -> None:
    for _ in range(1200):
        if true():
            return
        time.sleep(0.02)
    raise TimeoutError
