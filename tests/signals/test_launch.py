"""Launch commands in every wrapping."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals import launch
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob
from tests.signals.reading import tables_of

SHELL = r"""#!/bin/bash
export SGLANG_REQ_WAITING_TIMEOUT=30 HF_TOKEN=hf_abcdefghijklmnopqrst
CUDA_VISIBLE_DEVICES=0 python3 -m sglang.launch_server --model-path /models/m --tp 8 \
    --chunked-prefill-size -1 --page-size=64 --enable-metrics --disaggregation-mode decode \
    --api-key "a b c" --cuda-graph-bs 1 2 4 2>&1 | tee server.log
"""
YAML = """\
spec:
  containers:
  - name: server
    image: engine:1
    env:
    - name: SGLANG_REQ_WAITING_TIMEOUT
      value: "30"
    command: ["python3", "-m", "sglang.launch_server"]
    args:
    - --model-path
    - /models/m
    - --tp=8
    - --disaggregation-mode
    - decode
"""


def config_of(text: str | bytes) -> tuple[dict[str, str], dict[str, Any]]:
    reading, tables = tables_of(text)
    assert (reading.kind, reading.understood) == ("launch", 1)
    assert {row["origin"] for row in tables["config"]} == {"launch"}
    (server,) = tables["servers"]
    return {row["key"]: row["value"] for row in tables["config"]}, server


def test_shell() -> None:
    config, server = config_of(SHELL)
    assert config == {
        "env.SGLANG_REQ_WAITING_TIMEOUT": "30", "env.HF_TOKEN": "<secret>", "env.CUDA_VISIBLE_DEVICES": "0",
        "model_path": "/models/m", "tp_size": "8", "chunked_prefill_size": "-1", "page_size": "64",
        "enable_metrics": "true", "disaggregation_mode": "decode", "api_key": "<secret>",
        "cuda_graph_bs": '["1", "2", "4"]',
    }  # fmt: skip
    assert (server["engine"], server["role"], server["tp_size"], server["page_size"], server["line"]) == (
        "sglang",
        "decode",
        8,
        64,
        3,
    )


def test_yaml() -> None:
    config, server = config_of(YAML)
    assert config["tp_size"] == "8" and config["env.SGLANG_REQ_WAITING_TIMEOUT"] == "30"
    assert (server["role"], server["model"]) == ("decode", "/models/m")


@pytest.mark.parametrize(
    ("text", "engine", "role", "expected"),
    [
        ("sglang serve --model-path m --dp 2\n", "sglang", "unified", {"model_path": "m", "dp_size": "2"}),
        ("vllm serve org/m --max-num-seqs 4 --no-enable-prefix-caching\n", "vllm", None,
         {"model": "org/m", "max_num_seqs": "4", "enable_prefix_caching": "false"}),
        ("""vllm serve m --kv-transfer-config '{"kv_connector":"X","kv_role":"kv_producer"}'\n""", "vllm", "prefill",
         {"model": "m", "kv_transfer_config": '{"kv_connector":"X","kv_role":"kv_producer"}'}),
        ("$ python -m vllm.entrypoints.openai.api_server --model m --enable-lora -tp 2\n", "vllm", None,
         {"model": "m", "enable_lora": "true"}),
        ("docker run -e A_KEY=1 img bash -c \"python3 -m sglang.launch_server --model-path m --tp 2\"\n",
         "sglang", "unified",
         {"env.A_KEY": "1", "model_path": "m", "tp_size": "2"}),
        ("python -m sglang_router.launch_router --policy cache_aware --worker-urls http://a http://b\n",
         "gateway", "gateway",
         {"policy": "cache_aware", "worker_urls": '["http://a", "http://b"]'}),
        ("python -m sglang.launch_server --model-path m --chat-template \"cut\n", "sglang", "unified",
         {"model_path": "m", "chat_template": '"cut'}),
    ],
)  # fmt: skip
def test_commands(text: str, engine: str, role: str | None, expected: dict[str, str]) -> None:
    config, server = config_of(text)
    assert config == expected
    assert (server["engine"], server.get("role")) == (engine, role)


def test_run_json_dates_its_settings() -> None:
    run = {
        "cmd": ["/v/bin/python", "-m", "sglang.launch_server", "--max-running-requests", "4"],
        "started": 1796017769.38,
    }
    reading, tables = tables_of(json.dumps(run, indent=1))
    assert reading.kind == "launch"
    assert [(r["key"], r["value"], r["ts"]) for r in tables["config"]] == [("max_running_requests", "4", 1796017769.38)]


def test_lines_that_are_no_command_are_listed() -> None:
    reading, tables = tables_of("vllm serve m\nsome other words\n")
    assert reading.unparsed == 1
    assert [(r["line"], r["text"]) for r in tables["unread"]] == [(2, "some other words")]


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=60), st.integers(0, len(SHELL)))
def test_any_text_is_survived(text: str, at: int) -> None:
    reading = Reading(1, "given")
    damaged = (SHELL[:at] + text + SHELL[at:]).encode()
    rows = [row for part in launch.read(Blob("given", None, damaged), reading) for row in part.data.to_pylist()]
    # shlex and splitlines know more line ends than a shell has: a row still names a line of the text.
    assert all(1 <= row["line"] <= len(damaged.decode().splitlines()) for row in rows)
    assert all(len(row["value"]) <= 500 for row in rows if "value" in row)


@pytest.mark.shared
def test_recorded_commands(shared_dir: Path) -> None:
    config, server = config_of((shared_dir / "cases/007-oom-though-enough-is-free/launch.txt").read_bytes())
    assert (config["page_size"], server["tp_size"], config["disable_cuda_graph"]) == ("64", 8, "true")
    config, server = config_of((shared_dir / "cases/045-pending-with-empty-pool/launch.txt").read_bytes())
    assert config["enable_lora"] == "true" and "max_loras" not in config
    assert (server["engine"], server["context_len"]) == ("vllm", 32768)
    for path in sorted((shared_dir / "real").rglob("run.json")):
        config, server = config_of(path.read_bytes())
        words = json.loads(path.read_text())["cmd"]
        assert len(config) == sum(word.startswith("--") for word in words) + ("serve" in words)
        cap = words[words.index("--max-num-seqs" if "--max-num-seqs" in words else "--max-running-requests") + 1]
        assert server["max_running"] == int(cap)
