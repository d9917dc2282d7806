"""The whole service through time: arrivals, gateway, front end, controller, ranks.

Order within one instant: requests leaving the tokenizer, then load polls, then arrivals; a rank's boundary
at ``t`` comes after everything that reached it by ``t``. Ranks that nothing couples run one after the other
from event to event; where a choice reads load, all are first brought to that moment.
"""

from collections.abc import Callable

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.batch import note_gaps
from ridgeline.sim.engine.jit import entry, jit
from ridgeline.sim.engine.perturb import for_class
from ridgeline.sim.engine.records import note
from ridgeline.sim.engine.route import pick_rank, pick_worker, value_at
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.step import boundary, short_of
from ridgeline.sim.engine.tables import cells, lists, logs, nodes, ranks, reqs, wide


@jit
def meld_events(st: State, a: int, b: int) -> int:
    """Join two pairing heaps of requests in the tokenizers: earliest ``ready`` on top, then lowest id."""
    if a < 0:
        return b
    if b < 0:
        return a
    if reqs(st)[b].ready < reqs(st)[a].ready or (reqs(st)[b].ready == reqs(st)[a].ready and b < a):
        a, b = b, a
    reqs(st)[b].prv = reqs(st)[a].nxt
    reqs(st)[a].nxt = b
    return a


@jit
def next_event(st: State) -> int:
    """Take the earliest request out of the tokenizers."""
    top = cells(st)[p.G_EVENTS]
    rest = -1
    at = reqs(st)[top].nxt
    while at >= 0:
        other = reqs(st)[at].prv
        after = -1
        reqs(st)[at].prv = -1
        if other >= 0:
            after = reqs(st)[other].prv
            reqs(st)[other].prv = -1
        pair = meld_events(st, at, other)
        reqs(st)[pair].prv = rest
        rest = pair
        at = after
    heap = -1
    while rest >= 0:
        following = reqs(st)[rest].prv
        reqs(st)[rest].prv = -1
        heap = meld_events(st, heap, rest)
        rest = following
    cells(st)[p.G_EVENTS] = heap
    return int(top)


@jit
def group_time(st: State, w: int) -> int:
    """When the ranks of worker ``w``, which step together, next meet."""
    t = p.FOREVER
    busy = False
    for r in range(ranks(st)[w].lo, ranks(st)[w].hi):
        busy = busy or ranks(st)[r].kind != 0
        t = min(t, ranks(st)[r].now)
    return int(ranks(st)[w].group_now) if busy else t


@jit
def close_group(st: State, w: int, t: int) -> None:
    """The step that all ranks of worker ``w`` began at ``t`` is as long as its slowest rank's."""
    longest = 0
    for r in range(ranks(st)[w].lo, ranks(st)[w].hi):
        rk = ranks(st)[r]
        if rk.hold:
            longest = max(longest, rk.now - t)
        elif rk.kind != 0:
            longest = max(longest, rk.dur)
    for r in range(ranks(st)[w].lo, ranks(st)[w].hi):
        rk = ranks(st)[r]
        if rk.kind != 0:
            rk.now = t + longest
            if rk.kind == 2 or rk.mixing:
                note_gaps(st, r, t + longest, rk.steps - 1)
    ranks(st)[w].group_now = t + longest


