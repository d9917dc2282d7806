"""Load answers of every release, in every wrapping."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.signals.reading import tables_of

RANK = {
    "timestamp": 1796011162.5, "dp_rank": 1, "num_running_reqs": 4, "num_waiting_reqs": 41,
    "num_waiting_uncached_tokens": 6573, "num_used_tokens": 1614, "num_total_tokens": 13760, "num_active_tokens": 99,
    "max_total_num_tokens": 4096, "max_running_requests": 12, "token_usage": 0.394, "gen_throughput": 242.96,
    "cache_hit_rate": 0.0762, "utilization": 0.0, "decode_moments": [1.0, 2.0],
    "memory": {"weight_gb": 0.5, "kv_cache_gb": 0.25},
    "speculative": {"accept_length": 2.5, "accept_rate": 0.6}, "lora": {"slots_used": 2, "slots_total": 8},
    "disaggregation": {
        "mode": "decode", "prefill_bootstrap_queue_reqs": 0, "prefill_inflight_queue_reqs": 1,
        "decode_prealloc_queue_reqs": 2, "decode_transfer_queue_reqs": 3, "decode_retracted_queue_reqs": 4,
        "kv_transfer_speed_gb_s": 0.5, "kv_transfer_latency_ms": 16.5,
    },
    "queues": {"waiting": 41, "grammar": 5, "paused": 6, "retracted": 7, "prealloc_ready": 8},
}  # fmt: skip
ANSWER = {"timestamp": "2026-11-30T03:59:23.250000+00:00", "version": "0.5.23", "num_accelerators": 1, "loads": [RANK]}
HEADER = "#### scrape ts=1796011163.000000 took=0.0293 status=200 url=http://127.0.0.1:30000/v1/loads?include=all\n"
EXPECTED = {
    "ts": 1796011163.25, "snapshot_ts": 1796011162.5, "version": "0.5.23", "role": "decode", "dp_rank": 1, "running": 4,
    "waiting": 41, "waiting_uncached_tokens": 6573, "used_tokens": 1614, "total_tokens": 13760, "pool_tokens": 4096,
    "max_running": 12, "usage": 0.394, "gen_tps": 242.96, "hit_rate": 0.0762, "utilization": 0.0, "bootstrap": 0,
    "inflight": 1, "prealloc": 2, "transfer": 3, "decode_retracted": 4, "transfer_gb_s": 0.5, "transfer_ms": 16.5,
    "queue_waiting": 41, "queue_grammar": 5, "queue_paused": 6, "queue_retracted": 7, "prealloc_ready": 8,
    "accept_length": 2.5, "lora_used": 2, "lora_total": 8, "source": 7,
}  # fmt: skip


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def test_answer_of_0_5_23() -> None:
    reading, tables = tables_of(HEADER + json.dumps(ANSWER) + "\n")
    assert reading.kind == "loads"
    (row,) = tables["loads"]
    assert without(row, "extra", "line") == EXPECTED
    assert row["line"] == 2
    extra = json.loads(row["extra"])
    assert extra["memory.weight_gb"] == 0.5 and extra["decode_moments"] == [1.0, 2.0] and extra["num_accelerators"] == 1
    assert "num_running_reqs" not in extra
    assert (reading.understood, reading.unparsed, reading.version) == (1, 0, "0.5.23")
    assert tables["scrapes"][0]["ts"] == 1796011163.0


@pytest.mark.parametrize("indent", [None, 2])
def test_wrapped_as_in_an_incident_bundle(indent: int | None) -> None:
    wrapped = {"ok": True, "status": 200, "path": "/v1/loads?include=all", "json": ANSWER}
    reading, tables = tables_of(json.dumps(wrapped, indent=indent))
    assert reading.kind == "loads"
    assert without(tables["loads"][0], "extra", "line") == EXPECTED
    assert tables["scrapes"][0]["endpoint"] == "/v1/loads"


def test_wrapped_error_is_a_failed_poll() -> None:
    wrapped = {"ok": False, "status": 500, "path": "/v1/loads?include=all", "error": "Internal Server Error"}
    reading, tables = tables_of(json.dumps(wrapped))
    assert reading.kind == "loads"
    (scrape,) = tables["scrapes"]
    assert (scrape["ok"], scrape["status"], scrape["error"]) == (False, 500, "Internal Server Error")
    assert (reading.understood, reading.unparsed) == (1, 0)


def test_answer_of_0_5_9() -> None:
    rank = without(RANK, "timestamp", "dp_rank")
    rank["disaggregation"] = {"mode": "null", "prefill_prealloc_queue_reqs": 9}
    answer = {
        "timestamp": ANSWER["timestamp"],
        "version": "0.5.9",
        "dp_rank_count": 1,
        "loads": [rank],
        "aggregate": {"a": 1},
    }
    _, tables = tables_of(json.dumps(answer))
    (row,) = tables["loads"]
    assert (row["bootstrap"], row["role"], row["version"]) == (9, "unified", "0.5.9")
    assert "snapshot_ts" not in row and "dp_rank" not in row
    assert json.loads(row["extra"])["aggregate"] == {"a": 1}


def test_get_load() -> None:
    header = HEADER.replace("/v1/loads?include=all", "/get_load")
    ranks = [{"rid": None, "dp_rank": d, "num_reqs": 13 + d, "num_waiting_reqs": 1, "num_tokens": 3585} for d in (0, 1)]
    reading, tables = tables_of(header + json.dumps(ranks) + "\n")
    assert reading.kind == "get-load"
    assert [(r["dp_rank"], r["running"], r["waiting"], r["total_tokens"], r["ts"]) for r in tables["loads"]] == [
        (0, 12, 1, 3585, 1796011163.0),
        (1, 13, 1, 3585, 1796011163.0),
    ]
    _, tables = tables_of(header + '{"load": 512}\n')
    assert tables["loads"][0]["total_tokens"] == 512
    _, tables = tables_of(header.replace("/get_load", "/load") + '{"server_load": 3}\n')
    assert json.loads(tables["loads"][0]["extra"]) == {"server_load": 3}
    assert "running" not in tables["loads"][0]


def test_prometheus_form() -> None:
    header = HEADER.replace("include=all", "format=prometheus")
    text = (
        "# HELP sglang_num_running_reqs Running.\n# TYPE sglang_num_running_reqs gauge\n"
        'sglang_num_running_reqs{dp_rank="0"} 4\nsglang_num_running_reqs{dp_rank="1"} 5\n'
        'sglang_timestamp{dp_rank="0"} 1796011162.5\nsglang_token_usage{dp_rank="0"} 0.5\n'
        'sglang_disagg_decode_transfer_queue_reqs{dp_rank="0"} 3\nsglang_queues_grammar{dp_rank="0"} 2\n'
        'sglang_memory_weight_gb{dp_rank="0"} 0.5\nsglang_spec_accept_length{dp_rank="0"} 2.5\n'
    )
    reading, tables = tables_of(header + text)
    assert reading.kind == "loads"
    first, second = tables["loads"]
    assert {k: first[k] for k in ("dp_rank", "running", "usage", "transfer", "queue_grammar", "accept_length")} == {
        "dp_rank": 0, "running": 4, "usage": 0.5, "transfer": 3, "queue_grammar": 2, "accept_length": 2.5,
    }  # fmt: skip
    assert first["snapshot_ts"] == 1796011162.5
    assert json.loads(first["extra"]) == {"memory.weight_gb": 0.5}
    assert (second["dp_rank"], second["running"]) == (1, 5)


def test_errors_between_answers() -> None:
    failed = HEADER.replace("status=200", "status=<HTTPError 500: 'Internal Server Error'>")
    text = failed + "\n" + HEADER + json.dumps(ANSWER) + "\n" + HEADER + json.dumps(ANSWER)[:200] + "\n" + HEADER + "\n"
    reading, tables = tables_of(text)
    assert len(tables["loads"]) == 1
    assert [(s["ok"], s["status"]) for s in tables["scrapes"]] == [
        (False, 500),
        (True, 200),
        (False, 200),
        (False, 200),
    ]
    assert (reading.understood, reading.unparsed) == (2, 1)
    assert tables["unread"][0]["line"] == 6


def test_numbers_that_are_none() -> None:
    rank = {
        "dp_rank": 0,
        "num_running_reqs": True,
        "num_waiting_reqs": "4",
        "num_used_tokens": 10**30,
        "token_usage": None,
    }
    reading, tables = tables_of(json.dumps({"version": "0.5.23", "loads": [rank, "x", None]}))
    (row,) = tables["loads"]
    assert not {"running", "waiting", "used_tokens", "usage"} & row.keys()
    assert reading.unparsed == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*RANK, "loads", "mode", "x"]), inner, max_size=5)
    ),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(JSON)
def test_any_json_is_survived(value: Any) -> None:
    reading, tables = tables_of(HEADER + json.dumps({"version": "0.5.23", "loads": value}) + "\n")
    assert reading.understood + reading.unparsed == 1
    assert len(tables["scrapes"]) == 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(json.dumps(ANSWER)) - 1))
def test_a_cut_answer_gives_no_figure(at: int) -> None:
    reading, tables = tables_of(HEADER + json.dumps(ANSWER)[:at])
    assert not tables["loads"] or without(tables["loads"][0], "extra", "line") == EXPECTED
    assert reading.understood == 0


@pytest.mark.shared
@pytest.mark.parametrize(
    "path",
    ["sglang_0.5.23/single_full/loads.scrapes.txt", "sglang_0.5.23/dp2_round_robin/loads.scrapes.txt",
     "sglang_0.5.23/pd_mooncake_tcp/decode/loads.scrapes.txt", "sglang_0.5.9/mix_maxrun4/loads.scrapes.txt.gz",
     "sglang_0.5.9/mix_base/get_load.scrapes.txt", "sglang_0.5.6/mix_base/get_load.scrapes.txt",
     "sglang_0.5.3/mix_base/get_load.scrapes.txt"],
)  # fmt: skip
def test_recorded_answers(shared_dir: Path, path: str) -> None:
    raw = (shared_dir / "real" / path).read_bytes()
    text = (gzip.decompress(raw) if path.endswith("gz") else raw).decode()
    reading, tables = tables_of(raw)
    answers = [json.loads(line) for line in text.splitlines() if line[:1] in ("{", "[")]
    ranks = [rank for answer in answers for rank in (answer["loads"] if isinstance(answer, dict) else answer)]
    assert (len(tables["loads"]), reading.unparsed) == (len(ranks), 0)
    assert (reading.understood, len(tables["scrapes"])) == (len(answers), len(answers))
    for row, rank in zip(tables["loads"], ranks, strict=True):
        if "num_reqs" in rank:
            assert (row["running"] + row["waiting"], row["total_tokens"]) == (rank["num_reqs"], rank["num_tokens"])
        else:
            assert (row["running"], row["waiting"], row["usage"]) == (
                rank["num_running_reqs"], rank["num_waiting_reqs"], rank["token_usage"],
            )  # fmt: skip
            assert row.get("snapshot_ts") == rank.get("timestamp")


@pytest.mark.shared
def test_recorded_errors(shared_dir: Path) -> None:
    reading, tables = tables_of((shared_dir / "real/sglang_0.5.9/mix_base/loads.scrapes.txt").read_bytes())
    assert not tables["loads"]
    assert {(s["ok"], s["status"]) for s in tables["scrapes"]} == {(False, 500)}
    assert (reading.understood, reading.unparsed) == (41, 0)
