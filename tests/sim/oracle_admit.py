"""Admission of one rank, in plain Python: orders of the queue, budgets, chunking, preemption (SIGNALS §14)."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tests.sim.oracle_tree import Node

if TYPE_CHECKING:
    from tests.sim.oracle_rank import Rank
    from tests.sim.oracle_types import Req


def prefix(rank: Rank, q: Req) -> tuple[Node, int]:
    if not rank.cache:
        return rank.tree.top, 0
    limit = (q.prompt + q.gen - 1) // rank.page * rank.page
    return rank.tree.match(q.space, q.tokens(limit))


def depth_first(rank: Rank, waiting: list[Req], at: dict[int, Node]) -> list[Req]:
    weight: Counter[int] = Counter()
    for q in waiting:
        node: Node | None = at[q.id]
        while node is not None:
            weight[id(node)] += 1
            node = node.parent
    out: list[Req] = []

    def visit(node: Node) -> None:
        children = [c for c in node.children.values() if weight[id(c)]]
        for child in sorted(children, key=lambda c: (-weight[id(c)], c.made)):
            visit(child)
        out.extend(q for q in waiting if at[q.id] is node)

    visit(rank.tree.top)
    return out


def arrange(rank: Rank, t: int) -> None:
    from tests.sim.oracle_types import oracle_draw

    p = rank.p
    policy = p["order"]
    sign = p["priority_sign"]
    waiting = rank.waiting
    aware = policy in ("lpm", "dfs-weight", "hrrn", "shortest-prefill-first")
    if aware and not rank.cache:
        policy, aware = "fcfs", False
    if policy in ("lpm", "hrrn") and len(waiting) > 128:
        return
    if policy == "fcfs":
        if p["priority"]:
            waiting.sort(key=lambda q: (q.priority * sign, q.entry))
        return
    if aware:
        nodes: dict[int, Node] = {}
        length: dict[int, int] = {}
        late: set[int] = set()
        seen: set[Any] = set()
        for q in waiting:
            nodes[q.id], length[q.id] = prefix(rank, q)
        for q in waiting:
            if length[q.id] <= 32 and q.prompt + q.gen >= 32:
                head = (q.space, tuple(q.tokens(32)))
                if head in seen:
                    late.add(q.id)
                seen.add(head)
        if policy == "lpm":
            waiting.sort(key=lambda q: (q.id in late, -length[q.id] if q.id not in late else 0))
        elif policy == "dfs-weight":
            rank.waiting = depth_first(rank, waiting, nodes)
        elif policy == "shortest-prefill-first":
            waiting.sort(
                key=lambda q: (
                    q.id in late,
                    max(1, q.prompt + q.gen - length[q.id]) if q.id not in late else 0,
                    q.entry,
                )
            )
        else:

            def ratio(q: Req) -> tuple[int, int, int]:
                left = max(0, q.prompt - length[q.id])
                if q.id in late:
                    return 2, 0, q.id
                if left == 0:
                    return 0, 0, q.id
                return 1, -(max(0, rank.processed - q.aged) * 1_000_000 // left), q.id

            waiting.sort(key=ratio)
    elif policy == "lof":
        waiting.sort(key=lambda q: (q.priority * sign if p["priority"] else 0, -q.max_new))
    elif policy == "random":
        waiting.sort(key=lambda q: (oracle_draw(p["seed"], 101, q.id, rank.passes), q.id))
    elif policy == "routing-key":
        counts = Counter(q.key for q in rank.running if q.key > 0)
        if counts:
            waiting.sort(key=lambda q: (-counts[q.key], q.key))
    elif policy == "user":
        waiting.sort(key=lambda q: p["order_fn"](q, rank))


class Budget:
    def __init__(self, rank: Rank, t: int) -> None:
        self.rank = rank
        mixed = len(rank.running) if rank.p["mixed"] and rank.value("chunk", t) > 0 else 0
        self.total = self.current = mixed
        self.input = rank.value("max_prefill", t) - mixed
        self.chunk = rank.value("chunk", t) - mixed
        self.chunked = rank.value("chunk", t) > 0
        left = [(max(0, q.max_new - q.gen - q.waste), q.ignore_eos) for q in rank.running]
        self.reserve = sum((rank.reserve(n, whole) for n, whole in left), Fraction(0))

    def left(self) -> Fraction:
        return self.rank.room() - self.total - self.reserve

    def charge(self, q: Req, size: int, new: int) -> None:
        paged = self.rank.ceil(size)
        self.total += paged + self.rank.page + new
        self.current += paged + self.rank.page
        self.input -= paged
        self.chunk -= paged
        q.extend = size
        q.private += paged
        self.rank.batch.append(q)

    def verdict(self) -> str:
        if self.left() <= 0 or self.rank.room() - self.current <= 0:
            return "no-token"
        if self.input <= 0 or (self.chunked and self.chunk <= 0):
            return "other"
        return "go"


def continue_chunk(rank: Rank, b: Budget) -> None:
    q = rank.chunk
    assert q is not None
    # the floor of the fraction, as int() of a possibly fractional budget
    most = min(b.chunk, b.left().__ceil__())
    if most <= 0:
        most = b.chunk
    most = min(most, rank.room())
    left = q.prompt + q.gen - q.kv
    size = min(left, most)
    if size < left or rank.ceil(size) > rank.room():
        size = min(most // rank.page * rank.page, left)
        if size <= 0:
            return
    b.charge(q, size, min(q.max_new, rank.p["clip"]) if size == left else 0)
    if size == left:
        rank.chunk = None


def fits_whole(rank: Rank, b: Budget, q: Req, extend: int) -> bool:
    states = []
    for r in [q, *rank.running, *rank.batch]:
        ratio = Fraction(1) if r.ignore_eos else Fraction(rank.ratio, 10**9)
        left = r.max_new * ratio - r.gen
        if left > 0:
            states.append((left, r.prompt + r.gen))
    states.sort(key=lambda s: s[0])
    now = rank.room() - b.current - rank.ceil(extend) - rank.page
    freed = 0
    for k, (left, held) in enumerate(states):
        size = len(states) - k
        if now + freed - left * size <= size:
            return False
        freed += held
    return True


def try_add(rank: Rank, b: Budget, q: Req, t: int) -> str:
    p = rank.p
    if 0 < p["prefill_max"] <= len(rank.batch):
        return "other"
    node, hit = prefix(rank, q)
    fill = q.prompt + q.gen
    extend = fill - hit
    fine = not rank.cache and q.ignore_eos
    paged = rank.ceil(extend)
    if fine:
        if paged + rank.page > rank.room() - b.current or not fits_whole(rank, b, q, extend):
            return "no-token"
    else:
        rank.tree.lock(node, 1)
        if extend + min(max(q.max_new - q.gen, 0), p["clip"]) + rank.page >= b.left():
            rank.tree.lock(node, -1)
            return "no-token"
    size = extend
    if b.chunked:
        if (extend if fine else paged) > b.chunk:
            end = (hit + b.chunk // rank.page * rank.page) // rank.page * rank.page
            size = end - hit
    elif not fine and rank.batch and paged >= b.input:
        size = 0
    if size <= 0 or (size < extend and rank.chunk is not None):
        if not fine:
            rank.tree.lock(node, -1)
        return "other"
    q.node, q.tree_len, q.kv, q.private = node, hit, hit, 0
    if q.start == 0:
        q.cached = hit
    q.hit = hit
    b.charge(q, size, min(q.max_new, p["clip"]) if size == extend else 0)
    if size < extend:
        rank.chunk = q
    return b.verdict()


def preempt(rank: Rank, b: Budget, q: Req, back: list[Req]) -> bool:
    p = rank.p
    sign = p["priority_sign"]
    need = q.prompt + q.gen + min(q.max_new, p["clip"]) - b.left().__ceil__()
    need = Fraction(need)
    chosen: list[Req] = []
    for r in sorted([r for r in rank.running if not r.over], key=lambda r: (-r.priority * sign, -r.entry, -r.id)):
        if (q.priority - r.priority) * -sign <= p["preempt_threshold"]:
            break
        chosen.append(r)
        need -= Fraction(min(r.max_new - r.gen, p["clip"]) * rank.ratio, 10**9)
        if need <= 0:
            break
    if not chosen or need > 0:
        return False
    for r in chosen:
        b.reserve -= rank.reserve(r.max_new - r.gen, r.ignore_eos)
        rank.put_back(r)
        back.append(r)
    rank.full = True
    return True


def admit(rank: Rank, t: int) -> bool:
    p = rank.p
    rank.batch = []
    preempts = p["priority"] and p["preempt_on"]
    if preempts:
        rank.full = False
    if (rank.full or not rank.waiting) and rank.chunk is None:
        return False
    if rank.decode_left > 0 and rank.running:
        return False
    most = rank.value("max_running", t)
    if len(rank.running) >= most and rank.chunk is None and not preempts:
        rank.full = True
        return False
    rank.passes += 1
    arrange(rank, t)
    b = Budget(rank, t)
    if rank.chunk is not None and b.chunk > 0:
        continue_chunk(rank, b)
    back: list[Req] = []
    for q in list(rank.waiting):
        if p["lora_slots"] and q.lora > 0:
            used = {r.lora for r in [*rank.running, *rank.batch] if r.lora > 0}
            if q.lora not in used and len(used) >= p["lora_slots"]:
                continue
        if len(rank.batch) >= most - len(rank.running):
            rank.full = True
        if rank.full and not (preempts and preempt(rank, b, q, back)):
            break
        if q.ready > rank.eye:
            continue
        verdict = try_add(rank, b, q, t)
        if verdict == "no-token" and (rank.batch or rank.running):
            rank.full = True
        if verdict != "go":
            break
    for q in rank.batch:
        if q in rank.waiting:
            rank.waiting.remove(q)
            q.start = q.start or t
    for q in back:
        q.entry = t
        rank.waiting.append(q)
    if not rank.batch:
        return False
    rank.take(sum(rank.ceil(q.extend) for q in rank.batch))
    return True


def launch(rank: Rank, t: int) -> None:
    v = {n: rank.value(n, t) for n in ("step_base", "step_prefill", "step_attention", "step_decode", "step_context",
                                       "step_mixed")}  # fmt: skip
    tokens = sum(q.extend for q in rank.batch)
    pairs = sum(q.extend * (2 * q.kv + q.extend) for q in rank.batch)
    dur = v["step_base"] + v["step_prefill"] * tokens + v["step_attention"] * pairs
    for q in rank.batch:
        if q.hit >= 0:
            dur += rank.cfg.at("work", rank.i, t, q.kind) + q.work_us * 1_000_000
        q.hit = -1
    for q in rank.batch:
        if rank.p["lora_slots"] and q.lora > 0:
            slot = next((s for s in rank.adapters if s[0] == q.lora), None)
            if slot is None:
                dur += rank.value("lora_load", t)
                in_use = {r.lora for r in [*rank.running, *rank.batch]}
                slot = min((s for s in rank.adapters if s[0] == 0 or s[0] not in in_use), key=lambda s: s[1])
                slot[0] = q.lora
            slot[1] = t
    n = len(rank.running)
    rank.mixing = False
    if rank.p["mixed"] and rank.value("chunk", t) > 0 and n and not rank.p["draft"]:
        need = rank.need()
        if need <= rank.room():
            ctx = sum(q.kv + q.waste for q in rank.running)
            rank.take(need)
            rank.mixing = True
            dur += v["step_decode"] * n + v["step_context"] * ctx + v["step_mixed"] * n
    rank.decode_left = rank.value("decode_interval", t)
    rank.processed += tokens
    rank.kind = 1
    rank.began = t
    rank.dur = dur
    if rank.mixing and not rank.p["lockstep"]:
        rank.grow(t + dur)
    rank.publish(t)
