from ridgeline.signals.client.series import statistic
import json
from ridgeline.signals.client.series import statistic
from typing import Any
from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic
import pytest
from ridgeline.signals.client.series import statistic
from hypothesis import given, settings
from ridgeline.signals.client.series import statistic
from hypothesis import strategies as st
from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic
from tests.signals.reading import Tables, tables_of
from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic
AT = 1796011165.25
from ridgeline.signals.client.series import statistic
RUN: dict[str, Any] = {
from ridgeline.signals.client.series import statistic
    "backend": "sglang",
from ridgeline.signals.client.series import statistic
    "dataset_name": "random",
from ridgeline.signals.client.series import statistic
    "request_rate": float("inf"),
from ridgeline.signals.client.series import statistic
    "max_concurrency": 32,
from ridgeline.signals.client.series import statistic
    "duration": 12.5,
from ridgeline.signals.client.series import statistic
    "completed": 2,
from ridgeline.signals.client.series import statistic
    "total_input_tokens": 40,
from ridgeline.signals.client.series import statistic
    "request_throughput": 0.16,
from ridgeline.signals.client.series import statistic
    "mean_e2e_latency_ms": 1500.0,
from ridgeline.signals.client.series import statistic
    "mean_ttft_ms": 500.0,
from ridgeline.signals.client.series import statistic
    "median_ttft_ms": 400.0,
from ridgeline.signals.client.series import statistic
    "p99_ttft_ms": 900.0,
from ridgeline.signals.client.series import statistic
    "p95_itl_ms": 30.0,
from ridgeline.signals.client.series import statistic
    "std_itl_ms": 0.0,
from ridgeline.signals.client.series import statistic
    "mean_tpot_ms": 0.0,
from ridgeline.signals.client.series import statistic
    "concurrency": 3.5,
from ridgeline.signals.client.series import statistic
    "accept_length": None,
from ridgeline.signals.client.series import statistic
}
from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic
def figures(tables: Tables) -> dict[tuple[str, str], float]:
from ridgeline.signals.client.series import statistic
    """(name, statistic) → value."""
from ridgeline.signals.client.series import statistic
    names = {s["series"]: (s["name"], json.loads(s["labels"])) for s in tables["series"]}
from ridgeline.signals.client.series import statistic
    return {
from ridgeline.signals.client.series import statistic
        (names[s["series"]][0], names[s["series"]][1].get("quantile", names[s["series"]][1].get("stat", ""))): s[
from ridgeline.signals.client.series import statistic
            "value"
from ridgeline.signals.client.series import statistic
        ]
from ridgeline.signals.client.series import statistic
        for s in tables["samples"]
from ridgeline.signals.client.series import statistic
    }
from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic
def test_bench_serving_aggregates() -> None:
from ridgeline.signals.client.series import statistic
    text = json.dumps(RUN).replace("Infinity", '"inf"')
from ridgeline.signals.client.series import statistic
    reading, tables = tables_of(text + "\n")
from ridgeline.signals.client.series import statistic
    found = figures(tables)
from ridgeline.signals.client.series import statistic
    assert found == {
from ridgeline.signals.client.series import statistic
        ("client_duration", ""): 12.5,
from ridgeline.signals.client.series import statistic
        ("client_completed", ""): 2,
from ridgeline.signals.client.series import statistic
        ("client_total_input_tokens", ""): 40,
from ridgeline.signals.client.series import statistic
        ("client_request_throughput", ""): 0.16,
from ridgeline.signals.client.series import statistic
        ("client_e2e_s", "mean"): 1.5,
from ridgeline.signals.client.series import statistic
        ("client_ttft_s", "mean"): 0.5,
from ridgeline.signals.client.series import statistic
        ("client_ttft_s", "0.5"): 0.4,
from ridgeline.signals.client.series import statistic
        ("client_ttft_s", "0.99"): 0.9,
from ridgeline.signals.client.series import statistic
        ("client_itl_s", "0.95"): 0.03,
from ridgeline.signals.client.series import statistic
        ("client_itl_s", "std"): 0.0,
from ridgeline.signals.client.series import statistic
        ("client_concurrency", ""): 3.5,
from ridgeline.signals.client.series import statistic
    }
