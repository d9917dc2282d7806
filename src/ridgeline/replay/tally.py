"""What a run came to: how late the sends were, how many ended how, and the spans' quantiles."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from ridgeline.replay.shot import Outcome, Shot
from ridgeline.stats.intervals import quantile

QUANTILES: Final = (0.5, 0.9, 0.99)
SENTENCES: Final = 5
"""Different error messages that are shown."""
LATE_S: Final = 0.05
"""A p99 of the sends' lateness beyond this: the player was the bottleneck."""


@dataclass
class Tally:
    """Outcomes by place in the load, without their texts, and all gaps."""

    total: int
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    gaps: array[float] = field(default_factory=lambda: array("d"))

    def add(self, at: int, outcome: Outcome) -> None:
        """Keep one outcome."""
        self.gaps.extend(outcome.gaps_s)
        self.outcomes[at] = replace(outcome, text=None, output_ids=None, gaps_s=())

    @property
    def late_s(self) -> list[float]:
        """By how much each send missed its time, either way."""
        return [abs(o.sent_ts - o.planned_ts) for o in self.outcomes.values() if o.sent_ts and o.planned_ts]

    @property
    def failures(self) -> Counter[str]:
        """Error classes and how many requests had them; those we cut ourselves are not among them."""
        return Counter(
            o.error_class for o in self.outcomes.values() if o.error_class is not None and o.failure != "cancelled"
        )

    def messages(self) -> list[tuple[str, int]]:
        """The most frequent messages of failures."""
        said = Counter(o.message for o in self.outcomes.values() if o.message and o.failure != "cancelled")
        return sorted(said.items(), key=lambda item: (-item[1], item[0]))[:SENTENCES]

    def summary(self) -> dict[str, Any]:
        """Counts and quantiles; None where nothing was measured."""
        done = list(self.outcomes.values())
        began = [o.sent_ts for o in done if o.sent_ts is not None]
        ended = [o.end_ts for o in done if o.end_ts is not None]
        return {
            "requests": self.total,
            "sent": len(done),
            "fine": sum(o.fine for o in done),
            "cut_by_us": sum(o.failure == "cancelled" for o in done),
            "errors": dict(sorted(self.failures.items())),
            "finish_reasons": dict(sorted(Counter(o.finish_reason or "none" for o in done).items())),
            "took_s": round(max(ended) - min(began), 6) if began and ended else None,
            "send_drift_s": spread(self.late_s, with_max=True),
            "ttft_s": spread([o.ttft_s for o in done if o.ttft_s is not None]),
            "itl_s": spread(self.gaps),
            "e2e_s": spread([o.e2e_s for o in done if o.fine and o.e2e_s is not None]),
            "completion_tokens": sum(o.completion_tokens or 0 for o in done) if done else None,
        }


def spread(values: Sequence[float] | array[float], with_max: bool = True) -> dict[str, float | int] | None:
    """Quantiles and count; None where there is no value."""
    if not values:
        return None
    found = np.asarray(values, np.float64)
    out: dict[str, float | int] = {f"p{round(100 * q)}": round(quantile(found, q) or 0.0, 6) for q in QUANTILES}
    if with_max:
        out["max"] = round(float(found.max()), 6)
    return {**out, "n": len(values)}


def unsent(shots: Sequence[Shot], tally: Tally) -> int:
    """How many were not sent at all (the run was interrupted)."""
    return len(shots) - len(tally.outcomes)
