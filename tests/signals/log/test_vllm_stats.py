import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.signals.reading import tables_of

HEAD = "(APIServer pid=812) INFO 11-30 03:41:00 [loggers.py:336] "
BODY = (
    "Engine 003: Avg prompt throughput: 812.4 tokens/s, Avg generation throughput: 1204.0 tokens/s, "
    "Running: 24 reqs, Waiting: 3 reqs, Deferred: 2 reqs, KV fetch: 1 waiting to start, 4 in progress, "
    "5 completed waiting, Preemptions: 6, GPU KV cache usage: 91.3%, Prefix cache hit rate: 44.0%, "
    "External prefix cache hit rate: 12.5%, MM cache hit rate: 1.0%"
)


def test_every_field_of_a_stats_line() -> None:
    _, tables = tables_of(HEAD + BODY + "\n", year=2026)
    (row,) = tables["batches"]
    extra = json.loads(row.pop("extra"))
    assert {k: row[k] for k in row if k not in ("ts", "source", "line", "copies", "shape", "kind")} == {
        "dp_rank": 3,
        "input_tps": 812.4,
        "gen_tps": 1204.0,
        "running": 24,
        "waiting": 3,
        "deferred": 2,
        "preemptions": 6,
        "usage": 0.913,
        "hit_rate": 0.44,
        "external_hit_rate": 0.125,
    }
    assert extra == {
        "kv_fetch_waiting": 1,
        "kv_fetch_in_progress": 4,
        "kv_fetch_completed": 5,
        "mm_hit_rate_percent": 1.0,
    }
    (event,) = tables["events"]
    assert (event["kind"], event["count"], json.loads(event["attrs"])) == ("preemption", 6, {"from": "stats"})


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (
            "Engine 000: Avg generation throughput: 0.1 tokens/s, Running: 1 reqs, Waiting: 0 reqs, Ext",
            (0, 0.1, 1, 0, None),
        ),
        (
            "4 Engines Aggregated: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, "
            "Running: 7 reqs, Waiting: 9 reqs, GPU KV cache usage: 50.0%",
            (None, 2.0, 7, 9, 0.5),
        ),
        (
            "2026-01-10 14:02:56 - vllm.engine.metrics - INFO - Avg prompt throughput: 0.0 tokens/s, Avg generation "
            "throughput: 41.3 tokens/s, Running: 1 reqs, Swapped: 2 reqs, Pending: 4 reqs, GPU KV cache usage: 2.6%, "
            "CPU KV cache usage: 99.0%.",
            (None, 41.3, 1, 4, 0.026),
        ),
        (
            "[loggers.py:215] Engine 001: Avg prompt throughput: 2.7 tokens/s, "
            "Avg generation throughput: **3.4** tokens/s, "
            "Running: 0 reqs, Waiting: 0 reqs, NPU KV cache usage: **0.0**%",
            (1, 3.4, 0, 0, 0.0),
        ),
    ],
)
def test_other_forms(text: str, want: tuple[object, ...]) -> None:
    _, tables = tables_of(text + "\n")
    (row,) = tables["batches"]
    assert tuple(row.get(k) for k in ("dp_rank", "gen_tps", "running", "waiting", "usage")) == want


def test_acceptance_follows_the_engine_line_of_its_process_and_only_that() -> None:
    spec = (
        "SpecDecoding metrics: Mean acceptance length: 1.79, Accepted throughput: 117.19 tokens/s, Drafted throughput: "
        "148.31 tokens/s, Accepted: 4711 tokens, Drafted: 5962 tokens, Per-position acceptance rate: 0.790, 0.5, "
        "Avg Draft acceptance rate: 79.0%"
    )
    text = "\n".join([HEAD + spec, HEAD + BODY, HEAD + spec, HEAD.replace("812", "9") + spec, ""])
    _, tables = tables_of(text)
    assert [row.get("dp_rank") for row in tables["batches"]] == [None, 3, 3, None]
    assert tables["batches"][0]["accept_length"] == 1.79
    assert tables["batches"][0]["accept_rate"] == 0.79
    assert json.loads(tables["batches"][0]["extra"])["per_position"] == [0.79, 0.5]


def test_failed_transfers_of_a_report_are_events() -> None:
    text = HEAD + (
        "KV Transfer metrics: Num successful transfers=12, Avg xfer time (ms)=4.5, Throughput (MB/s)=812.2, "
        "Num failed transfers=2, Num KV expired reqs=0"
    )
    _, tables = tables_of(text + "\n")
    (row,) = tables["batches"]
    assert json.loads(row["extra"])["Avg xfer time (ms)"] == 4.5
    assert [(e["kind"], e["count"]) for e in tables["events"]] == [("transfer-failed", 2)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(HEAD + BODY)))
def test_a_cut_line_gives_only_numbers_that_were_whole(at: int) -> None:
    _, tables = tables_of((HEAD + BODY)[:at] or "x")
    _, whole = tables_of(HEAD + BODY + "\n")
    for row in tables["batches"]:
        for key in ("input_tps", "gen_tps", "running", "waiting", "deferred", "preemptions", "usage", "hit_rate"):
            assert row.get(key) in (None, whole["batches"][0][key])


@pytest.mark.shared
def test_recorded_run_gives_the_figures_of_the_raw_lines(shared_dir: Path) -> None:
    reading, tables = tables_of((shared_dir / "real/vllm_0.32.0/run1/server.log.gz").read_bytes(), year=2026)
    stats = [row for row in tables["batches"] if row["kind"] == "stats"]
    assert len(stats) == 10
    assert max(row["usage"] for row in stats) <= 1.0
    assert reading.version == "0.32.0"
    assert {row["dp_rank"] for row in stats} == {0}
