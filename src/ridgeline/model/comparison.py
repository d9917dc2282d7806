"""What a comparison is made of: estimates, figures, checks, classes, and the comparison itself (room `verdict`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ridgeline.model.contrast import Contrast
from ridgeline.model.fact import Statement
from ridgeline.words.catalogue import said

Verdict = Literal["recovered", "not-recovered", "worse", "improved", "no-change", "inconclusive"]
Change = Literal["better", "worse", "same", "unclear"]
Scale = Literal["log", "linear"]
Basis = Literal["requests", "histograms", "counters", "summary"]
Eases = Literal["easier", "harder", "either", "none"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """One statistic of one side. `low`..`high` is its interval at 95 %, in the figure's own unit.

    `least`..`most` is what the data prove without any chance (the edges of a histogram's bucket; both equal `value`
    for request rows). `spread` is the standard error on `scale` with `df` degrees of freedom; on the log scale
    `floor` is added first, so that a difference of microseconds is no ratio. `n_eff` is how many independent values
    the `n` are worth. `spread` None: too few values for an interval.
    """

    value: float
    low: float | None
    high: float | None
    least: float
    most: float
    n: int
    n_eff: float
    spread: float | None
    df: int
    scale: Scale
    floor: float = 0.0
    blocks: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One statistic on every side. `change` is AFTER against INCIDENT; `drives`: users feel it, so it may decide."""

    name: str
    unit: str
    quantity: str
    better: Literal["lower", "higher"]
    basis: Basis
    drives: bool
    incident: Estimate
    after: Estimate
    contrast: Contrast
    p_adjusted: float | None
    change: Change
    baseline: Estimate | None = None
    harm: Contrast | None = None  # INCIDENT against BASELINE
    rest: Contrast | None = None  # AFTER against BASELINE
    harmed: bool = False
    slo: float | None = None
    incident_slo: Literal["met", "missed", "unclear"] | None = None
    after_slo: Literal["met", "missed", "unclear"] | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One thing both sides must share. `eases` says which verdicts a difference could explain away:

    `easier` (AFTER had less to do) those in favour of the fix, `harder` those against it, `either` all, `none` no.
    """

    name: str
    state: Literal["same", "differs", "unknown"]
    eases: Eases
    incident: str
    after: str
    statement: str
    todo: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """A launch argument that is not the same on both sides; None where a side does not have it."""

    key: str
    incident: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class ClassChange:
    """One figure of one class of requests (a length band, a key) on both sides."""

    attribute: str
    value: str
    figure: str
    n_incident: int
    n_after: int
    contrast: Contrast
    p_adjusted: float | None
    change: Change


@dataclass(frozen=True, slots=True)
class Needs:
    """What would settle an open comparison: how long AFTER must run, or that more of the same will not do."""

    figure: str
    factor: float | None
    seconds: float | None
    requests: int | None
    statement: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The verdict and everything it rests on."""

    verdict: Verdict
    ruling: Statement
    reference: Literal["baseline", "slo", "none"]
    figures: tuple[Figure, ...]
    classes: tuple[ClassChange, ...]
    checks: tuple[Check, ...]
    settings: tuple[Setting, ...]
    needs: Needs | None
    notes: tuple[str, ...]
    spans: tuple[tuple[str, float | None, float | None], ...]
    margin: float  # share of a figure below which a difference does not matter
    alpha: float  # two-sided error over all figures that decide

    @property
    def summary(self) -> str:
        """Why it is this verdict, in English."""
        return said(self.ruling)


def value_said(value: float | None, unit: str) -> str:
    """A figure with its unit for people."""
    if value is None or math.isnan(value):
        return "not known"
    if unit == "s":
        if math.isinf(value):
            return "beyond the last bucket"
        return f"{value:.3g} s" if value >= 1 else f"{value * 1000:.3g} ms"
    return f"{100 * value:.3g} %" if unit == "share" else f"{value:.3g}"