from ridgeline.signals.client.series import statistic
    assert json.loads(tables["series"][0]["labels"])["max_concurrency"] == "32"
from ridgeline.signals.client.series import statistic
    assert "records" not in tables
from ridgeline.signals.client.series import statistic
    assert (reading.kind, reading.understood) == ("client", 1)
from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic
def test_bench_serving_details() -> None:
from ridgeline.signals.client.series import statistic
    run = {
from ridgeline.signals.client.series import statistic
        **RUN,
from ridgeline.signals.client.series import statistic
        "request_rate": 8.0,
from ridgeline.signals.client.series import statistic
        "input_lens": [20, 20],
from ridgeline.signals.client.series import statistic
        "output_lens": [4, 0],
from ridgeline.signals.client.series import statistic
        "ttfts": [0.5, 0.0],
from ridgeline.signals.client.series import statistic
        "itls": [[0.25, 0.125, 0.625], []],
from ridgeline.signals.client.series import statistic
        "generated_texts": ["the-secret", ""],
from ridgeline.signals.client.series import statistic
        "errors": ["", "Bad Gateway"],
from ridgeline.signals.client.series import statistic
    }
from ridgeline.signals.client.series import statistic
    reading, tables = tables_of(json.dumps(run) + "\n" + json.dumps(run) + "\n")
from ridgeline.signals.client.series import statistic
    fine, failed = tables["records"][:2]
from ridgeline.signals.client.series import statistic
    assert (fine["ttft_s"], fine["e2e_s"], fine["itl_max_s"], fine["chunks"], fine["state"]) == (
from ridgeline.signals.client.series import statistic
        0.5,
from ridgeline.signals.client.series import statistic
        1.5,
from ridgeline.signals.client.series import statistic
        0.625,
from ridgeline.signals.client.series import statistic
        4,
from ridgeline.signals.client.series import statistic
        "finished",
from ridgeline.signals.client.series import statistic
    )
from ridgeline.signals.client.series import statistic
    assert fine["tpot_s"] == pytest.approx(1 / 3)
from ridgeline.signals.client.series import statistic
    assert (failed["state"], failed["abort_message"]) == ("error", "Bad Gateway")
from ridgeline.signals.client.series import statistic
    assert not {"ttft_s", "e2e_s", "tpot_s"} & failed.keys()
from ridgeline.signals.client.series import statistic
    assert [r["line"] for r in tables["records"]] == [1, 1, 2, 2]
from ridgeline.signals.client.series import statistic
    assert reading.understood == 4
from ridgeline.signals.client.series import statistic
    assert "the-secret" not in repr(dict(tables))
from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic
def test_guidellm_of_today_and_of_its_first_releases() -> None:
from ridgeline.signals.client.series import statistic
    new = {
from ridgeline.signals.client.series import statistic
        "request_id": "g1",
from ridgeline.signals.client.series import statistic
        "response_id": "cmpl-9",
from ridgeline.signals.client.series import statistic
        "prompt_tokens": 30,
from ridgeline.signals.client.series import statistic
        "output_tokens": 5,
from ridgeline.signals.client.series import statistic
        "info": {
from ridgeline.signals.client.series import statistic
            "status": "completed",
from ridgeline.signals.client.series import statistic
            "timings": {
from ridgeline.signals.client.series import statistic
                "targeted_start": AT,
from ridgeline.signals.client.series import statistic
                "request_start": AT + 0.5,
from ridgeline.signals.client.series import statistic
                "first_token_iteration": AT + 1.0,
from ridgeline.signals.client.series import statistic
                "last_token_iteration": AT + 2.0,
from ridgeline.signals.client.series import statistic
                "request_end": AT + 2.25,
from ridgeline.signals.client.series import statistic
                "token_iterations": 5,
from ridgeline.signals.client.series import statistic
            },
from ridgeline.signals.client.series import statistic
        },
from ridgeline.signals.client.series import statistic
    }
