"""Settings of a simulated service: SGLang's server arguments with underscores, and a few of our own.

Ours: ``max_total_num_tokens`` (KV pool of one rank), ``router`` (the gateway's policy), ``workers`` (servers
behind it), ``engine`` (sglang, vllm), ``version`` (whose rules), ``decode_workers`` (above 0:
prefill and decode are apart), ``*_s`` times and transfer figures. Overlap of scheduling with the running step
(``disable_overlap_schedule``, vLLM ``async_scheduling``) is simulated without disaggregation, DP attention and
speculation. An unknown key or a value of the wrong kind is refused.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Final, get_type_hints

SCHEDULE_POLICIES = ("fcfs", "lpm", "dfs-weight", "lof", "random", "routing-key", "hrrn", "shortest-prefill-first")
ROUTERS = ("none", "random", "round_robin", "power_of_two", "cache_aware", "consistent_hashing")
EVICTIONS = ("lru", "lfu", "slru", "priority", "tlru", "fifo")
ALLOCATIONS = ("early", "prefill_complete")
BALANCES_OLD = ("round_robin", "shortest_queue", "minimum_tokens")
BALANCES_NEW = ("auto", "round_robin", "follow_bootstrap_room", "total_requests", "total_tokens")
EVICTIONS_BY_VERSION = (((0, 5, 10), EVICTIONS[:5]), ((0, 5, 3), ("lru", "lfu")), ((0, 0, 0), ("lru",)))


class SettingError(ValueError):
    """A setting that does not exist, has the wrong kind of value, or contradicts another."""


@dataclass(frozen=True)
class Settings:
    """One configuration. Times in seconds, sizes in tokens, ``-1`` or ``0`` meaning "off" where SGLang does."""

    engine: str = "sglang"
    version: str = "0.5.23"
    workers: int = 1
    decode_workers: int = 0
    router: str = "none"
    dp_size: int = 1
    load_balance_method: str = "auto"
    enable_dp_attention: bool = False
    max_total_num_tokens: int = 400_000
    page_size: int = 1
    max_running_requests: int = 256
    max_prefill_tokens: int = 16_384
    chunked_prefill_size: int = 8192
    enable_mixed_chunk: bool = False
    disable_overlap_schedule: bool = False
    async_scheduling: bool = True
    prefill_decode_interval: int = 0
    prefill_max_requests: int = 0
    schedule_policy: str = "fcfs"
    schedule_conservativeness: float = 1.0
    enable_priority_scheduling: bool = False
    disable_priority_preemption: bool = False
    schedule_low_priority_values_first: bool = False
    priority_scheduling_preemption_threshold: int = 10
    disable_radix_cache: bool = False
    radix_eviction_policy: str = "lru"
    tlru_threshold: int = 0
    tlru_next_prompt_estimate: int = 0
    max_queued_requests: int = 0
    context_length: int = 1_048_576
    clip_max_new_tokens: int = 4096
    load_watch_interval: float = 0.1
    load_snapshot_publish_interval: int = 15
    decode_log_interval: int = 40
    enable_lora: bool = False
    max_loras_per_batch: int = 8
    lora_load_s: float = 0.2
    tokenizer_worker_num: int = 1
    tokenize_s: float = 0.0
    tokenize_token_s: float = 0.0
    detokenizer_worker_num: int = 1
    return_s: float = 0.0
    return_token_s: float = 0.0
    num_reserved_decode_tokens: int = 512
    disaggregation_decode_allocation_policy: str = "early"
    disaggregation_bootstrap_timeout: float = 300.0
    disaggregation_waiting_timeout: float = 300.0
    handshake_s: float = 0.002
    transfer_gb_per_s: float = 40.0
    transfer_latency_s: float = 0.001
    kv_bytes_per_token: int = 131_072
    speculative_num_draft_tokens: int = 0
    speculative_accept_length: float = 2.5
    cache_threshold: float = 0.3
    balance_abs_threshold: int = 64
    balance_rel_threshold: float = 1.5
    max_tree_size: int = 67_108_864

    def __post_init__(self) -> None:
        """Refuse contradictions.

        Raises:
            SettingError: naming the setting and what is allowed.
        """
        one_of("engine", self.engine, ("sglang", "vllm"))
        one_of("router", self.router, (*ROUTERS, "user"))
        policies = SCHEDULE_POLICIES if self.engine == "sglang" else ("fcfs", "priority")
        one_of("schedule_policy", self.schedule_policy, (*policies, "user"))
        one_of("disaggregation_decode_allocation_policy", self.disaggregation_decode_allocation_policy, ALLOCATIONS)
        new = version_tuple(self.version) >= (0, 5, 9)
        if self.load_balance_method != "auto":
            one_of("load_balance_method", self.load_balance_method,
                   (*(BALANCES_NEW if new else BALANCES_OLD), "user"))  # fmt: skip
        if self.load_balance_method == "shortest_queue" and version_tuple(self.version) < (0, 5, 0):
            raise SettingError("load_balance_method: shortest_queue raises NotImplementedError in this version")
        allowed = next(names for since, names in EVICTIONS_BY_VERSION if version_tuple(self.version) >= since)
        one_of("radix_eviction_policy", self.radix_eviction_policy, allowed)
        for name, least in AT_LEAST.items():
            if getattr(self, name) < least:
                raise SettingError(f"{name}: {getattr(self, name)} is below {least}")
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise SettingError(f"{field.name}: {value} is not a finite number")
            if isinstance(value, int) and value > AT_MOST.get(field.name, LARGEST):
                raise SettingError(f"{field.name}: {value} is above {AT_MOST.get(field.name, LARGEST)}")
        if self.max_total_num_tokens < 2 * self.page_size:
            raise SettingError("max_total_num_tokens: smaller than two pages")
        if self.max_loras_per_batch > 64:
            raise SettingError("max_loras_per_batch: more than 64 are not simulated")
        if self.decode_workers >= self.workers and self.decode_workers > 0:
            raise SettingError("decode_workers: must be fewer than workers (the rest prefill)")
        if self.decode_workers and self.enable_dp_attention:
            raise SettingError("enable_dp_attention: not simulated together with decode_workers")
        if self.engine == "vllm" and (self.decode_workers or self.enable_dp_attention or self.enable_lora):
            raise SettingError("engine: vllm is simulated without decode_workers, enable_dp_attention, enable_lora")
        if 0 < self.chunked_prefill_size < self.page_size:
            raise SettingError("chunked_prefill_size: smaller than page_size, nothing could be computed")


LARGEST: Final = 2**31 - 1
AT_MOST: Final = {"workers": 1024, "dp_size": 1024, "max_running_requests": 1_000_000,
                  "tokenizer_worker_num": 1024, "detokenizer_worker_num": 1024}  # fmt: skip

AT_LEAST: dict[str, float] = {
    "workers": 1, "decode_workers": 0, "dp_size": 1, "page_size": 1, "max_running_requests": 1,
    "max_prefill_tokens": 1, "prefill_decode_interval": 0, "prefill_max_requests": 0,
    "schedule_conservativeness": 0.0, "max_queued_requests": 0, "context_length": 1, "clip_max_new_tokens": 1,
    "load_watch_interval": 1e-6, "load_snapshot_publish_interval": 1, "decode_log_interval": 1,
    "max_loras_per_batch": 1, "lora_load_s": 0.0, "tokenizer_worker_num": 1, "tokenize_s": 0.0,
    "tokenize_token_s": 0.0, "detokenizer_worker_num": 1, "return_s": 0.0, "return_token_s": 0.0,
    "num_reserved_decode_tokens": 0, "handshake_s": 0.0, "transfer_gb_per_s": 1e-9, "transfer_latency_s": 0.0,
    "kv_bytes_per_token": 1, "speculative_num_draft_tokens": 0, "speculative_accept_length": 1.0,
}  # fmt: skip


def one_of(name: str, value: str, allowed: Iterable[str]) -> None:
    """Raise `SettingError` unless ``value`` is allowed."""
    names = tuple(allowed)
    if value not in names:
        raise SettingError(f"{name}: {value!r} is not one of {', '.join(names)}")


def version_tuple(version: str) -> tuple[int, ...]:
    """``0.4.6.post5`` as (0, 4, 6): the numbers up to the first part that is none.

    Raises:
        SettingError: no number at the start.
    """
    parts: list[int] = []
    for part in version.split("."):
        if not part.isdigit():
            break
        parts.append(int(part))
    if not parts:
        raise SettingError(f"version: {version!r} does not start with a number")
    return tuple(parts)


def parse_value(key: str, text: str, kind: type) -> bool | int | float | str:
    """``text`` as the kind of value that setting ``key`` takes.

    Raises:
        SettingError: it is not such a value.
    """
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise SettingError(f"{key}: {text!r} is neither true nor false")
        return text.lower() == "true"
    try:
        number = kind(text)
    except ValueError:
        raise SettingError(f"{key}: {text!r} is not {'a whole number' if kind is int else 'a number'}") from None
    if isinstance(number, float) and number != number:
        raise SettingError(f"{key}: {text!r} is not a number")
    return number  # type: ignore[no-any-return]


def with_changes(settings: Settings, changes: Mapping[str, str]) -> Settings:
    """``settings`` with ``key=value`` texts applied.

    Raises:
        SettingError: an unknown key, or a value the key does not take.
    """
    kinds = get_type_hints(Settings)
    parsed: dict[str, bool | int | float | str] = {}
    for key, text in changes.items():
        if key not in kinds:
            near = [name for name in kinds if name.startswith(key[:5])]
            raise SettingError(f"{key}: no such setting" + (f" (did you mean {', '.join(near)}?)" if near else ""))
        parsed[key] = parse_value(key, text, kinds[key])
    return replace(settings, **parsed)  # type: ignore[arg-type]


def as_dict(settings: Settings) -> dict[str, bool | int | float | str]:
    """Every setting by name, in declared order."""
    return {field.name: getattr(settings, field.name) for field in fields(settings)}
