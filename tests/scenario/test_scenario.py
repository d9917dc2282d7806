"""Scenarios: made, read, written, cut, scaled, repeated, merged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ridgeline.scenario.edit import cut, merged, repeated, scaled
from ridgeline.scenario.files import read_scenario, write_scenario
from ridgeline.scenario.generate import Lengths, generated, parse_lengths, sessions
from ridgeline.scenario.model import COLUMNS, PS, Scenario, ScenarioError, make
from ridgeline.scenario.traces import azure, mooncake, request_log
from tests.sim.strategies import scenarios


def same(a: Scenario, b: Scenario) -> bool:
    columns = all((a[name] == b[name]).all() for name in COLUMNS)
    return columns and all((x == y).all() for x, y in ((a.offsets, b.offsets), (a.segment_id, b.segment_id),
                                                       (a.segment_tokens, b.segment_tokens)))  # fmt: skip


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(scenarios())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, scenario: Scenario) -> None:
    folder = tmp_path_factory.mktemp("s")
    write_scenario(scenario, folder / "a.parquet")
    again = read_scenario(folder / "a.parquet")
    assert same(scenario, again)
    write_scenario(again, folder / "b.parquet")
    assert (folder / "a.parquet").read_bytes() == (folder / "b.parquet").read_bytes()


def test_not_a_scenario(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(ScenarioError, match="not a readable Parquet file"):
        read_scenario(tmp_path / "x.parquet")
    with pytest.raises(ScenarioError, match="no such file"):
        read_scenario(tmp_path / "y.parquet")


@pytest.mark.parametrize("kind", ["poisson", "gamma", "bursts", "diurnal"])
def test_rates(kind: str) -> None:
    scenario = generated(kind, 40_000, 8.0, Lengths(1, 2047), Lengths(1, 511), seed=1, shape=0.7, period_s=60)
    assert scenario["arrival_ps"][-1] / PS == pytest.approx(5000, rel=0.03)
    assert (scenario["input_tokens"].min(), scenario["input_tokens"].max()) == (1, 2047)
    assert (scenario["output_tokens"].min(), scenario["output_tokens"].max()) == (1, 511)
    assert same(scenario, generated(kind, 40_000, 8.0, Lengths(1, 2047), Lengths(1, 511), 1, 0.7, 60))


def test_gamma_is_burstier_and_diurnal_swings() -> None:
    def spread(kind: str, shape: float) -> float:
        when = generated(kind, 20_000, 10.0, Lengths(1, 2), Lengths(1, 2), 1, shape, 100)["arrival_ps"]
        gaps = np.diff(when)
        return float(gaps.std() / gaps.mean())

    assert spread("gamma", 0.25) == pytest.approx(2.0, rel=0.05)
    assert spread("poisson", 1.0) == pytest.approx(1.0, rel=0.05)
    phase = generated("diurnal", 20_000, 10.0, Lengths(1, 2), Lengths(1, 2), 1, 0.9, 100)["arrival_ps"] % (100 * PS)
    assert (phase < 50 * PS).mean() == pytest.approx(0.5 + 0.9 / np.pi, abs=0.02)


def test_sessions_share_what_was_said() -> None:
    scenario = sessions(3, 3, 1.0, 5.0, Lengths(10, 20), Lengths(5, 9), seed=2)
    for key in (1, 2, 3):
        rows = np.flatnonzero(scenario["routing_key"] == key)
        before: list[int] = []
        for i in rows:
            ids = scenario.segment_id[scenario.offsets[i] : scenario.offsets[i + 1]].tolist()
            assert ids[: len(before)] == before
            tokens = scenario.segment_tokens[scenario.offsets[i] : scenario.offsets[i + 1]]
            assert tokens.sum() == scenario["input_tokens"][i]
            before = [*ids, int(scenario["output_segment"][i])]


def test_mooncake(tmp_path: Path) -> None:
    lines = [{"timestamp": 0, "input_length": 1100, "output_length": 5, "hash_ids": [0, 1, 2]},
             {"timestamp": 27, "input_length": 600, "output_length": 0, "hash_ids": [0, 3]}]  # fmt: skip
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    scenario = mooncake(path)
    assert scenario.segment_id.tolist() == [1, 2, 3, 1, 4]
    assert scenario.segment_tokens.tolist() == [512, 512, 76, 512, 88]
    assert scenario["arrival_ps"].tolist() == [0, 27 * PS // 1000]
    assert scenario["output_tokens"].tolist() == [5, 1]
    path.write_text('{"timestamp": 0, "input_length": "many", "output_length": 1}\n')
    with pytest.raises(ScenarioError, match=r"t\.jsonl:1: input_length is 'many'"):
        mooncake(path)


@pytest.mark.shared
def test_public_traces(shared_dir: Path) -> None:
    hour = mooncake(shared_dir / "traces/mooncake_conversation_trace.jsonl")
    assert hour.n == 12_031
    blocks = {tuple(hour.segment_id[o : o + 1]) for o in hour.offsets[:-1]}
    assert len(blocks) >= 1
    conversation = azure(shared_dir / "traces/AzureLLMInferenceTrace_conv.csv")
    assert (conversation.n, int(conversation["input_tokens"][0])) == (19_366, 374)
    assert conversation["arrival_ps"][1] == 4_314_579_000_000


def test_azure_refuses(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("TIMESTAMP,ContextTokens\n")
    with pytest.raises(ScenarioError, match="want columns"):
        azure(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,2\n")
    with pytest.raises(ScenarioError, match=r"b\.csv:2: not a request row"):
        azure(tmp_path / "b.csv")


def test_request_log(tmp_path: Path) -> None:
    done = {"timestamp": "2026-11-30T03:41:02.500000", "event": "request.finished", "rid": "c1",
            "obj": {"rid": "c1", "sampling_params": {"max_new_tokens": 200}, "routed_dp_rank": 2},
            "out": {"meta_info": {"prompt_tokens": 70, "completion_tokens": 12, "e2e_latency": 1.5}}}  # fmt: skip
    early = json.loads(json.dumps(done))
    early["out"]["meta_info"]["e2e_latency"] = 2.0
    path = tmp_path / "r.log"
    # 0.5.23 puts a time before each record, 0.5.9 does not; a cut last line is not a record
    path.write_text(f"[2026-11-30 03:41:02] {json.dumps(done)}\n{json.dumps(early)}\n{json.dumps(done)[:70]}")
    scenario = request_log(path)
    assert scenario["arrival_ps"].tolist() == [0, PS // 2]
    assert scenario["max_new_tokens"].tolist() == [200, 200]
    assert scenario["dp_rank"].tolist() == [2, 2]
    path.write_text('{"event": "request.finished"}\n')
    with pytest.raises(ScenarioError, match="1 finished requests, none with a time"):
        request_log(path)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(scenarios(), st.integers(1, 4))
def test_edits(scenario: Scenario, times: int) -> None:
    many = repeated(scenario, times)
    assert many.n == times * scenario.n
    assert many["input_tokens"].sum() == times * scenario["input_tokens"].sum()
    assert same(cut(scenario, 0.0, 1e6), scenario)
    halves = [cut(scenario, 0.0, 1.0), cut(scenario, 1.0, 1e6)]
    assert sum(half.n for half in halves) == scenario.n
    both = merged([scenario, scenario])
    ids = [set(s) for s in (scenario.segment_id.tolist(), both.segment_id.tolist())]
    assert len(ids[1]) == 2 * len(ids[0])
    fast = scaled(scenario, 2.0)
    assert (np.abs(fast["arrival_ps"] * 2 - scenario["arrival_ps"]) <= 1).all()


@pytest.mark.parametrize("text", ["", "a", "1:b", "5:2", "0:4", "-1"])
def test_bad_lengths(text: str) -> None:
    with pytest.raises(ScenarioError):
        parse_lengths(text)


def test_refuses_disorder() -> None:
    columns = {"arrival_ps": np.array([5, 3]), "input_tokens": np.array([1, 1]), "output_tokens": np.array([1, 2])}
    assert make(columns)["output_tokens"].tolist() == [2, 1]
    with pytest.raises(ScenarioError, match="below 1"):
        make({**columns, "input_tokens": np.array([0, 1])})
    with pytest.raises(ScenarioError, match="before time zero"):
        make({**columns, "arrival_ps": np.array([-5, 3])})
