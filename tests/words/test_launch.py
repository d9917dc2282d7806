import json
from pathlib import Path

import pytest

from ridgeline.words.launch import SGLANG_ARGS, VLLM_ARGS, choices_in, counterpart, launch_arg


def test_counterparts_exist_in_the_other_engine() -> None:
    for entry in (*SGLANG_ARGS, *VLLM_ARGS):
        if entry.same_as:
            other = counterpart(entry)
            assert other is not None, entry.name
            assert other.engine != entry.engine


@pytest.mark.parametrize(
    ("sglang", "vllm"),
    [("max_running_requests", "max_num_seqs"), ("page_size", "block_size"), ("context_length", "max_model_len"),
     ("mem_fraction_static", "gpu_memory_utilization"), ("tp_size", "tensor_parallel_size")],
)  # fmt: skip
def test_the_mapping_goes_both_ways(sglang: str, vllm: str) -> None:
    one, other = launch_arg(sglang), launch_arg(vllm, "vllm")
    assert one is not None
    assert other is not None
    assert (one.same_as, other.same_as) == (vllm, sglang)


@pytest.mark.parametrize("text", ["--max-running-requests", "max_running_requests", " --max-running-requests "])
def test_spellings_of_one_argument(text: str) -> None:
    entry = launch_arg(text)
    assert entry is not None
    assert entry.flag == "--max-running-requests"


def test_short_forms_and_unknown_ones() -> None:
    tensor, vllm_tensor = launch_arg("--tp"), launch_arg("-tp", "vllm")
    assert tensor is not None
    assert tensor.name == "tp_size"
    assert vllm_tensor is not None
    assert vllm_tensor.name == "tensor_parallel_size"
    assert launch_arg("--make-it-fast") is None


def test_defaults_and_choices_follow_the_version() -> None:
    method = launch_arg("load_balance_method")
    assert method is not None
    assert method.default_in("0.5.6") == "round_robin"
    assert method.default_in("0.5.23") == "auto"
    assert "shortest_queue" in choices_in(method, "0.5.6")
    assert "shortest_queue" not in choices_in(method, "0.5.23")
    level = launch_arg("log_requests_level")
    assert level is not None
    assert (level.default_in("0.4.10"), level.default_in("0.5.3"), level.default_in(None)) == (0, 2, 2)


@pytest.mark.shared
@pytest.mark.parametrize("version", ["0.5.3", "0.5.6", "0.5.9", "0.5.23"])
def test_recorded_servers_have_these_arguments_with_these_defaults(shared_dir: Path, version: str) -> None:
    run = "single_full/server_info.start.json" if version == "0.5.23" else "mix_base/server_info.json"
    info = json.loads((shared_dir / "real" / f"sglang_{version}" / run).read_text())
    # What those runs set on purpose, or what follows from the machine, the model or what is set.
    told = {"max_running_requests", "max_queued_requests", "max_total_tokens", "mem_fraction_static", "page_size",
            "chunked_prefill_size", "schedule_conservativeness", "context_length", "disable_overlap_schedule",
            "log_requests", "log_requests_level", "decode_log_interval", "enable_metrics", "disable_cuda_graph",
            "load_balance_method", "max_loras_per_batch"}  # fmt: skip
    for entry in SGLANG_ARGS:
        has = entry.span.has(version)
        assert has is not None, entry.name
        assert (entry.name in info) is has, entry.name
        if has and entry.name not in told:
            assert info[entry.name] == entry.default_in(version), entry.name
