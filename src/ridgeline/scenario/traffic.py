"""Traffic: a scenario together with what was observed of each of its requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.model import PS, Scenario

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

OBSERVED: Final = (
    "queue_s", "ttft_s", "tpot_s", "e2e_s",
    "queued", "scheduled", "first", "last", "cached_tokens", "retractions", "dp_rank", "server",
)  # fmt: skip
"""Columns of `Traffic.observed`: durations in seconds, then stamps in seconds after `origin_ts` (NaN: not known).
`server`: which of the servers took it, numbered by name."""


@dataclass(frozen=True)
class Traffic:
    """Requests of one service in order of arrival, and what became of them.

    `measured` marks requests whose times count in figures (not probes, not parts that only hold memory, not those
    whose length is a guess). `prefix` names the evidence for shared prefixes: hashes, groups, cached, none.
    """

    scenario: Scenario
    rids: tuple[str, ...]
    origin_ts: float
    observed: Mapping[str, Floats]
    measured: Bools
    outcome: tuple[str, ...]
    prefix: str
    notes: tuple[str, ...]

    @property
    def n(self) -> int:
        """How many requests."""
        return self.scenario.n

    @property
    def arrival_s(self) -> Floats:
        """Arrivals in seconds after `origin_ts`."""
        seconds: Floats = self.scenario["arrival_ps"] / PS
        return seconds

    def known(self, name: str) -> Bools:
        """Which measured requests have an observed ``name``."""
        marks: Bools = self.measured & ~np.isnan(self.observed[name])
        return marks
