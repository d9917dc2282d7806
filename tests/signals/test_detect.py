# ruff: noqa: E501 (lines as logs have them)
"""The kind of a source is told by its content."""

import gzip
import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals.detect import KINDS, detect
from ridgeline.signals.stream import Blob

BATCH = "[2026-11-30 03:37:55 TP0] Decode batch, #running-req: 1, #token: 9, token usage: 0.41, #queue-req: 5\n"
EVENT = json.dumps({"timestamp": "2026-11-30T03:41:02.1", "event": "request.received", "rid": "a", "obj": {}}) + "\n"

SAMPLES = [
    ("empty", b""),
    ("empty", b" \n\n\t\n"),
    ("binary", bytes(range(256)) * 40),
    ("dump", pickle.dumps([1, 2], protocol=4)),
    ("log", BATCH),
    ("log", "\n\n" + BATCH),
    ("log", "Decode batch. #running-req: 3, #token: 12, token usage: 0.10\n"),
    ("log", "2025-02-18 08:41:22 TP0] Decode batch. #running-req: 2, #token: 4410\n"),
    ("log", "new fill batch. #seq: 1. #cached_token: 512. #new_token: 231.\n"),
    ("log", "Jun 03, 2026 @ 17:19:06.114    INFO:     10.0.0.1:4 - \"POST /generate HTTP/1.1\" 200 OK\n"),
    ("log", "2026-11-30T03:58:34.123456789Z stdout F " + BATCH),
    ("log", "I0409 14:12:08.312677 641020 transport.cpp:1119] Connected\n"),
    ("log", "(EngineCore_0 pid=12) INFO 08-29 13:52:31 [scheduler.py:495] Preempted request cmpl-1 has been resumed!\n"),
    ("log", "│ 2026-03-07T06:20:44.102318Z  INFO kv_router::scheduler: Selected worker: worker_id=5 │\n"),
    ("log", "RuntimeError: Decode out of memory. Try to lower your batch size.\nTry to allocate 3 tokens.\n"),
    ("log", json.dumps({"log": BATCH, "stream": "stderr", "time": "2026-11-30T03:37:55.1Z"}) + "\n"),
    ("log", json.dumps({"@timestamp": "2026-11-30T03:37:55Z", "message": BATCH}) + "\n"),
    ("log", "@timestamp,message\n2026-11-30,hello\n"),
    ("log", f"[2026-11-30 03:37:55] {EVENT}{BATCH}"),
    ("log", EVENT + BATCH),
    ("log", BATCH.encode("utf-16")),
    ("request-log", EVENT * 3),
    ("request-log", f"[2026-11-30 03:37:55] {EVENT}" * 3),
    ("exporter", '{"request_parameters": "{}", "prompt_tokens": 3}\n'),
    ("exposition", "# HELP sglang:num_running_reqs x\n# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs 3.0\n"),
    ("exposition", 'vllm:num_requests_running{engine="0"} 14.0\n'),
    ("exposition", "#### scrape ts=1.5 took=0.02 status=200 url=http://127.0.0.1:1/metrics\nsglang:x 1\n"),
    ("loads", "#### scrape ts=1.5 took=0.02 status=404 url=http://127.0.0.1:1/v1/loads?include=all\n{}\n"),
    ("loads", '{"timestamp": "x", "version": "0.5.23", "loads": []}'),
    ("get-load", "#### scrape ts=1.5 took=0.02 status=200 url=http://127.0.0.1:1/get_load\n[]\n"),
    ("get-load", '[{"rid":null,"dp_rank":null,"num_reqs":0,"num_waiting_reqs":0,"num_tokens":0}]'),
    ("server-info", '{"model_path":"m","tokenizer_path":"m","tp_size":1}'),
    ("server-info", '{"ok": true, "status": 200, "json": {"internal_states": [], "tp_size": 1}}'),
    ("model-info", '{"model_path":"m","is_generation":true}'),
    ("prometheus-range", '{"status":"success","data":{"resultType":"matrix","result":[]}}'),
    ("otlp", '{"resourceSpans": []}'),
    ("jaeger", '{"data":[{"traceID":"a","spans":[]}]}'),
    ("vllm-requests", '{"request_id": "b-0", "input_toks": 2, "output_toks": 5}\n'),
    ("vllm-requests", '{\n  "model": "m",\n  "vllm_version": "0.19.0",\n  "engine_kwargs": {}\n}\n'),
    ("vllm-requests", '{"num_nodes": 1, "nodes": []}\n'),
    ("client", "Metric,avg,min,max\nTime to First Token (ms),2.0,1.0,3.0\n"),
    ("client", '{"benchmarks": [{"requests": {}}]}\n'),
    ("timeseries-csv", "t,prompt_throughput,gen_throughput,running,waiting,kv_cache_pct\n1.0,2,3,4,5,6\n"),
    ("client", '{"i": 5, "client_rid": "r", "send_ts": 1.5}\n'),
    ("client", '{"completed": 3, "request_throughput": 2.0, "ttfts": [], "itls": []}\n'),
    ("launch", "python -m sglang.launch_server --model-path m \\\n  --tp 8\n"),
    ("launch", "vllm serve m --port 1\n"),
    ("text", "  Round 0: Average TTFT = 2.21s, Cache Hit Rate = 0.0 (24 requests)\n"),
    ("text", "# Title\n\nSome words about a server.\n"),
    ("text", "just words\nand more words\n"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "content"), SAMPLES, ids=[f"{i}-{kind}" for i, (kind, _) in enumerate(SAMPLES)])
