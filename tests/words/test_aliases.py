import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.words.aliases import known_names, resolve


@pytest.mark.parametrize(
    ("name", "version", "real"),
    [
        ("num_running", "0.5.23", "sglang:num_running_reqs"),
        ("num_waiting", "0.4.6.post5", "sglang:num_queue_reqs"),
        ("num_waiting_reqs", "0.5.23", "sglang_num_waiting_reqs"),
        ("token_usage", "0.5.9", "sglang:token_usage"),
        ("cache_hit_ratio", "0.5.9", "sglang:cache_hit_rate"),
        ("ttft_seconds", "0.5.3", "sglang:time_to_first_token_seconds"),
        ("e2e_req_latency_seconds", "0.5.6", "sglang:e2e_request_latency_seconds"),
        ("itl", "0.5.9", "sglang:inter_token_latency_seconds"),
        ("tpot", "0.5.23", "sglang:request_time_per_output_token_seconds"),
        ("tpot", "0.5.9", None),
        ("decode_prealloc", "0.5.9", "decode_bootstrap"),
        ("decode_transfer", "0.5.23", "decode_transferred"),
        ("api_server_dispatch", "0.5.9", "dispatch"),
        ("dispatch", "0.5.23", "api_server_dispatch"),
        ("LoadBalanceMethod", "0.5.23", "--load-balance-method"),
        ("num_prefill_bootstrap_queue_reqs", "0.5.6", "sglang:num_prefill_prealloc_queue_reqs"),
        ("num_prefill_prealloc_queue_reqs", "0.5.23", "sglang:num_prefill_bootstrap_queue_reqs"),
        ("num_prefill_inflight_queue_reqs", "0.4.10", "sglang:num_prefill_infight_queue_reqs"),
        ("num_prefill_infight_queue_reqs", "0.5.3", "sglang:num_prefill_inflight_queue_reqs"),
        ("forward_execution_seconds", "0.5.9", "sglang:gpu_execution_seconds_total"),
        ("retractions", "0.4.10", "sglang:total_retracted_reqs"),
        ("retractions", "0.5.9", "sglang:num_retracted_requests_total"),
        ("total_retractions", "0.5.23", "num_retractions"),
        ("num_retractions", "0.5.9", "total_retractions"),
        ("routed_dp_rank", "0.5.6", "data_parallel_rank"),
        ("data_parallel_rank", "0.5.23", "routed_dp_rank"),
        ("#bootstrap-req", "0.5.6", "#prealloc-req"),
        ("#unbootstrapped-req", "0.5.23", "#bootstrap-req"),
        ("#inflight-req", "0.4.10", "#transferring-req"),
        ("get_load", "0.5.23", "/v1/loads"),
        ("/v1/loads", "0.5.3", "/get_load"),
        ("/v1/loads", "0.4.6.post5", None),
        ("get_internal_state", "0.5.23", "/server_info"),
        ("/server_info", "0.5.3", "/get_server_info"),
        ("--max-running-requests", "0.5.23", "--max-running-requests"),
        ("soft_watchdog_timeout", "0.5.3", None),
    ],
)
def test_a_name_is_answered_with_the_real_one_of_that_version(name: str, version: str, real: str | None) -> None:
    word = resolve(name, version)
    assert word is not None
    assert word.real == real
    assert (word.present is False) is (real is None)


def test_the_two_meanings_of_prealloc_are_told() -> None:
    word = resolve("#prealloc-req", "0.5.6")
    assert word is not None
    assert word.column is None
    assert "prefill server: bootstrap" in word.note
    assert "decode server: prealloc" in word.note


def test_the_other_engine_answers_with_its_own_name() -> None:
    for name, real in (("num_running", "vllm:num_requests_running"), ("ttft", "vllm:time_to_first_token_seconds"),
                       ("preemptions", "vllm:num_preemptions_total"),
                       ("cache_hit_ratio", "vllm:prefix_cache_hits_total"),
                       ("max_num_seqs", "--max-num-seqs")):  # fmt: skip
        word = resolve(name, None, "vllm")
        assert word is not None, name
        assert word.real == real


def test_between_inspected_releases_it_is_not_known() -> None:
    word = resolve("tpot", "0.5.15")
    assert word is not None
    assert word.present is None
    assert word.real is not None


@given(st.text(max_size=30))
def test_any_text_is_safe(text: str) -> None:
    word = resolve(text, "0.5.9")
    assert word is None or word.asked == text.strip()


def test_every_known_name_resolves() -> None:
    from ridgeline.words.versions import Engine

    engines: tuple[Engine, ...] = ("sglang", "vllm", "gateway")
    for name in known_names():
        assert any(resolve(name, None, engine) for engine in engines), name
