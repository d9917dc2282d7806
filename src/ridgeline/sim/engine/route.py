"""Where a request goes: the gateway's choice of worker, the controller's choice of rank (SIGNALS §8)."""

from collections.abc import Callable

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.content import draw
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.perturb import CODE, KIND, PLUS, TIMES, applies
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import call_route, cells, lists, nodes, param, ranks, reqs
from ridgeline.sim.engine.tree import evict, insert, match, offer


@jit
def value_at(st: State, r: int, code: int, t: int) -> int:
    """Parameter ``code`` of rank ``r`` at ``t``, whether or not the rank has got there."""
    value = param(st)[cells(st)[p.G_BASE] + r, code]
    for row in range(cells(st)[p.G_PERTURBS]):
        q = param(st)[cells(st)[p.G_PERTURB] + row]
        if q[KIND] < 0 and q[CODE] == code and applies(st, row, r, t):
            value = value * q[TIMES] // 1000 + q[PLUS]
    return int(value)


@jit
def is_up(st: State, w: int, t: int) -> bool:
    """Whether worker ``w`` takes requests at ``t``."""
    return value_at(st, ranks(st)[w].lo, p.DOWN, t) == 0


@jit
def nth_up(st: State, lo: int, hi: int, n: int, t: int) -> int:
    """The ``n``-th worker (modulo their number) of ``[lo, hi)`` that is up; -1: none is."""
    count = 0
    for w in range(lo, hi):
        if is_up(st, w, t):
            count += 1
    if count == 0:
        return -1
    n %= count
    for w in range(lo, hi):
        if is_up(st, w, t):
            if n == 0:
                return w
            n -= 1
    return -1


@jit
def by_cache(st: State, i: int, lo: int, hi: int, t: int) -> int:
    """cache_aware: shortest when out of balance, else the worker whose history matches best."""
    most = -1
    least = -1
    small = -1
    for w in range(lo, hi):
        if not is_up(st, w, t):
            continue
        x = ranks(st)[w]
        if most < 0 or x.inflight > ranks(st)[most].inflight:
            most = w
        if least < 0 or x.inflight < ranks(st)[least].inflight:
            least = w
        small_by = ranks(st)[x.tree].evictable
        if small < 0 or small_by < ranks(st)[ranks(st)[small].tree].evictable:
            small = w
    if most < 0:
        return -1
    high = ranks(st)[most].inflight
    low = ranks(st)[least].inflight
    choice = least
    if not (high - low > cells(st)[p.G_ABS_CACHE] and high * 1000 > low * cells(st)[p.G_REL_CACHE]):
        best = -1
        for w in range(lo, hi):
            if not is_up(st, w, t):
                continue
            length = nodes(st)[match(st, ranks(st)[w].tree, i, reqs(st)[i].prompt)].end
            if length > best:
                best = length
                choice = w
        if best * 1000 <= cells(st)[p.G_RATIO_CACHE] * reqs(st)[i].prompt:
            choice = small
    tree = ranks(st)[choice].tree
    offer(st, tree, insert(st, tree, i, reqs(st)[i].prompt, True))
    over = ranks(st)[tree].evictable - cells(st)[p.G_TREE_TOKENS]
    if over > 0:
        evict(st, tree, over)
    return choice


@jit
def ask_user(st: State, i: int, n: int, route_fn: Callable[..., int]) -> int:
    """Let the user's function pick among the ``n`` candidates described; -1 where it picks none."""
    x = reqs(st)[i]
    ask = cells(st)[p.G_ASK]
    me = param(st)[ask]
    me[0] = i
    me[1] = x.arrival
    me[2] = x.prompt
    me[3] = x.max_new
    me[4] = x.priority
    me[5] = x.key
    me[6] = x.lora
    me[7] = x.kind
    me[8] = draw(cells(st)[p.G_SEED], 404, i, 0)
    me[9] = n
    choice = call_route(route_fn, param(st)[ask + 1 : ask + 1 + n], me)
    return choice if 0 <= choice < n else -1


@jit
def describe(st: State, row: int, at: int, lo: int, hi: int, inflight: int, up: bool) -> None:
    """Fill ask row ``row`` with the load of ranks ``[lo, hi)``: what a routing policy sees of a candidate."""
    a = param(st)[cells(st)[p.G_ASK] + row]
    for k in range(10):
        a[k] = 0
    a[0] = at
    a[1] = 1 if up else 0
    for r in range(lo, hi):
        rk = ranks(st)[r]
        a[2] += rk.running + rk.nbatch
        a[3] += lists(st)[r * p.QUEUES + p.WAIT].n + lists(st)[r * p.QUEUES + p.BOX].n
        a[4] += param(st)[r, p.POOL] - rk.free - rk.evictable
        a[5] += param(st)[r, p.POOL]
        a[7] += rk.wtokens
        i = lists(st)[r * p.QUEUES + p.BOX].head
        while i >= 0:
            a[7] += reqs(st)[i].prompt
            i = reqs(st)[i].nxt
        a[8] += rk.ctx
    a[6] = inflight if inflight >= 0 else a[2] + a[3]


