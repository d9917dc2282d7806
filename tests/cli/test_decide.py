"""`decide` from recorded files to a change that the lab itself confirms; and the answers that change nothing."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ridgeline.cli import main
from ridgeline.lab.harm import figures
from ridgeline.lab.play import play
from ridgeline.lab.record import make_case, record


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


CASE = make_case("queue.running-cap/deploy")


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The recorded incident, and its truth."""
    folder = tmp_path_factory.mktemp("lab") / "evidence"
    return folder, record(CASE, folder)


def test_a_lowered_cap_is_raised_again_and_the_harm_is_gone(
    evidence: tuple[Path, dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, truth = evidence
    assert run(capsys, "ingest", str(folder), "-o", str(tmp_path / "bundle"), "--quiet")[0] == 0
    status, out, _ = run(capsys, "decide", str(tmp_path / "bundle"), "--format", "json", "--jobs", "1")
    told = json.loads(out)
    kept = json.loads((tmp_path / "bundle" / "decision.json").read_text())
    assert status == 2 and told["verdict"] == "change" and told["worth_touching"] is True
    assert kept == {name: value for name, value in told.items() if name != "diagnosis"}
    assert json.loads((tmp_path / "bundle" / "diagnosis.json").read_text()) == told["diagnosis"]
    rung = next(a for a in told["diagnosis"]["ladder"] if a["rung"] == "A5")
    assert rung["state"] == "answered" and rung["answer"] == told["sentence"]
    gain = told["gain"]
    assert gain["low"] <= gain["delta"] <= gain["high"] < 0
    after = figures(play(replace(CASE, changed=tuple(told["change"]["settings"].items()))))
    twin, before = truth["harm"]["twin"]["ttft_p95_s"], truth["harm"]["case"]["ttft_p95_s"]
    assert after["ttft_p95_s"] - twin < 0.2 * (before - twin)


def test_what_no_setting_mends_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(make_case("decode.regression"), tmp_path / "evidence")
    status, out, _ = run(capsys, "decide", str(tmp_path / "evidence"), "-o", str(tmp_path / "kept"))
    assert status == 2 and "No setting can mend decode.regression" in out
    told = json.loads((tmp_path / "kept" / "decision.json").read_text())
    assert told["verdict"] == "no-setting" and told["worth_touching"] is False and told["change"] is None
    assert ": profile it. What can be done: " in told["sentence"]


def test_nothing_wrong_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(make_case("healthy/steady"), tmp_path / "evidence")
    status, out, _ = run(capsys, "decide", str(tmp_path / "evidence"), "--format", "json")
    told = json.loads(out)
    assert status == 0 and told["verdict"] == "healthy" and told["worth_touching"] is False


def test_a_cause_without_traffic_says_what_is_missing(
    evidence: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    log = next(evidence[0].rglob("server.log"))
    status, out, _ = run(capsys, "decide", str(log), "--format", "json")
    told = json.loads(out)
    assert status == 3 and told["verdict"] in ("no-traffic", "inconclusive", "not-trusted")
