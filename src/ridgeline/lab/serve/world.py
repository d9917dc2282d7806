"""The modelled service in real time: what clients ask goes in, tokens come out when the engine's clock says so.

`World.step` is push, advance, drain: everything before the present moment becomes final, and each open request is told
how many tokens it has. Virtual time is the process's monotonic clock since the start.
"""

import asyncio
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.lab.serve.asked import Asked
from ridgeline.lab.serve.text import natural_length, start_of
from ridgeline.scenario.model import PS, Scenario, make
from ridgeline.sim.engine import params as p
from ridgeline.sim.service import Service
from ridgeline.sim.settings import Settings
from ridgeline.sim.tables import Perturbation
from ridgeline.sim.timing import TimeModel

BLOCK: Final = 16
"""Tokens of one segment of prefix identity."""
SWITCHES: Final = 64
"""Perturbations that may be on at once."""
NEVER: Final = p.FOREVER - 1


@dataclass
class Handle:
    """An open request.

    ``out``: tokens it will have; ``start``: where in `words` its answer begins; ``tokens``: out so far;
    ``due_ps``: when the newest was ready; ``row``: in the engine.
    """

    asked: Asked
    out: int
    start: int = 0
    row: int = -1
    tokens: int = 0
    due_ps: int = 0
    outcome: int = p.OPEN
    cancelled: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def done(self) -> bool:
        """Nothing more will come."""
        return self.outcome != p.OPEN


@dataclass(frozen=True)
class Closed:
    """A request that ended on one server, with a copy of its engine row there.

    ``side``: 0, or of a pair 0 where it was the prefill server and 1 where it was the decode server.
    """

    handle: Handle
    side: int
    row: Any


def segments_of(prompt: tuple[int, ...], space: int) -> tuple[list[int], list[int]]:
    """Ids and lengths of a prompt's segments: chained over blocks, so equal ids mean equal prefixes."""
    data = np.asarray(prompt, np.int64).tobytes()
    ids, lengths, chain = [], [], zlib.crc32(space.to_bytes(4, "little"))
    for at in range(0, len(prompt), BLOCK):
        chain = zlib.crc32(data[8 * at : 8 * (at + BLOCK)], chain)
        ids.append(1 + chain % (2**31 - 2))
        lengths.append(min(BLOCK, len(prompt) - at))
    return ids, lengths


