import json
from pathlib import Path

import pytest

from ridgeline.signals.read import read
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob
from tests.signals.reading import tables_of

AT = 1796009998.0


def line(rid: str, arrival: float, queued: float, **more: object) -> str:
    return (
        json.dumps(
            {
                "request_id": rid,
                "input_toks": 100,
                "output_toks": 5,
                "arrival_time": arrival,
                "queued_ts": queued,
                "scheduled_ts": queued + 1.0,
                "first_token_ts": queued + 1.5,
                "last_token_ts": queued + 3.5,
                **more,
            }
        )
        + "\n"
    )


def test_durations_and_stamps_by_the_fastest_arrival() -> None:
    reading, tables = tables_of(line("a", AT, 500.25) + line("b", AT + 2, 502.125))
    a, b = tables["records"]
    assert (b["received_ts"], b["queued_ts"], b["first_token_ts"]) == (AT + 2, AT + 2, AT + 3.5)
    assert a["queued_ts"] == AT + 0.125
    assert (a["queue_s"], a["prefill_s"], a["decode_s"], a["inference_s"], a["tpot_s"]) == (1.0, 0.5, 2.0, 2.5, 0.5)
    assert (a["ttft_s"], a["e2e_s"]) == (1.625, 3.625)
    assert (a["kind"], a["state"], a["prompt_tokens"], a["clock"]) == ("vllm-requests", "finished", 100, "wall")
    (clock,) = tables["clocks"]
    assert clock["offset_s"] == AT + 2 - 502.125
    assert any("monotonic" in note for note in reading.notes)


def test_unfinished_requests_and_damage() -> None:
    reading, tables = tables_of(
        line("a", AT, 500.0)
        + line("b", AT + 1, 501.0, scheduled_ts=0.0, first_token_ts=None, last_token_ts=None)
        + '{"request_id": "c", "input_toks": 1'
    )
    _, b = tables["records"]
    assert b["state"] == "unfinished"
    assert not {"queue_s", "first_token_ts", "e2e_s", "tpot_s"} & b.keys()
    assert [u["line"] for u in tables["unread"]] == [3]
    assert (reading.lines, reading.understood, reading.unparsed) == (3, 2, 1)


def test_settings_of_the_run() -> None:
    meta = {
        "model": "m",
        "vllm_version": "0.19.0",
        "engine_kwargs": {"max_num_seqs": 256, "max_num_batched_tokens": 2048, "tensor_parallel_size": 2},
        "kv_cache": {"block_size": 16, "num_kv_tokens": 41408},
        "started_at": None,
    }
    reading, tables = tables_of(json.dumps(meta, indent=2))
    (server,) = tables["servers"]
    assert (server["engine"], server["version"], server["max_running"], server["tp_size"]) == ("vllm", "0.19.0", 256, 2)
    assert (server["page_size"], server["pool_tokens"]) == (16, 41408)
    assert {c["key"]: c["value"] for c in tables["config"]}["kv_cache.block_size"] == "16"
    assert reading.version == "0.19.0"


@pytest.mark.shared
@pytest.mark.parametrize("run", ["RTX4090_Llama-3.1-8B", "RTXPRO6000_Qwen3-32B"])
def test_recorded_runs(shared_dir: Path, run: str) -> None:
    folder = shared_dir / "traces" / "real_vllm_gpu" / run
    raw = [json.loads(text) for text in (folder / "requests.jsonl").read_text().splitlines()]
    rows = [
        row
        for got in read(Blob(run, folder / "requests.jsonl"), Reading(1, run))
        if got.table == "records"
        for row in got.data.to_pylist()
    ]
    assert len(rows) == len(raw) == 300
    for row, d in zip(rows, raw, strict=True):
        assert row["queue_s"] == d["scheduled_ts"] - d["queued_ts"]
        assert row["prefill_s"] == d["first_token_ts"] - d["scheduled_ts"]
        assert (row["prompt_tokens"], row["completion_tokens"]) == (d["input_toks"], d["output_toks"])
        assert row["queued_ts"] >= row["received_ts"] - 1e-6
    for name in ("meta.json", "config.json", "timeseries.csv"):
        reading = Reading(1, name)
        assert list(read(Blob(name, folder / name), reading))
        assert (reading.unparsed, reading.kind in ("vllm-requests", "timeseries-csv")) == (0, True)