def test_each_kind_is_told_by_its_content(kind: str, content: str | bytes) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    assert detect(data) == kind
    assert detect(Blob("x", None, gzip.compress(data)).head() if data else b"") == kind


@given(st.binary(max_size=400))
@settings(max_examples=50, deadline=None)
def test_any_bytes_have_a_kind(data: bytes) -> None:
    assert detect(data) in KINDS


@given(st.sampled_from([c if isinstance(c, bytes) else c.encode() for _, c in SAMPLES]), st.integers(0, 200))
@settings(max_examples=50, deadline=None)
def test_a_cut_source_has_a_kind(data: bytes, at: int) -> None:
    assert detect(data[:at]) in KINDS


@pytest.mark.shared
def test_kinds_of_recorded_runs(shared_dir: Path) -> None:
    wanted = {
        "server.log": {"log"},
        "client": {"client"},
        "metrics.": {"exposition"},
        "loads.scrapes": {"loads"},
        "get_load": {"get-load"},
        "server_info": {"server-info"},
        "model_info": {"model-info"},
        "otlp": {"otlp"},
        "request-metrics": {"exporter"},
        "vm_0.log": {"request-log", "log"},
        ".pkl": {"dump"},
    }
    seen = 0
    for path in sorted((shared_dir / "real").rglob("*")):
        kinds = next((kinds for part, kinds in wanted.items() if path.is_file() and part in path.name), None)
        if kinds is not None:
            seen += 1
            assert detect(Blob(path.name, path).head()) in kinds, path
    assert seen > 50


def test_a_log_whose_first_lines_hold_request_json_is_still_a_log() -> None:
    start = "[2026-11-30 03:40:00] server_args={'model_path': 'm', 'host': '127.0.0.1'}\n"
    batch = "[2026-11-30 03:40:01] Decode batch, #running-req: 3, #token: 100, token usage: 0.01\n"
    event = (
        '[2026-11-30 03:40:01] {"timestamp": "2026-11-30T03:40:01.5", "event": "request.finished", "rid": "a", '
        '"out": {"meta_info": {"finish_reason": null, "prompt_tokens": 3, "completion_tokens": 1}}}\n'
    )
    assert detect((start + event + batch).encode()) == "log"
