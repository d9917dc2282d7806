"""A prefix cache of limited size on every rank, least recently used first, simulated page by page.

A page is evicted only after all pages behind it: a prefix is touched whenever what follows it is, and counts as
touched later, so the least recent page is always the end of a branch. Pages that every prompt holds together are moved
together (a *run*), which changes nothing and makes pages of one token affordable.
"""

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from ridgeline.prefix.prompts import I64
from ridgeline.prefix.reach import U64, Steps


@dataclass(frozen=True)
class Runs:
    """The prefixes of each prompt as runs of pages: prompt i has runs number[offsets[i]:offsets[i + 1]]."""

    offsets: list[int]
    number: list[int]
    pages: list[int]


def runs(steps: Steps, salt: U64) -> Runs:
    """Prefixes → runs. Two neighbouring pages are one run where equally many prompts hold them."""
    _, number, held = np.unique(steps.hashes ^ salt[steps.row], return_inverse=True, return_counts=True)
    count = held[number]
    new = np.ones(len(number), np.bool_)
    new[1:] = (steps.row[1:] != steps.row[:-1]) | (count[1:] != count[:-1])
    at = np.flatnonzero(new)
    offsets = np.searchsorted(steps.row[at], np.arange(len(steps.counts) + 1))
    return Runs(offsets.tolist(), number[at].tolist(), np.diff(np.append(at, len(number))).tolist())


class Cache:
    """One rank's cache of `capacity` pages."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.used = 0
        self.held: OrderedDict[int, int] = OrderedDict()  # run → pages of it that are here, least recent first

    def match(self, number: list[int], pages: list[int]) -> int:
        """Pages of a prompt that are here, from its start."""
        matched = 0
        for run, size in zip(number, pages, strict=True):
            here = self.held.get(run, 0)
            matched += here
            if here < size:
                break
        return matched

    def admit(self, number: list[int], pages: list[int]) -> None:
        """Hold a prompt's pages, the longest-unused others making room; of one larger than the cache, its head."""
        held = self.held
        for run, size in zip(reversed(number), reversed(pages), strict=True):
            self.used += size - held.get(run, 0)
            held[run] = size
            held.move_to_end(run)
        while self.used > self.capacity:
            run, here = next(iter(held.items()))
            gone = min(here, self.used - self.capacity)
            self.used -= gone
            if gone == here:
                del held[run]
            else:
                held[run] = here - gone


def simulate(of: Runs, place: I64, capacity: list[int], behind: I64) -> tuple[I64, I64]:
    """([n] pages found on the prompt's own rank, [n] pages found on the best rank) at the moment each prompt comes.

    `capacity` is in pages, one for each place; `behind` [n] are pages that come behind the prompt (its output), take
    their room from the start and are of use to nobody. A prompt is there for the next one at once: requests that
    overlap in time share from the first on.
    """
    caches = [Cache(size) for size in capacity]
    n = len(of.offsets) - 1
    own = np.zeros(n, np.int64)
    best = np.zeros(n, np.int64)
    for i, (rank, more) in enumerate(zip(place.tolist(), behind.tolist(), strict=True)):
        lo, hi = of.offsets[i], of.offsets[i + 1]
        number, pages = of.number[lo:hi], of.pages[lo:hi]
        own[i] = caches[rank].match(number, pages)
        best[i] = max(own[i], *(c.match(number, pages) for c in caches)) if len(caches) > 1 else own[i]
        caches[rank].admit([*number, -1 - i] if more else number, [*pages, more] if more else pages)
    return own, best
