"""The run's clock: monotonic, anchored once to the wall, so that a clock set during the run moves no figure."""

import time
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Clock:
    """`wall(t)` is the epoch second of a reading `t` of `time.monotonic()`."""

    anchor: float = field(default_factory=lambda: time.time() - time.monotonic())

    def wall(self, at_s: float) -> float:
        """Epoch seconds."""
        return self.anchor + at_s
