"""Prefill and decode on separate servers: handshake, allocation, transfer, and who waits for whom (SIGNALS §9).

A request has a row on each side, linked by ``peer``. Links are first in, first out: one per prefill worker,
shared by its ranks. ``answer`` of a row is when the other side's part is done (FOREVER: not yet known).
"""

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.batch import finish, join
from ridgeline.sim.engine.content import draw
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.memory import ceil_page, release, room, take
from ridgeline.sim.engine.queues import leave_wait, push, remove, wait
from ridgeline.sim.engine.records import note
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import cells, lists, param, ranks, reqs, slots

EARLY, PREFILL_COMPLETE = 0, 1


@jit
def wake(st: State, r: int, t: int) -> None:
    """Have rank ``r`` look at its lists at ``t``, or at its next boundary after it."""
    rk = ranks(st)[r]
    cells(st)[p.G_STOP] = 1
    rk.next_ready = min(rk.next_ready, t)
    if rk.kind == 0 and not rk.hold and not rk.halted:
        rk.now = min(rk.now, t)


@jit
def end_pair(st: State, r: int, i: int, t: int, outcome: int) -> None:
    """End row ``i`` (already out of its list) and tell the other side."""
    finish(st, r, i, t, outcome)
    note(st, t, r, p.LOG_ABORT, i, outcome, 0, 0, 0, 0)
    other = reqs(st)[i].peer
    if other >= 0 and reqs(st)[other].state != p.DONE:
        reqs(st)[other].fault = 1
        reqs(st)[other].answer = t
        if reqs(st)[other].rank >= 0:
            wake(st, reqs(st)[other].rank, t)


@jit
def send(st: State, r: int, i: int, t: int, tokens: int, last: bool) -> None:
    """Queue ``tokens`` of KV on the prefill worker's link at ``t``; after the last part both sides know when."""
    x = reqs(st)[i]
    w = ranks(st)[x.worker]
    w.link_free = max(w.link_free, t) + tokens * param(st)[r, p.LINK_TOKEN]
    done = w.link_free + param(st)[r, p.LINK_LATENCY]
    note(st, t, r, p.LOG_TRANSFER, i, tokens, done - t, x.peer, 0, 0)
    if not last:
        return
    failed = draw(param(st)[r, p.SEED], 303, i, 0) % 1000 < param(st)[r, p.LINK_FAIL]
    other = reqs(st)[x.peer]
    x.answer = done
    other.answer = done
    if failed:
        x.fault = 1
        other.fault = 1
    wake(st, r, done)
    if other.rank >= 0:
        wake(st, other.rank, done)


@jit
def chunk_done(st: State, r: int, i: int, t: int, last: bool) -> None:
    """A chunk of row ``i`` was computed: send what was not sent yet (with early allocation)."""
    x = reqs(st)[i]
    if param(st)[r, p.ALLOCATION] == EARLY:
        tokens = x.kv - x.g0
        x.g0 = x.kv
        if not x.fault:
            send(st, r, i, t, tokens, last)
    elif last and not x.fault:
        other = reqs(st)[x.peer]
        other.matched = 1
        if other.rank >= 0:
            wake(st, other.rank, t)


@jit
def prefilled(st: State, r: int, i: int, t: int) -> None:
    """The prompt of row ``i`` is computed: it waits, holding its KV, until the other side has it."""
    x = reqs(st)[i]
    x.gen = 1
    x.first = t
    x.last = t
    if ranks(st)[r].running == 0:
        ranks(st)[r].full = 0
    if x.fault:
        release(st, r, i, True)
        finish(st, r, i, t, p.FAILED)
        return
    x.state = p.INFLIGHT
    x.entry = t
    x.answer = p.FOREVER
    push(st, r, p.FLIGHTS, i)
    chunk_done(st, r, i, t, True)


@jit
def poll_prefill(st: State, r: int, t: int) -> None:
    """Prefill side: answer what has been transferred, let in what has been allocated for."""
    rk = ranks(st)[r]
    i = lists(st)[r * p.QUEUES + p.FLIGHTS].head
    while i >= 0:
        x = reqs(st)[i]
        following = x.nxt
        if x.answer <= t:
            remove(st, r, p.FLIGHTS, i)
            release(st, r, i, True)
            rk.full = 0
            finish(st, r, i, t, p.FAILED if x.fault else p.FINISHED)
        i = following
    limit = param(st)[r, p.BOOT_TIMEOUT]
    i = lists(st)[r * p.QUEUES + p.BOOTS].head
    while i >= 0:
        x = reqs(st)[i]
        following = x.nxt
        if x.fault:
            remove(st, r, p.BOOTS, i)
            finish(st, r, i, t, p.FAILED)
        elif x.answer <= t and not param(st)[r, p.BOOT_BLOCK]:
            remove(st, r, p.BOOTS, i)
            wait(st, r, i, t)
        elif t >= x.entry + limit:
            remove(st, r, p.BOOTS, i)
            end_pair(st, r, i, t, p.TIMED_OUT)
        else:
            rk.next_ready = min(rk.next_ready, x.entry + limit)
        i = following


