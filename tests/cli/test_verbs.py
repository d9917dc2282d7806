"""The verbs end to end, on the incident that ships."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
INCIDENT: Final = str(ROOT / "examples" / "incident")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ridgeline", *arguments], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    done = run("diagnose", INCIDENT, "--format", "json")
    assert done.returncode == 2, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_the_incident_that_ships_is_found(answer: dict[str, Any]) -> None:
    first = answer["findings"][0]
    assert first["cause"] == "routing.hot-key"
    assert first["scope"]["dp_rank"] == ["1"]
    assert first["scope"]["routing_key"] == ["tenant-7"]
    assert all(c["unparsed"] == 0 for c in answer["coverage"])


def test_the_contract_holds(answer: dict[str, Any]) -> None:
    schema = json.loads((ROOT / "docs" / "diagnosis.schema.json").read_text())
    jsonschema.validate(answer, schema)
    cited = {e for a in answer["ladder"] for e in a["evidence"]} | {
        e for f in answer["findings"] for e in f["evidence"]
    }
    assert cited <= set(answer["evidence"])


def test_same_input_same_bytes() -> None:
    assert run("diagnose", INCIDENT, "--format", "json").stdout == run("diagnose", INCIDENT, "--format", "json").stdout


def test_a_bundle_tells_the_same_as_the_files(answer: dict[str, Any], tmp_path: Path) -> None:
    out = str(tmp_path / "bundle")
    assert run("ingest", INCIDENT, "-o", out, "--quiet").returncode == 0
    again = json.loads(run("diagnose", out, "--format", "json").stdout)
    assert [f["cause"] for f in again["findings"]] == [f["cause"] for f in answer["findings"]]
    assert [f["confidence"] for f in again["findings"]] == [f["confidence"] for f in answer["findings"]]
    # names of keys are keyed hashes in a bundle, ranks are not
    assert again["findings"][0]["scope"]["dp_rank"] == ["1"]
    assert "tenant-7" not in json.dumps(again)


def test_every_piece_of_evidence_can_be_shown(answer: dict[str, Any]) -> None:
    for name in answer["findings"][0]["evidence"]:
        done = run("show", name, INCIDENT, "--format", "json", "--lines", "3")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["value"] == told["again"] == answer["evidence"][name]["value"]
        assert told["lines"]


def test_markdown_is_short_enough_for_a_ticket() -> None:
    done = run("diagnose", INCIDENT, "--format", "md")
    assert 5 <= len(done.stdout.splitlines()) <= 25
    assert "routing.hot-key" in done.stdout


def test_the_terminal_shows_ladder_strips_and_twins() -> None:
    out = run("diagnose", INCIDENT).stdout
    for words in ("routing.hot-key", "A1b", "its normal twin", "waiting", "ruled out", "next"):
        assert words in out


def test_fail_on_and_quiet() -> None:
    done = run("diagnose", INCIDENT, "--quiet")
    assert (done.returncode, done.stdout) == (2, "")


def test_one_request_beside_its_twin(answer: dict[str, Any]) -> None:
    pair = answer["representatives"][0]
    done = run("request", pair["rid"], INCIDENT, "--format", "json")
    assert done.returncode == 0, done.stderr
    bars = json.loads(done.stdout)["requests"]
    assert bars[0]["rid"] == pair["rid"]
    assert bars[0]["total_s"] > 3 * bars[-1]["total_s"]
    assert run("request", "no-such-rid", INCIDENT).returncode == 1


def test_classes_name_the_rank() -> None:
    told = json.loads(run("classes", INCIDENT, "--format", "json").stdout)
    assert told["requests"] > 400
    assert told["classes"][0]["coverage"] > 0.9


def test_causes_lists_and_prints_a_page() -> None:
    listed = json.loads(run("causes", "--format", "json").stdout)
    assert len(listed) >= 60
    page = run("causes", "queue.running-cap").stdout
    for words in ("must hold", "told apart from", "--max-running-requests"):
        assert words in page
    assert run("causes", "no.such").returncode == 1
    assert "sglang:num_queue_reqs" in run("causes", "num_waiting").stdout


VERBS = ("ingest", "sources", "diagnose", "show", "request", "classes", "causes", "simulate", "sample")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str) -> None:
    done = run(verb, "--help")
    assert done.returncode == 0
    assert verb in done.stdout
