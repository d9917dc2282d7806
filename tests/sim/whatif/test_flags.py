"""The literal flag of the server, and whether its version has it."""

import pytest

from ridgeline.sim.settings import SettingError, Settings
from ridgeline.sim.whatif.flags import named, own_name, shown


@pytest.mark.parametrize(
    ("changes", "settings", "text", "needs"),
    [
        ({"max_running_requests": 24}, Settings(), "--max-running-requests 24", ()),
        ({"max_total_num_tokens": 9000}, Settings(), "--max-total-tokens 9000", ()),
        ({"enable_mixed_chunk": True}, Settings(), "--enable-mixed-chunk", ()),
        ({"disable_radix_cache": False}, Settings(), "without --disable-radix-cache", ()),
        ({"router": "cache_aware"}, Settings(), "gateway --policy cache_aware", ()),
        ({"clip_max_new_tokens": 256}, Settings(), "SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION=256", ()),
        ({"prefill_decode_interval": 4}, Settings(version="0.5.3"), "--prefill-decode-interval 4",
         ("SGLang 0.5.23 or later",)),
        ({"schedule_policy": "hrrn"}, Settings(version="0.5.9"), "--schedule-policy hrrn",
         ("an SGLang version with schedule_policy hrrn",)),
        ({"schedule_policy": "hrrn"}, Settings(), "--schedule-policy hrrn", ()),
        ({"max_running_requests": 8}, Settings(engine="vllm"), "--max-num-seqs 8", ()),
        ({"chunked_prefill_size": 512}, Settings(engine="vllm"), "--max-num-batched-tokens 512", ()),
        ({"max_total_num_tokens": 1600}, Settings(engine="vllm", page_size=16), "--num-gpu-blocks-override 100", ()),
        ({"disable_radix_cache": True}, Settings(engine="vllm"), "--no-enable-prefix-caching", ()),
        ({"workers": 2, "router": "power_of_two"}, Settings(),
         "2 servers behind a gateway with --policy power_of_two", ()),
        ({"workers": 2, "router": "power_of_two"}, Settings(engine="vllm"),
         "2 servers and a load-aware router in front", ()),
        ({"router": "cache_aware"}, Settings(engine="vllm"), "a cache-aware router in front", ()),
        ({"schedule_conservativeness": 0.3}, Settings(engine="vllm"), "schedule_conservativeness 0.3",
         ("SGLang: vLLM has no such flag",)),
    ],
)  # fmt: skip
def test_a_change_is_spelled_as_the_server_takes_it(
    changes: dict[str, bool | int | str], settings: Settings, text: str, needs: tuple[str, ...]
) -> None:
    assert named(changes, settings) == (text, needs)


def test_the_servers_own_spelling_is_understood() -> None:
    assert own_name("--max-total-tokens", "5", "sglang", 1) == ("max_total_num_tokens", "5")
    assert own_name("max_num_seqs", "5", "vllm", 16) == ("max_running_requests", "5")
    assert own_name("num_gpu_blocks_override", "10", "vllm", 16) == ("max_total_num_tokens", "160")
    assert own_name("enable_prefix_caching", "false", "vllm", 16) == ("disable_radix_cache", "true")
    with pytest.raises(SettingError, match="enable_prefix_caching"):
        own_name("enable_prefix_caching", "maybe", "vllm", 16)


def test_a_vllm_setting_is_shown_under_its_own_name() -> None:
    settings = Settings(engine="vllm", page_size=16)
    assert shown("max_running_requests", 8, settings) == ("max_num_seqs", 8)
    assert shown("disable_radix_cache", True, settings) == ("enable_prefix_caching", False)
    assert shown("max_total_num_tokens", 1600, settings) == ("num_gpu_blocks_override", 100)
    assert shown("max_running_requests", 8, Settings()) == ("max_running_requests", 8)
