"""Stage names of every version → one canonical stage, its role, level and meaning (SIGNALS §2.5, §11.2).

`decode_prealloc` and `decode_transfer` are no stages of any inspected version; `words.aliases` answers them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from ridgeline.words.versions import ALWAYS, Span

Role = Literal["unified", "prefill", "decode", "any"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a request. `within` is the stage that contains it; its time is then not to be added twice.

    `level` is the trace level that records it (1 always, 4 off by default). `observed` says whether 0.5.23
    puts it into the per_stage_req_latency_seconds histogram. `layer` is the diagnosis layer it points to.
    """

    name: str
    role: Role
    level: int
    layer: str
    meaning: str
    within: str | None = None
    observed: bool = False
    span: Span = ALWAYS
    old_names: tuple[str, ...] = ()
    trap: str = ""


_FROM_56: Final = Span("0.5.6")
_FROM_523: Final = Span("0.5.23")
_FROM_53: Final = Span("0.5.3")
_TICK: Final = "0.5.3-0.5.9: time since the previous tick, so it also holds whatever came before it."

# fmt: off
STAGES: Final[tuple[Stage, ...]] = (
    Stage("tokenize", "any", 1, "frontend", "created to tokenized", span=_FROM_56),
    Stage("api_server_dispatch", "any", 2, "frontend", "sending to the scheduler", span=_FROM_56,
          old_names=("dispatch",)),
    Stage("dpc_dispatch", "any", 2, "routing", "DP controller", span=_FROM_56, old_names=("dc_dispatch",)),
    Stage("request_process", "unified", 2, "queue", "scheduler receipt to waiting queue", observed=True,
          span=_FROM_56),
    Stage("prefill_waiting", "any", 1, "queue", "waiting queue to first forward", span=_FROM_53,
          trap="Equals queue_time; not in the 0.5.23 histogram. Storage prefetch waits are inside."),
    Stage("prefill_forward", "any", 1, "prefill", "forward entry to prefill finished", observed=True, span=_FROM_53,
          trap=_TICK),
    Stage("chunked_prefill", "any", 3, "prefill", "one non-final chunk", within="prefill_forward", observed=True,
          span=_FROM_56),
    Stage("decode_forward", "any", 1, "decode", "the whole of decoding", span=_FROM_523),
    Stage("decode_loop", "any", 3, "decode", "one decode iteration", within="decode_forward", span=_FROM_56),
    Stage("run_batch_cpu", "any", 4, "decode", "host side of running a batch", within="decode_forward",
          span=_FROM_523),
    Stage("spec_draft", "any", 2, "decode", "drafting", within="decode_loop", span=_FROM_523),
    Stage("spec_verify", "any", 2, "decode", "verifying a draft", within="decode_loop", span=_FROM_523),
    Stage("mm_encode", "any", 1, "prefill", "multimodal encoder", span=_FROM_523),
    Stage("prefill_prepare", "prefill", 1, "disagg", "receipt to bootstrap queue", span=_FROM_53),
    Stage("prefill_bootstrap", "prefill", 1, "disagg", "bootstrap queue to waiting queue", observed=True, span=_FROM_53,
          trap="Contains decode's wait for KV: decode sends its indices only after it has allocated."),
    Stage("prefill_transfer_kv_cache", "prefill", 1, "disagg", "inflight queue to transfer finished", observed=True,
          span=_FROM_53, trap="The network's part; the earlier chunks went out during the forward."),
    Stage("decode_prepare", "decode", 1, "disagg", "receipt to prealloc queue", observed=True, span=_FROM_53),
    Stage("decode_bootstrap", "decode", 1, "disagg", "prealloc queue to transfer queue", observed=True, span=_FROM_53,
          trap="Handshake and the wait for KV space together."),
    Stage("decode_transferred", "decode", 1, "disagg", "transfer queue to waiting queue", observed=True, span=_FROM_53,
          trap="Contains the prefill side's queueing and compute, not only the network."),
    Stage("decode_waiting", "decode", 1, "queue", "waiting queue to batch", observed=True, span=_FROM_53),
    Stage("fake_output", "decode", 3, "decode", "prebuilt batch on decode", observed=True, span=_FROM_56),
    Stage("quick_finish", "any", 1, "frontend", "finished without a forward", span=_FROM_56,
          trap="Declared; nothing was found that observes it."),
)

STAGE_NAMES: Final = frozenset(stage.name for stage in STAGES)
_BY_NAME: Final = {name: stage for stage in STAGES for name in (*stage.old_names, stage.name)}


def canonical_stage(raw: str) -> Stage | None:
    """The stage behind a label value or span name of any version; None if there is no such stage."""
    return _BY_NAME.get(raw.strip())


def containing(name: str) -> tuple[str, ...]:
    """The stages around a canonical stage, innermost first; empty for a top-level or unknown one."""
    around: list[str] = []
    stage = _BY_NAME.get(name)
    while stage is not None and stage.within is not None:
        around.append(stage.within)
        stage = _BY_NAME.get(stage.within)
    return tuple(around)


def stages_of(role: str) -> tuple[str, ...]:
    """Top-level stages of a role in the order a request passes them; empty for an unknown role."""
    order = {
        "unified": ("tokenize", "api_server_dispatch", "dpc_dispatch", "request_process", "mm_encode",
                    "prefill_waiting", "prefill_forward", "decode_forward"),
        "prefill": ("tokenize", "api_server_dispatch", "dpc_dispatch", "prefill_prepare", "prefill_bootstrap",
                    "mm_encode", "prefill_waiting", "prefill_forward", "prefill_transfer_kv_cache"),
        "decode": ("tokenize", "api_server_dispatch", "dpc_dispatch", "decode_prepare", "decode_bootstrap",
                   "decode_transferred", "decode_waiting", "fake_output", "decode_forward"),
    }
    return order.get(role, ())
