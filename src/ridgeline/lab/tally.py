"""Counters and histograms over time: things that happened, summed up to any list of moments."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.lab.emit.exposition import Histogram
from ridgeline.lab.emit.sglang_metrics import Counted, Dims

Key = tuple[str, int | None, Dims]
Column = NDArray[Any]


class Tally:
    """Everything one server counts, with the time of each count (virtual seconds)."""

    def __init__(self) -> None:
        self.counts: dict[Key, list[tuple[Column, Column]]] = {}
        self.values: dict[Key, list[tuple[Column, Column, Column]]] = {}

    def count(self, concept: str, rank: int | None, t: Any, weight: Any = 1.0, dims: Dims = ()) -> None:
        """Add ``weight`` at each of ``t``; NaN times never happen."""
        at = np.atleast_1d(np.asarray(t, np.float64))
        by = np.broadcast_to(np.asarray(weight, np.float64), at.shape)
        keep = ~np.isnan(at)
        self.counts.setdefault((concept, rank, dims), []).append((at[keep], by[keep]))

    def observe(self, concept: str, rank: int | None, t: Any, value: Any, weight: Any = 1.0, dims: Dims = ()) -> None:
        """Observe ``value`` at each of ``t``, ``weight`` times; NaN times or values never happen."""
        at = np.atleast_1d(np.asarray(t, np.float64))
        seen = np.broadcast_to(np.asarray(value, np.float64), at.shape)
        by = np.broadcast_to(np.asarray(weight, np.float64), at.shape)
        keep = ~np.isnan(at) & ~np.isnan(seen) & (by > 0)
        self.values.setdefault((concept, rank, dims), []).append((at[keep], seen[keep], by[keep]))

    def upto(
        self,
        times: Sequence[float],
        bounds_of: Callable[[str], tuple[float, ...]],
        gauges: Sequence[tuple[dict[str, float], ...]],
    ) -> list[Counted]:
        """What had been counted by each of ``times`` (ascending), with the gauges given for them."""
        when = np.asarray(times, np.float64)
        counters: dict[Key, Column] = {}
        for key, parts in self.counts.items():
            t = np.concatenate([a for a, _ in parts])
            w = np.concatenate([b for _, b in parts])
            slot = np.searchsorted(when, t, "left")
            sums = np.zeros(len(when) + 1)
            np.add.at(sums, slot, w)
            counters[key] = np.cumsum(sums)[: len(when)]
        histograms: dict[Key, tuple[Column, Column]] = {}
        for key, seen in self.values.items():
            bounds = np.asarray(bounds_of(key[0]), np.float64)
            t = np.concatenate([a for a, _, _ in seen])
            v = np.concatenate([b for _, b, _ in seen])
            w = np.concatenate([c for _, _, c in seen])
            slot = np.searchsorted(when, t, "left")
            counts = np.zeros((len(when) + 1, len(bounds) + 1))
            np.add.at(counts, (slot, np.searchsorted(bounds, v, "left")), w)
            totals = np.zeros(len(when) + 1)
            np.add.at(totals, slot, v * w)
            histograms[key] = (np.cumsum(counts, axis=0), np.cumsum(totals))
        return [
            Counted(
                tuple(gauges[k]),
                {key: float(values[k]) for key, values in counters.items()},
                {
                    key: Histogram(tuple(int(n) for n in counts[k]), round(float(totals[k]), 9))
                    for key, (counts, totals) in histograms.items()
                },
            )
            for k in range(len(when))
        ]
