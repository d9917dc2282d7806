"""`sample` and `simulate --vary` on a few requests of a request log: the printed route runs as printed."""

import json
from pathlib import Path

import pytest

from ridgeline.cli import main


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    return int(left.value.code or 0)


def lines(n: int) -> str:
    out = []
    for i in range(n):
        rid, at = f"{i:032x}", f"2026-03-01T00:00:{10 + i // 4:02d}.{25 * (i % 4):02d}0000"
        out.append(json.dumps({"timestamp": at, "event": "request.received", "rid": rid,
                               "obj": {"text": "a b c", "sampling_params": {"max_new_tokens": 8},
                                       "routed_dp_rank": i % 2}}))  # fmt: skip
        out.append(json.dumps({"timestamp": at, "event": "request.finished", "rid": rid,
                               "obj": {"text": "a b c", "sampling_params": {"max_new_tokens": 8},
                                       "routed_dp_rank": i % 2},
                               "out": {"meta_info": {"id": rid, "prompt_tokens": 30, "completion_tokens": 8,
                                                     "request_received_ts": 1772323210.0 + i / 4,
                                                     "finish_reason": {"type": "length", "length": 8}}}}))  # fmt: skip
    return "\n".join(out) + "\n"


def test_a_log_becomes_a_scenario_that_runs_under_several_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, made = tmp_path / "request.log", tmp_path / "incident.scenario"
    log.write_text(lines(40))
    assert run("sample", str(log), "-o", str(made), "--unpin", "--quiet") == 0
    read = json.loads(Path(f"{made}.json").read_text())
    assert read["schema"] == "ridgeline.sample/1" and read["notes"]
    capsys.readouterr()
    vary = ("--vary", "dp_size=1,2", "--vary", "schedule_policy=fcfs,lof")
    assert run("simulate", str(made), "--format", "json", *vary) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [(r["settings"]["dp_size"], r["settings"]["schedule_policy"]) for r in runs] == [
        (1, "fcfs"), (1, "lof"), (2, "fcfs"), (2, "lof")]  # fmt: skip
    assert all(r["requests"] == 40 for r in runs)


def test_a_class_is_kept_alone_and_an_unknown_one_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, made = tmp_path / "request.log", tmp_path / "one.scenario"
    log.write_text(lines(20))
    assert run("sample", str(log), "-o", str(made), "--class", "dp_rank_asked=1") == 0
    assert "10 of 20 requests" in capsys.readouterr().out
    assert run("sample", str(log), "-o", str(made), "--class", "colour=red") == 1
    assert "NAME=VALUE" in capsys.readouterr().err
    assert run("sample", str(log), "-o", str(made), "--class", "dp_rank_asked=7") == 1
    assert "no request of the traffic" in capsys.readouterr().err