from ridgeline.signals.client.series import statistic
    old = {
from ridgeline.signals.client.series import statistic
        "request_id": "g2",
from ridgeline.signals.client.series import statistic
        "start_time": AT,
from ridgeline.signals.client.series import statistic
        "first_token_time": AT + 0.25,
from ridgeline.signals.client.series import statistic
        "last_token_time": AT + 0.75,
from ridgeline.signals.client.series import statistic
        "end_time": AT + 1.0,
from ridgeline.signals.client.series import statistic
        "prompt_tokens": 10,
from ridgeline.signals.client.series import statistic
        "output_tokens": 3,
from ridgeline.signals.client.series import statistic
        "prompt": "the-secret",
from ridgeline.signals.client.series import statistic
    }
from ridgeline.signals.client.series import statistic
    failed = {**old, "request_id": "g3", "error": "timeout"}
from ridgeline.signals.client.series import statistic
    report = {
from ridgeline.signals.client.series import statistic
        "benchmarks": [
from ridgeline.signals.client.series import statistic
            {
from ridgeline.signals.client.series import statistic
                "requests": {
from ridgeline.signals.client.series import statistic
                    "successful": [new, old],
from ridgeline.signals.client.series import statistic
                    "incomplete": [{**old, "request_id": "g4"}],
from ridgeline.signals.client.series import statistic
                    "errored": [failed],
from ridgeline.signals.client.series import statistic
                },
from ridgeline.signals.client.series import statistic
                "metrics": {
from ridgeline.signals.client.series import statistic
                    "time_to_first_token_ms": {"successful": {"mean": 375.0, "percentiles": {"p99": 500.0, "p999": 1}}}
from ridgeline.signals.client.series import statistic
                },
from ridgeline.signals.client.series import statistic
            }
from ridgeline.signals.client.series import statistic
        ]
from ridgeline.signals.client.series import statistic
    }
from ridgeline.signals.client.series import statistic
    _, tables = tables_of(json.dumps(report, indent=1))
from ridgeline.signals.client.series import statistic
    a, b, c, d = tables["records"]
from ridgeline.signals.client.series import statistic
    assert (a["rid"], a["client_rid"], a["received_ts"], a["ttft_s"], a["e2e_s"]) == (
from ridgeline.signals.client.series import statistic
        "cmpl-9",
from ridgeline.signals.client.series import statistic
        "g1",
from ridgeline.signals.client.series import statistic
        AT + 0.5,
from ridgeline.signals.client.series import statistic
        0.5,
from ridgeline.signals.client.series import statistic
        1.75,
from ridgeline.signals.client.series import statistic
    )
from ridgeline.signals.client.series import statistic
    assert (a["tpot_s"], a["chunks"], a["prompt_tokens"]) == (0.25, 5, 30)
from ridgeline.signals.client.series import statistic
    assert (b["rid"], b["ttft_s"], b["tpot_s"], b["state"]) == ("g2", 0.25, 0.25, "finished")
from ridgeline.signals.client.series import statistic
    assert (c["state"], "e2e_s" in c) == ("unfinished", False)
from ridgeline.signals.client.series import statistic
    assert (d["state"], d["abort_message"]) == ("error", "timeout")
from ridgeline.signals.client.series import statistic
    lags = [x for x in tables["request_attrs"] if x["name"] == "send_lag_s"]
from ridgeline.signals.client.series import statistic
    assert [(x["line"], x["number"]) for x in lags] == [(1, 0.5)]
from ridgeline.signals.client.series import statistic
    assert figures(tables) == {("client_ttft_s", "mean"): 0.375, ("client_ttft_s", "0.99"): 0.5}
from ridgeline.signals.client.series import statistic
    assert "the-secret" not in repr(dict(tables))
from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic
def test_aiperf_records() -> None:
from ridgeline.signals.client.series import statistic
    start = 1796011165250000000
