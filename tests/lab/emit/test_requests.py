"""Request logger, exporter, spans and client records (§3, §4, §11.2)."""

import json
import re
from itertools import pairwise
from typing import Any

import pytest

from ridgeline.lab.emit.client import client_line
from ridgeline.lab.emit.request_log import exported, finished, received
from ridgeline.lab.emit.spans import request_lines, vllm_line
from tests.lab.emit.made import T, apart, rejected, request, server

META = {
    "0.5.9": {
        "id",
        "finish_reason",
        "prompt_tokens",
        "weight_version",
        "total_retractions",
        "queue_time",
        "prefill_launch_delay",
        "prefill_launch_latency",
        "prefill_finished_ts",
        "completion_tokens",
        "cached_tokens",
        "cached_tokens_details",
        "e2e_latency",
        "request_received_ts",
        "request_sent_to_scheduler_ts",
        "response_sent_to_client_ts",
        "decode_finished_ts",
        "inference_time",
        "decode_throughput",
    },
    "0.5.23": {
        "id",
        "finish_reason",
        "prompt_tokens",
        "weight_version",
        "num_retractions",
        "storage_prefetch_wait",
        "storage_staging_wait",
        "forward_entry_time",
        "prefill_finished_time",
        "queue_time",
        "reasoning_tokens",
        "completion_tokens",
        "cached_tokens",
        "weight_versions",
        "cached_tokens_details",
        "dp_rank",
        "e2e_latency",
        "request_received_ts",
        "first_token_latency",
        "api_server_dispatch_finish_ts",
        "response_sent_to_client_ts",
        "request_finished_ts",
        "decode_throughput",
    },
}


def body(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(re.sub(r"^\[[^\]]*\]\s*", "", text))
    return found


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_finished_events(version: str) -> None:
    text = finished(server(version), request()).text
    assert text.startswith("[2026-11-30 03:59:24] {") == (version == "0.5.23")
    event = body(text)
    assert list(event)[:4] == ["timestamp", "event", "rid", "obj"]
    assert event["timestamp"] == "2026-11-30T03:59:24.760000"
    meta = event["out"]["meta_info"]
    assert set(meta) == META[version]
    assert meta["e2e_latency"] == pytest.approx(2.51)
    assert meta["cached_tokens_details"] == {"device": 512, "host": 0}
    tokens = 128 if version == "0.5.9" else 127
    assert meta["decode_throughput"] == pytest.approx(tokens / (2.5 - 0.302))


def test_level_two_cuts_long_prompts_in_the_middle() -> None:
    event = body(received(server(), request(input_ids=tuple(range(5000)))).text)
    ids = event["obj"]["input_ids"]
    assert ids[1023:1026] == [1023, "...", 3976]
    assert len(ids) == 2049
    assert "input_ids" not in body(received(server(), request()).text)["obj"]


def test_the_old_release_writes_python_text() -> None:
    old = server("0.5.3")
    assert re.match(r"^\[[^\]]+\] Receive: obj=GenerateReqInput\(rid='9f2c", received(old, request()).text)
    text = finished(old, request()).text
    for pattern, value in (
        (r"'e2e_latency': ([\d.]+)", 2.51),
        (r"'prompt_tokens': (\d+)", 2048),
        (r"'cached_tokens': (\d+)", 512),
    ):
        found = re.search(pattern, text)
        assert found is not None
        assert float(found[1]) == pytest.approx(value, abs=1e-6)


def test_a_refused_request_has_little_to_say() -> None:
    meta = body(finished(server(), rejected()).text)["out"]["meta_info"]
    assert set(meta) == {"id", "finish_reason", "weight_version", "e2e_latency", "completion_tokens"}
    assert meta["finish_reason"] == {
        "type": "abort",
        "message": "The request queue is full.",
        "status_code": 503,
        "err_type": None,
    }


def test_exporter_nests_parameters_and_drops_nulls() -> None:
    record = json.loads(exported(server(), request(input_ids=(1, 2))))
    inner = json.loads(record["request_parameters"])
    assert "input_ids" not in inner
    assert all(v is not None for v in inner.values())
    assert inner["sampling_params"]["max_new_tokens"] == 256
    assert record["prompt_tokens"] == 2048


def spans_of(lines: list[str]) -> list[dict[str, Any]]:
    return [
        s for line in lines for rs in json.loads(line)["resourceSpans"] for ss in rs["scopeSpans"] for s in ss["spans"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("role", "stages"),
    [
        ("unified", ["request_process", "prefill_waiting", "prefill_forward", "decode_forward"]),
        ("decode", ["decode_prepare", "decode_bootstrap", "decode_transferred", "decode_waiting", "decode_forward"]),
    ],
)
def test_span_tree(role: str, stages: list[str]) -> None:
    r = request() if role == "unified" else apart(role)
    if role == "decode":
        r = apart(role).__class__(**{**apart(role).__dict__, "scheduled_ts": T + 0.41})
    spans = spans_of(request_lines(server(role=role), r))
    by_id = {s["spanId"]: s for s in spans}
    root = next(s for s in spans if "parentSpanId" not in s)
    assert root["name"] == f"{'' if role == 'unified' else role} Req 9f2c9f2c"
    threads = [s for s in spans if s.get("parentSpanId") == root["spanId"]]
    assert sorted(s["name"].split(" ")[0].split("(")[0] for s in threads) == ["Scheduler", "Tokenizer"]
    scheduler = next(s for s in threads if s["name"].startswith("Scheduler"))
    mine = [s for s in spans if s.get("parentSpanId") == scheduler["spanId"]]
    assert [s["name"] for s in mine] == stages
    for before, after in pairwise(mine):
        assert after["links"][0]["spanId"] == before["spanId"]
    assert all(int(s["endTimeUnixNano"]) >= int(s["startTimeUnixNano"]) for s in by_id.values())
    assert len({s["traceId"] for s in spans}) == 1


def test_vllm_span() -> None:
    (span,) = spans_of([vllm_line(server(), request())])
    attrs = {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}
    assert span["name"] == "llm_request"
    assert attrs["gen_ai.latency.time_in_queue"] == pytest.approx(0.096)
    assert "gen_ai.usage.cached_tokens" not in attrs


def test_client_record() -> None:
    record = json.loads(client_line(request(), T, T + 0.01, T + 0.3, T + 2.6, (20.0, 21.5), None))
    assert (record["client_rid"], record["status"], record["usage"]["completion_tokens"]) == ("9f2c" * 8, 200, 128)
    refused = json.loads(client_line(request(), T, T, None, T + 0.1, (), "connection refused"))
    assert (refused["usage"], refused["error"], refused["finish_reason"]) == (None, "connection refused", None)
