"""The vLLM family: one token budget, running first, block hashes, preemption by recompute.

Rules: docs/vllm-scheduler.md. Blocks are rows of the node table; a request's blocks are a row of `blocks`.
Steps in which every running request decodes and nobody can be admitted are taken as one stretch.
"""

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.batch import count_gaps, count_run, finish
from ridgeline.sim.engine.blocks import (
    block_hash,
    enter_hashes,
    first_hash,
    free_blocks,
    give_blocks,
    known_block,
    spare,
    unqueue_block,
)
from ridgeline.sim.engine.decode import LONGEST, publish, steps_to
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.perturb import of_class
from ridgeline.sim.engine.queues import leave_wait
from ridgeline.sim.engine.records import note, note_step
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import blocks, cells, lists, nodes, param, ranks, reqs, scratch, slots


@jit
def drop(st: State, r: int, i: int) -> None:
    """Take request ``i`` out of the running list, keeping the order of the rest."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    at = 0
    while slots(st)[base + at].req != i:
        at += 1
    rk.ctx -= reqs(st)[i].kv
    rk.running -= 1
    for k in range(at, rk.running):
        slots(st)[base + k].req = slots(st)[base + k + 1].req


@jit
def push_front(st: State, r: int, i: int, t: int) -> None:
    """Put request ``i`` at the front of the waiting queue."""
    q = lists(st)[r * p.QUEUES + p.WAIT]
    x = reqs(st)[i]
    x.state = p.WAITING
    x.entry = t
    x.prv = -1
    x.nxt = q.head
    if q.head >= 0:
        reqs(st)[q.head].prv = i
    else:
        q.tail = i
    q.head = i
    q.n += 1
    ranks(st)[r].wtokens += x.prompt + x.gen


@jit
def preempt(st: State, r: int, t: int) -> int:
    """Preempt the lowest-priority running request; returns it."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    at = rk.running - 1
    while reqs(st)[slots(st)[base + at].req].state == p.DONE:
        at -= 1
    v = slots(st)[base + at].req
    if param(st)[r, p.PRIORITY]:
        for at in range(rk.running):
            i = slots(st)[base + at].req
            x = reqs(st)[i]
            if x.state == p.DONE:
                continue
            y = reqs(st)[v]
            if x.priority > y.priority or (
                x.priority == y.priority and (x.arrival > y.arrival or (x.arrival == y.arrival and i > v))
            ):
                v = i
    drop(st, r, v)
    free_blocks(st, r, v)
    x = reqs(st)[v]
    x.kv = 0
    x.extend = 0
    x.retractions += 1
    rk.retractions += 1
    push_front(st, r, v, t)
    note(st, t, r, p.LOG_PREEMPT, 1, v, rk.running, 0, 0, 0)
    return int(v)


