import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals.client.series import statistic
from tests.signals.reading import Tables, tables_of

AT = 1796011165.25
RUN: dict[str, Any] = {
    "backend": "sglang",
    "dataset_name": "random",
    "request_rate": float("inf"),
    "max_concurrency": 32,
    "duration": 12.5,
    "completed": 2,
    "total_input_tokens": 40,
    "request_throughput": 0.16,
    "mean_e2e_latency_ms": 1500.0,
    "mean_ttft_ms": 500.0,
    "median_ttft_ms": 400.0,
    "p99_ttft_ms": 900.0,
    "p95_itl_ms": 30.0,
    "std_itl_ms": 0.0,
    "mean_tpot_ms": 0.0,
    "concurrency": 3.5,
    "accept_length": None,
}


def figures(tables: Tables) -> dict[tuple[str, str], float]:
    """(name, statistic) → value."""
    names = {s["series"]: (s["name"], json.loads(s["labels"])) for s in tables["series"]}
    return {
        (names[s["series"]][0], names[s["series"]][1].get("quantile", names[s["series"]][1].get("stat", ""))): s[
            "value"
        ]
        for s in tables["samples"]
    }


def test_bench_serving_aggregates() -> None:
    text = json.dumps(RUN).replace("Infinity", '"inf"')
    reading, tables = tables_of(text + "\n")
    found = figures(tables)
    assert found == {
        ("client_duration", ""): 12.5,
        ("client_completed", ""): 2,
        ("client_total_input_tokens", ""): 40,
        ("client_request_throughput", ""): 0.16,
        ("client_e2e_s", "mean"): 1.5,
        ("client_ttft_s", "mean"): 0.5,
        ("client_ttft_s", "0.5"): 0.4,
        ("client_ttft_s", "0.99"): 0.9,
        ("client_itl_s", "0.95"): 0.03,
        ("client_itl_s", "std"): 0.0,
        ("client_concurrency", ""): 3.5,
    }
    assert json.loads(tables["series"][0]["labels"])["max_concurrency"] == "32"
    assert "records" not in tables
    assert (reading.kind, reading.understood) == ("client", 1)


def test_bench_serving_details() -> None:
    run = {
        **RUN,
        "request_rate": 8.0,
        "input_lens": [20, 20],
        "output_lens": [4, 0],
        "ttfts": [0.5, 0.0],
        "itls": [[0.25, 0.125, 0.625], []],
        "generated_texts": ["the-secret", ""],
        "errors": ["", "Bad Gateway"],
    }
    reading, tables = tables_of(json.dumps(run) + "\n" + json.dumps(run) + "\n")
    fine, failed = tables["records"][:2]
    assert (fine["ttft_s"], fine["e2e_s"], fine["itl_max_s"], fine["chunks"], fine["state"]) == (
        0.5,
        1.5,
        0.625,
        4,
        "finished",
    )
    assert fine["tpot_s"] == pytest.approx(1 / 3)
    assert (failed["state"], failed["abort_message"]) == ("error", "Bad Gateway")
    assert not {"ttft_s", "e2e_s", "tpot_s"} & failed.keys()
    assert [r["line"] for r in tables["records"]] == [1, 1, 2, 2]
    assert reading.understood == 4
    assert "the-secret" not in repr(dict(tables))


def test_guidellm_of_today_and_of_its_first_releases() -> None:
    new = {
        "request_id": "g1",
        "response_id": "cmpl-9",
        "prompt_tokens": 30,
        "output_tokens": 5,
        "info": {
            "status": "completed",
            "timings": {
                "targeted_start": AT,
                "request_start": AT + 0.5,
                "first_token_iteration": AT + 1.0,
                "last_token_iteration": AT + 2.0,
                "request_end": AT + 2.25,
                "token_iterations": 5,
            },
        },
    }
    old = {
        "request_id": "g2",
        "start_time": AT,
        "first_token_time": AT + 0.25,
        "last_token_time": AT + 0.75,
        "end_time": AT + 1.0,
        "prompt_tokens": 10,
        "output_tokens": 3,
        "prompt": "the-secret",
    }
    failed = {**old, "request_id": "g3", "error": "timeout"}
    report = {
        "benchmarks": [
            {
                "requests": {
                    "successful": [new, old],
                    "incomplete": [{**old, "request_id": "g4"}],
                    "errored": [failed],
                },
                "metrics": {
                    "time_to_first_token_ms": {"successful": {"mean": 375.0, "percentiles": {"p99": 500.0, "p999": 1}}}
                },
            }
        ]
    }
    _, tables = tables_of(json.dumps(report, indent=1))
    a, b, c, d = tables["records"]
    assert (a["rid"], a["client_rid"], a["received_ts"], a["ttft_s"], a["e2e_s"]) == (
        "cmpl-9",
        "g1",
        AT + 0.5,
        0.5,
        1.75,
    )
    assert (a["tpot_s"], a["chunks"], a["prompt_tokens"]) == (0.25, 5, 30)
    assert (b["rid"], b["ttft_s"], b["tpot_s"], b["state"]) == ("g2", 0.25, 0.25, "finished")
    assert (c["state"], "e2e_s" in c) == ("unfinished", False)
    assert (d["state"], d["abort_message"]) == ("error", "timeout")
    lags = [x for x in tables["request_attrs"] if x["name"] == "send_lag_s"]
    assert [(x["line"], x["number"]) for x in lags] == [(1, 0.5)]
    assert figures(tables) == {("client_ttft_s", "mean"): 0.375, ("client_ttft_s", "0.99"): 0.5}
    assert "the-secret" not in repr(dict(tables))


