"""Which source is believed for which column of a request, as literal tables.

An *origin* is a kind of statement about a request: the finish record of the request log, the exporter's line, the
ReqTimeStats line, a trace's root span, … Columns not named in `PRECEDENCE` follow `ORIGINS`.
"""

from collections.abc import Iterable
from typing import Final

from ridgeline.model.tables import REQUEST

# Best first. `received` is the request log's record on arrival; `stage` stands for rows of `stages`.
ORIGINS: Final = (
    "request-log",
    "exporter",
    "vllm-requests",
    "dump",
    "time-stats",
    "span",
    "client",
    "vllm-log",
    "vllm-log:aborted",
    "vllm-log:failed",
    "log",
    "received",
    "openai",
    "stage",
)

# Origins that write when a request ends. A span is closed when its process ends, too: its end alone proves nothing.
FINISHING: Final = frozenset(("request-log", "exporter", "vllm-requests", "dump", "time-stats", "vllm-log", "client"))

PRECEDENCE: Final[dict[str, tuple[str, ...]]] = {
    # meta_info states the sum of waits, the time-stats line prints the same to 0.01 ms, a span shows one wait only.
    "queue_s": ("request-log", "exporter", "vllm-requests", "time-stats", "span", "stage"),
    # Arrival at the API server; the time of the log record itself comes later and is coarser.
    "received_ts": ("request-log", "exporter", "vllm-requests", "dump", "span", "received", "log"),
    # entry_time of the time-stats line is the last entry into the queue, a span's start the first.
    "queued_ts": ("vllm-requests", "request-log", "exporter", "span", "time-stats"),
    "scheduled_ts": ("request-log", "exporter", "vllm-requests", "span", "time-stats"),
    "prefill_done_ts": ("request-log", "exporter", "span"),
    "finished_ts": ("request-log", "exporter", "vllm-requests", "dump", "span", "log", "time-stats"),
    # The scheduler's own figures: only these two see them.
    "forward_s": ("time-stats", "span"),
    "bootstrap_s": ("time-stats", "span", "stage"),
    "alloc_wait_s": ("time-stats", "span", "stage"),
    "prealloc_s": ("time-stats", "span", "stage"),
    "transfer_s": ("time-stats", "span", "stage"),
    "transfer_gb_s": ("time-stats", "request-log"),
    "attempts": ("time-stats",),
    # What was asked: the record on arrival and the finish record repeat it; OpenAI fields only fill gaps.
    "endpoint": ("openai", "request-log", "received"),
    "stream": ("request-log", "received", "exporter", "openai"),
    "logged_ts": ("request-log", "received", "time-stats", "log"),
}

# Statements of two origins on one request count as a conflict when they differ by more than this: (absolute, share).
AGREE: Final[dict[str, tuple[float, float]]] = {
    "prompt_tokens": (0, 0),
    "completion_tokens": (0, 0),
    "cached_tokens": (0, 0),
    "retractions": (0, 0),
    "dp_rank": (0, 0),
    "queue_s": (0.02, 0.1),
    "ttft_s": (0.05, 0.1),
    "e2e_s": (0.05, 0.1),
    "forward_s": (0.02, 0.1),
}

# Rows of `stages` that state a column of a request, by role of the row ("" = any).
STAGE_COLUMNS: Final = (
    ("tokenize", "", "tokenize_s"),
    ("dispatch", "", "dispatch_s"),
    ("api_server_dispatch", "", "dispatch_s"),
    ("prefill_waiting", "", "queue_s"),
    ("decode_waiting", "decode", "queue_s"),
    ("prefill_forward", "", "prefill_s"),
    ("decode_forward", "", "decode_s"),
    ("prefill_bootstrap", "prefill", "bootstrap_s"),
    ("decode_bootstrap", "decode", "prealloc_s"),
    ("prefill_transfer_kv_cache", "prefill", "transfer_s"),
    ("decode_transferred", "decode", "transfer_s"),
)


def origin_of(kind: str | None, event: str | None, role: str | None = None) -> str:
    """The origin of a record from its `kind`, `event` and `role`; unknown kinds are origins of their own."""
    if kind == "client" or role == "client":
        return "client"
    if event is not None and "openai" in event:
        return "openai"
    if event is not None and event.rpartition(".")[2] in ("received", "arrived", "added"):
        return "received"
    name = (kind or "log").replace("_", "-")
    return name if event is None or event.rpartition(".")[2] == "finished" else f"{name}:{event}"


def order_for(column: str, present: Iterable[str]) -> list[str]:
    """The origins that are `present`, best first for `column`. Raises KeyError for a column requests do not have."""
    if column not in REQUEST:
        raise KeyError(column)
    there = sorted(set(present))
    ranked = (*PRECEDENCE.get(column, ()), *ORIGINS, *there)
    return [o for i, o in enumerate(ranked) if o in there and o not in ranked[:i]]
