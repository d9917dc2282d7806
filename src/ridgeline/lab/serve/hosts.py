"""The servers of the modelled service: one, or a prefill and a decode server behind a gateway."""

import os
from dataclasses import dataclass, replace
from typing import Any, Final

from ridgeline.lab.emit.model import Server
from ridgeline.lab.people import DECODE_LOG_INTERVAL
from ridgeline.lab.service import MODELS
from ridgeline.sim.settings import Settings
from ridgeline.sim.timing import TimeModel

MODEL: Final = "lab/llama-3.1-8b-instruct"
SIZES: Final = MODELS | {
    "fast": TimeModel("lab fast", 6_000_000_000, 20_000_000, 30, 15_000_000, 6_000, 0, 10_000_000),
}
"""Step times: the recorded lab's, and one that a single core can stream thousands of tokens a second of."""
SHOWN: Final = ("schedule_policy", "load_balance_method", "schedule_conservativeness", "enable_priority_scheduling",
                "disable_radix_cache", "radix_eviction_policy", "enable_mixed_chunk", "disable_overlap_schedule",
                "num_reserved_decode_tokens", "tokenizer_worker_num", "prefill_decode_interval")  # fmt: skip


@dataclass(frozen=True)
class Host:
    """One server: what it shows of itself, its number in the engine, and its first rank there."""

    server: Server
    worker: int
    first_rank: int


def settings_of(version: str, ranks: int, pd: bool, pool_tokens: int, max_running: int, chunk: int) -> Settings:
    """The service's settings; every decode step is logged inside, the log shows every fortieth.

    Raises:
        SettingError: a size that cannot be.
    """
    return Settings(
        version=version, dp_size=1 if pd else ranks, workers=2 if pd else 1, decode_workers=1 if pd else 0,
        router="round_robin" if pd else "none", load_balance_method="auto" if pd else "round_robin",
        max_total_num_tokens=pool_tokens, max_running_requests=max_running, chunked_prefill_size=chunk,
        context_length=131_072, decode_log_interval=1, tokenize_s=0.0012, tokenize_token_s=0.000_000_4,
        transfer_gb_per_s=20.0,
    )  # fmt: skip


def hosts_of(settings: Settings, started_ts: float, ports: tuple[int, ...]) -> tuple[Host, ...]:
    """The servers, in the order of ``ports`` (prefill before decode)."""
    roles = ("prefill", "decode") if settings.decode_workers else ("unified",)
    shown: tuple[tuple[str, Any], ...] = tuple((name, getattr(settings, name)) for name in SHOWN)
    if settings.version != "0.5.3":  # which knows neither; what is recorded has these, what is served has not
        shown += (("enable_trace", False), ("export_metrics_to_file", False))
    one = Server(
        "sglang", settings.version, "unified", "127.0.0.1", 0, os.getpid(), MODEL, started_ts, settings.dp_size, 1,
        settings.page_size, settings.max_total_num_tokens, settings.max_running_requests, settings.max_prefill_tokens,
        settings.chunked_prefill_size, settings.context_length, DECODE_LOG_INTERVAL, shown,
    )  # fmt: skip
    return tuple(
        Host(replace(one, role=role, port=port), k, k * settings.dp_size)
        for k, (role, port) in enumerate(zip(roles, ports, strict=True))
    )