from ridgeline.signals.client.series import statistic
    good = {
from ridgeline.signals.client.series import statistic
        "metadata": {
from ridgeline.signals.client.series import statistic
            "x_request_id": "ai-1",
from ridgeline.signals.client.series import statistic
            "conversation_id": "c-1",
from ridgeline.signals.client.series import statistic
            "turn_index": 2,
from ridgeline.signals.client.series import statistic
            "request_start_ns": start,
from ridgeline.signals.client.series import statistic
            "request_ack_ns": start + 1,
from ridgeline.signals.client.series import statistic
            "request_end_ns": start + 3_000_000_000,
from ridgeline.signals.client.series import statistic
            "worker_id": "w1",
from ridgeline.signals.client.series import statistic
            "benchmark_phase": "profiling",
from ridgeline.signals.client.series import statistic
            "was_cancelled": False,
from ridgeline.signals.client.series import statistic
        },
from ridgeline.signals.client.series import statistic
        "metrics": {
from ridgeline.signals.client.series import statistic
            "input_sequence_length": {"value": 550, "unit": "tokens"},
from ridgeline.signals.client.series import statistic
            "output_sequence_length": {"value": 9, "unit": "tokens"},
from ridgeline.signals.client.series import statistic
            "time_to_first_token": {"value": 250.0, "unit": "ms"},
from ridgeline.signals.client.series import statistic
            "request_latency": {"value": 2.75, "unit": "s"},
from ridgeline.signals.client.series import statistic
            "inter_chunk_latency": {"value": [5.0, 20.0], "unit": "ms"},
from ridgeline.signals.client.series import statistic
            "inter_token_latency": {"value": 10.0, "unit": "ms"},
from ridgeline.signals.client.series import statistic
        },
from ridgeline.signals.client.series import statistic
        "error": None,
from ridgeline.signals.client.series import statistic
    }
from ridgeline.signals.client.series import statistic
    bad = {
from ridgeline.signals.client.series import statistic
        "metadata": {**good["metadata"], "x_request_id": "ai-2", "was_cancelled": True, "benchmark_phase": "warmup"},  # type: ignore[dict-item]
from ridgeline.signals.client.series import statistic
        "metrics": {"error_isl": {"value": 550, "unit": "tokens"}},
from ridgeline.signals.client.series import statistic
        "error": {"code": 499, "type": "RequestCancellationError", "message": "cancelled by plan"},
from ridgeline.signals.client.series import statistic
    }
from ridgeline.signals.client.series import statistic
    _, tables = tables_of(json.dumps(good) + "\n" + json.dumps(bad) + "\n")
from ridgeline.signals.client.series import statistic
    a, b = tables["records"]
from ridgeline.signals.client.series import statistic
    assert (a["rid"], a["session_id"], a["prompt_tokens"], a["completion_tokens"]) == ("ai-1", "c-1", 550, 9)
from ridgeline.signals.client.series import statistic
    assert (a["ttft_s"], a["e2e_s"], a["tpot_s"]) == pytest.approx((0.25, 2.75, 0.01))
from ridgeline.signals.client.series import statistic
    assert (a["itl_max_s"], a["chunks"], a["probe"], a["received_ts"]) == (0.02, 3, False, AT)
from ridgeline.signals.client.series import statistic
    assert (b["state"], b["status_code"], b["probe"]) == ("aborted", 499, True)
from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic
def test_aiperf_aggregates_as_json_and_csv() -> None:
from ridgeline.signals.client.series import statistic
    block = {"unit": "ms", "avg": 250.0, "p99": 900.0, "p50": 200.0, "count": 7}
from ridgeline.signals.client.series import statistic
    count = {"unit": "requests", "avg": 7.0}
from ridgeline.signals.client.series import statistic
    rate = {"unit": "requests/sec", "avg": 0.5}
from ridgeline.signals.client.series import statistic
    latency = {"unit": "ms", "p99": 2000.0}
from ridgeline.signals.client.series import statistic
    text = json.dumps(
from ridgeline.signals.client.series import statistic
        {"time_to_first_token": block, "request_latency": latency, "request_count": count, "request_throughput": rate},
from ridgeline.signals.client.series import statistic
        indent=2,
from ridgeline.signals.client.series import statistic
    )
from ridgeline.signals.client.series import statistic
    wanted = {
from ridgeline.signals.client.series import statistic
        ("client_ttft_s", "mean"): 0.25,
from ridgeline.signals.client.series import statistic
        ("client_ttft_s", "0.99"): 0.9,
from ridgeline.signals.client.series import statistic
        ("client_ttft_s", "0.5"): 0.2,
from ridgeline.signals.client.series import statistic
        ("client_completed", ""): 7.0,
from ridgeline.signals.client.series import statistic
    }
