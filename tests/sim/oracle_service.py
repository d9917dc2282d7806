"""The whole service of the oracle: gateway, front end, controller, ranks, one moment at a time (SIGNALS §8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tests.sim.oracle_rank import Rank
from tests.sim.oracle_tree import Tree
from tests.sim.oracle_types import FOREVER, Cfg, Req, oracle_draw


class Oracle:
    def __init__(self, cfg: Cfg, make_rank: Callable[[int, Cfg], Any] = Rank) -> None:
        p = cfg.p
        self.p, self.cfg = p, cfg
        self.workers = p["workers"]
        self.dp = p["dp"]
        self.ranks = [make_rank(i, cfg) for i in range(self.workers * self.dp)]
        self.inflight = [0] * self.workers
        self.turn = [0] * self.workers
        self.gateway_turn = 0
        self.front_free = [[0] * max(1, p["tokenizers"]) for _ in range(self.workers)]
        self.trees = [Tree(1, "lru") for _ in range(self.workers)]
        self.tokenizing: list[tuple[int, int, Req]] = []
        self.loads = [0] * len(self.ranks)
        self.poll_at = p["watch"] if p["balance"] == "shortest_queue" else FOREVER
        self.group_now = [0] * self.workers
        self.refused: list[Req] = []

    # -- gateway
    def up(self, w: int, t: int) -> bool:
        return self.cfg.at("down", w * self.dp, t) == 0

    def worker_for(self, q: Req, t: int) -> int:
        up = [w for w in range(self.workers) if self.up(w, t)]
        how, seed = self.p["router"], self.p["seed"]
        if not up:
            if how in ("none", "round_robin"):
                self.gateway_turn += 1
            return -1
        if how == "cache_aware":
            return self.by_cache(q, up)
        if how == "consistent_hashing" and q.key > 0:
            return max(up, key=lambda w: (oracle_draw(seed, 77, q.key, w), -w))
        if how in ("random", "consistent_hashing"):
            return up[oracle_draw(seed, 78, q.id, 0) % len(up)]
        if how == "power_of_two":
            n = len(up)
            if n == 1:
                return up[0]
            first = oracle_draw(seed, 79, q.id, 0) % n
            second = (first + 1 + oracle_draw(seed, 79, q.id, 1) % (n - 1)) % n
            a, b = up[first], up[second]
            return b if self.inflight[b] < self.inflight[a] else a
        w = up[self.gateway_turn % len(up)]
        self.gateway_turn += 1
        return w

    def by_cache(self, q: Req, up: list[int]) -> int:
        high = max(self.inflight[w] for w in up)
        low = min(self.inflight[w] for w in up)
        choice = min(up, key=lambda w: (self.inflight[w], w))
        if not (high - low > self.p["abs"] and high * 1000 > low * self.p["rel"]):
            lengths = {w: self.trees[w].match(q.space, q.tokens(q.prompt))[1] for w in up}
            best = max(up, key=lambda w: (lengths[w], -w))
            choice = best
            if lengths[best] * 1000 <= self.p["cache_ratio"] * q.prompt:
                choice = min(up, key=lambda w: (self.trees[w].evictable(), w))
        tree = self.trees[choice]
        tree.insert(q.space, q.tokens(q.prompt), q.priority, True)
        over = tree.evictable() - self.p["tree_tokens"]
        if over > 0:
            tree.evict(over)
        return choice

    def refuse(self, q: Req, t: int) -> None:
        q.finish, q.outcome = t, "no-worker"
        self.refused.append(q)
        if q.worker >= 0:
            self.inflight[q.worker] -= 1

    def enter(self, q: Req, t: int) -> None:
        w = self.worker_for(q, t)
        q.worker = w
        if w < 0:
            self.refuse(q, t)
            return
        self.inflight[w] += 1
        first = w * self.dp
        work = self.cfg.at("tokenize", first, t, q.kind) + self.cfg.at("tokenize_token", first, t) * q.prompt
        if work <= 0:
            self.deliver(q, t)
            return
        servers = max(1, self.cfg.at("tokenizers", first, t))
        free = self.front_free[w]
        s = min(range(min(servers, len(free))), key=lambda k: (free[k], k))
        free[s] = max(t, free[s]) + work
        self.tokenizing.append((free[s], q.id, q))

    # -- controller
    def rank_for(self, q: Req, t: int) -> int:
        lo, n = q.worker * self.dp, self.dp
        if q.asked >= 0:
            return lo + q.asked if q.asked < n else -1
        if n == 1:
            return lo
        how = self.p["balance"]
        mine = range(lo, lo + n)
        if how == "follow_bootstrap_room":
            return lo + oracle_draw(self.p["seed"], 55, q.id, 0) % n
        if how in ("total_requests", "total_tokens"):
            for r in mine:
                rank = self.ranks[r]
                if rank.snap[0] != rank.budget[0]:
                    rank.budget = list(rank.snap)
            if how == "total_tokens":
                best = min(mine, key=lambda r: (self.ranks[r].budget[2], self.ranks[r].budget[1], r))
                self.ranks[best].budget[2] += q.prompt
            else:
                best = min(mine, key=lambda r: (self.ranks[r].budget[1], r))
            self.ranks[best].budget[1] += 1
            return best
        if how == "shortest_queue" and len({self.loads[r] for r in mine}) > 1:
            best = min(mine, key=lambda r: (self.loads[r], r))
            self.loads[best] += 1
            return best
        for _ in range(n):
            r = lo + self.turn[q.worker] % n
            self.turn[q.worker] += 1
            if not self.p["knows_down"] or self.cfg.at("down", r, t) == 0:
                return r
        return -1

    def deliver(self, q: Req, t: int) -> None:
        r = self.rank_for(q, t)
        if r < 0:
            self.refuse(q, t)
            return
        q.dispatch = q.ready = t
        q.rank = r
        rank = self.ranks[r]
        rank.box.append(q)
        if rank.kind == 0 and not rank.hold and not rank.halted:
            rank.now = min(rank.now, t)

    # -- time
    def step(self, t: int) -> None:
        """The boundary at ``t`` that comes first (in lockstep: those of all groups that meet then)."""
        if self.p["lockstep"]:
            for w in range(self.workers):
                mine = self.ranks[w * self.dp : (w + 1) * self.dp]
                if self.group_time(w) != t:
                    continue
                for rank in mine:
                    rank.boundary(t)
                    self.collect(rank)
                durations = [rank.now - t if rank.hold else rank.dur for rank in mine if rank.hold or rank.kind]
                end = t + max(durations, default=0)
                for rank in mine:
                    if rank.kind:
                        rank.now = end
                        if rank.kind == 2 or rank.mixing:
                            rank.grow(end)
                self.group_now[w] = end
            return
        rank = min(self.ranks, key=lambda rank: (rank.now, rank.i))
        rank.boundary(t)
        self.collect(rank)

    def group_time(self, w: int) -> int:
        mine = self.ranks[w * self.dp : (w + 1) * self.dp]
        return self.group_now[w] if any(rank.kind for rank in mine) else min(rank.now for rank in mine)

    def collect(self, rank: Any) -> None:
        for q in rank.done:
            self.inflight[q.worker] -= 1
        rank.done = []

    def next_boundary(self) -> int:
        if self.p["lockstep"]:
            return min(self.group_time(w) for w in range(self.workers))
        return min(rank.now for rank in self.ranks)

    def run(self, requests: Sequence[Req], until: int = FOREVER) -> None:
        at = 0
        while True:
            arrives = requests[at].arrival if at < len(requests) else FOREVER
            leaves = min((e[:2] for e in self.tokenizing), default=(FOREVER, 0))
            polls = self.poll_at if min(arrives, leaves[0]) < FOREVER else FOREVER
            event = min(arrives, leaves[0], polls)
            boundary = self.next_boundary()
            if min(event, boundary) >= until:
                return
            if boundary < event:
                self.step(boundary)
            elif leaves[0] == event:
                out = min(self.tokenizing, key=lambda e: e[:2])
                self.tokenizing.remove(out)
                self.deliver(out[2], event)
            elif polls == event:
                self.loads = [len(r.running) + len(r.batch) + len(r.waiting) for r in self.ranks]
                self.poll_at += self.p["watch"]
            else:
                self.enter(requests[at], event)
                at += 1

    def gaps(self) -> Counter[int]:
        total: Counter[int] = Counter()
        for rank in self.ranks:
            total.update(rank.gaps)
        return total
