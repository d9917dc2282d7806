"""`Contrast`: the answer to "is A different from B", wherever it is asked (computed by `stats.contrast`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ContrastVerdict = Literal["different", "same", "too-few"]


@dataclass(frozen=True, slots=True)
class Contrast:
    """One statistic of two samples and what may be said of their difference.

    `a` is the reference (baseline, without), `b` what is held against it (incident, with). `difference` is
    `b - a` in the statistic's own unit and `low`..`high` its interval at `level`. Any figure that the
    samples cannot give is None.

    `different`: the gate passed, the interval excludes zero and the difference exceeds `margin`.
    `same`: the whole interval lies within `margin`. `too-few`: anything else, for these samples cannot tell
    (not the same as "no difference").
    """

    statistic: str
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    level: float
    margin: float
    n_a: int
    n_b: int
    p_value: float | None
    gate: str
    verdict: ContrastVerdict
    why: str

    @property
    def ratio(self) -> float | None:
        """`b / a`, or None where either is missing or `a` is not above zero."""
        if self.a is None or self.b is None or self.a <= 0:
            return None
        return self.b / self.a

    @property
    def direction(self) -> Literal["up", "down"] | None:
        """Which way `b` lies from `a`; None unless the verdict is `different`."""
        if self.verdict != "different" or self.difference is None:
            return None
        return "up" if self.difference > 0 else "down"