from ridgeline.signals.client.series import statistic
    _, tables = tables_of(text)
from ridgeline.signals.client.series import statistic
    more = {("client_e2e_s", "0.99"): 2.0, ("client_request_throughput", ""): 0.5}
from ridgeline.signals.client.series import statistic
    assert figures(tables) == pytest.approx({**wanted, **more})
from ridgeline.signals.client.series import statistic
    sheet = "Metric,avg,p99,p50\nTime to First Token (ms),250.00,900.00,200.00\n\nMetric,Value\nRequest Count,7.00\n"
from ridgeline.signals.client.series import statistic
    reading, tables = tables_of(sheet)
from ridgeline.signals.client.series import statistic
    assert figures(tables) == pytest.approx(wanted)
from ridgeline.signals.client.series import statistic
    assert (reading.kind, reading.lines, reading.blank) == ("client", 5, 1)
from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic
def test_a_broken_document_is_said_and_kept() -> None:
from ridgeline.signals.client.series import statistic
    reading, tables = tables_of('{\n "benchmarks": [\n  {"requests": {"successful": [')
from ridgeline.signals.client.series import statistic
    assert len(tables["unread"]) == 1
from ridgeline.signals.client.series import statistic
    assert any("cut JSON" in note for note in reading.notes)
from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic
JSONS = st.recursive(
from ridgeline.signals.client.series import statistic
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
from ridgeline.signals.client.series import statistic
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
from ridgeline.signals.client.series import statistic
    max_leaves=6,
from ridgeline.signals.client.series import statistic
)
from ridgeline.signals.client.series import statistic
SHAPES: tuple[dict[str, Any], ...] = (
from ridgeline.signals.client.series import statistic
    {**RUN, "request_rate": 1.0, "ttfts": [0.5], "itls": [[0.1]], "errors": [""], "output_lens": [3]},
from ridgeline.signals.client.series import statistic
    {"benchmarks": [{"requests": {"successful": [{"request_id": "a", "start_time": AT}]}, "metrics": {}}]},
from ridgeline.signals.client.series import statistic
    {"metadata": {"request_start_ns": 1}, "metrics": {"time_to_first_token": {"value": 1, "unit": "ms"}}},
from ridgeline.signals.client.series import statistic
    {"client_rid": "a", "send_ts": AT, "end_ts": AT + 1, "status": 200, "usage": {"prompt_tokens": 3}, "itl_ms": [1.0]},
from ridgeline.signals.client.series import statistic
)
from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic
@given(st.sampled_from(SHAPES), st.data())
from ridgeline.signals.client.series import statistic
@settings(max_examples=150, deadline=None)
from ridgeline.signals.client.series import statistic
def test_any_value_anywhere_never_crashes(shape: dict[str, Any], data: Any) -> None:
from ridgeline.signals.client.series import statistic
    value = json.loads(json.dumps(shape))
from ridgeline.signals.client.series import statistic
    spot: Any = value
from ridgeline.signals.client.series import statistic
    while isinstance(spot, dict | list) and spot:
from ridgeline.signals.client.series import statistic
        key = data.draw(st.sampled_from(sorted(spot))) if isinstance(spot, dict) else 0
from ridgeline.signals.client.series import statistic
        if not isinstance(spot[key], dict | list) or not spot[key] or data.draw(st.booleans()):
from ridgeline.signals.client.series import statistic
            spot[key] = data.draw(JSONS)
from ridgeline.signals.client.series import statistic
            break
from ridgeline.signals.client.series import statistic
        spot = spot[key]
from ridgeline.signals.client.series import statistic
    reading, _ = tables_of(json.dumps(value) + "\n")
from ridgeline.signals.client.series import statistic
    assert reading.lines >= reading.blank
from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic

from ridgeline.signals.client.series import statistic
def test_a_raised_digit_is_no_quantile() -> None:
from ridgeline.signals.client.series import statistic
    assert statistic("p99.9") == ("quantile", "0.999")
from ridgeline.signals.client.series import statistic
    assert statistic("p²") is None
