"""Distractors, in half the cases: a benign warning, an unrelated change, a noisy gauge. Drawn by seed alone."""

from typing import Final

from ridgeline.lab.case import HORIZON_S, Case
from ridgeline.lab.emit.model import Line
from ridgeline.lab.emit.stamp import prefix
from ridgeline.lab.emit.vllm_log import head
from ridgeline.lab.shown import Seen

KINDS: Final = ("warning", "change", "gauge")


def decoy_of(case: Case) -> str | None:
    """Which decoy the case has; None in half of them."""
    if case.unit("decoy") < 0.5:
        return None
    return KINDS[int(case.rng("decoy-kind").integers(0, len(KINDS)))]


def log_decoys(case: Case, seen: Seen) -> list[Line]:
    """Lines that mean nothing."""
    kind = decoy_of(case)
    server = seen.server
    at = case.base_ts + HORIZON_S * (0.2 + 0.6 * case.unit("decoy-time"))
    if kind is None:
        return []
    if server.engine == "vllm":
        said = "Default vLLM sampling parameters have been overridden by the model's `generation_config.json`: "
        return [Line(at, head(server, at, "model.py:1893", "WARNING") + said + "`{'temperature': 1.0}`.")]
    if kind == "warning":
        return [
            Line(
                at + 90 * k,
                f"{prefix(server, at + 90 * k)}Endpoint '/get_load' is deprecated and will be removed in a "
                "future version. Please use '/v1/loads' instead.",
            )
            for k in range(3)
        ]
    if kind == "change":
        return [
            Line(
                at,
                f"{prefix(server, at)}Config logging: obj=ConfigureLoggingReq("
                "log_requests=None, log_requests_level=None, "
                "dump_requests_folder=None, dump_requests_threshold=None)",
            )
        ]
    return []


def noisy(case: Case, k: int) -> float:
    """What the noisy gauge reads at scrape ``k``: 0 where the case has none."""
    if decoy_of(case) != "gauge":
        return 0.0
    return float(int(case.rng(f"noise:{k}").integers(0, 9)))