@jit
def schedule_running(st: State, r: int, t: int, budget: int) -> tuple[int, int]:
    """Give the running requests their tokens; returns the budget left and whether anyone was preempted."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    page = param(st)[r, p.PAGE]
    hit = 0
    at = 0
    while at < rk.running and budget > 0:
        i = slots(st)[base + at].req
        x = reqs(st)[i]
        if x.state == p.DONE:
            at += 1
            continue
        ask = min(x.prompt + x.gen - x.kv, budget)
        need = (x.kv + ask + page - 1) // page - x.held // page
        gone = False
        while need > spare(st, r):
            hit = 1
            scheduled = slots(st)[base + rk.running - 1].req
            before = rk.running
            # who goes may have been scheduled already: its tokens return to the budget
            for k in range(before):
                scratch(st)[4, k] = reqs(st)[slots(st)[base + k].req].extend
                scratch(st)[5, k] = slots(st)[base + k].req
            v = preempt(st, r, t)
            for k in range(before):
                if scratch(st)[5, k] == v:
                    scheduled = k
            if v == i:
                gone = True
                if rk.running == 0:
                    # alone and still too large: the pool can never hold it
                    leave_wait(st, r, i)
                    finish(st, r, i, t, p.OUT_OF_MEMORY)
                    note(st, t, r, p.LOG_ABORT, i, p.OUT_OF_MEMORY, 0, 0, 0, 0)
                break
            if scheduled < at:
                budget += scratch(st)[4, scheduled]
                at -= 1
        if gone:
            break
        give_blocks(st, r, i, need)
        x.extend = ask
        enter_hashes(st, r, i, x.kv + ask)
        budget -= ask
        at += 1
    return budget, hit


@jit
def next_waiting(st: State, r: int) -> int:
    """The head of the waiting queue, or -1."""
    q = lists(st)[r * p.QUEUES + p.WAIT]
    best = -1
    i = q.head
    if param(st)[r, p.PRIORITY] == 0:
        while i >= 0 and reqs(st)[i].ready > ranks(st)[r].seen:
            i = reqs(st)[i].nxt
        return int(i)
    while i >= 0:
        x = reqs(st)[i]
        if x.ready <= ranks(st)[r].seen and (best < 0 or ahead(st, i, best)):
            best = i
        i = x.nxt
    return int(best)


@jit
def ahead(st: State, a: int, b: int) -> bool:
    """Whether waiting request ``a`` goes before ``b`` under the priority policy."""
    x = reqs(st)[a]
    y = reqs(st)[b]
    if x.priority != y.priority:
        return bool(x.priority < y.priority)
    return bool(x.arrival < y.arrival or (x.arrival == y.arrival and a < b))


@jit
def admit_waiting(st: State, r: int, t: int, budget: int) -> int:
    """Admit from the waiting queue; returns the budget left."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    page = param(st)[r, p.PAGE]
    while budget > 0 and rk.running < param(st)[r, p.MAX_RUNNING]:
        i = next_waiting(st, r)
        if i < 0:
            break
        x = reqs(st)[i]
        length = x.prompt + x.gen
        hits = 0
        idle = 0
        h = first_hash(st, r, i)
        row = base
        while slots(st)[row].full:
            row += 1
        if param(st)[r, p.CACHE]:
            while hits < (length - 1) // page:
                h = block_hash(st, i, hits, h, page)
                b = known_block(st, h)
                if b < 0:
                    break
                blocks(st)[row, hits] = b
                idle += 1 if nodes(st)[b].lock == 0 else 0
                hits += 1
        ask = min(length - hits * page, budget)
        need = (hits * page + ask + page - 1) // page - hits
        if need > spare(st, r) - idle:
            break
        leave_wait(st, r, i)
        slots(st)[row].full = 1
        x.slot = row
        for k in range(hits):
            b = blocks(st)[row, k]
            if nodes(st)[b].lock == 0:
                unqueue_block(st, r, b)
            nodes(st)[b].lock += 1
        x.held = hits * page
        x.tree = hits * page
        x.kv = hits * page
        give_blocks(st, r, i, need)
        x.extend = ask
        enter_hashes(st, r, i, x.kv + ask)
        if x.start == 0:
            x.start = t
            x.cached = hits * page
        rk.cached_tokens += hits * page
        x.state = p.RUNNING
        slots(st)[base + rk.running].req = i
        rk.running += 1
        rk.ctx += x.kv
        rk.nbatch += 1
        budget -= ask
    return budget


@jit
def tokens_out(st: State, r: int, t: int) -> None:
    """Results of the steps that ended at ``t`` (a stretch gave every running request `nbatch` tokens)."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    at = 0
    while at < rk.running:
        i = slots(st)[base + at].req
        x = reqs(st)[i]
        if x.state == p.DONE:
            # finished a step ago; the step that just ended had been formed before
            drop(st, r, i)
            free_blocks(st, r, i)
            continue
        if x.extend == 0:
            at += 1
            continue
        x.kv += x.extend
        rk.ctx += x.extend
        if x.gen == 0:
            rk.prefill_tokens += x.extend
        if rk.kind == 2:
            x.gen += x.extend
            rk.emitted += x.extend
            x.last = t
        elif x.kv == x.prompt + x.gen:
            if x.first == 0:
                x.first = t
            else:
                count_gaps(st, r, t - x.last, 1)
            x.gen += 1
            rk.emitted += 1
            x.last = t
        x.extend = 0
        if x.gen < x.out:
            at += 1
            continue
        finish(st, r, i, t, p.FINISHED)
        if param(st)[r, p.OVERLAP]:
            at += 1
        else:
            drop(st, r, i)
            free_blocks(st, r, i)


@jit
def purge(st: State, r: int) -> None:
    """Where all that runs has finished, no step is on its way: let them go at once."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    for at in range(rk.running):
        if reqs(st)[slots(st)[base + at].req].state != p.DONE:
            return
    while rk.running > 0:
        i = slots(st)[base].req
        drop(st, r, i)
        free_blocks(st, r, i)


