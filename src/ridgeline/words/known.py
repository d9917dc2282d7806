"""Public issues that fit an exact wording and a range of versions: candidates to read, never a diagnosis.

Each was read at its address; `text` is a piece of the line that the engine itself prints, in lower case.
"""

from __future__ import annotations

from typing import Final, NamedTuple

Version = tuple[int, ...]


class Known(NamedTuple):
    """One public thread; `since` and `until` bound the versions it names (both included), None where it names none."""

    engine: str
    text: str
    says: str
    url: str
    since: Version | None = None
    until: Version | None = None


SGLANG: Final = "https://github.com/sgl-project/sglang"
VLLM: Final = "https://github.com/vllm-project/vllm"
KNOWN: Final[tuple[Known, ...]] = (
    Known(
        "sglang",
        "but the state was deleted in tokenizermanager",
        "a client that leaves mid-stream is not aborted: its request decodes on and holds its slot",
        f"{SGLANG}/issues/36333",
        since=(0, 5, 18),
    ),
    Known(
        "sglang",
        "token_to_kv_pool_allocator memory leak detected",
        "the idle check finds tokens missing since 0.5.3.post3, not in 0.5.3",
        f"{SGLANG}/issues/11970",
        since=(0, 5, 3),
        until=(0, 5, 4),
    ),
    Known(
        "sglang",
        "token_to_kv_pool_allocator memory leak detected",
        "the idle check ends the server although tokens are only counted twice (page size above 1)",
        f"{SGLANG}/issues/6888",
        until=(0, 5, 2),
    ),
    Known(
        "sglang",
        "pool memory leak detected",
        "the idle check of 0.5.18 ends the server under speculative decoding",
        f"{SGLANG}/issues/36081",
        since=(0, 5, 18),
        until=(0, 5, 18),
    ),
    Known(
        "sglang",
        "context corruption detected",
        "metadata slots of two requests collide at high concurrency between prefill and decode",
        f"{SGLANG}/issues/22716",
        since=(0, 5, 9),
    ),
    Known(
        "sglang",
        "bootstrap_room mismatch",
        "a slot that is used again still names its former room: a false alarm where transfers go over TCP",
        f"{SGLANG}/pull/27373",
        since=(0, 5, 9),
    ),
    Known(
        "sglang",
        "prefill out of memory. try to lower your batch size",
        "with a large page admission counts fewer tokens than whole pages take",
        f"{SGLANG}/issues/7353",
    ),
    Known(
        "sglang",
        "in kvpoll.bootstrapping",
        "at a high request rate the handshake stops and requests end after the bootstrap timeout",
        f"{SGLANG}/issues/10110",
        until=(0, 5, 2),
    ),
    Known(
        "sglang",
        "in kvpoll.waitingforinput",
        "after hours without traffic the first requests through the router fail",
        f"{SGLANG}/issues/9926",
        until=(0, 5, 2),
    ),
    Known(
        "vllm",
        "releasing expired kv blocks for request",
        "prefill frees KV after its time-out and decode reads what is no longer there",
        f"{VLLM}/issues/21570",
    ),
    Known(
        "vllm",
        "potentially invalid kv blocks for unrecognized request",
        "with asynchronous scheduling decode reads before the time-out of prefill is set",
        f"{VLLM}/pull/25808",
    ),
    Known(
        "vllm",
        "rpc call to sample_tokens timed out",
        "a tensor-parallel worker hangs under speculative decoding until the call times out",
        f"{VLLM}/issues/41530",
    ),
    Known(
        "vllm",
        "rpc call to execute_model timed out",
        "a worker does not answer and the engine ends",
        f"{VLLM}/issues/17965",
    ),
)
