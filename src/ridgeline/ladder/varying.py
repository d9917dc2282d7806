"""What a simulation tries for a cause: today's setting first, then others in the direction that could help.

The names are those of the server in the evidence: SGLang's arguments, or vLLM's for a vLLM server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ridgeline.ladder.context import Context


@dataclass(frozen=True)
class Axis:
    """One setting to vary: SGLang's and vLLM's name (None: not there), and multiples of today's value.

    Where no value is stated, `usual` is taken as today's.
    """

    sglang: str | None
    vllm: str | None
    times: tuple[float, ...]
    usual: float = 0.0


@dataclass(frozen=True)
class Words:
    """One setting whose values are words: today's value first, then these, where the version has them."""

    name: str
    values: tuple[str, ...]


LESS: Final = (1.0, 0.5, 0.25)
MORE: Final = (1.0, 1.5, 2.0)
# Cause → what is varied. The direction is that of the cause's remedy.
VARY: Final[dict[str, Axis]] = {
    "queue.running-cap": Axis("max_running_requests", "max_num_seqs", MORE),
    "queue.over-reservation": Axis("schedule_conservativeness", None, (1.0, 0.6, 0.3), 1.0),
    "queue.head-of-line": Axis("chunked_prefill_size", "max_num_batched_tokens", LESS, 8192),
    "queue.limit-rejected": Axis("max_queued_requests", None, (1.0, 2.0, 4.0)),
    "prefill.prompt-mix": Axis("chunked_prefill_size", "max_num_batched_tokens", (1.0, 0.5, 2.0), 8192),
    "prefill.lora": Axis("max_loras_per_batch", None, (1.0, 2.0, 4.0), 8),
    "decode.batch-growth": Axis("max_running_requests", "max_num_seqs", LESS),
    "decode.prefill-interference": Axis(None, "max_num_batched_tokens", LESS, 8192),
    "memory.retraction-storm": Axis("schedule_conservativeness", "max_num_seqs", (1.0, 1.3, 1.6), 1.0),
    "memory.saturation": Axis("max_total_num_tokens", "num_gpu_blocks_override", (1.0, 1.25, 1.5)),
    "cache.eviction": Axis("max_total_num_tokens", "num_gpu_blocks_override", (1.0, 1.25, 1.5)),
    "disagg.prealloc": Axis("num_reserved_decode_tokens", None, LESS, 512),
}
SWITCHED: Final[dict[str, Words]] = {
    "decode.prefill-interference": Words("enable_mixed_chunk", ("false", "true")),
    "queue.priority-starvation": Words("enable_priority_scheduling", ("true", "false")),
}
SWITCHED_VLLM: Final[dict[str, Words]] = {
    "queue.priority-starvation": Words("scheduling_policy", ("priority", "fcfs")),
}
# Where fewer at once is what helps, vLLM's running limit goes down (it reserves nothing that could be raised).
DOWN: Final = frozenset({"memory.retraction-storm"})
# Causes whose remedy is where requests go.
PLACING: Final = frozenset({"routing.hot-key", "routing.token-skew", "routing.stale-load", "cache.scattered-routing"})
# `--load-balance-method` by version (SIGNALS §8.1): before 0.5.0 there is nothing but round robin.
BALANCES: Final = (
    ((0, 5, 9), "round_robin,total_requests,total_tokens"),
    ((0, 5, 0), "round_robin,shortest_queue"),
)
ROUTERS: Final = "round_robin,consistent_hashing,cache_aware,power_of_two"

SERVICE: Final = """
SELECT max(dp_size) AS dp_size, min(pool_tokens) AS pool, max(max_running) AS cap, max(page_size) AS page,
    max(chunked_prefill_size) AS chunk,
    count(DISTINCT server) FILTER (WHERE coalesce(role, 'unified') = 'unified') AS whole,
    count(DISTINCT server) FILTER (WHERE role = 'prefill') AS prefill,
    count(DISTINCT server) FILTER (WHERE role = 'decode') AS decode,
    (SELECT count(DISTINCT dp_rank) FROM points) AS ranks, (SELECT max(running) FROM points) AS busiest
FROM servers
"""
STATED: Final = """
SELECT max(try_cast(value AS DOUBLE)) FROM config WHERE replace(lower(key), '-', '_') = $name
"""


def varies(context: Context, cause: str) -> str | None:
    """The options of `ridgeline simulate` that try other settings for this cause; None where it has none to try."""
    dp_size, pool, cap, page, chunk, whole, prefill, decode, ranks, busiest = context.book.view.one(SERVICE)
    of = context.served
    if cause == "queue.arrival-overload":
        now = max(whole, 1)
        return f"--set router=power_of_two --vary workers={now},{now + 1},{2 * now + (now == 1)}"
    if cause in PLACING:
        places = max(dp_size or 1, ranks or 1)
        if whole > 1:
            return f"--set workers={whole} --vary router={ROUTERS}"
        methods = None if of.vllm or places < 2 else balances(of.version)
        return f"--set dp_size={places} --vary load_balance_method={methods}" if methods else None
    if cause == "disagg.ratio":
        apart = max(prefill + decode, 2) + 1
        tries = ",".join(str(n) for n in range(1, apart))
        return f"--set workers={apart} --set router=power_of_two --vary decode_workers={tries}"
    words = (SWITCHED_VLLM if of.vllm else SWITCHED).get(cause)
    if words is not None:
        return f"--vary {words.name}={','.join(words.values)}"
    axis = VARY.get(cause)
    name = None if axis is None else axis.vllm if of.vllm else axis.sglang
    if axis is None or name is None:
        return None
    known = {
        "max_running_requests": cap or dict(context.book.ask("at_cap_share").statement.figures).get("cap") or busiest,
        "chunked_prefill_size": chunk,
        "max_total_num_tokens": pool,
        "num_gpu_blocks_override": pool // (page or 16) if pool else None,
    }
    known["max_num_seqs"] = known["max_running_requests"]
    stated = context.book.view.one(STATED, {"name": name})[0]
    today = stated if stated is not None else known.get(name) or axis.usual
    tried = values(today, LESS if of.vllm and cause in DOWN else axis.times)
    if tried is None:
        return None
    apart = max(prefill, 1) + max(decode, 1)
    sides = f"--set workers={apart} --set decode_workers={max(decode, 1)} --set router=random "
    before = sides if cause.startswith("disagg.") else "--set enable_lora=true " if cause == "prefill.lora" else ""
    return f"{before}--vary {name}={tried}"


def values(today: float, times: tuple[float, ...]) -> str | None:
    """Today's value and its multiples, in the kind of number it is; None where there is nothing to multiply."""
    if today <= 0:
        return None
    whole = float(today).is_integer() and all(float(t).is_integer() or today * t >= 2 for t in times) and today > 4
    tried = [round(today * t) if whole else round(today * t, 2) for t in times]
    return ",".join(f"{v:g}" if isinstance(v, float) else str(v) for v in dict.fromkeys(tried))


def balances(version: str | None) -> str | None:
    """Values of --load-balance-method worth trying in this version; of a recent one where none is known."""
    if version is None:
        return BALANCES[0][1]
    numbers = tuple(int(part) for part in version.split(".")[:3] if part.isdigit())
    return next((names for since, names in BALANCES if numbers >= since), None)
