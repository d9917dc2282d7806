"""Settings from a view's configuration, and what had to be assumed; batch lines as equations."""

from typing import Any

import numpy as np
import pytest

from ridgeline.bundle.view import view_of
from ridgeline.sim.fit.choices import choices_of, most_running
from ridgeline.sim.fit.configured import NEVER_SHORT, configured, is_pipelined
from ridgeline.sim.fit.lines import decode_lines
from tests.sim.fit.traffics import SMALL, observed, scenario_of


def view(server: dict[str, Any], config: dict[str, str], batches: list[dict[str, Any]] | None = None) -> Any:
    rows = [{"server": "s", "key": key, "value": value} for key, value in config.items()]
    return view_of({"servers": [{"server": "s", "role": "unified"} | server], "config": rows, "batches": batches or []})


def test_sglang_by_its_argument_names() -> None:
    known = configured(
        view(
            {"engine": "sglang", "version": "0.5.23", "pool_tokens": 4096, "max_running": 12, "page_size": 1,
             "chunked_prefill_size": 4096, "max_prefill_tokens": 16384, "context_len": 2048},
            {"schedule_policy": "lpm", "schedule_conservativeness": "0.3", "disable_overlap_schedule": "true",
             "max_queued_requests": "null", "enable_mixed_chunk": "True"},
        )
    )  # fmt: skip
    s = known.settings
    assert (s.engine, s.version, s.max_total_num_tokens, s.max_running_requests) == ("sglang", "0.5.23", 4096, 12)
    assert (s.schedule_policy, s.schedule_conservativeness, s.enable_mixed_chunk) == ("lpm", 0.3, True)
    assert (s.chunked_prefill_size, s.context_length, s.max_queued_requests) == (4096, 2048, 0)
    assert known.pipelined is False
    assert known.assumed == ()


def test_vllm_by_its_own_names() -> None:
    known = configured(
        view(
            {"engine": "vllm", "version": "0.19.0"},
            {"engine_kwargs.max_num_seqs": "128", "engine_kwargs.max_num_batched_tokens": "2048",
             "kv_cache.num_gpu_blocks": "100", "kv_cache.block_size": "16",
             "cache_config.enable_prefix_caching": "false",
             "scheduler_config.async_scheduling": "true"},
        )
    )  # fmt: skip
    s = known.settings
    assert (s.engine, s.max_running_requests, s.chunked_prefill_size, s.page_size) == ("vllm", 128, 2048, 16)
    assert (s.max_total_num_tokens, s.disable_radix_cache, known.pipelined) == (1600, True, True)


def test_silence_is_assumed_and_said() -> None:
    known = configured(view_of({}))
    assert known.settings.max_total_num_tokens == NEVER_SHORT
    assert (known.pipelined, known.pool_known, known.limit_known) == (None, False, False)
    assert [word.split(":")[0] for word in known.assumed] == [
        "engine", "KV pool", "running limit", "pipelined scheduling",
    ]  # fmt: skip


def test_an_unknown_limit_is_sought_among_what_ran() -> None:
    traffic = observed(scenario_of(90, rate=9.0), SMALL)
    rows = np.arange(90)
    assert most_running(traffic, rows) == SMALL.max_running_requests
    unknown = configured(view({"engine": "vllm", "version": "0.32.0", "pool_tokens": 200_000}, {}))
    limits = {choice.max_running_requests for choice in choices_of(unknown, traffic, rows)}
    assert limits == {unknown.settings.max_running_requests, SMALL.max_running_requests}
    assert {is_pipelined(choice) for choice in choices_of(unknown, traffic, rows)} == {True, False}


def line(at: int, kind: str, running: int, tokens: int, tps: float | None) -> dict[str, Any]:
    return {
        "server": "s", "role": "unified", "kind": kind, "ts": 100.0 + at, "running": running, "tokens": tokens,
        "gen_tps": tps, "source": 1, "line": at,
    }  # fmt: skip


def test_decode_lines_between_which_nothing_changed() -> None:
    rows = [
        line(1, "decode", 4, 1000, 100.0),  # nothing before it
        line(2, "decode", 4, 1200, 200.0),  # usable: 4 / 200 s per step over 1100 tokens
        line(3, "prefill", 4, 1300, None),
        line(4, "decode", 5, 1400, 250.0),  # a prefill between
        line(5, "decode", 3, 1500, 250.0),  # someone left
        line(6, "decode", 3, 1700, 300.0),  # usable
    ]
    lines = decode_lines(view({"engine": "sglang", "version": "0.5.23"}, {}, rows))
    assert lines.step_s.tolist() == pytest.approx([0.02, 0.01])
    assert lines.context.tolist() == [1100, 1600]
    early = lines.until(105.0, 40)
    assert early is not None
    assert early.seconds.tolist() == pytest.approx([0.8])
    assert early.work.tolist() == [[40, 0, 0, 160, 44_000, 0, 0]]
    assert early.request.tolist() == [-1]
    assert lines.until(50.0, 40) is None
    assert decode_lines(view_of({})).until(1e18, 40) is None
