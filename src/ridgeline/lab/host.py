"""Events outside the engine: which of them stop a server, when, and for how long."""

from typing import Final

from ridgeline.lab.case import Case

EVENTS: Final = (
    "cuda-oom", "slots-exhausted", "host-oom", "exception", "watchdog", "peer-lost", "flushes", "graph-off",
    "deploy-note", "worker-out", "deferred-release", "room-mismatch", "page-mismatch", "staging",
)  # fmt: skip
DEADLY: Final = frozenset({"cuda-oom", "slots-exhausted", "host-oom", "exception"})
DOWN_FOR_S: Final = (50.0, 120.0, 10_000.0)
"""How long a dead server stays away, by severity; the last is longer than the recording."""


def has(case: Case, what: str) -> bool:
    """Whether the case has this event."""
    return not case.healthy and any(h.what == what for h in case.fault.host)


def stop_of(case: Case) -> tuple[float, str, float | None] | None:
    """(when a server dies, of what, when it is back or None) in virtual seconds; None: none dies."""
    if case.healthy:
        return None
    for event in case.fault.host:
        if event.what in DEADLY:
            back = case.onset_s + DOWN_FOR_S[case.severity - 1]
            return case.onset_s, event.what, back
    return None
