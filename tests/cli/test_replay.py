"""`ridgeline replay` end to end: dumps, bundles and scenarios to a real server, and what is made of it."""

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ridgeline.cli import main
from ridgeline.scenario.files import write_scenario
from ridgeline.scenario.model import PS, make
from tests.replay.conftest import Server, free_port
from tests.replay.conftest import many as many
from tests.replay.conftest import serve as serve
from tests.replay.dumps import finished, request, write_dump

Serve = Callable[..., Server]


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str) -> Done:
    """One command in this process: what it prints and its exit status."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as left:
        main(list(arguments))
    return Done(int(str(left.value.code)), out.getvalue(), err.getvalue())


def said(*arguments: str) -> dict[str, Any]:
    done = run(*arguments, "--format", "json")
    assert done.stdout, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return {**told, "status": done.returncode}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    entries = [
        (request(f"r{i:03d}", f"prompt {i}", sampling={"temperature": 0.0 if i % 2 else 0.8, "max_new_tokens": 8}),
         finished(f"r{i:03d}", 2, list(range(8)), " w", "length"), i * 0.01)
        for i in range(60)
    ]  # fmt: skip
    return write_dump(tmp_path / "dump.pkl", entries)


def test_a_dump_becomes_a_bundle_that_every_command_reads(serve: Serve, dump: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = said("replay", str(dump), "--to", serve().url, "-o", str(out))
    assert report["status"] == 0 and report["schema"] == "ridgeline.replay/1"
    assert (report["requests"], report["sent"], report["fine"]) == (60, 60, 60)
    assert report["send_drift_s"]["n"] == 60 and report["ttft_s"]["p50"] > 0 and report["itl_s"]["n"] == 60 * 7
    assert json.loads((out / "replay.json").read_text())["fine"] == 60
    sources = json.loads(run("sources", str(out), "--format", "json").stdout)
    assert [s["kind"] for s in sources["sources"]] == ["client"] and sources["sources"][0]["unparsed"] == 0
    assert run("diagnose", str(out), "--format", "json").returncode in (0, 2, 3)
    kept = b"".join(p.read_bytes() for p in out.rglob("*") if p.is_file())
    assert b"r001" not in kept.replace(b"replay", b"") and b"prompt 1" not in kept, "ids are hashed, prompts not kept"
    assert not list(tmp_path.glob("*.replay.jsonl"))


def test_a_former_result_is_not_overwritten_by_chance(serve: Serve, dump: Path, tmp_path: Path) -> None:
    url, out = serve().url, str(tmp_path / "out")
    assert run("replay", str(dump), "--to", url, "-o", out, "--quiet").returncode == 0
    again = run("replay", str(dump), "--to", url, "-o", out, "--quiet")
    assert again.returncode == 1 and "--force" in again.stderr
    assert run("replay", str(dump), "--to", url, "-o", out, "--quiet", "--force").returncode == 0


def test_compared_with_the_record(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    entries = [(request(f"r{i}", f"p {i}"), finished(f"r{i}", 2, [1], "x"), i * 0.01) for i in range(10)]
    first = write_dump(tmp_path / "first.pkl", entries)
    differs = said("replay", str(first), "--to", server.url, "-o", str(tmp_path / "a"), "--compare", "recorded",
                   "--keep-text")  # fmt: skip
    c = differs["comparison"]
    assert differs["status"] == 2 and c["differing"] == 10 and c["differences"]["output"] == 10
    assert c["greedy"]["by_token"] == 10 and c["latency_judged"] is False and len(c["listed"]) == 10
    rows = [json.loads(line) for line in (tmp_path / "a" / "differences.jsonl").read_text().splitlines()]
    assert len(rows) == 10 and rows[0]["a"]["ids"] == [1]
    assert (tmp_path / "a" / "differences.jsonl").stat().st_mode & 0o777 == 0o600
    truth = {row["rid"]: row["b"] for row in rows}
    right = [(state, finished(state["rid"], 2, truth[state["rid"]]["ids"], truth[state["rid"]]["text"], "length"), at)
             for state, _, at in entries]  # fmt: skip
    second = write_dump(tmp_path / "second.pkl", right)
    same = said("replay", str(second), "--to", server.url, "-o", str(tmp_path / "b"), "--compare", "recorded")
    assert same["status"] == 0 and same["comparison"]["greedy"]["outputs_compared"] == 10


def test_two_targets_get_the_same_and_part_at_the_fifth_token(serve: Serve, dump: Path, tmp_path: Path) -> None:
    first, second = serve(log=str(tmp_path / "a.log")), serve(model="second", log=str(tmp_path / "b.log"))
    report = said("replay", str(dump), "--to", first.url, "-o", str(tmp_path / "out"), "--compare", second.url)
    c = report["comparison"]
    assert report["status"] == 2 and c["pairs"] == 60 and c["latency_judged"]
    assert c["greedy"]["outputs_parted"] == 30 and c["greedy"]["first_parting"] == 4
    assert c["greedy"]["median_parting"] == 4 and c["differences"] == {"output": 30}
    assert report["other"]["fine"] == 60
    assert run("sources", str(tmp_path / "out" / "other")).returncode == 0
    bodies = [
        sorted(json.loads(x)["body"]["rid"] for x in (tmp_path / f"{n}.log").read_text().splitlines()) for n in "ab"
    ]
    assert bodies[0] == bodies[1]
    same = said("replay", str(dump), "--to", first.url, "-o", str(tmp_path / "same"), "--compare", serve().url)
    assert same["comparison"]["differing"] == 0


def test_a_bundle_and_a_scenario_are_replayed_without_content(serve: Serve, dump: Path, tmp_path: Path) -> None:
    server = serve(log=str(tmp_path / "log"))
    segments = (np.array([0, 1, 2, 2]), np.array([5, 5]), np.array([12, 12]))
    columns = {"arrival_ps": np.array([0, 1, 2]) * PS // 100, "input_tokens": np.array([20, 30, 10]),
               "output_tokens": np.array([4, 5, 6])}  # fmt: skip
    write_scenario(make(columns, segments), tmp_path / "s.parquet")
    report = said("replay", str(tmp_path / "s.parquet"), "--to", server.url, "-o", str(tmp_path / "out"))
    rows = [json.loads(line)["body"] for line in (tmp_path / "log").read_text().splitlines()]
    rows.sort(key=lambda body: body["rid"])
    assert report["status"] == 0 and report["synthetic"] and any("holds no text" in n for n in report["notes"])
    assert [len(body["input_ids"]) for body in rows] == [20, 30, 10]
    assert rows[0]["input_ids"][:12] == rows[1]["input_ids"][:12] != [*rows[2]["input_ids"][:10], 0, 0]
    assert [body["sampling_params"]["max_new_tokens"] for body in rows] == [4, 5, 6]
    again = said(
        "replay", str(tmp_path / "out"), "--to", server.url, "-o", str(tmp_path / "out2"), "--compare", "recorded"
    )
    assert again["status"] == 0 and again["comparison"]["pairs"] == 3 and again["completion_tokens"] == 15


def test_window_filter_speed_and_endpoint(serve: Serve, dump: Path, tmp_path: Path) -> None:
    url = serve().url
    one = said("replay", str(dump), "--to", url, "-o", str(tmp_path / "a"), "--window", "0.1:0.3", "--filter",
               "temperature=0", "--as", "chat", "--speed", "10")  # fmt: skip
    assert one["sent"] == one["fine"] == 10 and one["took_s"] < 0.5
    assert any("template" in note for note in one["notes"])
    bad = run("replay", str(dump), "--to", url, "-o", str(tmp_path / "b"), "--filter", "nothing=1")
    assert bad.returncode == 1 and "these requests have" in bad.stderr and len(bad.stderr.splitlines()) == 1


def test_failures_are_a_finding_and_are_rows(serve: Serve, tmp_path: Path) -> None:
    entries = [(request(f"r{i}", word), {}, i * 0.01) for i, word in enumerate(["fine", "@500", "@error", "@cut"])]
    path = write_dump(tmp_path / "crash.pkl", entries, crash_s=1.0)
    out = tmp_path / "out"
    report = said("replay", str(path), "--to", serve().url, "-o", str(out))
    assert report["status"] == 2 and report["errors"] == {"disconnect": 1, "http-500": 1, "stream-error": 1}
    nothing = said("replay", str(path), "--to", serve().url, "-o", str(tmp_path / "o2"), "--compare", "recorded")
    assert nothing["status"] == 3 and nothing["comparison"]["verdict"] == "nothing-comparable"


def test_a_dead_or_foreign_target_is_one_line(dump: Path, tmp_path: Path) -> None:
    for url, words in ((f"http://127.0.0.1:{free_port()}", "nothing answers"), ("http://192.0.2.1:1", "--allow-host")):
        done = run("replay", str(dump), "--to", url, "-o", str(tmp_path / "out"))
        assert done.returncode == 1 and words in done.stderr and len(done.stderr.splitlines()) == 1
        assert not (tmp_path / "out").exists()


def test_interrupted_it_keeps_what_is_done(serve: Serve, tmp_path: Path) -> None:
    entries = [(request(f"r{i}", "@slow 200 x"), {}, i * 0.1) for i in range(200)]
    path = write_dump(tmp_path / "long.pkl", entries, crash_s=30.0)
    command = [sys.executable, "-m", "ridgeline", "replay", str(path), "--to", serve().url, "-o", str(tmp_path / "out"),
               "--format", "json"]  # fmt: skip
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until((tmp_path / "out.replay.jsonl").exists)
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    report = json.loads(out)
    assert "waiting for" in err and 0 < report["sent"] == report["fine"] < 150 and report["cut_by_us"] == 0
    assert any("were not sent" in note for note in report["notes"])


def test_killed_it_leaves_rows_that_can_be_read(serve: Serve, tmp_path: Path) -> None:
    entries = [(request(f"r{i}", "x"), {}, i * 0.005) for i in range(4000)]
    path = write_dump(tmp_path / "long.pkl", entries, crash_s=30.0)
    raw = tmp_path / "out.replay.jsonl"
    command = [sys.executable, "-m", "ridgeline", "replay", str(path), "--to", serve().url, "-o", str(tmp_path / "out")]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: raw.exists() and raw.stat().st_size > 20_000)
    child.kill()
    child.wait()
    again = run("replay", str(path), "--to", "http://127.0.0.1:1", "-o", str(tmp_path / "out"))
    assert again.returncode == 1
    assert run("ingest", str(raw), "-o", str(tmp_path / "out"), "--quiet").returncode == 0
    assert run("sources", str(tmp_path / "out")).returncode == 0


def wait_until(true: Callable[[], bool]) -> None:
    for _ in range(600):
        if true():
            return
        time.sleep(0.05)
    raise TimeoutError
