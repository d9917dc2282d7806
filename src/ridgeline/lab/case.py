"""One case: a fault with its parameters drawn, before anything runs. All randomness comes from named streams."""

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from ridgeline.lab.faults.model import Fault

HORIZON_S: Final = 600.0
"""Virtual seconds that are recorded."""
WARM_S: Final = 20.0
"""From the server being ready to virtual time zero."""
EPOCH: Final = 1_793_000_000
"""Virtual days begin after this moment (wall seconds)."""
SIZES: Final = ("small", "large")


@dataclass(frozen=True)
class Case:
    """``severity`` 1 to 3; ``share`` of requests in the affected class; ``rate`` per rank and second.

    Times are virtual seconds from the start of the evidence.
    """

    fault: Fault
    seed: int
    version: str
    size: str
    rate: float
    ranks: int
    pd: bool
    severity: int
    share: float
    healthy: bool = False  # the same case with the fault left out: the twin
    changed: tuple[tuple[str, Any], ...] = ()  # settings that hold whatever the fault says: a remedy tried
    unpin: bool = False  # nobody asks for a rank: another remedy

    @property
    def engine(self) -> str:
        """sglang | vllm."""
        return "vllm" if self.version == "vllm" else "sglang"

    def rng(self, stream: str) -> np.random.Generator:
        """A generator for one purpose; what one purpose draws never moves another's numbers."""
        return np.random.default_rng([self.seed, zlib.crc32(stream.encode())])

    def unit(self, stream: str) -> float:
        """One uniform number."""
        return float(self.rng(stream).random())

    @cached_property
    def base_ts(self) -> float:
        """Wall seconds of virtual time zero."""
        return EPOCH + int(self.rng("day").integers(0, 40 * 86400)) + 0.25

    @cached_property
    def onset_s(self) -> float:
        """When the fault begins."""
        return round(240.0 + 70.0 * self.unit("onset"), 3)

    @property
    def end_s(self) -> float:
        """When it ends, at most the end of the recording."""
        return self.onset_s + self.fault.lasts_s if self.fault.lasts_s else HORIZON_S

    def strength(self, values: tuple[float, float, float]) -> float:
        """The figure of this case's severity."""
        return values[self.severity - 1]

    def setting(self, value: Any) -> Any:
        """A setting that may differ by severity."""
        return value[self.severity - 1] if isinstance(value, tuple) else value

    @property
    def workers(self) -> int:
        """Servers that take requests from the gateway (prefill and decode servers together with ``pd``)."""
        if self.pd:
            return 3
        return max(2, self.ranks) if "workers" in self.fault.needs else 1

    @property
    def dp_size(self) -> int:
        """DP ranks of one server."""
        if self.pd or "workers" in self.fault.needs:
            return 1
        return self.ranks

    @cached_property
    def target(self) -> int:
        """The rank or worker a fault of one place hits."""
        count = self.workers if "workers" in self.fault.needs else self.dp_size
        return int(self.rng("target").integers(0, count))


def names(case: Case, stream: str, prefix: str, count: int) -> list[str]:
    """Made-up names that tell nothing."""
    rng = case.rng(f"names:{stream}")
    return [f"{prefix}-{int(v):05x}" for v in rng.choice(2**20, size=count, replace=False)]
