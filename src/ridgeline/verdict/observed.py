"""One side's scraped histograms and counters as increments between scrapes, resets survived.

A counter that fell began anew (a restart): what it then shows is what came after. Each series (server, rank, label
set) is differenced on its own and only increments are added up, so that two servers never cancel out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.bundle.view import View
from ridgeline.model.diagnosis import Window
from ridgeline.stats.buckets import Histogram, delta, histogram

Floats = NDArray[np.float64]

MOST: Final = 400  # scrapes of one series that are differenced; thinning loses no observation, only moments
# What is asked → the names the engines give it; the first that both sides have is used.
HISTOGRAMS: Final[dict[str, tuple[str, ...]]] = {
    "ttft_s": ("time_to_first_token_seconds",),
    "queue_s": ("queue_time_seconds", "request_queue_time_seconds"),
    "tpot_s": ("request_time_per_output_token_seconds", "inter_token_latency_seconds"),
    "e2e_s": ("e2e_request_latency_seconds",),
    "prompt_tokens": ("prompt_tokens_histogram", "request_prompt_tokens"),
    "completion_tokens": ("generation_tokens_histogram", "request_generation_tokens"),
}
SCRAPES: Final = """
SELECT h.series, h.ts, h.le, h.cumulative, h.sum
FROM histograms h JOIN series s USING (series)
WHERE s.name = $name AND s.kind IS DISTINCT FROM 'gaugehistogram' AND len(h.le) > 0 AND h.ts IS NOT NULL
    AND coalesce(s.labels ->> 'priority', '') = ''
    AND ($since::DOUBLE IS NULL OR h.ts >= $since) AND ($until::DOUBLE IS NULL OR h.ts <= $until)
ORDER BY h.series, h.ts, h.line
"""
SAMPLES: Final = """
SELECT m.series, m.ts, m.value
FROM samples m JOIN series s USING (series)
WHERE s.name = $name AND m.ts IS NOT NULL AND NOT isnan(m.value) AND coalesce(s.labels ->> 'priority', '') = ''
    AND ($label = '' OR coalesce(s.labels ->> $label, '') IN (SELECT unnest($values::VARCHAR[])))
    AND ($since::DOUBLE IS NULL OR m.ts >= $since) AND ($until::DOUBLE IS NULL OR m.ts <= $until)
ORDER BY m.series, m.ts, m.line
"""
NAMES: Final = "SELECT DISTINCT name FROM series"


@dataclass(frozen=True)
class Observed:
    """What one family of histograms observed, in steps: `at` is the later scrape of each step, in order."""

    name: str
    at: Floats
    steps: tuple[Histogram, ...]
    resets: int

    @property
    def n(self) -> int:
        """How many values were observed."""
        return round(sum(step.count for step in self.steps))


@dataclass(frozen=True)
class Counted:
    """Increments of one or more counters: `at` is the later sample of each step, in order."""

    at: Floats
    by: Floats
    resets: int

    @property
    def total(self) -> float:
        """The sum of all increments."""
        return float(self.by.sum())


def names_of(view: View) -> set[str]:
    """Canonical names of every series a side has."""
    return {str(name) for (name,) in view.query(NAMES)}


def observed_of(view: View, name: str, window: Window | None) -> Observed | None:
    """The steps of every series of one histogram; None where no series was scraped twice."""
    rows = view.query(SCRAPES, {"name": name, **_bounds(window)})
    steps: list[tuple[float, Histogram]] = []
    resets = 0
    for _, group in groupby(rows, key=lambda row: row[0]):
        scrapes = list(group)
        stride = max(1, len(scrapes) // MOST)
        kept = [*scrapes[:-1:stride], scrapes[-1]]
        parts: list[tuple[float, Histogram]] = []
        for _series, ts, le, cumulative, total in kept:
            try:
                parts.append((ts, histogram(le, cumulative, total)))
            except ValueError:
                continue  # a torn scrape: the next one holds its observations too
        for (_, earlier), (ts, later) in pairwise(parts):
            step = delta(earlier, later)
            resets += step.reset
            if step.histogram.count > 0:
                steps.append((ts, step.histogram))
    if not steps:
        return None
    steps.sort(key=lambda step: step[0])
    return Observed(name, np.array([ts for ts, _ in steps]), tuple(h for _, h in steps), resets)


def counted_of(
    view: View, names: Sequence[str], window: Window | None, label: str = "", values: Sequence[str] = ()
) -> Counted | None:
    """Increments of counters of those names, where given only of `label` among `values`; None without two samples."""
    at: list[float] = []
    by: list[float] = []
    resets = 0
    known = False
    for name in names:
        rows = view.query(SAMPLES, {"name": name, "label": label, "values": list(values), **_bounds(window)})
        for _, group in groupby(rows, key=lambda row: row[0]):
            for (_, _, before), (_, ts, after) in pairwise(group):
                known = True
                resets += after < before
                at.append(ts)
                by.append(after if after < before else after - before)
    if not known:
        return None
    order = np.argsort(at, kind="stable")
    return Counted(np.array(at)[order], np.array(by)[order], resets)


def _bounds(window: Window | None) -> dict[str, float | None]:
    return {"since": window.from_ts if window else None, "until": window.to_ts if window else None}
