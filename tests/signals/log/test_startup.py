# ruff: noqa: E501 (lines as logs have them)
"""Start-up lines: launch arguments in both forms, the pool's line, secrets, cuts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals.log.server_args import arguments
from tests.signals.log.given import log

OLD = (
    "ServerArgs(model_path='/m/a, b', tp_size=2, dp_size=4, page_size=16, api_key='sk-verysecret', max_running_requests=12, "
    "disaggregation_mode='prefill', cuda_graph_bs=[1, 2, 4], json_model_override_args='{}', speculative=None, device=<Device.CUDA: 1>, "
    "kv_events_config=\"a='b', c=1\", nested={'a': {'b': 2}}, mem_fraction_static=0.88)"
)
NEW = "{'model_path': 'm', 'tp_size': 2, 'api_key': 'sk-verysecret', 'disaggregation_mode': 'null', 'cuda_graph_config': {'decode': {'backend': 'full'}}}"


def test_both_forms_give_the_same_kind_of_rows() -> None:
    for text, role in ((OLD, "prefill"), (NEW, "unified")):
        reading, tables = log(f"[2026-11-30 03:36:40] server_args={text}\n")
        config = {row["key"]: row["value"] for row in tables["config"]}
        assert config["tp_size"] == "2"
        assert config["api_key"] == "<secret>"
        assert all("verysecret" not in str(row) for rows in tables.values() for row in rows)
        (server,) = tables["servers"]
        assert (server["role"], server["tp_size"], server["engine"]) == (role, 2, "sglang")
        assert reading.role == role


def test_values_keep_their_commas_quotes_and_brackets() -> None:
    found = arguments(OLD)
    assert found is not None
    assert found["model_path"] == "/m/a, b"
    assert found["cuda_graph_bs"] == "[1, 2, 4]"
    assert found["speculative"] == "null"
    assert found["device"] == "<Device.CUDA: 1>"
    assert found["kv_events_config"] == "a='b', c=1"
    assert found["nested.a.b"] == "2"
    assert found["mem_fraction_static"] == "0.88"


@given(st.integers(0, len(OLD)))
@settings(max_examples=50, deadline=None)
def test_a_cut_call_gives_only_whole_arguments(at: int) -> None:
    whole = arguments(OLD)
    found = arguments(OLD[:at])
    assert whole is not None
    assert found is None or found.items() <= whole.items()


@given(st.integers(0, len(NEW)))
@settings(max_examples=50, deadline=None)
def test_a_cut_dict_gives_only_whole_arguments(at: int) -> None:
    whole = arguments(NEW)
    found = arguments(NEW[:at])
    assert whole is not None
    assert found is None or found.items() <= whole.items()


@given(st.text(max_size=80))
@settings(max_examples=50, deadline=None)
def test_any_text_behind_the_name_is_survived(text: str) -> None:
    arguments("ServerArgs(" + text)
    arguments("{" + text)


POOL = "max_total_num_tokens=214016, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=131072"


@pytest.mark.parametrize("tail", ["", ", available_gpu_mem=8.91 GB", ", available_cpu_mem=21.19 GB"])
def test_the_pool_s_line(tail: str) -> None:
    _, tables = log(f"[2026-11-30 03:36:40 DP1 TP0] {POOL}{tail}\n")
    (server,) = tables["servers"]
    assert (server["pool_tokens"], server["max_running"], server["context_len"]) == (214016, 2048, 131072)
    assert {row["key"]: row["value"] for row in tables["config"]}["max_prefill_tokens"] == "16384"
    assert {row["dp_rank"] for row in tables["config"]} == {1}


@given(st.integers(0, len(POOL)))
@settings(max_examples=50, deadline=None)
def test_a_cut_pool_line_gives_no_wrong_figure(at: int) -> None:
    _, whole = log(f"[2026-11-30 03:36:40] {POOL}\n")
    _, cut = log(f"[2026-11-30 03:36:40] {POOL[:at]}")
    for row in cut["servers"]:
        assert row.items() <= whole["servers"][0].items()


def test_talk_of_a_start_is_understood_but_trouble_in_it_is_kept() -> None:
    reading, tables = log(
        "[2026-11-30 03:36:40] Using default HuggingFace chat template with detected content format: string\n"
        "[2026-11-30 03:36:40] Ignore import error when loading a.b: No module named 'vllm'\n"
        '/a/b/awq.py:53: UserWarning: Only CUDA, HIP and XPU support AWQ currently.\n  warnings.warn(f"x")\n'
        "Loading safetensors checkpoint shards: 100% Completed | 1/1 [00:00<00:00, 172.83it/s]\n"
        "[2026-11-30 03:36:41] Loading of the extension failed: fatal mismatch\n"
    )
    assert reading.unparsed == 1
    assert [(row["line"], row["severity"]) for row in tables["unread"]] == [(6, "error")]