@jit
def stretch(st: State, r: int, t: int, k: int) -> int:
    """Blocks and hashes of up to ``k`` decode steps, step by step; returns how many steps memory lasted."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    page = param(st)[r, p.PAGE]
    for j in range(k):
        need = 0
        for at in range(rk.running):
            if (reqs(st)[slots(st)[base + at].req].kv + j) % page == 0:
                need += 1
        if need > spare(st, r):
            return j
        for at in range(rk.running):
            i = slots(st)[base + at].req
            kv = reqs(st)[i].kv + j
            if kv % page == 0:
                give_blocks(st, r, i, 1)
            if (kv + 1) % page == 0:
                enter_hashes(st, r, i, kv + 1)
        if (rk.decodes + 2 + j) % param(st)[r, p.SNAPSHOT_EVERY] == 0:
            cells(st)[p.G_SPARE] = param(st)[r, p.POOL] - rk.free
    return k


@jit
def vllm_step(st: State, r: int, t: int, cut: int, arrival: int) -> bool:
    """Schedule and launch at ``t``; False: nothing to run (``cut`` and ``arrival``: see `decode.decode`)."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    scheduled = 0
    hit = 1
    while scheduled == 0:
        rk.nbatch = 0
        purge(st, r)
        if hit == 0 or (rk.running == 0 and lists(st)[r * p.QUEUES + p.WAIT].n == 0):
            return False
        budget = param(st)[r, p.CHUNK] if param(st)[r, p.CHUNK] > 0 else param(st)[r, p.MAX_PREFILL]
        left, hit = schedule_running(st, r, t, budget)
        if hit == 0:
            admit_waiting(st, r, t, left)
        # preemption alone schedules nothing; the loop then looks again
        for at in range(rk.running):
            if reqs(st)[slots(st)[base + at].req].extend > 0:
                scheduled += 1
    tokens = 0
    pairs = 0
    context = 0
    decodes = 0
    fewest = p.FOREVER
    for at in range(rk.running):
        x = reqs(st)[slots(st)[base + at].req]
        if x.extend == 0:
            continue
        if x.extend == 1 and x.gen > 0 and x.kv == x.prompt + x.gen - 1:
            decodes += 1
            context += x.kv
            fewest = min(fewest, x.out - x.gen)
        else:
            tokens += x.extend
            pairs += x.extend * (2 * x.kv + x.extend)
    base_ps = param(st)[r, p.STEP_BASE] + param(st)[r, p.STEP_DECODE] * decodes + param(st)[r, p.STEP_CONTEXT] * context
    rk.kind = 1
    k = 1
    growth = param(st)[r, p.STEP_CONTEXT] * decodes
    if tokens > 0:
        base_ps += param(st)[r, p.STEP_PREFILL] * tokens + param(st)[r, p.STEP_ATTENTION] * pairs
        base_ps += param(st)[r, p.STEP_MIXED] * decodes
        for at in range(rk.running):
            x = reqs(st)[slots(st)[base + at].req]
            if x.extend > 0 and x.gen == 0 and x.start == t:
                base_ps += x.extra + of_class(st, r, p.WORK, x.kind, t)
        publish(st, r, t, param(st)[r, p.POOL] - rk.free)
        rk.snap_requests -= rk.nbatch
    elif decodes == rk.running and hit == 0:
        rk.kind = 2
        for at in range(rk.running):
            i = slots(st)[base + at].req
            count_gaps(st, r, t + base_ps - reqs(st)[i].last, 1)
            reqs(st)[i].kv += 1
        most = max(1, min(fewest, LONGEST))
        if cells(st)[p.G_LOGGING] == 1:
            most = min(most, param(st)[r, p.LOG_EVERY] - rk.decodes % param(st)[r, p.LOG_EVERY])
        k = steps_to(base_ps, growth, cut - t, most)
        if not param(st)[r, p.OVERLAP]:
            k = min(k, steps_to(base_ps, growth, arrival - t, most))
        elif arrival <= t:
            k = 1
        else:
            k = min(k, 1 + steps_to(base_ps, growth, arrival - t, most))
        # the first step's blocks are there already
        cells(st)[p.G_SPARE] = param(st)[r, p.POOL] - rk.free
        k = 1 + stretch(st, r, t, k - 1)
        for at in range(rk.running):
            x = reqs(st)[slots(st)[base + at].req]
            x.kv -= 1
            x.extend = k
        if k > 1:
            count_run(st, r, base_ps + growth, growth, k - 1, decodes)
        every = param(st)[r, p.SNAPSHOT_EVERY]
        last = (rk.decodes + k) // every * every
        if last > rk.decodes:
            n = last - rk.decodes - 1
            publish(st, r, t + n * base_ps + growth * (n * (n - 1) // 2), cells(st)[p.G_SPARE])
        rk.decodes += k
    rk.dur = k * base_ps + growth * (k * (k - 1) // 2)
    rk.began = t + (k - 1) * base_ps + growth * ((k - 1) * (k - 2) // 2)
    rk.now = t + rk.dur
    rk.busy += rk.dur
    if tokens > 0:
        note(st, t, r, p.LOG_PREFILL, rk.nbatch, tokens, 0, rk.running - rk.nbatch, rk.dur, decodes)
    note_step(st, t, r, k, tokens, pairs, context, tokens > 0 and decodes > 0)
    return True
