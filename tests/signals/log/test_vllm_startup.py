from pathlib import Path

import pytest

from tests.signals.reading import tables_of

HEAD = "(EngineCore pid=9) INFO 11-30 03:41:00 [core.py:133] "
ARGS = (
    "non-default args: {'model': '/srv/m', 'max_num_seqs': 12, 'block_size': 32, 'api_key': 'sk-verysecret', "
    "'enable_prefix_caching': True}"
)
ENGINE = (
    "Initializing a V1 LLM engine (v0.32.0) with config: model='/srv/m', speculative_config=None, max_seq_len=1536, "
    "tensor_parallel_size=2, data_parallel_size=4, pipeline_parallel_size=1, kv_cache_dtype=auto, "
    "pass_config={'a': [1, 2], 'b': <Mode.NONE: 0>}, served_model_name=m, enable_prefix_caching=True"
)


def test_a_boot_gives_its_arguments_and_one_server() -> None:
    text = "\n".join(
        [
            HEAD + ARGS,
            HEAD + ENGINE,
            HEAD + "GPU KV cache size: 176,240 tokens",
            HEAD + "Maximum concurrency for 1,536 tokens per request: 114.74x",
            HEAD + "Chunked prefill is enabled with max_num_batched_tokens=8192.",
            "",
        ]
    )
    reading, tables = tables_of(text, year=2026)
    (server,) = tables["servers"]
    assert {k: server[k] for k in server if k not in ("source", "line", "args_hash", "boot_ts")} == {
        "engine": "vllm",
        "version": "0.32.0",
        "model": "/srv/m",
        "dp_size": 4,
        "tp_size": 2,
        "pp_size": 1,
        "page_size": 32,
        "pool_tokens": 176240,
        "max_running": 12,
        "max_prefill_tokens": 8192,
        "context_len": 1536,
    }
    config = {row["key"]: row["value"] for row in tables["config"]}
    assert config["api_key"] == "<removed>"
    assert config["max_concurrency"] == "114.74"
    assert config["pass_config"] == "{'a': [1, 2], 'b': <Mode.NONE: 0>}"
    assert reading.version == "0.32.0"
    assert [event["kind"] for event in tables["events"]] == ["startup"]
    assert "verysecret" not in str(tables)


def test_a_second_boot_is_a_second_server() -> None:
    text = "\n".join(
        [HEAD + ARGS, HEAD + "GPU KV cache size: 10 tokens", HEAD + ARGS, HEAD + "GPU KV cache size: 20 tokens", ""]
    )
    _, tables = tables_of(text)
    assert [row["pool_tokens"] for row in tables["servers"]] == [10, 20]


def test_arguments_that_are_no_literal_are_read_by_pairs() -> None:
    text = HEAD + "non-default args: {'model': 'm', 'kv_transfer_config': KVTransferConfig(x=1), 'port': 8000}"
    _, tables = tables_of(text + "\n")
    assert {row["key"]: row["value"] for row in tables["config"]} == {"model": "m", "port": "8000"}


@pytest.mark.parametrize("text", ["# GPU blocks: 45875, # CPU blocks: 6144", "Using max model len 1536"])
def test_the_number_a_cut_file_ends_in_is_not_taken(text: str) -> None:
    _, whole = tables_of(HEAD + text + "\n")
    _, cut = tables_of(HEAD + text[:-1])
    assert len(cut["config"]) == len(whole["config"]) - 1


@pytest.mark.shared
def test_recorded_boot(shared_dir: Path) -> None:
    _, tables = tables_of((shared_dir / "real/vllm_0.32.0/run1/server.log.gz").read_bytes())
    (server,) = tables["servers"]
    got = [server[name] for name in ("pool_tokens", "page_size", "max_running", "context_len", "tp_size", "version")]
    assert got == [4096, 32, 12, 1536, 1, "0.32.0"]
