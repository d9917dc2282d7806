"""The diagnosis as it leaves the ladder; `report/json` writes it as schema ridgeline.diagnosis/1."""

from dataclasses import dataclass, field
from typing import Any, Literal

from ridgeline.model.cause import Remedy
from ridgeline.model.fact import Fact, Missing, Statement

Verdict = Literal["finding", "healthy", "inconclusive"]
Confidence = Literal["high", "medium", "low"]
State = Literal["answered", "cannot-tell", "not-reached"]


@dataclass(frozen=True)
class Window:
    """A stretch of wall-clock time, seconds since the epoch; `how`: given | change-point | none."""

    from_ts: float
    to_ts: float


@dataclass(frozen=True)
class Answer:
    """One rung: its question, its state and what it rests on. `evidence` holds ids such as E3."""

    rung: str
    question: Statement
    state: State
    answer: Statement
    evidence: tuple[str, ...] = ()
    ruled_out: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One cause that holds, with its confidence, why it is not higher, and what to do."""

    cause: str
    layer: str
    confidence: Confidence
    score: float
    caps: tuple[str, ...]
    statement: Statement
    scope: tuple[tuple[str, tuple[str, ...]], ...] = ()
    onset_ts: float | None = None
    because_of: str | None = None
    evidence: tuple[str, ...] = ()
    ruled_out: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    source_entry: tuple[str, ...] = ()
    route: str = "none"


@dataclass(frozen=True)
class Coverage:
    """What was read of one source."""

    source: str
    kind: str
    rows: int
    unparsed: int
    from_ts: float | None
    to_ts: float | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Diagnosis:
    """Everything `ridgeline diagnose` found out. `ruled_out` maps a cause to the evidence ids that rule it out."""

    verdict: Verdict
    symptom: str
    summary: Statement
    incident: Window | None
    baseline: Window | None
    how: Literal["given", "change-point", "none"]
    findings: tuple[Finding, ...]
    ladder: tuple[Answer, ...]
    evidence: tuple[tuple[str, Fact], ...]  # ("E1", fact) in order
    ruled_out: tuple[tuple[str, tuple[str, ...]], ...]
    coverage: tuple[Coverage, ...]
    next: tuple[str, ...]
    representatives: tuple[tuple[str, str | None], ...] = ()  # (rid, its normal twin's rid)
    notes: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)
