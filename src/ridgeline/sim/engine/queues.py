"""Lists of requests, and the orders of the waiting queue (rules: SIGNALS §14.6).

A request is in at most one list. Sorting is stable and in place, as in the real scheduler: what one pass
ordered is what the next pass starts from.
"""

from collections.abc import Callable

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.content import draw, mix, page_hash
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import call_order, cells, lists, nodes, param, ranks, reqs, scratch, slots
from ridgeline.sim.engine.tree import match

CACHE_ORDER_LIMIT = 128
SHARE_TOKENS = 32
LAST = 1 << 60


@jit
def push(st: State, r: int, which: int, i: int) -> None:
    """Append request ``i`` to list ``which`` of rank ``r``."""
    q = lists(st)[r * p.QUEUES + which]
    reqs(st)[i].nxt = -1
    reqs(st)[i].prv = q.tail
    if q.tail >= 0:
        reqs(st)[q.tail].nxt = i
    else:
        q.head = i
    q.tail = i
    q.n += 1


@jit
def remove(st: State, r: int, which: int, i: int) -> None:
    """Take request ``i`` out of list ``which`` of rank ``r``."""
    q = lists(st)[r * p.QUEUES + which]
    x = reqs(st)[i]
    if x.prv >= 0:
        reqs(st)[x.prv].nxt = x.nxt
    else:
        q.head = x.nxt
    if x.nxt >= 0:
        reqs(st)[x.nxt].prv = x.prv
    else:
        q.tail = x.prv
    q.n -= 1


@jit
def wait(st: State, r: int, i: int, t: int) -> None:
    """Append request ``i`` to the waiting queue at time ``t``."""
    x = reqs(st)[i]
    x.state = p.WAITING
    x.entry = t
    ranks(st)[r].wtokens += x.prompt + x.gen
    push(st, r, p.WAIT, i)


@jit
def leave_wait(st: State, r: int, i: int) -> None:
    """Take request ``i`` out of the waiting queue."""
    ranks(st)[r].wtokens -= reqs(st)[i].prompt + reqs(st)[i].gen
    remove(st, r, p.WAIT, i)


@jit
def sort_keys(st: State, n: int) -> None:
    """Stable merge sort of scratch rows 0 (first key), 1 (second key), 2 (request)."""
    s = scratch(st)
    src = 0
    width = 1
    while width < n:
        dst = 3 - src
        lo = 0
        while lo < n:
            mid = min(lo + width, n)
            hi = min(lo + 2 * width, n)
            a = lo
            b = mid
            for out in range(lo, hi):
                left = b >= hi
                if not left and a < mid:
                    ka = s[src, a]
                    kb = s[src, b]
                    left = ka < kb or (ka == kb and s[src + 1, a] <= s[src + 1, b])
                at = a if left else b
                s[dst, out] = s[src, at]
                s[dst + 1, out] = s[src + 1, at]
                s[dst + 2, out] = s[src + 2, at]
                if left:
                    a += 1
                else:
                    b += 1
            lo = hi
        src = dst
        width *= 2
    if src != 0:
        for at in range(n):
            s[2, at] = s[5, at]


@jit
def relink(st: State, r: int, n: int) -> None:
    """Make the waiting queue follow scratch row 2."""
    q = lists(st)[r * p.QUEUES + p.WAIT]
    before = -1
    for at in range(n):
        i = scratch(st)[2, at]
        reqs(st)[i].prv = before
        if before >= 0:
            reqs(st)[before].nxt = i
        else:
            q.head = i
        before = i
    if before >= 0:
        reqs(st)[before].nxt = -1
    q.tail = before


@jit
def shared_later(st: State, i: int, found: int) -> bool:
    """Whether an earlier waiting request begins with the same 32 tokens; if not, ``i`` stands for them.

    ``found`` counts the stand-ins, whose hashes are in scratch row 6.
    """
    x = reqs(st)[i]
    if x.prompt + x.gen < SHARE_TOKENS:
        return False
    h = page_hash(st, i, 0, 0, SHARE_TOKENS, mix(23, x.space))
    for at in range(found):
        if scratch(st)[6, at] == h:
            return True
    scratch(st)[6, found] = h
    return False


@jit
def weigh_tree(st: State, r: int, n: int) -> None:
    """dfs-weight: replace scratch row 2 by depth-first order, heavier children first.

    Row 3 holds each request's deepest node. Only ancestors of those matter; their sum of requests is their
    weight. Equal children keep the order in which they were made.
    """
    s = scratch(st)
    root = ranks(st)[r].root
    touched = 0
    for at in range(n):
        node = s[3, at]
        while True:
            if nodes(st)[node].weight == 0:
                s[4, touched] = node
                touched += 1
            nodes(st)[node].weight += 1
            if node == root:
                break
            node = nodes(st)[node].parent
    # a depth-first walk by repeated choice: nodes hold few touched children
    out = 0
    node = root
    while True:
        best = -1
        for at in range(touched):
            c = s[4, at]
            if c != root and nodes(st)[c].weight > 0 and nodes(st)[c].parent == node:
                if best < 0:
                    best = c
                    continue
                b = nodes(st)[best]
                x = nodes(st)[c]
                if x.weight > b.weight or (x.weight == b.weight and x.order < b.order):
                    best = c
        if best >= 0:
            node = best
            continue
        for at in range(n):
            if s[3, at] == node:
                s[5, out] = s[2, at]
                out += 1
        nodes(st)[node].weight = 0
        if node == root:
            break
        node = nodes(st)[node].parent
    for at in range(n):
        s[2, at] = s[5, at]