@jit
def run_ranks(st: State, until: int, order_fn: Callable[..., int]) -> int:
    """Bring every rank to ``until``; nonzero: a table must grow first.

    Uncoupled ranks go one after the other, each from event to event. Ranks under DP attention meet at every
    step. Disaggregated ranks take turns, the earliest boundary first (lowest rank on ties). One loop for all
    three, because every further call of `boundary` costs seconds of compiling.
    """
    n = cells(st)[p.G_RANKS]
    each = cells(st)[p.G_RANKS_EACH]
    lockstep = cells(st)[p.G_LOCKSTEP] != 0
    together = cells(st)[p.G_PD] != 0
    r = 0
    t = -1
    while r < n:
        cut = until
        if together:
            for other in range(n):
                if ranks(st)[other].now < ranks(st)[r].now or (ranks(st)[other].now == ranks(st)[r].now and other < r):
                    r = other
            for other in range(n):
                if other != r:
                    cut = min(cut, ranks(st)[other].now)
        if lockstep:
            if r % each == 0 and t < 0:
                t = group_time(st, r // each)
                if t < until:
                    for other in range(r, r + each):
                        short = short_of(st, other)
                        if short != p.RAN:
                            return int(short)
            if t >= until:
                r += each
                t = -1
                continue
        else:
            t = ranks(st)[r].now
            if t >= until:
                if together:
                    break
                r += 1
                continue
            short = short_of(st, r)
            if short != p.RAN:
                return int(short)
        boundary(st, r, t, cut, lockstep, order_fn)
        if lockstep:
            r += 1
            if r % each == 0:
                r -= each
                close_group(st, r // each, t)
                t = -1
    return p.RAN


@jit
def refuse_early(st: State, i: int, t: int) -> None:
    """End request ``i``: no worker or rank can take it."""
    x = reqs(st)[i]
    x.finish = t
    x.state = p.DONE
    x.outcome = p.NO_WORKER
    if x.worker >= 0:
        ranks(st)[x.worker].inflight -= 1
    if x.peer >= 0 and reqs(st)[x.peer].state != p.DONE:
        reqs(st)[x.peer].fault = 1
    note(st, t, 0, p.LOG_ABORT, i, p.NO_WORKER, 0, 0, 0, 0)


@jit
def deliver(st: State, i: int, t: int, route_fn: Callable[..., int]) -> None:
    """Hand request ``i`` to a rank of its worker at ``t``."""
    x = reqs(st)[i]
    r = pick_rank(st, i, x.worker, t, route_fn)
    if r < 0:
        refuse_early(st, i, t)
        return
    x.dispatch = t
    x.ready = t
    x.rank = r
    x.state = p.INBOX
    box = lists(st)[r * p.QUEUES + p.BOX]
    x.nxt = -1
    x.prv = box.tail
    if box.tail >= 0:
        reqs(st)[box.tail].nxt = i
    else:
        box.head = i
    box.tail = i
    box.n += 1
    rk = ranks(st)[r]
    if rk.kind == 0 and not rk.hold and not rk.halted:
        rk.now = min(rk.now, t)


@jit
def enter(st: State, i: int, lo: int, hi: int, t: int, route_fn: Callable[..., int]) -> None:
    """Request ``i`` arrives at the gateway; it goes to a worker and through its tokenizers."""
    x = reqs(st)[i]
    x.state = p.FRONT
    w = pick_worker(st, i, lo, hi, t, route_fn)
    x.worker = w
    if w < 0:
        refuse_early(st, i, t)
        return
    ranks(st)[w].inflight += 1
    r = ranks(st)[w].lo
    servers = max(1, min(value_at(st, r, p.TOKENIZERS, t), wide(st).shape[1]))
    work = for_class(st, r, p.TOKENIZE_BASE, x.kind, t, value_at(st, r, p.TOKENIZE_BASE, t))
    work += value_at(st, r, p.TOKENIZE_TOKEN, t) * x.prompt
    if work <= 0:
        deliver(st, i, t, route_fn)
        return
    free = 0
    for s in range(servers):
        if wide(st)[cells(st)[p.G_POOL] + w, s] < wide(st)[cells(st)[p.G_POOL] + w, free]:
            free = s
    wide(st)[cells(st)[p.G_POOL] + w, free] = max(t, wide(st)[cells(st)[p.G_POOL] + w, free]) + work
    x.ready = wide(st)[cells(st)[p.G_POOL] + w, free]
    x.nxt = -1
    x.prv = -1
    cells(st)[p.G_EVENTS] = meld_events(st, cells(st)[p.G_EVENTS], i)


@jit
def poll_loads(st: State) -> None:
    """The load watch of older versions: present request counts become the budgets."""
    for r in range(cells(st)[p.G_RANKS]):
        rk = ranks(st)[r]
        rk.budget_requests = rk.running + rk.nbatch + lists(st)[r * p.QUEUES + p.WAIT].n


@entry
def advance(st: State, until: int, order_fn: Callable[..., int], route_fn: Callable[..., int]) -> int:
    """Run the service through everything before ``until`` (ps); nonzero: a table must grow, call again."""
    reads_gateway = cells(st)[p.G_ROUTER] in (p.GW_POWER_OF_TWO, p.GW_CACHE_AWARE, p.GW_USER)
    reads_ranks = cells(st)[p.G_BALANCE] in (p.DP_REQUESTS, p.DP_TOKENS, p.DP_USER)
    front = cells(st)[p.G_WORKERS] - cells(st)[p.G_DECODE_WORKERS]
    while True:
        i = cells(st)[p.G_NEXT]
        arrives = reqs(st)[i].arrival if i < cells(st)[p.G_PUSHED] else p.FOREVER
        leaves = reqs(st)[cells(st)[p.G_EVENTS]].ready if cells(st)[p.G_EVENTS] >= 0 else p.FOREVER
        polls = p.FOREVER
        if cells(st)[p.G_WATCH] > 0 and min(arrives, leaves) < p.FOREVER:
            polls = cells(st)[p.G_NEXT_WATCH]
        t = min(arrives, leaves, polls)
        if cells(st)[p.G_TOP_NODE] + 4 * cells(st)[p.G_WORKERS] + 64 > len(nodes(st)):
            return p.NEED_NODES
        if cells(st)[p.G_LOGGING] and cells(st)[p.G_LOG] + 8 > len(logs(st)):
            return p.NEED_LOG
        last = t >= until
        if last or reads_ranks or (reads_gateway and t == arrives) or t == polls or cells(st)[p.G_PD]:
            short = run_ranks(st, min(t, until), order_fn)
            if short != p.RAN:
                return int(short)
        if last:
            cells(st)[p.G_NOW] = max(cells(st)[p.G_NOW], until)
            return p.RAN
        if leaves == t:
            deliver(st, next_event(st), t, route_fn)
        elif polls == t:
            poll_loads(st)
            cells(st)[p.G_NEXT_WATCH] += cells(st)[p.G_WATCH]
        else:
            parts = 2 if cells(st)[p.G_PD] else 1
            cells(st)[p.G_NEXT] = i + parts
            for part in range(parts):
                lo = 0 if part == 0 else front
                enter(st, i + part, lo, front if part == 0 else cells(st)[p.G_WORKERS], t, route_fn)
