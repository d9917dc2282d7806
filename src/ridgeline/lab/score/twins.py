"""Confusable pairs of causes, and the taxonomy's short ids in our words (one committed table)."""

from typing import Final

IDS: Final[dict[str, str]] = {
    "Q1": "queue.arrival-overload", "Q2": "queue.running-cap", "Q3": "queue.head-of-line",
    "Q4": "queue.priority-starvation", "Q5": "queue.burst", "Q6": "queue.slot-leak",
    "P1": "prefill.prompt-mix", "P2": "prefill.regression", "P3": "prefill.cold-start", "P4": "prefill.grammar",
    "P5": "prefill.multimodal", "P6": "prefill.lora",
    "D1": "decode.batch-growth", "D2": "decode.regression", "D3": "decode.spec-acceptance", "D4": "decode.slow-rank",
    "K1": "memory.saturation", "K2": "memory.retraction-storm", "K3": "memory.leak", "K4": "memory.oom-crash",
    "C1": "cache.prompt-drift", "C2": "cache.page-misaligned", "C3": "cache.key-split", "C4": "cache.eviction",
    "C5": "cache.scattered-routing", "C6": "cache.metric-artefact",
    "R1": "routing.hot-key", "R2": "routing.token-skew", "R3": "routing.worker-out",
    "X1": "disagg.prealloc", "X2": "disagg.transfer-slow", "X3": "disagg.transfer-stuck", "X4": "disagg.ratio",
    "X5": "disagg.abort-hold",
    "T1": "frontend.detokenizer", "T2": "frontend.blocked-loop", "T3": "frontend.slow-client",
    "H1": "fault.hang", "H2": "fault.wrong-output",
    "N4": "healthy", "N6": "healthy",
}  # fmt: skip

PAIRS: Final = (
    ("Q1", "K1"), ("Q1", "Q2"), ("Q2", "Q6"), ("Q3", "P1"), ("P1", "P2"), ("P1", "C1"), ("C1", "C4"), ("C4", "C5"),
    ("C5", "R1"), ("R1", "R2"), ("R1", "D4"), ("K1", "K2"), ("D1", "D2"), ("D2", "D3"), ("X1", "K1"), ("X1", "X2"),
    ("X2", "X3"), ("T1", "D1"), ("T2", "Q1"), ("T3", "T1"), ("C6", "C4"), ("P4", "T2"), ("N4", "P1"), ("N6", "K2"),
)  # fmt: skip


def cause_pairs() -> list[tuple[str, str]]:
    """The pairs in cause ids."""
    return [(IDS[a], IDS[b]) for a, b in PAIRS]