def test_aiperf_records() -> None:
    start = 1796011165250000000
    good = {
        "metadata": {
            "x_request_id": "ai-1",
            "conversation_id": "c-1",
            "turn_index": 2,
            "request_start_ns": start,
            "request_ack_ns": start + 1,
            "request_end_ns": start + 3_000_000_000,
            "worker_id": "w1",
            "benchmark_phase": "profiling",
            "was_cancelled": False,
        },
        "metrics": {
            "input_sequence_length": {"value": 550, "unit": "tokens"},
            "output_sequence_length": {"value": 9, "unit": "tokens"},
            "time_to_first_token": {"value": 250.0, "unit": "ms"},
            "request_latency": {"value": 2.75, "unit": "s"},
            "inter_chunk_latency": {"value": [5.0, 20.0], "unit": "ms"},
            "inter_token_latency": {"value": 10.0, "unit": "ms"},
        },
        "error": None,
    }
    bad = {
        "metadata": {**good["metadata"], "x_request_id": "ai-2", "was_cancelled": True, "benchmark_phase": "warmup"},  # type: ignore[dict-item]
        "metrics": {"error_isl": {"value": 550, "unit": "tokens"}},
        "error": {"code": 499, "type": "RequestCancellationError", "message": "cancelled by plan"},
    }
    _, tables = tables_of(json.dumps(good) + "\n" + json.dumps(bad) + "\n")
    a, b = tables["records"]
    assert (a["rid"], a["session_id"], a["prompt_tokens"], a["completion_tokens"]) == ("ai-1", "c-1", 550, 9)
    assert (a["ttft_s"], a["e2e_s"], a["tpot_s"]) == pytest.approx((0.25, 2.75, 0.01))
    assert (a["itl_max_s"], a["chunks"], a["probe"], a["received_ts"]) == (0.02, 3, False, AT)
    assert (b["state"], b["status_code"], b["probe"]) == ("aborted", 499, True)


def test_aiperf_aggregates_as_json_and_csv() -> None:
    block = {"unit": "ms", "avg": 250.0, "p99": 900.0, "p50": 200.0, "count": 7}
    count = {"unit": "requests", "avg": 7.0}
    rate = {"unit": "requests/sec", "avg": 0.5}
    latency = {"unit": "ms", "p99": 2000.0}
    text = json.dumps(
        {"time_to_first_token": block, "request_latency": latency, "request_count": count, "request_throughput": rate},
        indent=2,
    )
    wanted = {
        ("client_ttft_s", "mean"): 0.25,
        ("client_ttft_s", "0.99"): 0.9,
        ("client_ttft_s", "0.5"): 0.2,
        ("client_completed", ""): 7.0,
    }
    _, tables = tables_of(text)
    more = {("client_e2e_s", "0.99"): 2.0, ("client_request_throughput", ""): 0.5}
    assert figures(tables) == pytest.approx({**wanted, **more})
    sheet = "Metric,avg,p99,p50\nTime to First Token (ms),250.00,900.00,200.00\n\nMetric,Value\nRequest Count,7.00\n"
    reading, tables = tables_of(sheet)
    assert figures(tables) == pytest.approx(wanted)
    assert (reading.kind, reading.lines, reading.blank) == ("client", 5, 1)


def test_a_broken_document_is_said_and_kept() -> None:
    reading, tables = tables_of('{\n "benchmarks": [\n  {"requests": {"successful": [')
    assert len(tables["unread"]) == 1
    assert any("cut JSON" in note for note in reading.notes)


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
SHAPES: tuple[dict[str, Any], ...] = (
    {**RUN, "request_rate": 1.0, "ttfts": [0.5], "itls": [[0.1]], "errors": [""], "output_lens": [3]},
    {"benchmarks": [{"requests": {"successful": [{"request_id": "a", "start_time": AT}]}, "metrics": {}}]},
    {"metadata": {"request_start_ns": 1}, "metrics": {"time_to_first_token": {"value": 1, "unit": "ms"}}},
    {"client_rid": "a", "send_ts": AT, "end_ts": AT + 1, "status": 200, "usage": {"prompt_tokens": 3}, "itl_ms": [1.0]},
)


@given(st.sampled_from(SHAPES), st.data())
@settings(max_examples=150, deadline=None)
def test_any_value_anywhere_never_crashes(shape: dict[str, Any], data: Any) -> None:
    value = json.loads(json.dumps(shape))
    spot: Any = value
    while isinstance(spot, dict | list) and spot:
        key = data.draw(st.sampled_from(sorted(spot))) if isinstance(spot, dict) else 0
        if not isinstance(spot[key], dict | list) or not spot[key] or data.draw(st.booleans()):
            spot[key] = data.draw(JSONS)
            break
        spot = spot[key]
    reading, _ = tables_of(json.dumps(value) + "\n")
    assert reading.lines >= reading.blank


def test_a_raised_digit_is_no_quantile() -> None:
    assert statistic("p99.9") == ("quantile", "0.999")
    assert statistic("p²") is None
