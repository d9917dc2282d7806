"""Which settings a found cause suggests to try, literal: what `next` prints for a person, and what `decide` runs.

`VARY` and its neighbours are for a line typed by hand: one setting, today's value first, then two in the direction
that could help. `TRIES` is the wider search of `decide`, with prices and risks; both name the same settings, and a
test holds that they point the same way.

In `TRIES` a value is literal, or relative to the present one: ``x2`` (times), ``+1`` (plus). A value ``?word`` holds
only where the setting is still ``none``. One `Try` is one combination; of those of a cause each is tried alone.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

Price = Literal["client", "gateway", "flag", "memory", "server"]
"""What a change costs: the caller leaves something out, a flag of the gateway, a flag of the servers, a larger pool
(memory must be found), another server."""
PRICES: Final[tuple[Price, ...]] = ("client", "gateway", "flag", "memory", "server")
"""Cheapest first."""
COSTS: Final[dict[Price, str]] = {
    "client": "no restart", "gateway": "no server restarts", "flag": "a restart", "memory": "a restart and more memory",
    "server": "more servers",
}  # fmt: skip
LET_GO: Final = "let the clients or the gateway stop asking for a DP rank"
BY_LOAD: Final = frozenset({"power_of_two", "total_requests", "total_tokens", "shortest_queue"})
"""Ways to place that look at load."""


@dataclass(frozen=True, slots=True)
class Try:
    """Settings to change together, what that costs, and the risk in a few words. ``unpin``: nobody asks for a rank."""

    settings: tuple[tuple[str, str], ...]
    price: Price = "flag"
    risk: str = ""
    unpin: bool = False


def _each(name: str, *values: str, price: Price = "flag", risk: str = "") -> tuple[Try, ...]:
    return tuple(Try(((name, value),), price, risk) for value in values)


_SERVERS: Final = tuple(
    Try((("workers", n), ("router", "?power_of_two")), "server", "cost of another server") for n in ("+1", "x2", "x3")
)
_MANY: Final = tuple(
    Try((("workers", n), ("router", "?power_of_two")), "server", "cost of another server")
    for n in ("x4", "x6", "x9", "x12")
)
_POOL: Final = _each("max_total_num_tokens", "x1.25", "x1.5", "x2", price="memory",
                     risk="the pool must fit beside weights and activations, else CUDA OOM at start")  # fmt: skip
_CAP: Final = _each("max_running_requests", "x1.5", "x2", "x3", "x4", risk="larger batches: each token takes longer")
_LESS: Final = _each("max_running_requests", "x0.75", "x0.5", "x0.25", risk="requests wait instead of running slowly")
_ORDER: Final = _each("schedule_policy", "shortest-prefill-first", "hrrn", "lof", risk="long prompts may starve")
_CHUNK: Final = _each("chunked_prefill_size", "x0.5", "x0.25", "x0.125", "x2", "x4",
                      risk="smaller chunks lengthen long prompts, larger ones pause streams")  # fmt: skip
_MIXED: Final = tuple(
    Try((("enable_mixed_chunk", "true"), ("chunked_prefill_size", size)), "flag", "prefill slows while streams run")
    for size in ("2048", "1024", "512")
)
_ROUTERS: Final = _each("router", "cache_aware", "consistent_hashing", "power_of_two", "round_robin", price="gateway",
                        risk="prefixes move once: a cold cache for a minute")  # fmt: skip
_BALANCE: Final = _each("load_balance_method", "total_tokens", "total_requests", "shortest_queue", "round_robin",
                        risk="prefixes move once: a cold cache for a minute")  # fmt: skip
_FREE: Final = (
    Try((), "client", "a prefix that stood on one rank is computed on each", unpin=True),
    *(Try((("load_balance_method", how),), "flag", "a prefix that stood on one rank is computed on each", unpin=True)
      for how in ("total_requests", "total_tokens", "shortest_queue", "round_robin")),
)  # fmt: skip
_RESERVE: Final = _each("schedule_conservativeness", "0.6", "0.3", "0.1", risk="retractions where outputs run long")
_CAREFUL: Final = _each("schedule_conservativeness", "1.0", "1.3", "2.0", risk="fewer requests run at once")

LIFTS: Final = (
    *_each("max_running_requests", "x2", "x4", risk="larger batches: each token takes longer"),
    *_each("max_total_num_tokens", "x1.5", "x2", price="memory",
           risk="the pool must fit beside weights and activations, else CUDA OOM at start"),
)  # fmt: skip
"""What is tried beside the best change below the price of a server where that alone does not mend: the next limit that
traffic meets once the first is gone."""

# Cause → what to try, cheapest first within a cause.
TRIES: Final[dict[str, tuple[Try, ...]]] = {
    "queue.arrival-overload": (*_CHUNK, *_MIXED, *_SERVERS),
    "queue.burst": tuple(replace(one, risk=f"{one.risk}; the burst is over: worth it where such bursts come again")
                         for one in (*_CAP, *_CHUNK, *_SERVERS)),
    "queue.running-cap": (*_CAP, *_SERVERS),
    "queue.over-reservation": (*_RESERVE, *_each("clip_max_new_tokens", "1024", "256"), *_POOL),
    "queue.head-of-line": (*_ORDER, *_CHUNK, *_POOL, *_SERVERS),
    "queue.priority-starvation": (
        *_CAP,
        Try((("enable_priority_scheduling", "false"),), "flag", "high priority waits with the others"),
        *_SERVERS,
    ),
    "queue.limit-rejected": (*_each("max_queued_requests", "x2", "x4", "0", risk="late answers instead of refusals"),
                             *_CHUNK, *_SERVERS),
    "prefill.prompt-mix": (*_CHUNK, *_MIXED, *_ORDER, *_SERVERS),
    "prefill.lora": (*_each("max_loras_per_batch", "x2", "x4", "x8", "64", price="memory",
                            risk="adapters take device memory"), *_SERVERS),
    "decode.batch-growth": (*_LESS, *_SERVERS),
    "decode.prefill-interference": (*_MIXED, *_CHUNK, *_each("prefill_decode_interval", "4", "16"), *_SERVERS),
    "memory.saturation": (*_RESERVE, *_POOL, *_SERVERS),
    "memory.retraction-storm": (*_CAREFUL, *_LESS, *_POOL, *_SERVERS, *_MANY),
    "memory.pool-misconfigured": (
        *_each("max_total_num_tokens", "x2", "x4", "x8", price="memory",
               risk="the pool must fit beside weights and activations, else CUDA OOM at start"),
        *_SERVERS,
    ),
    "cache.eviction": (
        *_each("radix_eviction_policy", "lfu", "slru", risk="what was once hot stays"),
        *_each("schedule_policy", "lpm", risk="requests without a shared prefix may starve"),
        *_POOL, *_SERVERS,
    ),
    "cache.page-misaligned": _each("page_size", "1", "16", "64", risk="the attention backend must take this page size"),
    "cache.disabled": (Try((("disable_radix_cache", "false"),), "flag", "none known"),),
    "cache.scattered-routing": (*_ROUTERS, *_BALANCE),
    "routing.hot-key": (*_ROUTERS, *_BALANCE, *_FREE, *_SERVERS),
    "routing.token-skew": (*_BALANCE, *_ROUTERS, *_FREE, *_SERVERS),
    # where loads are seen too late, whatever looks at them stays wrong
    "routing.stale-load": (*_each("load_balance_method", "round_robin", risk="long requests may meet on one rank"),
                           *_each("router", "round_robin", "consistent_hashing", price="gateway",
                                  risk="long requests may meet on one rank")),
    "disagg.prealloc": (*_each("num_reserved_decode_tokens", "x0.5", "x0.25", "x0.1", "128",
                               risk="decode retracts where outputs run long"), *_POOL),
    "disagg.ratio": (
        *_each("decode_workers", "+1", "+-1", risk="the other side gets fewer servers"),
        *(Try((("workers", n),), "server", "cost of another server") for n in ("+1", "+2", "+3")),
        *(Try((("workers", n), ("decode_workers", "+1")), "server", "cost of another server") for n in ("+1", "+2")),
    ),
}  # fmt: skip


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

# Route → why no setting can mend a cause of that kind.
NO_SETTING: Final[dict[str, str]] = {
    "replay": "it is a fault of function, not of a setting: replay the requests on a clean server",
    "config": "it is put right by removing what is wrong in the configuration or the caller, not by tuning",
    "profile": "execution itself is slower: profile it",
    "none": "it lies outside of what the server's settings govern",
    "simulate": "the simulator has no setting for it",
}
