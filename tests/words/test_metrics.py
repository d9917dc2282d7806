import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.words.metrics import METRICS, canonical_metric, metric, names_for, strip_prefix


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("sglang:num_running_reqs", "num_running_reqs"),
        ("sglang_num_running_reqs", "num_running_reqs"),
        ("num_running_reqs", "num_running_reqs"),
        ("sglang:num_prefill_prealloc_queue_reqs", "num_prefill_bootstrap_queue_reqs"),
        ("sglang:num_prefill_infight_queue_reqs", "num_prefill_inflight_queue_reqs"),
        ("sglang:gpu_execution_seconds_total", "forward_execution_seconds"),
        ("sglang:total_retracted_reqs", "num_retracted_requests"),
        ("sglang:num_retracted_reqs", "num_retracted_reqs"),
        ("sglang:prompt_tokens_total", "prompt_tokens"),
        ("sglang:prompt_tokens", "prompt_tokens"),
        ("sglang:prompt_tokens_histogram_bucket", "prompt_tokens_histogram"),
        ("sglang:time_to_first_token_seconds_bucket", "time_to_first_token_seconds"),
        ("sglang:time_to_first_token_seconds_sum", "time_to_first_token_seconds"),
        ("sglang:grammar_schema_count", "grammar_schema_count"),
        ("sglang:grammar_schema_count_count", "grammar_schema_count"),
        ("sglang:lora_pool_slots_total", "lora_pool_slots_total"),
        ("sglang_disagg_prefill_prealloc_queue_reqs", "disagg_prefill_bootstrap_queue_reqs"),
        ("sglang_timestamp", "loads_timestamp"),
        ("sglang:queue_req", "num_queue_reqs"),
        ("vllm:num_requests_waiting", "num_requests_waiting"),
        ("vllm:iteration_tokens_total_bucket", "iteration_tokens"),
        ("vllm:iteration_tokens_total", "iteration_tokens"),
        ("vllm:gpu_cache_usage_perc", "kv_cache_usage_perc"),
        ("vllm:prefix_cache_hits_total", "prefix_cache_hits"),
        ("smg_worker_cb_state", "worker_cb_state"),
    ],
)
def test_every_spelling_finds_its_entry(raw: str, name: str) -> None:
    found = canonical_metric(raw)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "raw",
    [
        "vllm:prompt_tokens_created",  # the time of creation, not a count of tokens
        "process_cpu_seconds_total",  # any Python process exports it
        "http_requests_total",
        "python_gc_objects_collected_total",
        "sglang:num_running_reqs_total",  # gauges do not gain _total
        "sglang:token_usage_bucket",
        "sglang:no_such_thing",
        "",
    ],
)
def test_what_is_not_ours_stays_unknown(raw: str) -> None:
    assert canonical_metric(raw) is None


def test_engines_share_their_words() -> None:
    for word in ("running", "waiting", "usage", "ttft_s", "e2e_s", "itl_s", "queue_s", "retractions", "prompt_tokens",
                 "generation_tokens", "cached_tokens", "requests", "transfer_failed"):  # fmt: skip
        assert names_for(word, "sglang"), word
        assert names_for(word, "vllm"), word
    assert names_for("running") == ("num_running_reqs", "num_requests_running")
    assert names_for("waiting_all") == ("num_waiting_reqs",)


def test_one_spelling_means_one_metric() -> None:
    owners: dict[tuple[str, str], str] = {}
    for entry in METRICS:
        for text in (entry.name, *(old.raw for old in entry.names)):
            assert owners.setdefault((entry.engine, text), entry.name) == entry.name, text


def test_transfer_gauges_became_histograms() -> None:
    entry = metric("kv_transfer_speed_gb_s")
    assert entry.kind_in("0.5.9") == "gauge"
    assert entry.kind_in("0.5.23") == "histogram"
    assert entry.kind_in("0.5.12") is None
    assert metric("num_queue_reqs").kind_in(None) == "gauge"


def test_signals_that_lie_say_so() -> None:
    for name in ("token_usage", "cache_hit_rate", "utilization", "pending_prealloc_token_usage", "num_retracted_reqs",
                 "num_queue_reqs", "fwd_occupancy", "prompt_tokens", "kv_transfer_speed_gb_s"):  # fmt: skip
        assert metric(name).trap, name


def test_unknown_canonical_name_is_an_error() -> None:
    with pytest.raises(KeyError, match="no metric"):
        metric("gpu_execution_seconds_total")


@given(st.text(max_size=40), st.sampled_from(["", "sglang:", "sglang_", "vllm:", "smg_"]))
def test_any_text_is_safe_and_prefixes_come_off_once(text: str, prefix: str) -> None:
    canonical_metric(prefix + text)
    engine, rest = strip_prefix(prefix + text)
    if prefix:
        assert engine is not None
        assert rest == text


@pytest.mark.shared
def test_every_engine_metric_of_the_recorded_runs_is_known(shared_dir: Path) -> None:
    unknown, wrong_kind = set(), set()
    files = sorted((shared_dir / "real").rglob("metrics.*"))
    assert files
    for path in files:
        text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
        for line in {line for line in text.splitlines() if line.startswith("# TYPE ")}:
            _, _, raw, kind = line.split()
            if not raw.startswith(("sglang", "vllm")) or raw.endswith("_created"):
                continue
            entry = canonical_metric(raw)
            if entry is None:
                unknown.add(raw)
            elif kind not in {entry.kind, entry.old_kind} and entry.kind not in ("info", "gaugehistogram"):
                wrong_kind.add((raw, kind))
    assert not unknown
    assert not wrong_kind
