"""Which earlier prompt a prompt resembles: by sampled windows of its content, wherever in the prompt they stand."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from ridgeline.signals.prompt.hashes import I64, mixed

WINDOW_STEPS: Final = 3  # windows of 2^3 units
SPAN: Final = 8192  # windows are taken from so many units at the head
WANTED: Final = 24  # windows of one prompt, about
MOST: Final = 96  # and never more, however a prompt repeats itself
VOTES: Final = 2
LIMIT: Final = 1_000_000  # windows remembered


def windows(units: I64, lengths: I64) -> list[list[int]]:
    """For each of the prompts laid end to end, the hashes of some of its windows of 8 units.

    A window is taken where its hash lies below a bound that depends on the prompt's length alone, so that the same
    content is sampled alike wherever it stands (content-defined sampling, as in min-wise hashing).
    """
    size = 1 << WINDOW_STEPS
    total = len(units)
    out: list[list[int]] = [[] for _ in range(len(lengths))]
    if total < size:
        return out
    sums = mixed(units)
    for step in range(WINDOW_STEPS):
        shift = 1 << step
        sums = sums[:-shift] * np.uint64(0x9E3779B97F4A7C15) + sums[shift:]
    found = mixed(sums)
    starts = np.cumsum(lengths) - lengths
    row = np.repeat(np.arange(len(lengths)), lengths)[: len(found)]
    at = np.arange(len(found)) - starts[row]
    reach = np.minimum(lengths, SPAN)
    bound = (2.0**64 * np.minimum(1.0, WANTED / np.maximum(reach, 1))).clip(0, 2.0**64 - 2048).astype(np.uint64)
    keep = (at + size <= reach[row]) & (found <= bound[row])
    keep[1:] &= found[1:] != found[:-1]  # text that repeats one character has one window
    mine, values = row[keep], found[keep]
    first = np.searchsorted(mine, np.arange(len(lengths)))
    few = np.arange(len(mine)) - first[mine] < MOST
    for i, value in zip(mine[few].tolist(), values[few].tolist(), strict=True):
        out[i].append(value)
    return out


@dataclass
class Anchors:
    """The last prompt that held each window. Bounded: past `LIMIT` windows it starts anew."""

    last: dict[int, int] = field(default_factory=dict)

    def nearest(self, found: list[int]) -> int | None:
        """The number of the prompt that shares most of these windows, the latest of equals."""
        votes = Counter(self.last[value] for value in found if value in self.last)
        if not votes:
            return None
        number, count = max(votes.items(), key=lambda item: (item[1], item[0]))
        return number if count >= min(VOTES, len(found)) else None

    def add(self, number: int, found: list[int]) -> None:
        """Remember a prompt's windows."""
        if len(self.last) > LIMIT:
            self.last.clear()
        for value in found:
            self.last[value] = number
