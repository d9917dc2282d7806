"""Between the simulator's names and what is typed: the flag of the server, the gateway or the environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ridgeline.sim.settings import SettingError, Settings
from ridgeline.words.launch import choices_in, launch_arg

Value = bool | int | float | str

# Names that a server's own command line has, for settings of the simulator.
OTHER_NAMES: Final = {"max_total_tokens": "max_total_num_tokens", "dp": "dp_size", "policy": "router"}
VLLM_NAMES: Final = {
    "max_num_seqs": "max_running_requests", "max_num_batched_tokens": "chunked_prefill_size",
    "block_size": "page_size", "scheduling_policy": "schedule_policy", "max_model_len": "context_length",
}  # fmt: skip
VLLM_FLAGS: Final = {own: name for name, own in VLLM_NAMES.items()}
# What the gateway in front of the servers takes.
GATEWAY: Final = {
    "router": "--policy", "cache_threshold": "--cache-threshold", "balance_abs_threshold": "--balance-abs-threshold",
    "balance_rel_threshold": "--balance-rel-threshold", "max_tree_size": "--max-tree-size",
}  # fmt: skip
ENVIRONMENT: Final = {
    "clip_max_new_tokens": "SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION",
    "disaggregation_bootstrap_timeout": "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT",
    "disaggregation_waiting_timeout": "SGLANG_DISAGGREGATION_WAITING_TIMEOUT",
}
LONE_ROUTERS: Final = {
    "power_of_two": "a load-aware router", "cache_aware": "a cache-aware router", "round_robin": "a round-robin router",
    "consistent_hashing": "a router that hashes the key", "random": "a router that draws at random",
}  # fmt: skip
"""Where the gateway is not SGLang's: what to put in front, whatever its flags are."""
DEPLOYMENT: Final = frozenset(
    {"engine", "version", "workers", "decode_workers", "lora_load_s", "tokenize_s", "tokenize_token_s", "return_s",
     "return_token_s", "handshake_s", "transfer_gb_per_s", "transfer_latency_s", "kv_bytes_per_token",
     "speculative_accept_length", "tlru_threshold", "tlru_next_prompt_estimate"}
)  # fmt: skip
"""Settings that no flag of a server sets."""


@dataclass(frozen=True)
class Spelled:
    """One change as it is typed, and what it needs that the server may not have (None: it has it)."""

    text: str
    needs: str | None = None


def own_name(key: str, value: str, engine: str, page: int) -> tuple[str, str]:
    """The simulator's key and value for one given in the spelling of a server's command line.

    Raises:
        SettingError: a value that the server's key does not take.
    """
    name = key.strip().lstrip("-").replace("-", "_")
    if engine == "vllm":
        if name in ("enable_prefix_caching", "num_gpu_blocks_override"):
            if name == "enable_prefix_caching" and value.lower() in ("true", "false"):
                return "disable_radix_cache", "false" if value.lower() == "true" else "true"
            if name == "num_gpu_blocks_override" and value.isdigit():
                return "max_total_num_tokens", str(int(value) * page)
            raise SettingError(f"{name}: {value!r} is not a value of it")
        return VLLM_NAMES.get(name, name), value
    return OTHER_NAMES.get(name, name), value


def shown(key: str, value: Value, settings: Settings) -> tuple[str, Value]:
    """A setting under the name that the server's command line has for it; the simulator's own where it has none."""
    if settings.engine != "vllm":
        return key, value
    if key == "disable_radix_cache":
        return "enable_prefix_caching", not value
    if key == "max_total_num_tokens":
        return "num_gpu_blocks_override", int(value) // settings.page_size
    return VLLM_FLAGS.get(key, key), value


def spelled(changes: Sequence[tuple[str, Value]], settings: Settings) -> list[Spelled]:
    """Each change as the server (or the gateway, or the environment) takes it."""
    if settings.engine == "vllm":
        return [vllm_flag(key, value, settings) for key, value in changes]
    return [sglang_flag(key, value, settings.version) for key, value in changes]


