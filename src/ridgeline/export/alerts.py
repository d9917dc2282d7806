"""Prometheus alert rules in the ladder's order, in the metric names of one engine and version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ridgeline.export.promql import Exported, filled, quantile, rate

SERVER: Final = "instance"
EACH: Final = "max by (instance, dp_rank) (%s)"  # one series a rank, whatever other labels the collector sets


@dataclass(frozen=True)
class Alert:
    """`expr` names metrics by shared word in braces; a rule whose words a version lacks is left out."""

    name: str
    expr: str
    lasts: str
    severity: str
    summary: str
    symptom: str


ALERTS: Final = (
    Alert(
        "RidgelineTimeToFirstTokenRose",
        f"{quantile(0.99, 'ttft_s', '5m', SERVER)} > 2 * ({quantile(0.99, 'ttft_s', '5m', SERVER, '1h')} > 0)",
        "5m", "page", "p99 time to first token is twice that of an hour ago", "slow",
    ),
    Alert(
        "RidgelineQueueTakesTheTime",
        f"{rate('queue_s/sum', '5m', SERVER)} / ({rate('ttft_s/sum', '5m', SERVER)} > 0) > 0.5",
        "5m", "warn", "more than half of the time to first token is spent in the waiting queue", "slow",
    ),
    Alert(
        "RidgelineQueueWithRoomInThePool",
        f"{EACH % 'min_over_time({waiting}[5m])'} > 0 and {EACH % 'max_over_time({usage}[5m])'} < 0.9",
        "5m", "warn", "requests wait although the KV pool has room: a cap, a reservation, the queue's head", "slow",
    ),
    Alert(
        "RidgelinePoolFull",
        f"{EACH % 'min_over_time({waiting}[5m])'} > 0 and {EACH % 'min_over_time({usage}[5m])'} >= 0.9",
        "5m", "warn", "requests wait and the KV pool is full of running ones", "memory",
    ),
    Alert(
        "RidgelineOneRankQueues",
        "max by (instance) (min_over_time({waiting}[5m])) > 4 "
        "and min by (instance) (max_over_time({waiting}[5m])) == 0",
        "5m", "warn", "one rank has a queue while another of the same server has none", "slow",
    ),
    Alert(
        "RidgelineRetractions",
        f"{rate('retractions', '5m', SERVER)} > 0.2",
        "5m", "warn", "running requests are put back for lack of KV memory", "memory",
    ),
    Alert(
        "RidgelineNoProgress",
        "sum by (instance) ({running}) > 0 and sum by (instance) (increase({realtime_tokens}[2m])) == 0",
        "2m", "page", "requests run but no token is computed", "hang",
    ),
    Alert(
        "RidgelineCacheHitsFell",
        f"{rate('cached_tokens', '15m', SERVER)} / ({rate('prompt_tokens', '15m', SERVER)} > 0) < 0.5 * "
        f"({rate('cached_tokens', '15m', SERVER, '6h')} / ({rate('prompt_tokens', '15m', SERVER, '6h')} > 0))",
        "15m", "warn", "the share of prompt tokens found in the prefix cache is half of what it was", "cache",
    ),
    Alert(
        "RidgelineAborts",
        f"{rate('aborted', '5m', SERVER)} > 0.1",
        "5m", "warn", "requests are aborted", "errors",
    ),
    Alert(
        "RidgelineDecodeWaitsForSpace",
        f"{EACH % 'min_over_time({prealloc}[5m])'} > 0",
        "5m", "warn", "requests wait for KV space on the decode side", "disagg",
    ),
    Alert(
        "RidgelineTransfersFail",
        f"{rate('transfer_failed', '5m', SERVER)} > 0",
        "2m", "page", "KV transfers between prefill and decode fail", "disagg",
    ),
    Alert(
        "RidgelineHandshakesFail",
        f"{rate('bootstrap_failed', '5m', SERVER)} > 0",
        "2m", "page", "handshakes between prefill and decode fail", "disagg",
    ),
)  # fmt: skip


def rules(of: Exported) -> tuple[list[tuple[Alert, str]], list[str]]:
    """(alerts with their expressions, names of those left out)."""
    found = [(alert, filled(alert.expr, of)) for alert in ALERTS]
    return [(a, e) for a, e in found if e is not None], [a.name for a, e in found if e is None]


def text(of: Exported) -> str:
    """The rule file as YAML; strings are double-quoted, which YAML reads as JSON does."""
    kept, left = rules(of)
    stated = "" if of.sure else " (the evidence states no version: the newest release read)"
    lines = [f"# Metric names of {of.engine} {of.version}{stated}."]
    lines += [f"# Left out, for this version exports no such metric: {', '.join(left)}."] if left else []
    lines += ["groups:", "  - name: ridgeline", "    rules:"]
    for alert, expr in kept:
        lines += [
            f"      - alert: {alert.name}", f"        expr: {_quoted(expr)}", f"        for: {alert.lasts}",
            "        labels:", f"          severity: {alert.severity}", "        annotations:",
            f"          summary: {_quoted(alert.summary)}",
            f"          next: {_quoted(f'ridgeline diagnose URL --symptom {alert.symptom}')}",
        ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _quoted(words: str) -> str:
    escaped = words.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
