"""What a report draws: figures only, gathered by the cli from a view and handed over."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Strip:
    """One signal over time in equal bins; a bin without a reading is None (a gap, never 0)."""

    name: str  # waiting | running | usage
    where: str  # which rank or server, "" where there is one only
    unit: str
    from_ts: float
    to_ts: float
    values: tuple[float | None, ...]
    cap: float | None = None  # what a full bar means, where known


@dataclass(frozen=True)
class Segment:
    """A stretch of one request's life, seconds from its first stamp."""

    stage: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Timeline:
    """One request from head to tail: stages in order; time that no stamp explains is a segment `unaccounted`."""

    rid: str
    role: str
    label: str  # what it is here for: "slow", "its normal twin"
    facts: tuple[tuple[str, str], ...]  # shape and outcome, already formatted
    segments: tuple[Segment, ...]
    total_s: float | None
    missing: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