def one_flag(flag: str, value: Value) -> str:
    """``--flag value``; a switch is given or left out."""
    if isinstance(value, bool):
        return flag if value else f"without {flag}"
    return f"{flag} {value}"


def elsewhere(key: str, value: Value) -> Spelled | None:
    """Settings of the gateway, the deployment or a user's own file; None: the server's."""
    if value == "user":
        return Spelled(f"your own policy for {key}", "the policy built into the server or gateway")
    if key in GATEWAY:
        return Spelled(f"gateway {one_flag(GATEWAY[key], value)}")
    if key == "workers":
        return Spelled(f"{value} servers behind the gateway")
    if key == "decode_workers":
        return Spelled(f"{value} of the servers with --disaggregation-mode decode, the others with prefill")
    if key in DEPLOYMENT:
        return Spelled(f"{key} {value}", "no flag sets it")
    return None


def sglang_flag(key: str, value: Value, version: str) -> Spelled:
    """One setting as SGLang takes it in ``version``."""
    other = elsewhere(key, value)
    if other is not None:
        return other
    if key in ENVIRONMENT:
        return Spelled(f"{ENVIRONMENT[key]}={value}")
    argument = launch_arg("max_total_tokens" if key == "max_total_num_tokens" else key)
    text = one_flag("--max-total-tokens" if key == "max_total_num_tokens" else f"--{key.replace('_', '-')}", value)
    if argument is None:
        return Spelled(text)
    has = argument.span.has(version)
    if has is False:
        reach = f"SGLang {argument.span.since} or later" if argument.span.since else "another SGLang version"
        if argument.span.until is not None:
            reach = f"SGLang {argument.span.since or ''} to {argument.span.until}".replace("  ", " ")
        return Spelled(text, reach)
    if argument.choices and str(value) not in choices_in(argument, version):
        return Spelled(text, f"an SGLang version with {key} {value}")
    return Spelled(text)


def vllm_flag(key: str, value: Value, settings: Settings) -> Spelled:
    """One setting as vLLM takes it; its servers have no gateway of their own whose flags are known."""
    if key in GATEWAY:
        return Spelled(f"{LONE_ROUTERS.get(str(value), f'a {value} router')} in front" if key == "router" else
                       f"{key} {value}", None if key == "router" else "SGLang's gateway")  # fmt: skip
    if key == "workers":
        return Spelled(f"{value} servers")
    other = elsewhere(key, value)
    if other is not None:
        return other
    if key == "max_total_num_tokens":
        return Spelled(f"--num-gpu-blocks-override {int(value) // settings.page_size}")
    if key == "disable_radix_cache":
        return Spelled("--no-enable-prefix-caching" if value else "--enable-prefix-caching")
    if key == "async_scheduling":
        return Spelled("--async-scheduling" if value else "--no-async-scheduling")
    if key in VLLM_FLAGS:
        return Spelled(one_flag(f"--{VLLM_FLAGS[key].replace('_', '-')}", value))
    return Spelled(f"{key} {value}", "SGLang: vLLM has no such flag")


def named(
    changes: Mapping[str, Value] | Sequence[tuple[str, Value]], settings: Settings
) -> tuple[str, tuple[str, ...]]:
    """All changes as one text, and what they need."""
    parts, needs = parts_of(changes, settings)
    return " and ".join(parts), needs


def parts_of(
    changes: Mapping[str, Value] | Sequence[tuple[str, Value]], settings: Settings
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Each change as a text, and what they need."""
    pairs = list(changes.items()) if isinstance(changes, Mapping) else list(changes)
    given = dict(pairs)
    found = spelled(pairs, settings)
    if settings.engine != "vllm" and given.get("router", "user") != "user" and "workers" in given:
        rest = spelled([pair for pair in pairs if pair[0] not in ("workers", "router")], settings)
        found = [Spelled(f"{given['workers']} servers behind a gateway with --policy {given['router']}"), *rest]
    return tuple(one.text for one in found), tuple(one.needs for one in found if one.needs)
