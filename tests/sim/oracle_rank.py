"""One SGLang rank, step by step, in plain Python: the oracle of the engine (SIGNALS §14, §10).

It shares no code with the engine: real token lists, real lists for queues, one decode step at a time.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from tests.sim.oracle_tree import Tree
from tests.sim.oracle_types import FOREVER, Cfg, Req


class Rank:
    """Boundary by boundary; `now` is the next one."""

    def __init__(self, index: int, cfg: Cfg) -> None:
        p = cfg.p
        self.i = index
        self.cfg = cfg
        self.p = p
        self.page = p["page"]
        self.pool = p["pool"] // self.page * self.page
        self.free = self.pool
        self.stolen = 0
        self.tree = Tree(self.page, p["eviction"], p["tlru_threshold"], p["tlru_next"])
        self.cache = p["cache"]
        self.box: list[Req] = []
        self.grammars: list[Req] = []
        self.waiting: list[Req] = []
        self.running: list[Req] = []
        self.batch: list[Req] = []
        self.chunk: Req | None = None
        self.kind = 0
        self.mixing = False
        self.full = False
        self.ratio = p["ratio_init"]
        self.decode_left = 0
        self.decodes = 0
        self.steps = 0
        self.processed = 0
        self.passes = 0
        self.snap = (0, 0, 0)
        self.budget = [-1, 0, 0]
        self.gaps: Counter[int] = Counter()
        self.adapters: list[list[int]] = [[0, 0] for _ in range(p["lora_slots"])]
        self.halted = False
        self.hold = False
        self.lag = bool(p["overlap"])
        self.began = 0
        self.eye = 0
        self.edges = cfg.edges(index)
        self.now = min([e for e in self.edges if e >= 0], default=FOREVER)
        self.dur = 0
        self.done: list[Req] = []

    # -- memory
    def ceil(self, n: int) -> int:
        return -(-n // self.page) * self.page

    def room(self) -> int:
        return self.free + self.tree.evictable()

    def take(self, n: int) -> None:
        self.free -= n
        if self.free < 0:
            self.free += self.tree.evict(-self.free)

    def keep_prefix(self, q: Req, last: bool) -> None:
        if not self.cache:
            return
        length = q.kv // self.page * self.page
        node, matched = self.tree.insert(q.space, q.tokens(length), q.priority, last)
        self.free += matched - q.tree_len
        self.tree.lock(node, 1)
        self.tree.lock(q.node, -1)
        q.private -= length - q.tree_len
        q.tree_len, q.node = length, node

    def release(self, q: Req, keep: bool) -> None:
        if not self.cache:
            self.free += q.private
        elif keep:
            length = q.kv // self.page * self.page
            _, matched = self.tree.insert(q.space, q.tokens(length), q.priority, True)
            self.free += q.private - (length - matched)
            self.tree.lock(q.node, -1)
        else:
            self.free += q.private
            self.tree.lock(q.node, -1)
        q.private = q.tree_len = q.kv = 0
        q.node = None

    def end(self, q: Req, t: int, outcome: str) -> None:
        q.finish, q.outcome = t, outcome
        self.done.append(q)

    # -- results
    def complete(self, t: int) -> None:
        self.stirred = self.stirred or self.kind != 0
        if self.kind == 1:
            for q in self.batch:
                q.kv += q.extend
                if q.kv < q.prompt + q.gen:
                    self.keep_prefix(q, False)
                    continue
                q.gen += 1
                if q.first == 0:
                    q.first = t
                else:
                    self.gaps[t - q.last] += 1
                q.last = t
                if q.gen >= q.out:
                    self.release(q, True)
                    self.end(q, t, "finished")
                    self.full = False
                else:
                    self.keep_prefix(q, True)
                    q.joined = self.steps
                    q.drafted = 0
                    q.kv_joined, q.gen_joined = q.kv, q.gen
                    self.running.append(q)
            self.batch = []
        if self.kind:
            self.let_go()
            for q in sorted([q for q in self.running if q.gen >= q.out], key=lambda q: q.id):
                q.over = True
                self.end(q, t, "finished")
            if not self.lag:
                self.let_go()
        self.kind = 0
        self.mixing = False

    def let_go(self) -> None:
        for q in sorted([q for q in self.running if q.over], key=lambda q: q.id):
            self.running.remove(q)
            self.full = False
            self.release(q, True)

    def look(self, t: int) -> None:
        """With overlap a busy rank has seen only what came before the step that ends now began."""
        self.eye = self.began if self.kind and self.lag else t

    # -- taking in
    def perturb(self, t: int) -> None:
        stolen = self.cfg.at("stolen", self.i, t)
        self.free -= stolen - self.stolen
        self.stolen = stolen

    def value(self, name: str, t: int) -> int:
        # parameters change only at boundaries
        return self.cfg.at(name, self.i, self.seen)

    def enqueue(self, q: Req, t: int) -> None:
        limit = self.cfg.at("max_queued", self.i, t)
        if 0 < limit <= len(self.waiting):
            self.end(q, t, "queue-full")
            return
        q.queued = q.entry = t
        q.aged = self.processed
        hold = self.cfg.at("storage", self.i, t, q.kind)
        q.ready = t + q.storage_us * hold // 1000 * 1000 * 1000 if q.storage_us else 0
        self.waiting.append(q)

    def receive(self, t: int) -> None:
        while self.box and self.box[0].ready <= t:
            q = self.box.pop(0)
            self.stirred = True
            if q.prompt >= min(self.p["context"], self.pool):
                q.queued = t
                self.end(q, t, "too-long")
            elif q.grammar_us:
                q.ready = t + q.grammar_us * self.cfg.at("grammar", self.i, t, q.kind) // 1000 * 1_000_000
                self.grammars.append(q)
            else:
                self.enqueue(q, t)
        for q in [q for q in self.grammars if q.ready <= t]:
            self.grammars.remove(q)
            self.enqueue(q, t)

    def cancels(self, t: int) -> None:
        for q in [q for q in self.waiting if 0 < q.cancel <= t]:
            self.waiting.remove(q)
            self.end(q, t, "cancelled")
        for q in [q for q in self.grammars if 0 < q.cancel <= t]:
            self.grammars.remove(q)
            self.end(q, t, "cancelled")
        for q in sorted([q for q in self.running if 0 < q.cancel <= t and not q.over], key=lambda q: q.id):
            self.running.remove(q)
            self.full = False
            self.release(q, True)
            self.end(q, t, "cancelled")
        if self.chunk is not None and 0 < self.chunk.cancel <= t:
            self.release(self.chunk, False)
            self.end(self.chunk, t, "cancelled")
            self.chunk = None

    # -- decode
    def reach(self, q: Req, steps: int) -> int:
        if steps == 0:
            return self.ceil(q.kv_joined)
        had = min((steps - 1) * self.p["accept"] // 1000, q.out - q.gen_joined)
        return self.ceil(q.kv_joined + had + self.p["draft"])

    def need(self) -> int:
        if self.p["draft"]:
            return sum(self.reach(q, q.drafted + 1) - self.reach(q, q.drafted) for q in self.running)
        return self.page * sum((q.kv + q.waste) % self.page == 0 for q in self.running)

    def put_back(self, q: Req) -> None:
        self.running.remove(q)
        self.full = False
        self.release(q, False)
        q.retractions += 1

    def retract(self, t: int) -> None:
        sign = self.p["priority_sign"]
        back: list[Req] = []
        while len(self.running) > 1 and (not back or self.room() < self.need()):

            def worst(q: Req) -> tuple[int, int, int, int, int]:
                rank = -q.priority * sign if self.p["priority"] else 0
                return (rank, q.gen, -q.prompt, -q.joined, -q.id)

            q = min(self.running, key=worst)
            self.put_back(q)
            want = 20 * len(self.running)
            if self.free < want:
                self.free += self.tree.evict(want - self.free)
            back.append(q)
        for q in back:
            q.entry = t
            self.waiting.append(q)
        if len(self.running) == 1 and self.room() < self.need():
            q = self.running[0]
            if self.p["abort_last"]:
                self.running.remove(q)
                self.full = False
                self.release(q, False)
                self.end(q, t, "out-of-memory")
            else:
                self.halted = True
        made = sum(q.gen for q in self.running) + 20 * len(self.running)
        self.ratio = min(10**9, made * 10**9 // (sum(q.max_new for q in self.running) + 1))

    def grow(self, end: int) -> None:
        """Every running request takes one step that ends at ``end``."""
        for q in self.running:
            before = q.gen
            if self.p["draft"]:
                q.private += self.reach(q, q.drafted + 1) - self.reach(q, q.drafted)
                q.drafted += 1
                q.gen = q.gen_joined + min(q.drafted * self.p["accept"] // 1000, q.out - q.gen_joined)
                self.gaps[0] += q.gen - before - 1 if q.gen > before else 0
            else:
                q.private += self.page if (q.kv + q.waste) % self.page == 0 else 0
                q.waste += q.over
                q.gen += not q.over
            q.kv += q.gen - before
        self.steps += 1
        self.step_end(end)

    def step_end(self, end: int) -> None:
        for q in self.running:
            if not q.over:
                self.gaps[end - q.last] += 1
                q.last = end

    def decode(self, t: int) -> bool:
        if self.room() < self.need() and any(q.over for q in self.running):
            self.let_go()
            if not self.running:
                return False
        if self.room() < self.need():
            self.retract(t)
            if not self.running or self.halted:
                return False
        else:
            self.ratio = max(self.p["ratio_min"], self.ratio - self.p["ratio_decay"])
        p = {name: self.value(name, t) for name in ("step_base", "step_decode", "step_context")}
        n = len(self.running)
        ctx = sum(q.kv + q.waste for q in self.running)
        self.dur = p["step_base"] + p["step_decode"] * n + p["step_context"] * ctx
        if self.p["draft"]:
            self.dur += self.p["step_draft"] * n
        self.take(self.need())
        self.decodes += 1
        if self.decodes % self.value("snapshot_every", t) == 0:
            self.publish(t)
        self.kind = 2
        self.began = t
        self.decode_left = max(0, self.decode_left - 1)
        return True

    def publish(self, t: int) -> None:
        used = self.pool - self.free - self.tree.evictable()
        waiting = sum(q.prompt + q.gen for q in self.waiting)
        self.snap = (t, len(self.running) + len(self.waiting) + len(self.batch), used + waiting)

    # -- ratio as an exact fraction
    def reserve(self, left: int, whole: bool) -> Fraction:
        ratio = 10**9 if whole and self.p["eos_full"] else self.ratio
        return Fraction(min(left, self.p["clip"]) * ratio, 10**9)

    def boundary(self, t: int) -> None:
        from tests.sim.oracle_admit import admit, launch

        self.look(t)
        self.complete(t)
        if any(e <= t for e in self.edges):
            self.edges = [e for e in self.edges if e > t]
            self.seen = t
            self.perturb(t)
        if self.halted or self.value("hang", t):
            self.hold = not self.halted
            self.now = min(self.edges, default=FOREVER)
            return
        self.hold = False
        self.receive(self.eye)
        self.cancels(t)
        while True:
            if admit(self, t):
                launch(self, t)
                self.now = t + self.dur
                return
            if not self.running:
                break
            if self.decode(t):
                self.now = t + self.dur
                if not self.p["lockstep"]:
                    self.grow(self.now)
                return
            if self.halted:
                self.now = FOREVER
                return
        self.ratio = self.p["ratio_init"]
        self.full = False
        self.dur = 0
        if self.stirred:
            self.publish(t)
        self.stirred = False
        events = [q.ready for q in self.box[:1]] + [q.ready for q in self.grammars]
        events += [q.ready for q in self.waiting if q.ready > self.eye]
        events += [q.cancel for q in [*self.waiting, *self.grammars] if q.cancel > 0] + self.edges
        self.now = max(t, min(events, default=FOREVER))

    seen = 0
    stirred = False
