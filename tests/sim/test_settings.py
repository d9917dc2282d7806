"""Settings: SGLang's names and values, refused where they make no sense; perturbations; time models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ridgeline.cli.scenario import scenario as make_scenario
from ridgeline.cli.simulate import simulate as run_simulate
from ridgeline.model.errors import InputError
from ridgeline.sim.settings import SettingError, Settings, with_changes
from ridgeline.sim.tables import Perturbation, perturbation_rows
from ridgeline.sim.timing import TimeModel


def test_texts() -> None:
    changed = with_changes(Settings(), {"dp_size": "8", "enable_mixed_chunk": "true", "schedule_policy": "lpm",
                                        "schedule_conservativeness": "0.5"})  # fmt: skip
    assert (changed.dp_size, changed.enable_mixed_chunk, changed.schedule_conservativeness) == (8, True, 0.5)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("dp_sise", "8", "no such setting"),
        ("dp_size", "eight", "not a whole number"),
        ("dp_size", "0", "below 1"),
        ("enable_mixed_chunk", "yes", "neither true nor false"),
        ("schedule_policy", "best", "not one of"),
        ("schedule_policy", "priority", "not one of"),
        ("load_balance_method", "shortest_queue", "not one of"),
        ("schedule_conservativeness", "nan", "not a number"),
        ("chunked_prefill_size", "nan", "not a whole number"),
        ("page_size", "999999999", "smaller than two pages"),
        ("decode_workers", "1", "must be fewer than workers"),
    ],
)
def test_refused(key: str, value: str, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        with_changes(Settings(), {key: value})


def test_versions() -> None:
    with pytest.raises(SettingError, match="radix_eviction_policy"):
        Settings(version="0.4.6.post5", radix_eviction_policy="lfu")
    with pytest.raises(SettingError, match="not one of"):
        Settings(version="0.5.6", load_balance_method="total_tokens")
    with pytest.raises(SettingError, match="NotImplementedError"):
        Settings(version="0.4.10", load_balance_method="shortest_queue")
    assert Settings(version="0.5.6", load_balance_method="shortest_queue").dp_size == 1


def test_perturbations() -> None:
    assert len(perturbation_rows([Perturbation("step_time", 0, 5, 2000)])) == 6
    with pytest.raises(SettingError, match="not one of"):
        perturbation_rows([Perturbation("weather", 0, 5)])
    with pytest.raises(SettingError, match="ends before it starts"):
        perturbation_rows([Perturbation("hang", 5, 5)])


def test_time_model() -> None:
    with pytest.raises(ValueError, match="negative"):
        TimeModel("x", 5, -1, 0, 0, 0)
    with pytest.raises(ValueError, match="positive"):
        TimeModel("x", 0, 1, 0, 0, 0)


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "s.parquet"
    assert make_scenario("poisson", output=out, requests=50, rate=8.0, seed=1) == 0
    assert "50 requests" in capsys.readouterr().out
    changes = ("dp_size=8", "load_balance_method=round_robin", "page_size=16")
    assert run_simulate(out, set_=changes, format="json", quiet=False) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "ridgeline.simulation/1"
    (run,) = answer["runs"]
    assert run["requests"] == 50
    assert run["settings"]["dp_size"] == 8
    for span in ("ttft_s", "queue_s", "tpot_s", "e2e_s"):
        assert set(run[span]) == {"mean", "p50", "p90", "p99"}
    assert run["cpu_s"] >= 0
    for style in ("text", "md"):
        assert run_simulate(out, format=style) == 0  # type: ignore[arg-type]
        assert "50 finished" in capsys.readouterr().out
    example = Path(__file__).resolve().parents[2] / "examples/policies/least_waiting.py"
    hooks = (f"{example}:route_least_waiting", f"{example}:order_shortest_first")
    assert run_simulate(out, set_=("workers=3",), policy=hooks, format="json") == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (run["settings"]["router"], run["settings"]["schedule_policy"]) == ("user", "user")
    with pytest.raises(InputError, match="no such setting"):
        run_simulate(out, set_=("dpsize=8",))
    with pytest.raises(InputError, match="want KEY=VALUE"):
        run_simulate(out, set_=("dp_size",))
    with pytest.raises(InputError, match="no such file"):
        run_simulate(tmp_path / "none.parquet")
    with pytest.raises(InputError, match="name the file to read"):
        make_scenario("mooncake", output=out)
