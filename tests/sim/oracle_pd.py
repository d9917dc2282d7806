"""Prefill and decode apart, in plain Python (SIGNALS §9): two kinds of rank, one link per prefill worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.sim.oracle_admit import admit, launch
from tests.sim.oracle_rank import Rank
from tests.sim.oracle_service import Oracle
from tests.sim.oracle_types import FOREVER, Cfg, Req, oracle_draw


class Pair:
    """What both sides share: ranks and links."""

    def __init__(self) -> None:
        self.ranks: list[Any] = []
        self.link_free: dict[int, int] = {}

    def wake(self, r: int, t: int) -> None:
        rank = self.ranks[r]
        rank.next_ready = min(rank.next_ready, t)
        if rank.kind == 0 and not rank.hold and not rank.halted:
            rank.now = min(rank.now, t)

    def send(self, rank: Any, q: Req, t: int, tokens: int, last: bool) -> None:
        assert q.peer is not None
        free = max(self.link_free.get(q.worker, 0), t) + tokens * rank.value("link_token", t)
        self.link_free[q.worker] = free
        done = free + rank.value("link_latency", t)
        if not last:
            return
        if oracle_draw(rank.p["seed"], 303, q.id, 0) % 1000 < rank.value("link_fail", t):
            q.fault = q.peer.fault = True
        q.answer = q.peer.answer = done
        self.wake(q.rank, done)
        if q.peer.rank >= 0:
            self.wake(q.peer.rank, done)

    def end(self, rank: Any, q: Req, t: int, outcome: str) -> None:
        rank.end(q, t, outcome)
        if q.peer is not None and q.peer.outcome == "open":
            q.peer.fault = True
            q.peer.answer = t
            if q.peer.rank >= 0:
                self.wake(q.peer.rank, t)


class Side(Rank):
    pair: Pair
    next_ready = FOREVER

    def start(self, t: int) -> bool:
        self.look(t)
        self.complete(t)
        if any(e <= t for e in self.edges):
            self.edges = [e for e in self.edges if e > t]
            self.seen = t
            self.perturb(t)
        if self.halted or self.value("hang", t):
            self.hold = not self.halted
            self.now = min(self.edges, default=FOREVER)
            return False
        self.hold = False
        self.receive(t)
        return True

    def rest(self, t: int, times: Sequence[int]) -> None:
        self.ratio = self.p["ratio_init"]
        self.full = False
        self.dur = 0
        events = [e for e in times if e > t] + [q.ready for q in self.box[:1]]
        events += [q.ready for q in self.grammars]
        self.now = min([*events, *self.edges], default=FOREVER)


class PrefillRank(Side):
    def __init__(self, index: int, cfg: Cfg) -> None:
        super().__init__(index, cfg)
        self.boots: list[Req] = []
        self.flights: list[Req] = []

    def enqueue(self, q: Req, t: int) -> None:
        q.queued = q.entry = t
        q.aged = self.processed
        if self.p["late_alloc"]:
            q.answer = t + self.value("handshake", t)
        self.boots.append(q)

    def chunk_done(self, q: Req, t: int, last: bool) -> None:
        assert q.peer is not None
        if not self.p["late_alloc"]:
            tokens, q.sent = q.kv - q.sent, q.kv
            if not q.fault:
                self.pair.send(self, q, t, tokens, last)
        elif last and not q.fault:
            q.peer.prefill_done = True
            if q.peer.rank >= 0:
                self.pair.wake(q.peer.rank, t)

    def complete(self, t: int) -> None:
        if self.kind == 1:
            for q in self.batch:
                q.kv += q.extend
                last = q.kv == q.prompt
                self.keep_prefix(q, last)
                if not last:
                    self.chunk_done(q, t, False)
                    continue
                q.gen, q.first, q.last = 1, t, t
                self.full = False
                if q.fault:
                    self.release(q, True)
                    self.end(q, t, "failed")
                    continue
                q.entry, q.answer = t, FOREVER
                self.flights.append(q)
                self.chunk_done(q, t, True)
            self.batch = []
        self.kind = 0

    def boundary(self, t: int) -> None:
        if not self.start(t):
            return
        for q in [q for q in self.flights if q.answer <= t]:
            self.flights.remove(q)
            self.release(q, True)
            self.full = False
            self.end(q, t, "failed" if q.fault else "finished")
        limit = self.p["boot_timeout"]
        for q in list(self.boots):
            if q.fault:
                self.boots.remove(q)
                self.end(q, t, "failed")
            elif q.answer <= t and not self.value("boot_block", t):
                self.boots.remove(q)
                q.entry = t
                self.waiting.append(q)
            elif t >= q.entry + limit:
                self.boots.remove(q)
                self.pair.end(self, q, t, "timed-out")
        if admit(self, t):
            launch(self, t)
            self.now = t + self.dur
            return
        times = [q.answer for q in [*self.boots, *self.flights]] + [q.entry + limit for q in self.boots]
        self.rest(t, times)


class DecodeRank(Side):
    def __init__(self, index: int, cfg: Cfg) -> None:
        super().__init__(index, cfg)
        self.cache = False
        self.preallocs: list[Req] = []
        self.transfers: list[Req] = []
        self.retracted: list[Req] = []
        self.prebuilt = 0

    def enqueue(self, q: Req, t: int) -> None:
        q.queued = q.entry = t
        q.ready = t + self.value("handshake", t)
        self.preallocs.append(q)

    def receive(self, t: int) -> None:
        while self.box and self.box[0].ready <= t:
            q = self.box.pop(0)
            if q.prompt >= min(self.p["context"], self.pool):
                q.queued = t
                self.pair.end(self, q, t, "too-long")
            else:
                self.enqueue(q, t)

    def retract(self, t: int) -> None:
        before = list(self.waiting)
        super().retract(t)
        new = [q for q in self.waiting if q not in before]
        self.waiting = before
        self.retracted += new

    def need_of(self, q: Req) -> int:
        return self.ceil(q.prompt + q.gen - 1)

    def allocatable(self, with_retracted: bool) -> int:
        keep = self.p["reserved"]
        total = sum(q.prompt + q.gen for q in self.running)
        single = max((min(q.max_new, self.p["clip"]) + q.prompt - total for q in self.running), default=-FOREVER)
        promised = keep * (len(self.running) + len(self.transfers) + len(self.waiting))
        free = self.room() - max(promised, single) - keep * self.prebuilt
        if with_retracted:
            free -= sum(self.need_of(q) + keep for q in self.retracted)
        return free

    def poll(self, t: int) -> bool:
        freed = False
        keep = self.p["reserved"]
        free = self.allocatable(False)
        while self.retracted:
            q = self.retracted[0]
            need = self.need_of(q)
            if need + keep > free or need > self.room():
                break
            free -= need + keep
            self.retracted.pop(0)
            self.take(need)
            q.private, q.kv, q.ready, q.entry = need, q.prompt + q.gen - 1, t, t
            self.waiting.append(q)
        if not self.retracted:
            self.prealloc(t)
            for q in list(self.transfers):
                late = t >= q.entry + self.p["wait_timeout"]
                if q.answer <= t or late:
                    self.transfers.remove(q)
                    if q.fault or q.answer > t:
                        self.free += q.private
                        q.private = 0
                        freed = True
                        self.pair.end(self, q, t, "failed" if q.fault else "timed-out")
                    else:
                        q.gen, q.entry = 1, t
                        self.waiting.append(q)
        self.prebuilt = 0
        while self.waiting and len(self.running) < self.value("max_running", t):
            q = self.waiting.pop(0)
            if q.first == 0:
                q.first = q.last = t
            self.prebuilt += 1
            if q.gen >= q.out:
                self.release(q, True)
                self.end(q, t, "finished")
                freed = True
            else:
                q.joined, q.drafted, q.kv_joined, q.gen_joined = self.steps, 0, q.kv, q.gen
                self.running.append(q)
        return freed

    def prealloc(self, t: int) -> None:
        keep, clip = self.p["reserved"], self.p["clip"]
        free = self.allocatable(True)
        total = sum(q.prompt + q.gen for q in self.running)
        rows = self.value("max_running", t)
        rows = rows * 2 if rows <= 32 else rows
        for q in list(self.preallocs):
            assert q.peer is not None
            if q.fault:
                self.preallocs.remove(q)
                self.end(q, t, "failed")
                continue
            if q.ready > t or (self.p["late_alloc"] and not q.prefill_done):
                continue
            paged = self.ceil(q.prompt)
            full = len(self.running) + len(self.transfers) + len(self.waiting) >= rows
            if full or max(paged + keep, q.prompt + min(q.max_new, clip) - total) > free or paged > self.room():
                break
            free -= paged + keep
            self.preallocs.remove(q)
            self.take(paged)
            q.private, q.kv, q.start, q.entry, q.answer = paged, q.prompt, t, t, FOREVER
            self.transfers.append(q)
            if self.p["late_alloc"]:
                self.pair.send(self.pair.ranks[q.peer.rank], q.peer, t, q.prompt, True)
            else:
                q.peer.answer = t
                if q.peer.rank >= 0:
                    self.pair.wake(q.peer.rank, t)

    def boundary(self, t: int) -> None:
        if not self.start(t):
            return
        while self.poll(t) and not self.running:
            pass
        while self.running:
            if self.decode(t):
                self.now = t + self.dur
                self.grow(self.now)
                return
            if self.halted:
                self.now = FOREVER
                return
        times = [q.ready for q in self.preallocs] + [q.answer for q in self.transfers]
        if not self.retracted:
            times += [q.entry + self.p["wait_timeout"] for q in self.transfers]
        self.rest(t, times)


class PairOracle(Oracle):
    def __init__(self, cfg: Cfg) -> None:
        self.pair = Pair()
        dp, decode = cfg.p["dp"], cfg.p["decode_workers"]
        first_decode = (cfg.p["workers"] - decode) * dp
        super().__init__(cfg, lambda i, c: (DecodeRank if i >= first_decode else PrefillRank)(i, c))
        self.pair.ranks = self.ranks
        for rank in self.ranks:
            rank.pair = self.pair
        self.split = cfg.p["workers"] - decode

    def worker_for(self, q: Req, t: int) -> int:
        decode = q.id % 2 == 1
        mine = range(self.split, self.workers) if decode else range(self.split)
        turn = self.turns.setdefault(decode, 0)
        self.turns[decode] += 1
        return mine[turn % len(mine)]

    def rank_for(self, q: Req, t: int) -> int:
        lo, n = q.worker * self.dp, self.dp
        if q.asked >= 0:
            return lo + q.asked if q.asked < n else -1
        if n == 1:
            return lo
        if self.p["balance"] == "follow_bootstrap_room":
            return lo + oracle_draw(self.p["seed"], 55, max(q.id, q.peer.id if q.peer else q.id), 0) % n
        return super().rank_for(q, t)

    def run_pairs(self, requests: Sequence[Req]) -> list[Req]:
        self.turns: dict[bool, int] = {}
        rows: list[Req] = []
        for q in requests:
            a = replace(q, id=2 * q.id, out=1, max_new=1)
            b = replace(q, id=2 * q.id + 1)
            a.peer, b.peer = b, a
            rows += [a, b]
        self.run(rows)
        return rows
