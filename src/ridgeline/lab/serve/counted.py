"""What a live server has counted: the recorded lab's own tallies, folded in as things happen."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.lab.case import Case
from ridgeline.lab.counters import count_ranks, count_requests, count_steps
from ridgeline.lab.emit import sglang_metrics
from ridgeline.lab.emit.exposition import Histogram
from ridgeline.lab.emit.model import Request
from ridgeline.lab.emit.sglang_metrics import Counted
from ridgeline.lab.faults import fault_of
from ridgeline.lab.serve.hosts import Host
from ridgeline.lab.shown import Seen
from ridgeline.lab.tally import Key, Tally
from ridgeline.scenario.model import PS
from ridgeline.sim.engine import params as p

KNOWN: Final = frozenset(name for name, *_ in sglang_metrics.HISTOGRAMS)
AT_RECEIPT: Final = "http_requests"
"""Counted when a request comes in, not when it ends: a server that hangs still takes requests."""


@dataclass(frozen=True)
class LiveCase(Case):
    """A healthy case whose virtual time zero is the moment the process started."""

    started_ts: float = 0.0

    @property
    def base_ts(self) -> float:
        """Wall seconds of virtual time zero."""
        return self.started_ts


def live_case(version: str, ranks: int, pd: bool, started_ts: float) -> LiveCase:
    """The case the tallies are told of."""
    fault = fault_of("healthy/steady")
    assert fault is not None
    return LiveCase(fault, 1, version, "small", 1.0, ranks, pd, 1, 1.0, healthy=True, started_ts=started_ts)


Part = tuple[Callable[[Tally, Case, Seen], None], Seen, int | None]
"""What counts, what it is told of, and the rank whose steps these are."""


@dataclass
class Counts:
    """Running totals of one server.

    ``ended`` and ``rows`` are what has not been cut into ``parts`` yet, ``parts`` what has not been added yet.
    """

    host: Host
    case: LiveCase
    counters: dict[Key, float] = field(default_factory=dict)
    histograms: dict[Key, Histogram] = field(default_factory=dict)
    ended: list[Request] = field(default_factory=list)
    rows: list[NDArray[Any]] = field(default_factory=list)
    last_step_s: dict[int, float] = field(default_factory=dict)
    parts: deque[Part] = field(default_factory=deque)

    def received(self, endpoint: str) -> None:
        """A request has come in."""
        key: Key = (AT_RECEIPT, None, (("endpoint", endpoint), ("method", "POST")))
        self.counters[key] = self.counters.get(key, 0.0) + 1

    def begin(self) -> None:
        """Cut what happened since the last call into parts of a millisecond: tokens do not wait for a whole fold."""
        if not self.ended and not self.rows:
            return
        ended, rows = self.ended, np.concatenate(self.rows) if self.rows else np.zeros(0, [("rank", "i4")])
        self.ended, self.rows = [], []
        size, first = self.host.server.dp_size, self.host.first_rank
        nothing = rows[:0]
        for counting in (count_requests, count_ranks):
            if ended:
                self.parts.append((counting, self.seen(ended, []), None))
        for rank in range(size):
            own = rows[rows["rank"] == first + rank]
            if len(own):
                mine = [r for r in ended if (r.rank or 0) == rank]
                spread = [own if k == rank else nothing for k in range(size)]
                self.parts.append((count_steps, self.seen(mine, spread), rank))

    def seen(self, ended: list[Request], rows: list[NDArray[Any]]) -> Seen:
        """What the tallies are told of."""
        return Seen(self.host.server, 0.0, np.inf, ended, [], rows, [], [], None)

    def part(self) -> None:
        """Add the oldest part to the totals."""
        counting, seen, rank = self.parts.popleft()
        tally = Tally()
        counting(tally, self.case, seen)
        if rank is not None:
            # the tally starts anew with each part: gaps between steps reach across them
            tally.values.pop(("itl", None, ()), None)
            self.gaps(tally, rank, seen.rows[rank])
        tally.values = {key: found for key, found in tally.values.items() if key[0] in KNOWN}
        new = tally.upto([np.inf], lambda name: sglang_metrics.bounds_of(self.host.server, name), [()])[0]
        for key, value in new.counters.items():
            if key[0] != AT_RECEIPT:
                self.counters[key] = self.counters.get(key, 0.0) + value
        for name, more in new.histograms.items():
            self.histograms[name] = sglang_metrics.merged(self.histograms.get(name), more)

    def gaps(self, tally: Tally, rank: int, rows: NDArray[Any]) -> None:
        """Inter-token gaps of one rank: between the ends of successive steps that gave tokens to running requests."""
        steps = rows[rows["kind"] == p.LOG_DECODE] if len(rows) else rows
        if not len(steps):
            return
        ends = steps["t"] / PS
        before = self.last_step_s.get(rank, float(ends[0]))
        gap = np.diff(ends, prepend=before)
        # a step after idleness begins a stream rather than continuing one
        began = np.concatenate([[rank not in self.last_step_s], steps["v9"][:-1] == 0])
        tally.observe("itl", None, ends, np.where(began, np.nan, gap), steps["v0"])
        self.last_step_s[rank] = float(ends[-1])
        if steps["v9"][-1] == 0:
            del self.last_step_s[rank]

    async def fold(self) -> None:
        """Add everything up to this moment to the totals, letting others run between the parts."""
        self.begin()
        while self.parts:
            self.part()
            await asyncio.sleep(0)

    def counted(self, gauges: tuple[dict[str, float], ...]) -> Counted:
        """The totals as of the last fold, with the gauges of this moment."""
        return Counted(gauges, dict(self.counters), dict(self.histograms))