class World:
    """The service, its open requests, and its clock."""

    def __init__(self, settings: Settings, model: TimeModel, seed: int = 0) -> None:
        """Nothing has arrived; time begins now."""
        spare = [Perturbation("step_base", NEVER - 1, NEVER, 1000, 0, 0, -1) for _ in range(SWITCHES)]
        self.service = Service(settings, model, spare, seed, None, logging=True, room=1024)
        self.settings = settings
        self.seed = seed
        self.each = self.service.each
        self.started_s = time.monotonic()
        self.started_ts = time.time()
        self.live: dict[int, Handle] = {}
        self.prefilling: dict[int, Handle] = {}  # of a pair: what its prefill server has not let go of
        self.waiting: list[Handle] = []
        self.space = 0
        self.keys: dict[str, int] = {}
        self.schemas: set[str] = set()

    def now_s(self) -> float:
        """Virtual seconds."""
        return time.monotonic() - self.started_s

    def wall(self, virtual_s: float) -> float:
        """Wall seconds of a virtual moment."""
        return self.started_ts + virtual_s

    @property
    def open_requests(self) -> int:
        """Requests that have not ended."""
        return len(self.live) + len(self.waiting)

    def submit(self, asked: Asked) -> Handle:
        """Take a request in; it arrives at the moment it was received."""
        natural = natural_length(asked.prompt, self.seed, asked.choice)
        limit = asked.max_new_tokens or max(1, self.settings.context_length - len(asked.prompt) - 1)
        start = start_of(asked.prompt, self.seed, asked.choice)
        handle = Handle(asked, limit if asked.ignore_eos else min(natural, limit), start)
        self.waiting.append(handle)
        return handle

    def cancel(self, handle: Handle) -> None:
        """The client has gone: the request ends at the next boundary of its rank."""
        handle.cancelled = True
        if handle.done:
            return
        if handle.row < 0:
            self.waiting.remove(handle)
            handle.outcome = p.CANCELLED
            handle.news.set()
            return
        at = max(self.service.now_ps, 1)
        rows = self.service.state.req
        for row in range(handle.row - handle.row % self.each, handle.row - handle.row % self.each + self.each):
            rows[row].cancel = at
            self.nudge(int(rows[row].rank), at, "next_cancel")

    def nudge(self, rank: int, at_ps: int, what: str) -> None:
        """Let a rank look again at ``at_ps``: it may be idle or held."""
        if rank < 0:
            return
        rk = self.service.state.rank[rank]
        rk[what] = min(int(rk[what]), at_ps)
        if rk.kind == 0 and not rk.halted:
            rk.now = min(int(rk.now), at_ps)

    def scenario(self, handles: list[Handle]) -> Scenario:
        """The engine's view of requests that arrive now, in order of arrival."""
        ids: list[int] = []
        lengths: list[int] = []
        offsets = [0]
        floor = self.service.now_ps
        columns: dict[str, list[int]] = {name: [] for name in (
            "arrival_ps", "input_tokens", "output_tokens", "max_new_tokens", "routing_key", "dp_rank", "priority",
            "ignore_eos", "grammar_us")}  # fmt: skip
        for handle in handles:
            a = handle.asked
            floor = max(floor, round(a.received_s * PS))
            limit = a.max_new_tokens or max(handle.out, self.settings.context_length - len(a.prompt) - 1)
            key = self.keys.setdefault(a.routing_key, 1 + len(self.keys)) if a.routing_key else 0
            fresh = a.schema is not None and a.schema not in self.schemas
            if a.schema is not None:
                self.schemas.add(a.schema)
            rank = a.asked_rank if a.asked_rank is not None and 0 <= a.asked_rank < self.settings.dp_size else -1
            values = (floor, len(a.prompt), handle.out, min(limit, 2**29), key, rank, a.priority or 0,
                      int(a.ignore_eos), 40_000 if fresh else 1000 if a.schema else 0)  # fmt: skip
            for name, value in zip(columns, values, strict=True):
                columns[name].append(value)
            found = segments_of(a.prompt, self.space)
            ids += found[0]
            lengths += found[1]
            offsets.append(len(ids))
        parts = (np.asarray(offsets), np.asarray(ids, np.int64), np.asarray(lengths, np.int64))
        return make({name: np.asarray(values, np.int64) for name, values in columns.items()}, parts, "live")

    def step(self) -> tuple[list[Handle], list[Closed], NDArray[Any]]:
        """Everything up to now becomes final: who has news, who ended, and the engine's log rows since."""
        now = max(round(self.now_s() * PS), self.service.now_ps)
        if self.waiting:
            taken, self.waiting = self.waiting, []
            taken.sort(key=lambda h: h.asked.received_s)
            row = self.service.pushed * self.each
            self.service.push(self.scenario(taken))
            for k, handle in enumerate(taken):
                handle.row = row + k * self.each + self.each - 1
                self.live[handle.row] = handle
                if self.each == 2:
                    self.prefilling[handle.row - 1] = handle
        self.service.advance(now)
        log = self.service.drain_log()
        return (*self.news(), log)

    def news(self) -> tuple[list[Handle], list[Closed]]:
        """Tell every open request how many tokens it has."""
        gone = self.let_go()
        if not self.live:
            return [], gone
        st = self.service.state
        index = np.fromiter(self.live, np.int64, len(self.live))
        x = np.asarray(self.service.requests())[index]
        rank = np.maximum(x["rank"], 0)
        ranks = np.asarray(st.rank)
        flying = ranks["kind"] != 0
        steps = np.where(flying, ranks["prev_steps"], ranks["steps"])
        went = np.clip(steps[rank] - x["s0"], 0, np.maximum(x["out"] - x["g0"], 0))
        got = np.where(x["state"] == p.RUNNING, x["g0"] + went, x["gen"])
        finished = x["outcome"] == p.FINISHED
        got = np.where(finished, x["out"], got)
        due = np.where(finished, x["finish"], np.where(got == 1, x["first"], ranks["began"][rank]))
        had = np.fromiter((h.tokens for h in self.live.values()), np.int64, len(self.live))
        told: list[Handle] = []
        closed: list[Closed] = gone
        for k in np.flatnonzero((got > had) | (x["outcome"] != p.OPEN)).tolist():
            handle = self.live[int(index[k])]
            handle.tokens = max(handle.tokens, int(got[k]))
            handle.due_ps = int(due[k])
            handle.outcome = int(x["outcome"][k])
            told.append(handle)
            if handle.done:
                closed.append(Closed(handle, self.each - 1, x[k]))
                del self.live[int(index[k])]
            handle.news.set()
        return told, closed

    def let_go(self) -> list[Closed]:
        """What the prefill server of a pair has ended: it keeps a request until the transfer is over, and no longer."""
        if not self.prefilling:
            return []
        index = np.fromiter(self.prefilling, np.int64, len(self.prefilling))
        x = np.asarray(self.service.requests())[index]
        over = np.flatnonzero(x["outcome"] != p.OPEN).tolist()
        return [Closed(self.prefilling.pop(int(index[k])), 0, x[k]) for k in over]

    def set_perturbations(self, slots: Iterable[tuple[int, tuple[int, ...]]]) -> None:
        """Write perturbation rows (from, to, code, rank, class, times per mille, plus) into the given slots."""
        st = self.service.state
        base = int(st.g[p.G_PERTURB])
        at = self.service.now_ps
        for slot, row in slots:
            st.param[base + slot, :7] = row
        for rank in range(int(st.g[p.G_RANKS])):
            self.nudge(rank, at, "next_perturb")
