"""What a server says of itself."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.signals.reading import tables_of

INFO: dict[str, Any] = {
    "model_path": "/models/m", "served_model_name": "chat", "tokenizer_path": "/models/m",
    "api_key": "sk-very-secret-1234", "admin_api_key": None,
    "tp_size": 8, "dp_size": 2, "pp_size": 1, "page_size": 64, "max_running_requests": 48,
    "max_prefill_tokens": 16384, "chunked_prefill_size": -1, "context_length": None, "disaggregation_mode": "decode",
    "disable_radix_cache": False, "log_requests_target": ["stdout", "/logs"],
    "cuda_graph_config": {"decode": {"max_bs": 32}},
    "launch_command": "--model-path /models/m --api-key sk-very-secret-1234 --tp 8", "max_total_num_tokens": 214016,
    "internal_states": [
        {"tp_size": 8, "effective_max_running_requests_per_dp": 24, "memory_usage": {"weight": 3.5},
         "last_gen_throughput": 1.5},
        {"tp_size": 8, "effective_max_running_requests_per_dp": 24, "memory_usage": {"weight": 3.5}},
    ],
    "version": "0.5.23",
}  # fmt: skip
HEADER = "#### scrape ts={}.000000 took=0.0293 status=200 url=http://127.0.0.1:30000/server_info\n"


def keys(tables: dict[str, list[dict[str, Any]]], rank: int | None = None) -> dict[str, str]:
    return {row["key"]: row["value"] for row in tables["config"] if row.get("dp_rank") == rank}


def test_server_and_settings() -> None:
    reading, tables = tables_of(json.dumps(INFO))
    assert (reading.kind, reading.version, reading.role, reading.unparsed) == ("server-info", "0.5.23", "decode", 0)
    (server,) = tables["servers"]
    assert len(server.pop("args_hash", "")) in (0, 16)
    assert server == {
        "engine": "sglang", "version": "0.5.23", "role": "decode", "model": "chat", "tp_size": 8, "dp_size": 2,
        "pp_size": 1, "page_size": 64, "pool_tokens": 214016, "max_running": 24, "max_prefill_tokens": 16384,
        "chunked_prefill_size": -1,
        "source": 7, "line": 1,
    }  # fmt: skip
    config = keys(tables)
    assert config["disable_radix_cache"] == "false"
    assert config["context_length"] == "null"
    assert config["cuda_graph_config.decode.max_bs"] == "32"
    assert config["log_requests_target"] == '["stdout", "/logs"]'
    assert {row["origin"] for row in tables["config"]} == {"server_info"}
    # Per rank only what the top level does not say.
    assert keys(tables, 1) == {"effective_max_running_requests_per_dp": "24", "memory_usage.weight": "3.5"}


def test_secrets_never_leave() -> None:
    _, tables = tables_of(json.dumps(INFO))
    assert "very-secret" not in json.dumps(tables)
    config = keys(tables)
    assert (config["api_key"], config["admin_api_key"]) == ("<secret>", "null")
    assert config["launch_command"] == "--model-path /models/m --api-key <secret> --tp 8"


def test_only_changes_are_repeated() -> None:
    later = INFO | {"max_running_requests": 8, "internal_states": INFO["internal_states"][:1]}
    later["internal_states"] = [INFO["internal_states"][0] | {"last_gen_throughput": 99.0}]
    text = "".join(
        HEADER.format(1796011162 + n) + json.dumps(info) + "\n" for n, info in enumerate([INFO, INFO, later])
    )
    reading, tables = tables_of(text)
    assert reading.understood == 3
    assert [(row["key"], row["value"], row["ts"]) for row in tables["config"] if row["line"] > 2] == [
        ("max_running_requests", "8", 1796011164.0)
    ]
    assert [row["line"] for row in tables["servers"]] == [2]


def test_a_changed_pool_is_another_server_row() -> None:
    later = INFO | {"max_total_num_tokens": 1000}
    text = "".join(HEADER.format(1796011162 + n) + json.dumps(info) + "\n" for n, info in enumerate([INFO, later]))
    _, tables = tables_of(text)
    assert [row["pool_tokens"] for row in tables["servers"]] == [214016, 1000]


def test_other_answers() -> None:
    reading, tables = tables_of('{"version":"0.32.0"}')
    assert (reading.kind, tables["servers"][0]["engine"], reading.version) == ("server-info", "vllm", "0.32.0")
    model = {"model_path": "/m", "tokenizer_path": "/m", "is_generation": True, "weight_version": "default"}
    reading, tables = tables_of(json.dumps({"ok": True, "status": 200, "path": "/model_info", "json": model}, indent=2))
    assert (reading.kind, tables["servers"][0]["model"]) == ("model-info", "/m")
    assert {row["origin"] for row in tables["config"]} == {"model_info"}
    refused = {"ok": False, "status": 401, "path": "/hicache/storage-backend", "error": '{"error": "Unauthorized"}'}
    reading, tables = tables_of(json.dumps(refused, indent=2))
    assert (reading.kind, reading.understood, reading.unparsed) == ("server-info", 1, 0)
    assert (tables["scrapes"][0]["ok"], tables["scrapes"][0]["status"]) == (False, 401)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(sorted(INFO)),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
        | st.lists(st.integers() | st.none(), max_size=3)
        | st.lists(st.dictionaries(st.text(max_size=5), st.integers(), max_size=2), max_size=2),
    )
)  # fmt: skip
def test_any_values_are_survived(value: dict[str, Any]) -> None:
    reading, tables = tables_of(HEADER.format(1796011162) + json.dumps(value) + "\n")
    assert reading.understood + reading.unparsed == 1
    for row in tables["servers"]:
        if row.get("tp_size") is not None:
            assert row["tp_size"] == value["tp_size"]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("path", "version", "role", "pool", "cap", "dp"),
    [
        ("sglang_0.5.3/mix_base/server_info.json", "0.5.3", "unified", 5120, 12, 1),
        ("sglang_0.5.6/mix_base/server_info.json", "0.5.6", "unified", 5120, 12, 1),
        ("sglang_0.5.9/mix_maxrun4/server_info.json", "0.5.9", "unified", 5120, 4, 1),
        ("sglang_0.5.23/dp2_round_robin/server_info.end.json", "0.5.23", "unified", 3072, 24, 2),
        ("sglang_0.5.23/pd_mooncake_tcp/prefill/server_info.json", "0.5.23", "prefill", 4096, 12, 1),
        ("sglang_0.5.23/pd_mooncake_tcp/decode/server_info.json", "0.5.23", "decode", 4096, 12, 1),
        ("pairs/sglang_0.5.23/over_cons03_1/server_info.json.gz", "0.5.23", "unified", 2560, 16, 1),
    ],
)
def test_recorded(shared_dir: Path, path: str, version: str, role: str, pool: int, cap: int, dp: int) -> None:
    raw = (shared_dir / "real" / path).read_bytes()
    reading, tables = tables_of(raw)
    assert (reading.kind, reading.unparsed) == ("server-info", 0)
    (server,) = tables["servers"]
    assert (server["role"], server["pool_tokens"], server["max_running"], server["dp_size"]) == (role, pool, cap, dp)
    assert server["model"] == "tiny-llama"
    assert reading.version == version
    info = json.loads(gzip.decompress(raw) if path.endswith("gz") else raw)
    config = keys(tables)
    for key, value in info.items():
        if isinstance(value, str | int | float | bool):
            assert config[key] == (value if isinstance(value, str) else json.dumps(value))[:500]
