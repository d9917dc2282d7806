"""When to ask next: a steady clock on monotonic time, slower where an endpoint is slow.

Ticks are multiples of the interval from one start, so that nothing drifts; a tick that is missed is skipped and
counted. An answer that takes more than `SHARE` of the interval doubles it, so that looking never becomes load; quick
answers bring it back. It takes `PATIENCE` of either kind in a row: one slow answer may be our own fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SHARE: Final = 0.10
CALM: Final = 0.02  # an answer quicker than this share of the original interval lets it shrink again
SLOWEST_S: Final = 60.0
PATIENCE: Final = 3


@dataclass
class Pace:
    """The clock of one endpoint. `every_s` is what was asked for, `now_s` what is kept."""

    every_s: float
    start: float
    now_s: float = 0.0
    skipped: int = 0
    calm: int = 0
    slow: int = 0

    def __post_init__(self) -> None:
        self.now_s = self.every_s
        self.next = self.start

    def advance(self, now: float, took_s: float) -> str | None:
        """Set the next tick after an answer; one line where the interval changed."""
        before = self.now_s
        slowest = max(SLOWEST_S, self.every_s)
        self.slow = self.slow + 1 if took_s > SHARE * self.now_s else 0
        self.calm = self.calm + 1 if took_s < CALM * self.every_s else 0
        if (self.slow >= PATIENCE or took_s > self.now_s) and self.now_s < slowest:
            self.now_s, self.slow = min(2 * self.now_s, slowest), 0
        elif self.calm >= PATIENCE and self.now_s > self.every_s:
            self.now_s, self.calm = max(self.now_s / 2, self.every_s), 0
        due = self.next + self.now_s
        if due < now:
            missed = int((now - due) / self.now_s) + 1
            self.skipped += missed
            due += missed * self.now_s
        self.next = due
        if before == self.now_s:
            return None
        return f"answers in {took_s:.2f} s: asked every {self.now_s:g} s" + (
            " now" if self.now_s > before else " again"
        )