@jit
def pick_worker(st: State, i: int, lo: int, hi: int, t: int, route_fn: Callable[..., int]) -> int:
    """The gateway's choice among workers ``[lo, hi)`` at ``t``; -1: none can take it."""
    how = cells(st)[p.G_ROUTER]
    if how == p.GW_USER:
        for w in range(lo, hi):
            x = ranks(st)[w]
            describe(st, w - lo + 1, w - lo, x.lo, x.hi, x.inflight, is_up(st, w, t))
        choice = ask_user(st, i, hi - lo, route_fn)
        return lo + choice if choice >= 0 else -1
    if how == p.GW_CACHE_AWARE:
        return by_cache(st, i, lo, hi, t)
    if how == p.GW_HASHING and reqs(st)[i].key > 0:
        best = -1
        choice = -1
        for w in range(lo, hi):
            if is_up(st, w, t):
                score = draw(cells(st)[p.G_SEED], 77, reqs(st)[i].key, w)
                if score > best:
                    best = score
                    choice = w
        return choice
    if how in (p.GW_RANDOM, p.GW_HASHING):
        return nth_up(st, lo, hi, draw(cells(st)[p.G_SEED], 78, i, 0), t)
    if how == p.GW_POWER_OF_TWO:
        n = 0
        for w in range(lo, hi):
            if is_up(st, w, t):
                n += 1
        if n < 2:
            return nth_up(st, lo, hi, 0, t)
        first = draw(cells(st)[p.G_SEED], 79, i, 0) % n
        second = (first + 1 + draw(cells(st)[p.G_SEED], 79, i, 1) % (n - 1)) % n
        a = nth_up(st, lo, hi, first, t)
        b = nth_up(st, lo, hi, second, t)
        return b if ranks(st)[b].inflight < ranks(st)[a].inflight else a
    choice = nth_up(st, lo, hi, ranks(st)[lo].rotation, t)
    ranks(st)[lo].rotation += 1
    return choice


@jit
def least_loaded(st: State, lo: int, hi: int, by_tokens: bool, prompt: int) -> int:
    """total_requests / total_tokens: smallest budget, first on ties; charged until a new snapshot comes."""
    best = -1
    for r in range(lo, hi):
        rk = ranks(st)[r]
        if rk.snap_at != rk.budget_seen:
            rk.budget_seen = rk.snap_at
            rk.budget_requests = rk.snap_requests
            rk.budget_tokens = rk.snap_tokens
        if best < 0:
            best = r
            continue
        b = ranks(st)[best]
        if by_tokens:
            if rk.budget_tokens < b.budget_tokens or (
                rk.budget_tokens == b.budget_tokens and rk.budget_requests < b.budget_requests
            ):
                best = r
        elif rk.budget_requests < b.budget_requests:
            best = r
    ranks(st)[best].budget_requests += 1
    if by_tokens:
        ranks(st)[best].budget_tokens += prompt
    return best


@jit
def pick_rank(st: State, i: int, w: int, t: int, route_fn: Callable[..., int]) -> int:
    """The controller's choice of rank in worker ``w`` at ``t``; an asked rank always wins, -1: there is none."""
    x = ranks(st)[w]
    n = x.hi - x.lo
    if reqs(st)[i].asked >= 0:
        return x.lo + reqs(st)[i].asked if reqs(st)[i].asked < n else -1
    if n == 1:
        return int(x.lo)
    how = cells(st)[p.G_BALANCE]
    if how == p.DP_USER:
        for r in range(x.lo, x.hi):
            describe(st, r - x.lo + 1, r - x.lo, r, r + 1, -1, value_at(st, r, p.DOWN, t) == 0)
        choice = ask_user(st, i, n, route_fn)
        return x.lo + choice if choice >= 0 else -1
    if how == p.DP_FOLLOW_ROOM:
        pair = max(i, reqs(st)[i].peer) if reqs(st)[i].peer >= 0 else i
        return int(x.lo + draw(cells(st)[p.G_SEED], 55, pair, 0) % n)
    if how == p.DP_REQUESTS or how == p.DP_TOKENS:
        return least_loaded(st, x.lo, x.hi, how == p.DP_TOKENS, reqs(st)[i].prompt)
    if how == p.DP_SHORTEST_QUEUE:
        best = x.lo
        top = best
        for r in range(x.lo, x.hi):
            if ranks(st)[r].budget_requests < ranks(st)[best].budget_requests:
                best = r
            if ranks(st)[r].budget_requests > ranks(st)[top].budget_requests:
                top = r
        if ranks(st)[best].budget_requests < ranks(st)[top].budget_requests:
            ranks(st)[best].budget_requests += 1
            return int(best)
    for _ in range(n):
        r = x.lo + x.turn % n
        x.turn += 1
        if not cells(st)[p.G_KNOWS_DOWN] or value_at(st, r, p.DOWN, t) == 0:
            return int(r)
    return -1
