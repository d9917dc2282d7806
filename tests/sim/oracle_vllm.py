"""One vLLM engine core, step by step, in plain Python: docs/vllm-scheduler.md and nothing else."""

from __future__ import annotations

from typing import Any

from tests.sim.oracle_rank import Rank
from tests.sim.oracle_types import FOREVER, Cfg, Req


class VllmRank(Rank):
    def __init__(self, index: int, cfg: Cfg) -> None:
        super().__init__(index, cfg)
        self.free_queue: list[int] = list(range(self.pool // self.page))
        self.users = [0] * len(self.free_queue)
        self.hash_of: dict[int, Any] = {}
        self.known: dict[Any, list[int]] = {}
        self.table: dict[int, list[int]] = {}
        self.asked: dict[int, int] = {}
        self.free = self.pool

    def recount(self) -> None:
        self.free = len(self.free_queue) * self.page - self.stolen

    def take_block(self) -> int:
        b = self.free_queue.pop(0)
        if b in self.hash_of:
            h = self.hash_of.pop(b)
            self.known[h].remove(b)
            if not self.known[h]:
                del self.known[h]
        self.users[b] = 1
        return b

    def give_back(self, q: Req) -> None:
        for b in reversed(self.table.pop(q.id)):
            self.users[b] -= 1
            if self.users[b] == 0:
                self.free_queue.append(b)

    def chain(self, q: Req, k: int) -> Any:
        return (q.space, tuple(q.tokens((k + 1) * self.page)))

    def enter(self, q: Req, upto: int) -> None:
        if not self.cache:
            return
        for k in range(q.tree_len // self.page, upto // self.page):
            b = self.table[q.id][k]
            h = self.chain(q, k)
            self.hash_of[b] = h
            self.known.setdefault(h, []).append(b)
        q.tree_len = max(q.tree_len, upto // self.page * self.page)

    def before(self, q: Req) -> tuple[int, int, int]:
        return (q.priority, q.arrival, q.id)

    def preempt(self, t: int) -> Req:
        live = [q for q in self.running if not q.over]
        q = max(live, key=self.before) if self.p["priority"] else live[-1]
        self.running.remove(q)
        self.give_back(q)
        q.kv = q.tree_len = 0
        q.retractions += 1
        q.entry = t
        self.waiting.insert(0, q)
        return q

    def head(self, t: int) -> Req | None:
        ready = [q for q in self.waiting if q.ready <= self.eye]
        if not ready:
            return None
        return min(ready, key=self.before) if self.p["priority"] else ready[0]

    def schedule(self, t: int) -> bool:
        chunk = self.value("chunk", t)
        budget = chunk if chunk > 0 else self.value("max_prefill", t)
        self.asked = {}
        self.fresh: list[Req] = []
        preempted = self.struck = False
        done: list[Req] = [q for q in self.running if q.over]
        while budget > 0:
            q = next((q for q in self.running if q not in done), None)
            if q is None:
                break
            ask = min(q.prompt + q.gen - q.kv, budget)
            need = self.ceil(q.kv + ask) // self.page - len(self.table[q.id])
            lost = False
            while need > len(self.free_queue) - self.stolen // self.page:
                preempted = self.struck = True
                v = self.preempt(t)
                if v is q:
                    lost = True
                    if not self.running:
                        self.waiting.remove(q)
                        self.end(q, t, "out-of-memory")
                    break
                if v in done:
                    done.remove(v)
                    budget += self.asked.pop(v.id)
            if lost:
                break
            self.table[q.id] += [self.take_block() for _ in range(need)]
            self.asked[q.id] = ask
            self.enter(q, q.kv + ask)
            budget -= ask
            done.append(q)
        while not preempted and budget > 0 and len(self.running) < self.value("max_running", t):
            q = self.head(t)
            if q is None:
                break
            hits: list[int] = []
            length = q.prompt + q.gen
            while self.cache and len(hits) < (length - 1) // self.page and self.chain(q, len(hits)) in self.known:
                hits.append(self.known[self.chain(q, len(hits))][0])
            ask = min(length - len(hits) * self.page, budget)
            need = self.ceil(len(hits) * self.page + ask) // self.page - len(hits)
            idle = sum(self.users[b] == 0 for b in hits)
            if need > len(self.free_queue) - self.stolen // self.page - idle:
                break
            self.waiting.remove(q)
            for b in hits:
                if self.users[b] == 0:
                    self.free_queue.remove(b)
                self.users[b] += 1
            q.kv = q.tree_len = len(hits) * self.page
            self.table[q.id] = hits + [self.take_block() for _ in range(need)]
            self.asked[q.id] = ask
            self.enter(q, q.kv + ask)
            if q.start == 0:
                q.start, q.cached = t, len(hits) * self.page
            self.running.append(q)
            self.fresh.append(q)
            budget -= ask
        self.recount()
        if not self.asked:
            return False
        self.launch(t, preempted)
        return True

    def launch(self, t: int, preempted: bool) -> None:
        v = {n: self.value(n, t) for n in ("step_base", "step_prefill", "step_attention", "step_decode",
                                           "step_context", "step_mixed")}  # fmt: skip
        mine = [(q, self.asked[q.id]) for q in self.running if q.id in self.asked]
        decodes = [q for q, ask in mine if ask == 1 and q.gen > 0 and q.kv == q.prompt + q.gen - 1]
        rest = [(q, ask) for q, ask in mine if q not in decodes]
        self.dur = v["step_base"] + v["step_decode"] * len(decodes) + v["step_context"] * sum(q.kv for q in decodes)
        self.kind = 1
        if rest:
            self.dur += v["step_prefill"] * sum(ask for _, ask in rest)
            self.dur += v["step_attention"] * sum(ask * (2 * q.kv + ask) for q, ask in rest)
            self.dur += v["step_mixed"] * len(decodes)
            fresh = [q for q, _ in mine if q.gen == 0 and q.start == t]
            self.dur += sum(q.work_us * 1_000_000 + self.cfg.at("work", self.i, t, q.kind) for q in fresh)
            self.publish_now(t)
        elif len(decodes) == len(self.running) and not preempted:
            self.decodes += 1
            if self.decodes % self.value("snapshot_every", t) == 0:
                self.publish_now(t)
        self.now = t + self.dur
        self.began = t

    def publish_now(self, t: int) -> None:
        waiting = sum(q.prompt + q.gen for q in self.waiting)
        self.snap = (t, len(self.running) + len(self.waiting), self.pool - self.free + waiting)

    def complete(self, t: int) -> None:
        self.stirred = self.stirred or self.kind != 0
        if self.kind:
            for q in list(self.running):
                if q.over:
                    self.running.remove(q)
                    self.give_back(q)
                    continue
                ask = self.asked.get(q.id, 0)
                if not ask:
                    continue
                q.kv += ask
                if q.kv == q.prompt + q.gen:
                    if q.first == 0:
                        q.first = t
                    else:
                        self.gaps[t - q.last] += 1
                    q.gen += 1
                    q.last = t
                if q.gen >= q.out:
                    self.end(q, t, "finished")
                    q.over = self.lag
                    if not self.lag:
                        self.running.remove(q)
                        self.give_back(q)
            self.recount()
        self.kind = 0

    def boundary(self, t: int) -> None:
        self.look(t)
        self.complete(t)
        if any(e <= t for e in self.edges):
            self.edges = [e for e in self.edges if e > t]
            self.seen = t
            self.perturb(t)
        if self.value("hang", t):
            self.hold = True
            self.now = min(self.edges, default=FOREVER)
            return
        self.hold = False
        self.receive(self.eye)
        for q in [q for q in self.waiting if 0 < q.cancel <= t]:
            self.waiting.remove(q)
            self.end(q, t, "cancelled")
        for q in [q for q in self.grammars if 0 < q.cancel <= t]:
            self.grammars.remove(q)
            self.end(q, t, "cancelled")
        for q in sorted([q for q in self.running if 0 < q.cancel <= t and not q.over], key=lambda q: q.id):
            self.running.remove(q)
            self.give_back(q)
            self.end(q, t, "cancelled")
        self.recount()
        while True:
            if self.running and all(q.over for q in self.running):
                for q in list(self.running):
                    self.running.remove(q)
                    self.give_back(q)
                self.recount()
            if self.schedule(t):
                return
            if not self.struck:
                break
        self.dur = 0
        if self.stirred:
            self.publish_now(t)
        self.stirred = False
        events = [q.ready for q in self.box[:1]] + [q.ready for q in self.grammars]
        events += [q.ready for q in self.waiting if q.ready > self.eye]
        events += [q.cancel for q in [*self.waiting, *self.grammars] if q.cancel > 0] + self.edges
        self.now = max(t, min(events, default=FOREVER))