@jit
def allocatable(st: State, r: int, with_retracted: bool) -> int:
    """Tokens the decode side may promise to a new request (SIGNALS §9.7)."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    keep = param(st)[r, p.RESERVED]
    clip = param(st)[r, p.CLIP]
    held = rk.ctx + rk.running
    single = -p.FOREVER
    for at in range(rk.running):
        x = reqs(st)[slots(st)[base + at].req]
        single = max(single, min(x.max_new, clip) + x.prompt - held)
    queued = lists(st)[r * p.QUEUES + p.TRANSFERS].n + lists(st)[r * p.QUEUES + p.WAIT].n
    free = room(st, r) - max(keep * (rk.running + queued), single) - keep * rk.last_prebuilt
    if with_retracted:
        i = lists(st)[r * p.QUEUES + p.RETRACTS].head
        while i >= 0:
            x = reqs(st)[i]
            free -= ceil_page(x.prompt + x.gen - 1, param(st)[r, p.PAGE]) + keep
            i = x.nxt
    return int(free)


@jit
def resume(st: State, r: int, t: int) -> None:
    """Bring retracted requests back, oldest first, as far as memory goes."""
    page = param(st)[r, p.PAGE]
    free = allocatable(st, r, False)
    i = lists(st)[r * p.QUEUES + p.RETRACTS].head
    while i >= 0:
        x = reqs(st)[i]
        following = x.nxt
        need = ceil_page(x.prompt + x.gen - 1, page)
        if need + param(st)[r, p.RESERVED] > free or need > room(st, r):
            break
        free -= need + param(st)[r, p.RESERVED]
        remove(st, r, p.RETRACTS, i)
        take(st, r, need)
        x.held = need
        x.kv = x.prompt + x.gen - 1
        x.ready = t
        wait(st, r, i, t)
        i = following


@jit
def preallocate(st: State, r: int, t: int) -> None:
    """Allocate for waiting handshakes in order; the first that does not fit stops the rest."""
    rk = ranks(st)[r]
    page = param(st)[r, p.PAGE]
    keep = param(st)[r, p.RESERVED]
    clip = param(st)[r, p.CLIP]
    free = allocatable(st, r, True)
    held = rk.ctx + rk.running
    rows = param(st)[r, p.MAX_RUNNING]
    if rows <= 32:
        rows *= 2
    i = lists(st)[r * p.QUEUES + p.PREALLOCS].head
    while i >= 0:
        x = reqs(st)[i]
        following = x.nxt
        if x.fault:
            remove(st, r, p.PREALLOCS, i)
            finish(st, r, i, t, p.FAILED)
            i = following
            continue
        if x.ready > t or (param(st)[r, p.ALLOCATION] == PREFILL_COMPLETE and x.matched == 0):
            i = following
            continue
        busy = rk.running + lists(st)[r * p.QUEUES + p.TRANSFERS].n + lists(st)[r * p.QUEUES + p.WAIT].n
        paged = ceil_page(x.prompt, page)
        if busy >= rows or max(paged + keep, x.prompt + min(x.max_new, clip) - held) > free or paged > room(st, r):
            break
        free -= paged + keep
        remove(st, r, p.PREALLOCS, i)
        take(st, r, paged)
        x.held = paged
        x.kv = x.prompt
        x.start = t
        x.state = p.TRANSFER
        x.entry = t
        x.answer = p.FOREVER
        push(st, r, p.TRANSFERS, i)
        other = reqs(st)[x.peer]
        if param(st)[r, p.ALLOCATION] == PREFILL_COMPLETE:
            send(st, other.rank, x.peer, t, x.prompt, True)
        else:
            other.answer = t
            if other.rank >= 0:
                wake(st, other.rank, t)
        i = following


@jit
def poll_decode(st: State, r: int, t: int) -> bool:
    """Decode side: resume the retracted, else allocate and collect transfers; then join the batch.

    True: memory came free on the way, so an idle rank should look again.
    """
    rk = ranks(st)[r]
    freed = False
    if lists(st)[r * p.QUEUES + p.RETRACTS].n > 0:
        resume(st, r, t)
    if lists(st)[r * p.QUEUES + p.RETRACTS].n == 0:
        preallocate(st, r, t)
        limit = param(st)[r, p.WAIT_TIMEOUT]
        i = lists(st)[r * p.QUEUES + p.TRANSFERS].head
        while i >= 0:
            x = reqs(st)[i]
            following = x.nxt
            late = t >= x.entry + limit
            if x.answer <= t or late:
                remove(st, r, p.TRANSFERS, i)
                if x.fault or x.answer > t:
                    rk.free += x.held
                    x.held = 0
                    freed = True
                    end_pair(st, r, i, t, p.FAILED if x.fault else p.TIMED_OUT)
                else:
                    x.gen = 1
                    wait(st, r, i, t)
            else:
                rk.next_ready = min(rk.next_ready, x.entry + limit)
            i = following
    rk.last_prebuilt = 0
    i = lists(st)[r * p.QUEUES + p.WAIT].head
    while i >= 0 and rk.running < param(st)[r, p.MAX_RUNNING]:
        x = reqs(st)[i]
        following = x.nxt
        leave_wait(st, r, i)
        if x.first == 0:
            x.first = t
            x.last = t
        rk.last_prebuilt += 1
        if x.gen >= x.out:
            release(st, r, i, True)
            finish(st, r, i, t, p.FINISHED)
            freed = True
        else:
            last = x.last
            join(st, r, i, t)
            if last != t:
                x.last = last
                rk.many_joins = 1
        i = following
    return freed