@jit
def order_key(st: State, r: int, i: int, policy: int, late: bool, length: int) -> tuple[int, int]:
    """Sort key of request ``i`` under the policies that need no more than itself and the rank."""
    x = reqs(st)[i]
    rk = ranks(st)[r]
    if policy == p.LPM:
        return (LAST if late else -length), 0
    if policy == p.SHORTEST_PREFILL:
        return (LAST if late else max(1, x.prompt + x.gen - length)), x.entry
    if policy == p.HRRN:
        if late:
            return LAST, i
        left = max(0, x.prompt - length)
        if left == 0:
            return -LAST, i
        return -(max(0, rk.processed - x.aged) * 1_000_000 // left), i
    if policy == p.RANDOM:
        return draw(param(st)[r, p.SEED], 101, i, rk.passes), i
    sign = param(st)[r, p.PRIORITY_SIGN]
    if policy == p.LOF:
        return (x.priority * sign if param(st)[r, p.PRIORITY] else 0), -x.max_new
    return x.priority * sign, x.entry


@jit
def routing_keys(st: State, r: int, n: int) -> bool:
    """Keys for routing-key: the commoner a key among the running, the earlier. False: nothing to sort by."""
    s = scratch(st)
    known = False
    base = r * cells(st)[p.G_SLOTS]
    for at in range(n):
        key = reqs(st)[s[2, at]].key
        count = 0
        for b in range(ranks(st)[r].running):
            other = reqs(st)[slots(st)[base + b].req].key
            known = known or other > 0
            if key > 0 and other == key:
                count += 1
        s[0, at] = -count
        s[1, at] = key
    if n == 0:
        return False
    return known


@jit
def arrange(st: State, r: int, order_fn: Callable[..., int]) -> None:
    """Order the waiting queue of rank ``r`` before an admission pass."""
    policy = param(st)[r, p.ORDER]
    q = lists(st)[r * p.QUEUES + p.WAIT]
    n = q.n
    cached = policy in (p.LPM, p.DFS_WEIGHT, p.HRRN, p.SHORTEST_PREFILL)
    if cached and param(st)[r, p.CACHE] == 0:
        policy = p.FCFS
        cached = False
    if policy in (p.LPM, p.HRRN) and n > CACHE_ORDER_LIMIT:
        return
    if (policy == p.FCFS and param(st)[r, p.PRIORITY] == 0) or n == 0:
        return
    s = scratch(st)
    page = param(st)[r, p.PAGE]
    i = q.head
    stand_ins = 0
    ask = cells(st)[p.G_ASK]
    for at in range(n):
        length = 0
        late = False
        x = reqs(st)[i]
        s[2, at] = i
        if cached:
            limit = x.prompt + x.gen - 1
            deepest = match(st, r, i, limit - limit % page)
            length = nodes(st)[deepest].end
            s[3, at] = deepest
            if policy != p.DFS_WEIGHT and length <= SHARE_TOKENS:
                late = shared_later(st, i, stand_ins)
                if not late and x.prompt + x.gen >= SHARE_TOKENS:
                    stand_ins += 1
        if policy == p.USER_ORDER:
            me = param(st)[ask]
            me[0] = i
            me[1] = x.arrival
            me[2] = x.entry
            me[3] = x.prompt
            me[4] = x.gen
            me[5] = x.max_new
            me[6] = x.priority
            me[7] = x.key
            me[8] = x.lora
            me[9] = x.kind
            now = param(st)[ask + 1]
            now[0] = ranks(st)[r].now
            now[1] = r
            now[2] = ranks(st)[r].running
            now[3] = n
            now[4] = ranks(st)[r].free + ranks(st)[r].evictable
            now[5] = param(st)[r, p.POOL]
            s[0, at] = call_order(order_fn, me, now)
            s[1, at] = 0
        elif policy not in (p.DFS_WEIGHT, p.ROUTING_KEY):
            s[0, at], s[1, at] = order_key(st, r, i, policy, late, length)
        i = x.nxt
    if policy == p.DFS_WEIGHT:
        weigh_tree(st, r, n)
    elif policy != p.ROUTING_KEY or routing_keys(st, r, n):
        sort_keys(st, n)
    else:
        return
    relink(st, r, n)
