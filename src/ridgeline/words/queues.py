"""The queues a request can stand in, by role, with the signals that show each (SIGNALS §9.1, §1.4-1.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue: its column in `batches` and `loads`, its gauge, its batch-line key, and what feeds it.

    `polled` is true where members leave only when something elsewhere happens, not by admission: age and
    motion matter more than length. `layer` is what a standing backlog points to first.
    """

    name: str
    roles: tuple[str, ...]
    column: str
    gauge: str | None
    log_key: str | None
    load_key: str | None
    stage: str | None
    waits_for: str
    layer: str
    polled: bool = False
    trap: str = ""


# fmt: off
QUEUES: Final[tuple[Queue, ...]] = (
    Queue("waiting", ("unified", "prefill", "decode"), "waiting", "num_queue_reqs", "#queue-req", "queues.waiting",
          "prefill_waiting", "admission: a slot, KV, prefill budget", "queue"),
    Queue("grammar", ("unified", "prefill"), "queue_grammar", "num_grammar_queue_reqs", None, "queues.grammar", None,
          "a grammar to compile", "prefill", polled=True, trap="Not counted in the waiting queue."),
    Queue("bootstrap", ("prefill",), "bootstrap", "num_prefill_bootstrap_queue_reqs", "#bootstrap-req",
          "disaggregation.prefill_bootstrap_queue_reqs", "prefill_bootstrap",
          "decode's destination indices, sent only once decode has allocated KV", "disagg", polled=True,
          trap="Called prealloc up to 0.5.9. A full decode node fills it."),
    Queue("inflight", ("prefill",), "inflight", "num_prefill_inflight_queue_reqs", "#inflight-req",
          "disaggregation.prefill_inflight_queue_reqs", "prefill_transfer_kv_cache", "the KV transfer to end",
          "disagg", polled=True),
    Queue("prealloc", ("decode",), "prealloc", "num_decode_prealloc_queue_reqs", "#prealloc-req",
          "disaggregation.decode_prealloc_queue_reqs", "decode_bootstrap", "the handshake, then KV space", "disagg",
          trap="First that does not fit stops the rest."),
    Queue("transfer", ("decode",), "transfer", "num_decode_transfer_queue_reqs", "#transfer-req",
          "disaggregation.decode_transfer_queue_reqs", "decode_transferred", "KV and metadata to arrive", "disagg",
          polled=True, trap="Not polled while any request is retracted: flat then means memory."),
    Queue("retracted", ("decode",), "retracted", None, "#retracted-req",
          "disaggregation.decode_retracted_queue_reqs", None, "KV space to be restored into", "memory"),
    Queue("paused", ("unified", "prefill", "decode"), "queue_paused", "num_paused_reqs", None, "queues.paused", None,
          "the end of a weight update", "queue", polled=True),
    Queue("host-receive", ("decode",), "host_receive", "num_decode_host_receive_queue_reqs", "#host-receive-req",
          None, None, "KV in host memory to move to the device", "disagg", polled=True),
)

_BY_NAME: Final = {queue.name: queue for queue in QUEUES}


def queue(name: str) -> Queue:
    """One queue by its name; KeyError if there is none."""
    return _BY_NAME[name]


def queues_of(role: str) -> tuple[Queue, ...]:
    """The queues of a role, in the order a request meets them; all of them for an unknown role."""
    order = ("grammar", "bootstrap", "prealloc", "host-receive", "transfer", "retracted", "waiting", "inflight",
             "paused")
    known = any(role in entry.roles for entry in QUEUES)
    return tuple(_BY_NAME[name] for name in order if not known or role in _BY_NAME[name].roles)
