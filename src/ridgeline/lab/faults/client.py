"""Faults on the client's side."""

from typing import Final

from ridgeline.lab.faults.model import SGLANG, Fault, Front, Traffic

FAULTS: Final = (
    Fault(
        "client.request-config", "client.request-config",
        "One client sends parameters that the server refuses (HTTP 400).",
        "none", "config", scope=("client",), by="client", front=(Front("invalid", (0.5, 0.8, 1.0)),),
        versions=("0.5.9", "0.5.23"), rules_out=("fault.abort",),
    ),
    Fault(
        "client.cancelled", "client.cancelled",
        "A client's own timeout became too short: it leaves before the answer is complete.",
        "none", "none", scope=("client",), by="client", traffic=(Traffic("cancel", (0.5, 0.7, 0.9)),),
        versions=SGLANG, rules_out=("fault.abort", "fault.crash"),
    ),
    Fault(
        "client.load-generator", "client.load-generator",
        "The load generator cannot send in time: requests wait inside it, not in the service.",
        "client", "none", front=(Front("late_client", (2.0, 5.0, 12.0)),), versions=SGLANG,
        rules_out=("queue.arrival-overload", "frontend.gateway"),
    ),
)  # fmt: skip
