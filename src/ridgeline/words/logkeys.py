"""Keys of SGLang's batch lines and vLLM's stats line → columns of the table `batches` (SIGNALS §6.2, §6.3, §15.2).

A batch line is read as an unordered map of keys. The one key whose meaning depends on the server is
`#prealloc-req`: the bootstrap queue on a prefill server (0.5.3-0.5.9), the prealloc queue on a decode one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from ridgeline.words.versions import ALWAYS, Span

LineKind = Literal["prefill", "decode"]


@dataclass(frozen=True, slots=True)
class LogKey:
    """One key as printed before its colon. `scale` turns the printed unit into the column's."""

    raw: str
    column: str | None
    scale: float = 1.0
    span: Span = ALWAYS
    only: LineKind | None = None
    note: str = ""


_PERCENT: Final = 0.01
_FROM_523: Final = Span("0.5.23")

# fmt: off
LOG_KEYS: Final[tuple[LogKey, ...]] = (
    LogKey("#new-seq", "new_seq"),
    LogKey("#new-token", "new_tokens", note="computed in this batch"),
    LogKey("#cached-token", "cached_tokens", note="of requests admitted in this batch; later chunks add 0"),
    LogKey("#replay-token", "replay_tokens", span=_FROM_523),
    LogKey("#pending-token", "pending_tokens", span=_FROM_523, note="cache hits of waiting requests not subtracted"),
    LogKey("#running-req", "running"),
    LogKey("#queue-req", "waiting", note="prefill lines: after admission"),
    LogKey("token usage", "usage"),
    LogKey("full token usage", "full_usage"),
    LogKey("swa token usage", "swa_usage"),
    LogKey("mamba usage", "mamba_usage"),
    LogKey("gpu token usage", "usage", span=_FROM_523, note="hisparse"),
    LogKey("#token", "tokens"),
    LogKey("#full token", "tokens"),
    LogKey("#gpu token", "tokens", span=_FROM_523, note="hisparse"),
    LogKey("#swa token", "swa_tokens"),
    LogKey("mamba num", "mamba_slots", note="state slots, not tokens"),
    LogKey("#unbootstrapped-req", "bootstrap", span=Span(None, "0.4.10"), only="prefill"),
    LogKey("#prealloc-req", "bootstrap", span=Span("0.5.3", "0.5.9"), only="prefill",
           note="says prealloc, is the bootstrap queue"),
    LogKey("#bootstrap-req", "bootstrap", span=_FROM_523, only="prefill"),
    LogKey("#transferring-req", "inflight", span=Span(None, "0.4.10"), only="prefill"),
    LogKey("#inflight-req", "inflight", span=Span("0.5.3"), only="prefill"),
    LogKey("#optimistic-req", "optimistic", span=_FROM_523, only="prefill"),
    LogKey("#prealloc-req", "prealloc", span=Span("0.5.3"), only="decode"),
    LogKey("#transfer-req", "transfer", span=Span("0.5.3"), only="decode"),
    LogKey("#retracted-req", "retracted", span=Span("0.4.10"), only="decode"),
    LogKey("#host-receive-req", "host_receive", span=_FROM_523, only="decode"),
    LogKey("pre-allocated usage", "prealloc_usage", only="decode"),
    LogKey("cuda graph", "graph"),
    LogKey("cpu graph", "graph"),
    LogKey("npu graph", "graph"),
    LogKey("musa graph", "graph"),
    LogKey("hip graph", "graph"),
    LogKey("gen throughput (token/s)", "gen_tps", note="since the previous decode line"),
    LogKey("input throughput (token/s)", "input_tps",
           note="0.5.23: this batch over the gap since the last prefill line; before: the previous batch"),
    LogKey("cache hit rate", "hit_rate", _PERCENT, span=Span(None, "0.4.6.post5"), note="a percentage, running mean"),
    LogKey("accept len", "accept_length"),
    LogKey("accept rate", "accept_rate"),
    LogKey("fwd occupancy", "occupancy", note="per cent, as printed"),
    LogKey("fwd+idle occupancy", None),
    LogKey("waiting-image-req", None),
    LogKey("largest-len", None, note="0.4.x and before"),
    LogKey("queue", None),
    LogKey("cap len", None, span=_FROM_523),
    LogKey("block accept len", None, span=_FROM_523),
    LogKey("#cpu token", None, span=_FROM_523),
    LogKey("cpu token usage", None, span=_FROM_523),
    LogKey("est. prefill TFLOPS/s (per GPU)", None, span=_FROM_523),
    LogKey("est. decode TFLOPS/s (per GPU)", None, span=_FROM_523),
    LogKey("est. read BW (GB/s per GPU)", None, span=_FROM_523),
    LogKey("est. write BW (GB/s per GPU)", None, span=_FROM_523),
)

# vLLM's stats line; percentages there, shares in the table.
VLLM_LOG_KEYS: Final[tuple[LogKey, ...]] = (
    LogKey("Avg prompt throughput", "input_tps"),
    LogKey("Avg generation throughput", "gen_tps"),
    LogKey("Running", "running"),
    LogKey("Waiting", "waiting"),
    LogKey("Pending", "waiting", note="older releases"),
    LogKey("Swapped", None, note="older releases"),
    LogKey("Deferred", "deferred"),
    LogKey("Preemptions", "preemptions", note="since the previous line"),
    LogKey("KV cache usage", "usage", _PERCENT, note="after the device's name: GPU, CPU, NPU, …"),
    LogKey("Prefix cache hit rate", "hit_rate", _PERCENT, note="over a recent window"),
    LogKey("External prefix cache hit rate", "external_hit_rate", _PERCENT),
    LogKey("MM cache hit rate", None, _PERCENT),
    LogKey("Corrupted", None),
    LogKey("KV fetch", None),
    LogKey("Mean acceptance length", "accept_length"),
    LogKey("Avg Draft acceptance rate", "accept_rate", _PERCENT),
)

_INDEX: Final = {(kind, key.raw): key for key in LOG_KEYS
                 for kind in ("prefill", "decode") if key.only in (None, kind)}
_VLLM_INDEX: Final = {key.raw: key for key in VLLM_LOG_KEYS}


def log_key(raw: str, line: LineKind) -> LogKey | None:
    """What a key means on a Prefill or a Decode batch line; None if the vocabulary does not know it."""
    return _INDEX.get((line, raw))


def vllm_log_key(raw: str) -> LogKey | None:
    """What a key of vLLM's stats line means; the device's name before "KV cache usage" may be any word."""
    found = _VLLM_INDEX.get(raw)
    if found is None and raw.endswith(" KV cache usage") and raw.count(" ") == 3:
        return _VLLM_INDEX["KV cache usage"]
    return found
