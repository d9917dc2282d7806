"""Frozen records of what a server shows; the emitters turn them into lines. Times are wall seconds, UTC."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

VERSIONS: Final = ("0.5.3", "0.5.9", "0.5.23")
"""SGLang releases the lab speaks, oldest first; emitters index their tables by this order."""

VLLM_VERSION: Final = "0.32.0"


@dataclass(frozen=True)
class Server:
    """One boot of one server. ``role``: unified | prefill | decode. Sizes in tokens."""

    engine: str  # sglang | vllm
    version: str
    role: str
    host: str
    port: int
    pid: int
    model: str
    boot_ts: float
    dp_size: int
    tp_size: int
    page_size: int
    pool_tokens: int
    max_running: int
    max_prefill_tokens: int
    chunked_prefill_size: int
    context_len: int
    decode_log_interval: int
    args: tuple[tuple[str, Any], ...] = ()

    @cached_property
    def at(self) -> int:
        """Place of the version in `VERSIONS`."""
        return VERSIONS.index(self.version)


@dataclass(frozen=True)
class Batch:
    """One batch as its log line tells it. ``rank``: DP rank. Throughput in tokens per second."""

    ts: float
    rank: int
    kind: str  # prefill | decode
    running: int
    waiting: int
    used_tokens: int
    tps: float
    graph: bool
    new_seq: int = 0
    new_tokens: int = 0
    cached_tokens: int = 0
    pending_tokens: int = 0
    bootstrap: int = 0
    inflight: int = 0
    prealloc: int = 0
    transfer: int = 0
    retracted: int = 0
    prealloc_tokens: int = 0
    accept_length: float | None = None
    draft_tokens: int = 0
    occupancy: float | None = None  # device time of wall time, per cent


@dataclass(frozen=True)
class Request:
    """One request as one server saw it. A stamp that was never reached is None.

    ``state``: finished | aborted | rejected | cancelled | open; ``finish``: stop | length | abort.
    ``rank`` None: the server has one rank and does not name it.
    """

    rid: str
    role: str
    rank: int | None
    asked_rank: int | None
    endpoint: str
    client: str  # host:port of the connection
    client_name: str | None  # user agent style label the client sends, if any
    stream: bool
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    max_new_tokens: int | None
    ignore_eos: bool
    temperature: float
    state: str
    finish: str | None
    message: str | None
    status: int
    received_ts: float
    tokenized_ts: float | None
    dispatched_ts: float | None
    queued_ts: float | None
    scheduled_ts: float | None
    prefill_done_ts: float | None
    first_token_ts: float | None
    completed_ts: float | None
    finished_ts: float | None
    queue_s: float
    retractions: int = 0
    room: int | None = None
    lora: str | None = None
    routing_key: str | None = None
    priority: int | None = None
    schema: str | None = None
    extra_key: str | None = None
    modality: str | None = None
    input_ids: tuple[int, ...] | None = None
    output_ids: tuple[int, ...] | None = None
    storage_wait_s: float = 0.0
    host_tokens: int = 0
    storage_tokens: int = 0
    accept_length: float | None = None
    bootstrap_entry_ts: float | None = None
    bootstrap_done_ts: float | None = None
    alloc_done_ts: float | None = None
    transfer_done_ts: float | None = None
    transfer_mb: float | None = None
    transfer_gb_s: float | None = None
    trace: bool = False
    reasoning: bool = False
    longest_gap_s: float = 0.0
    gaps_ms: tuple[float, ...] = ()


@dataclass(frozen=True)
class Retraction:
    """Running requests put back: how many, KV tokens gained, the new-token ratio before and after."""

    ts: float
    rank: int
    count: int
    gained: int
    before: float
    after: float


@dataclass(frozen=True)
class Line:
    """A finished log line and when it was written; lines of one file are sorted by it (stable)."""

    ts: float
    text: str
