"""The running batch: joining, leaving, and the count of token gaps (inter-token latency)."""

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.memory import release
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import cells, param, ranks, reqs, slots, wide


@jit
def gap_bin(ps: int) -> int:
    """Bin of a gap in picoseconds: eight equal parts per octave, in integers."""
    if ps < 8:
        return max(ps, 0)
    e = 3
    top = ps >> 4
    while top > 0:
        e += 1
        top >>= 1
    return (e - 2) * 8 + ((ps >> (e - 3)) & 7)


@jit
def gap_edge(at: int) -> int:
    """Lowest gap (ps) of bin ``at``."""
    if at < 8:
        return at
    return (8 + at % 8) << (at // 8 - 1)


@jit
def count_gaps(st: State, r: int, ps: int, weight: int) -> None:
    """Count ``weight`` gaps of ``ps``."""
    wide(st)[r, gap_bin(ps)] += weight


@jit
def count_run(st: State, r: int, first: int, step: int, n: int, weight: int) -> None:
    """Count gaps ``first, first + step, …`` (``n`` of them, growing), each ``weight`` times."""
    at = 0
    while at < n:
        bin_ = gap_bin(first + at * step)
        stop = n
        if step > 0:
            edge = gap_edge(bin_ + 1)
            stop = min(n, (edge - first + step - 1) // step)
        wide(st)[r, bin_] += weight * (stop - at)
        at = stop


@jit
def note_gaps(st: State, r: int, end: int, steps: int) -> None:
    """Count each running request's gap up to the decode step, the ``steps``-th, that ends at ``end``."""
    rk = ranks(st)[r]
    if rk.many_joins:
        base = r * cells(st)[p.G_SLOTS]
        for at in range(rk.running):
            x = reqs(st)[slots(st)[base + at].req]
            if x.state == p.DONE:
                continue
            last = x.last if x.s0 == steps else rk.last_decode
            count_gaps(st, r, end - last, 1)
    else:
        if rk.njoin > 0:
            count_gaps(st, r, end - rk.join_at, rk.njoin)
        if rk.running > rk.njoin + rk.ndone:
            count_gaps(st, r, end - rk.last_decode, rk.running - rk.njoin - rk.ndone)
    rk.njoin = 0
    rk.many_joins = 0
    rk.last_decode = end


@jit
def finish(st: State, r: int, i: int, t: int, outcome: int) -> None:
    """Close request ``i`` at time ``t``."""
    x = reqs(st)[i]
    x.finish = t
    x.state = p.DONE
    x.outcome = outcome
    ranks(st)[x.worker].inflight -= 1


@jit
def gained(st: State, r: int, i: int) -> int:
    """Tokens the running request ``i`` has got since it joined (speculation: a fixed share per step)."""
    x = reqs(st)[i]
    went = ranks(st)[r].steps - x.s0
    if param(st)[r, p.DRAFT] == 0:
        return int(min(went, x.out - x.g0))
    return int(min(went * param(st)[r, p.ACCEPT] // 1000, x.out - x.g0))


@jit
def join(st: State, r: int, i: int, t: int) -> None:
    """Put request ``i``, whose last token came at ``t``, in the running batch."""
    rk = ranks(st)[r]
    x = reqs(st)[i]
    at = r * cells(st)[p.G_SLOTS] + rk.running
    s = slots(st)[at]
    s.req = i
    left = x.out - x.gen
    if param(st)[r, p.DRAFT] > 0:
        left = (left * 1000 + param(st)[r, p.ACCEPT] - 1) // param(st)[r, p.ACCEPT]
    s.fin = rk.steps + left
    s.key = rk.steps + x.max_new - x.gen
    s.full = 1 if x.bits & p.IGNORE_EOS else 0
    s.lora = x.lora
    x.slot = rk.running
    x.s0 = rk.steps
    x.g0 = x.gen
    x.last = t
    x.state = p.RUNNING
    rk.running += 1
    rk.ctx += x.kv
    rk.fin_min = min(rk.fin_min, s.fin)
    page = param(st)[r, p.PAGE]
    wide(st)[cells(st)[p.G_RESIDUE] + r, (x.kv - rk.steps) % page] += 1
    if rk.njoin > 0 and rk.join_at != t:
        rk.many_joins = 1
    rk.njoin += 1
    rk.join_at = t


@jit
def reach(st: State, r: int, i: int, steps: int) -> int:
    """Tokens (whole pages) the running request ``i`` owns after ``steps`` speculative steps."""
    x = reqs(st)[i]
    page = param(st)[r, p.PAGE]
    kv = x.kv
    if steps > 0:
        kv += min((steps - 1) * param(st)[r, p.ACCEPT] // 1000, x.out - x.g0) + param(st)[r, p.DRAFT]
    return int((kv + page - 1) // page * page)


@jit
def leave(st: State, r: int, i: int) -> None:
    """Take request ``i`` out of the running batch and write its present length back into it."""
    rk = ranks(st)[r]
    x = reqs(st)[i]
    base = r * cells(st)[p.G_SLOTS]
    went = gained(st, r, i)
    # with overlap a finished request takes part in one more step
    steps = rk.steps - x.s0
    page = param(st)[r, p.PAGE]
    draft = param(st)[r, p.DRAFT]
    wide(st)[cells(st)[p.G_RESIDUE] + r, (x.kv - x.s0) % page] -= 1
    if rk.steps == x.s0:
        rk.many_joins = 1
        rk.njoin -= 1
    else:
        x.last = rk.last_decode
    if draft == 0:
        x.held += (x.kv + steps + page - 1) // page * page - (x.kv + page - 1) // page * page
    else:
        x.held += reach(st, r, i, rk.steps - x.s0) - (x.kv + page - 1) // page * page
    rk.ctx -= x.kv + (steps if draft == 0 else went)
    x.gen = x.g0 + went
    x.kv += went
    rk.running -= 1
    last = slots(st)[base + rk.running]
    if x.slot != rk.running:
        s = slots(st)[base + x.slot]
        s.req = last.req
        s.fin = last.fin
        s.key = last.key
        s.full = last.full
        s.lora = last.lora
        reqs(st)[last.req].slot = x.slot
    rk.full = 0


@jit
def drop_finished(st: State, r: int, t: int) -> None:
    """Close every running request whose last step ended at ``t``, and let it go.

    With overlap the next step is already on its way, so it goes one step later.
    """
    rk = ranks(st)[r]
    if rk.running == 0 or rk.fin_min > rk.steps:
        return
    limit = rk.prev_steps if param(st)[r, p.OVERLAP] else rk.steps
    base = r * cells(st)[p.G_SLOTS]
    for at in range(rk.running):
        s = slots(st)[base + at]
        if s.fin <= rk.steps and reqs(st)[s.req].state == p.RUNNING:
            finish(st, r, s.req, t, p.FINISHED)
    low = p.FOREVER
    # leavers are taken in request order, so that eviction and the tree do not depend on slot order
    first = -1
    while True:
        best = -1
        low = p.FOREVER
        rk.ndone = 0
        for at in range(rk.running):
            s = slots(st)[base + at]
            if s.fin <= limit:
                if s.req > first and (best < 0 or s.req < best):
                    best = s.req
                continue
            low = min(low, s.fin)
            if s.fin <= rk.steps:
                rk.ndone += 1
        if best < 0:
            break
        first = best
        leave(st, r, best)
        release(st, r, best, True)
    rk.fin_min = low
