"""What a comparison is made of: the objective, one setting beside the base, and all of them."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.classes import Group
from ridgeline.sim.whatif.gate import Gate
from ridgeline.sim.whatif.paired import Change
from ridgeline.sim.whatif.run import Outcome
from ridgeline.sim.whatif.slo import Limit
from ridgeline.sim.whatif.variants import Variant

LOST_SHARE: Final = 0.005
"""Requests lost beyond the base's (refused, out of memory, timed out) that make a setting no choice."""


@dataclass(frozen=True)
class Objective:
    """What settings are ranked by: a statistic of a metric (less is better), goodput (more is better), or ``lost``: the
    share of the requests without an answer (less is better)."""

    metric: str = "e2e_s"
    statistic: str = "mean"

    @property
    def text(self) -> str:
        """In words."""
        if self.metric in SHARES:
            return SHARES[self.metric]
        return f"{NAMES[self.metric]} {self.statistic}"


SHARES: Final = {"goodput": "goodput", "lost": "requests without an answer"}
"""Objectives that are a share of the requests."""
NAMES: Final = {"ttft_s": "TTFT", "tpot_s": "time per token", "e2e_s": "E2E", "queue_s": "queue"}


@dataclass(frozen=True)
class Compared:
    """One setting beside the base; ``changes`` and ``gain`` (by the objective) are None for the base itself."""

    variant: Variant
    outcomes: tuple[Outcome, ...]
    figures: dict[str, dict[str, float] | None]
    goodput: float | None
    within_slo: float | None
    slo_met: bool | None
    changes: dict[str, dict[str, Change | None]] | None
    gain: Change | None
    classes: tuple[tuple[Group, Change], ...]
    lost: int
    rank: int = 0

    @property
    def score(self) -> float:
        """Smaller is better."""
        return 0.0 if self.gain is None else self.gain.delta


@dataclass(frozen=True)
class Comparison:
    """Everything a comparison found, the base first and the others as they were given."""

    basis: Basis
    objective: Objective
    limits: tuple[Limit, ...]
    gate: Gate | None
    runs: tuple[Compared, ...]
    repeats: int
    interrupted: bool
    planned: int
    warnings: tuple[str, ...]
    over: NDArray[np.int64] | None = None  # requests that the figures are about; None: all

    @property
    def base(self) -> Compared:
        """The base run."""
        return self.runs[0]

    @property
    def base_figure(self) -> float:
        """What gains are measured against: the base's figure by the objective (share of requests for goodput)."""
        if self.objective.metric == "goodput":
            return 1.0
        if self.objective.metric == "lost":
            return float(np.mean([np.isnan(one.values["e2e_s"]).mean() for one in self.base.outcomes]))
        told = self.base.figures[self.objective.metric]
        return told[self.objective.statistic] if told else 0.0

    @property
    def ranked(self) -> list[Compared]:
        """Best first."""
        return sorted(self.runs, key=lambda one: one.rank)
