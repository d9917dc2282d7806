"""Metrics of the model gateway, prefix ``smg_`` (SIGNALS §8.5)."""

from collections.abc import Mapping
from dataclasses import dataclass

from ridgeline.lab.emit import buckets as b
from ridgeline.lab.emit.exposition import Family, Histogram, labelled


@dataclass(frozen=True)
class Worker:
    """One worker behind the gateway as it sees it at a moment."""

    url: str
    active: int
    healthy: bool
    selected: int
    errors: int
    circuit: int  # 0 closed, 1 open, 2 half-open


def families(
    policy: str,
    workers: tuple[Worker, ...],
    responses: Mapping[int, int],
    duration: Histogram,
    failures: Mapping[str, int],
) -> list[Family]:
    """The page; ``responses`` by status, ``duration`` over `buckets.GATEWAY`, ``failures`` by error type."""
    sent = sum(responses.values())
    each = [(w, labelled({"worker": w.url})) for w in workers]
    return [
        Family(
            "smg_http_requests_total",
            "counter",
            "Requests taken",
            ((labelled({"method": "POST", "path": "/v1/chat/completions"}), float(sent)),),
        ),
        Family(
            "smg_http_responses_total",
            "counter",
            "Responses by status",
            tuple(
                (labelled({"status_code": str(code), "error_code": "" if code < 400 else "upstream"}), float(n))
                for code, n in sorted(responses.items())
            ),
        ),
        Family(
            "smg_http_request_duration_seconds",
            "histogram",
            "Time per request",
            ((labelled({"method": "POST", "path": "/v1/chat/completions"}), duration),),
            b.GATEWAY,
        ),
        Family(
            "smg_http_connections_active", "gauge", "Open connections", (((), float(sum(w.active for w in workers))),)
        ),
        Family(
            "smg_router_request_errors_total",
            "counter",
            "Failures by kind",
            tuple((labelled({"error_type": kind}), float(n)) for kind, n in sorted(failures.items())),
        ),
        Family("smg_worker_pool_size", "gauge", "Workers known", (((), float(len(workers))),)),
        Family(
            "smg_worker_requests_active",
            "gauge",
            "Requests in flight",
            tuple((labels, float(w.active)) for w, labels in each),
        ),
        Family(
            "smg_worker_health", "gauge", "1 healthy, 0 not", tuple((labels, float(w.healthy)) for w, labels in each)
        ),
        Family(
            "smg_worker_cb_state", "gauge", "Circuit breaker", tuple((labels, float(w.circuit)) for w, labels in each)
        ),
        Family(
            "smg_worker_selection_total",
            "counter",
            "Times chosen",
            tuple((labelled({"worker": w.url, "policy": policy}), float(w.selected)) for w in workers),
        ),
        Family(
            "smg_worker_errors_total",
            "counter",
            "Errors per worker",
            tuple((labelled({"worker": w.url, "error_type": "backend_error"}), float(w.errors)) for w in workers),
        ),
    ]
