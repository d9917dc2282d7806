"""`simulate` and `scenario` from the command line: what is printed, what is written, what is refused."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ridgeline.cli import main
from ridgeline.scenario.files import write_scenario
from ridgeline.sim.whatif.basis import write_basis
from tests.sim.whatif.made import made_basis


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


@pytest.fixture
def sampled(tmp_path: Path) -> Path:
    path = tmp_path / "incident.scenario"
    write_basis(made_basis(), path)
    return path


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "made.scenario"
    write_scenario(made_basis(60).scenario, path)
    return path


def test_the_verdict_stands_before_the_table_and_the_flag_behind_it(
    sampled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(capsys, "simulate", str(sampled), "--vary", "max_running_requests=8,32", "--repeat", "2")
    lines = out.splitlines()
    assert status == 0 and lines[0].startswith("Fidelity: the baseline is reproduced")
    assert lines[-1].startswith("Set --max-running-requests 32: ")
    _, md, _ = run(capsys, "simulate", str(sampled), "--vary", "max_running_requests=8,32", "--format", "md")
    assert "| rank | setting |" in md and "|---|---|---:|" in md


def test_one_set_run_is_one_run_and_the_gate_is_about_the_base(
    sampled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run(capsys, "simulate", str(sampled), "--set", "max_running_requests=32", "--format", "json")
    told = json.loads(out)
    assert [r["settings"]["max_running_requests"] for r in told["runs"]] == [32] and told["fidelity"]["trust"] is True
    observed, predicted = (told["fidelity"]["metrics"]["queue_s"]["mean"][k] for k in ("observed", "predicted"))
    assert predicted == pytest.approx(observed, rel=1e-4) and told["runs"][0]["queue_s"]["mean"] < observed / 2


def test_no_observed_times_is_null_and_fine(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "simulate", str(made), "--vary", "max_running_requests=2,8", "--format", "json")
    told = json.loads(out)
    assert status == 0 and told["fidelity"] is None and len(told["runs"]) == 3
    assert {"settings", "requests", "ttft_s", "tpot_s", "e2e_s", "queue_s", "goodput", "cpu_s"} <= set(told["runs"][0])
    assert set(told["runs"][0]["ttft_s"]) == {"mean", "p50", "p90", "p99"}


def test_a_time_model_that_was_saved_gives_the_same_run(sampled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = sampled.with_name("times.json")
    _, first, _ = run(capsys, "simulate", str(sampled), "--save-time-model", str(file), "--format", "json")
    _, again, _ = run(capsys, "simulate", str(sampled), "--time-model", str(file), "--format", "json")
    assert json.loads(first)["runs"][0]["e2e_s"] == json.loads(again)["runs"][0]["e2e_s"]
    _, large, _ = run(capsys, "simulate", str(sampled), "--time-model", "large")
    assert large.startswith("Fidelity: NOT to be trusted") and "large: 70B" in large


def test_the_written_bundle_is_read_as_production_is(sampled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = sampled.with_name("after")
    status, _, _ = run(capsys, "simulate", str(sampled), "--vary", "max_running_requests=32", "-o", str(out), "--quiet")
    assert status == 0
    status, told, _ = run(capsys, "sources", str(out))
    assert status == 0 and "simulation" in told
    status, told, _ = run(capsys, "diagnose", f"{out}.base", "--format", "json")
    assert status in (0, 2, 3) and json.loads(told)["coverage"][0]["kind"] == "simulation"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--set", "max_runing_requests=8"), "max_runing_requests: no such setting"),
        (("--set", "page_size=0"), "page_size"),
        (("--set", "max_total_num_tokens=0"), "max_total_num_tokens"),
        (("--set", "max_total_num_tokens=-5"), "max_total_num_tokens"),
        (("--set", "schedule_policy=fastest"), "schedule_policy"),
        (("--set", "router=magic"), "router"),
        (("--set", "schedule_conservativeness=nan"), "schedule_conservativeness"),
        (("--set", "schedule_conservativeness=inf"), "schedule_conservativeness"),
        (("--set", "max_running_requests=99999999999999999999"), "max_running_requests"),
        (("--set", "max_running_requests"), "KEY=VALUE"),
        (("--vary", "max_running_requests=8,"), "KEY=A,B"),
        (("--slo", "ttft_p99=soon"), "--slo"),
        (("--by", "happiness"), "--by"),
        (("--by", "goodput"), "--slo"),
        (("--repeat", "0"), "--repeat"),
        (("--jobs", "0"), "--jobs"),
        (("--seed", "-1"), "--seed"),
        (("--search", "goodput", "--slo", "ttft=1s"), "--bounds"),
        (("--search", "ttft", "--bounds", "max_running_requests=9:2"), "--bounds"),
        (("--policy", "nowhere.py:route_x"), "policy"),
        (("--time-model", "huge"), "--time-model"),
        (("--hardware", "bandwidth=3350"), "bandwidth=3.35TB/s"),
        (("--hardware", "weights=16GB"), "weights bounds nothing without bandwidth"),
    ],
)
def test_bad_input_is_one_line_that_names_it(
    made: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], word: str
) -> None:
    status, out, err = run(capsys, "simulate", str(made), *arguments)
    assert status == 1 and out == ""
    assert word in err and len(err.splitlines()) == 1 and "Traceback" not in err


def test_step_times_that_are_not_fitted_are_no_faster_than_the_hardware(
    made: Path, sampled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = ("--hardware", "weights=16GB", "--hardware", "bandwidth=0.5TB/s")
    _, plain, _ = run(capsys, "simulate", str(made), "--format", "json")
    status, out, _ = run(capsys, "simulate", str(made), *figures, "--format", "json")
    before, after = (json.loads(text)["runs"][0]["tpot_s"]["mean"] for text in (plain, out))
    assert status == 0 and before < 0.032 <= after  # 16 GB at 0.5 TB/s: 32 ms a step
    status, _, err = run(capsys, "simulate", str(sampled), *figures)
    assert status == 1 and "the step times of a sample are fitted already" in err


def test_evidence_is_fitted_above_the_hardwares_floor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ridgeline.lab.record import make_case, record

    record(make_case("healthy/steady", 1), tmp_path / "e")
    place = str(tmp_path / "e")
    _, out, _ = run(capsys, "fidelity", place, "--format", "json")
    step = json.loads(out)["time_model"]["step_s"]
    figures = ("--hardware", f"weights={1.05 * step * 1e12}B,bandwidth=1TB/s")
    status, out, _ = run(capsys, "fidelity", place, *figures, "--format", "json")
    assert status == 0 and json.loads(out)["time_model"]["step_s"] >= 1.05 * step * (1 - 1e-5)
    status, _, err = run(capsys, "fidelity", place, "--hardware", f"weights={9 * step * 1e12}B,bandwidth=1TB/s")
    assert status == 1 and "--hardware: a step would take at least" in err
    status, _, err = run(capsys, "decide", place, "--hardware", "flops=1TB/s")
    assert status == 1 and "989TFLOP/s" in err


@pytest.mark.parametrize(("column", "value"), [("arrival_ps", float("nan")), ("input_tokens", float("inf"))])
def test_a_scenario_with_a_number_that_is_none_is_refused(
    made: Path, capsys: pytest.CaptureFixture[str], column: str, value: float
) -> None:
    table = pq.read_table(made)
    values = np.asarray(table[column].to_numpy(), np.float64)
    values[7] = value
    at = table.column_names.index(column)
    pq.write_table(table.set_column(at, column, pa.array(values)), made)
    status, _, err = run(capsys, "simulate", str(made))
    assert status == 1 and column in err and "request 8" in err and len(err.splitlines()) == 1


def test_a_request_larger_than_the_pool_is_named(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "simulate", str(made), "--set", "max_total_num_tokens=600")
    assert status == 1 and "has a prompt of" in err and "600 tokens" in err and len(err.splitlines()) == 1


def test_a_missing_scenario_and_no_scenario_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "simulate", str(tmp_path / "none"))[2].count("\n") == 1
    assert "name a scenario" in run(capsys, "simulate")[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--rate", "-1"),
        ("--rate", "nan"),
        ("--requests", "0"),
        ("--input", "0:5"),
        ("--rate", "inf"),
        ("--scale", "-2"),
    ],
)
def test_a_load_that_cannot_be_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    status, _, err = run(capsys, "scenario", "poisson", "-o", str(tmp_path / "s"), *arguments)
    assert status == 1 and len(err.splitlines()) == 1 and "Traceback" not in err
