"""One scheduler iteration of one rank, in the order of SIGNALS §14.1, and a rank's way through time.

At a step boundary ``t``: results of the step that ended, timed perturbations, arrivals, cancellations,
then a prefill batch if one can be formed, else decode, else idle.
"""

from collections.abc import Callable

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.admit import admit
from ridgeline.sim.engine.batch import count_gaps, drop_finished, finish, join, leave, note_gaps
from ridgeline.sim.engine.blocks import free_blocks
from ridgeline.sim.engine.decode import decode, publish, step_need
from ridgeline.sim.engine.disagg import chunk_done, end_pair, poll_decode, poll_prefill, prefilled
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.lora import load_adapters
from ridgeline.sim.engine.memory import keep_prefix, release, room, take, used
from ridgeline.sim.engine.perturb import of_class, refresh
from ridgeline.sim.engine.queues import leave_wait, push, remove, wait
from ridgeline.sim.engine.records import note, note_step
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import cells, lists, logs, nodes, param, ranks, reqs, scratch, slots
from ridgeline.sim.engine.vllm import drop, tokens_out, vllm_step


@jit
def complete_prefill(st: State, r: int, t: int) -> None:
    """Results of the prefill batch that ended at ``t``: first tokens, prompts kept in the tree."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    prefill_only = param(st)[r, p.ROLE] == p.PREFILL_ROLE
    for at in range(rk.nbatch):
        i = slots(st)[base + at].batch
        x = reqs(st)[i]
        x.kv += x.extend
        rk.prefill_tokens += x.extend
        if x.kv < x.prompt + x.gen:
            keep_prefix(st, r, i, False)
            if prefill_only:
                chunk_done(st, r, i, t, False)
            continue
        if prefill_only:
            keep_prefix(st, r, i, True)
            prefilled(st, r, i, t)
            continue
        x.gen += 1
        rk.emitted += 1
        if x.first == 0:
            x.first = t
        else:
            count_gaps(st, r, t - x.last, 1)
        x.last = t
        if x.gen >= x.out:
            release(st, r, i, True)
            finish(st, r, i, t, p.FINISHED)
            rk.full = 0
        else:
            keep_prefix(st, r, i, True)
            join(st, r, i, t)
    rk.nbatch = 0


@jit
def complete(st: State, r: int, t: int) -> None:
    """Results of whatever step ended at ``t``."""
    rk = ranks(st)[r]
    if rk.kind != 0:
        rk.stirred = 1
    if param(st)[r, p.FAMILY] == p.VLLM:
        if rk.kind == 2 and cells(st)[p.G_LOGGING] == 1 and rk.decodes % param(st)[r, p.LOG_EVERY] == 0:
            note(st, t, r, p.LOG_DECODE, rk.running, rk.emitted - rk.log_tokens, t - rk.log_at, rk.dur, rk.decodes, 0)
            rk.log_tokens = rk.emitted
            rk.log_at = t
        if rk.kind != 0:
            tokens_out(st, r, t)
    elif rk.kind == 1:
        complete_prefill(st, r, t)
        drop_finished(st, r, t)
    elif rk.kind == 2:
        if cells(st)[p.G_LOGGING] == 1 and rk.decodes % param(st)[r, p.LOG_EVERY] == 0:
            note(st, t, r, p.LOG_DECODE, rk.running, rk.emitted - rk.log_tokens, t - rk.log_at, rk.dur, rk.decodes, 0)
            rk.log_tokens = rk.emitted
            rk.log_at = t
        drop_finished(st, r, t)
    rk.kind = 0
    rk.mixing = 0


@jit
def refuse(st: State, r: int, i: int, t: int, outcome: int) -> None:
    """End request ``i`` before it was scheduled."""
    finish(st, r, i, t, outcome)
    note(st, t, r, p.LOG_ABORT, i, outcome, 0, 0, 0, 0)


@jit
def enqueue(st: State, r: int, i: int, t: int) -> None:
    """Let request ``i`` into the waiting queue of its rank (or the first queue of its role)."""
    x = reqs(st)[i]
    role = param(st)[r, p.ROLE]
    limit = param(st)[r, p.MAX_QUEUED]
    if limit > 0 and lists(st)[r * p.QUEUES + p.WAIT].n >= limit:
        refuse(st, r, i, t, p.QUEUE_FULL)
        return
    x.queued = t
    x.entry = t
    x.aged = ranks(st)[r].processed
    x.node = ranks(st)[r].root
    if role == p.PREFILL_ROLE:
        x.state = p.BOOTSTRAP
        if param(st)[r, p.ALLOCATION] != 0:
            x.answer = t + param(st)[r, p.HANDSHAKE]
            ranks(st)[r].next_ready = min(ranks(st)[r].next_ready, x.answer)
        push(st, r, p.BOOTS, i)
    elif role == p.DECODE_ROLE:
        x.state = p.PREALLOC
        x.ready = t + param(st)[r, p.HANDSHAKE]
        ranks(st)[r].next_ready = min(ranks(st)[r].next_ready, x.ready)
        push(st, r, p.PREALLOCS, i)
    else:
        hold = of_class(st, r, p.STORAGE, x.kind, t)
        x.ready = t + x.storage_us * hold // 1000 * 1_000_000 if x.storage_us > 0 else 0
        if x.ready > t:
            ranks(st)[r].next_ready = min(ranks(st)[r].next_ready, x.ready)
        wait(st, r, i, t)


@jit
def receive(st: State, r: int, t: int) -> None:
    """Take in what reached the scheduler by ``t``; grammars compile beside the queue."""
    rk = ranks(st)[r]
    box = lists(st)[r * p.QUEUES + p.BOX]
    while box.head >= 0 and reqs(st)[box.head].ready <= t:
        i = box.head
        remove(st, r, p.BOX, i)
        x = reqs(st)[i]
        rk.stirred = 1
        if x.cancel > 0:
            rk.next_cancel = min(rk.next_cancel, x.cancel)
        if x.prompt >= min(param(st)[r, p.CONTEXT], param(st)[r, p.POOL]):
            x.queued = t
            refuse(st, r, i, t, p.TOO_LONG)
        elif x.bits & p.HAS_GRAMMAR and param(st)[r, p.ROLE] != p.DECODE_ROLE:
            compile_ms = of_class(st, r, p.GRAMMAR, x.kind, t)
            x.ready = t + x.grammar_us * compile_ms // 1000 * 1_000_000
            x.state = p.GRAMMAR_WAIT
            rk.next_ready = min(rk.next_ready, x.ready)
            push(st, r, p.GRAMMARS, i)
        else:
            enqueue(st, r, i, t)
    if rk.next_ready > t:
        return
    i = lists(st)[r * p.QUEUES + p.GRAMMARS].head
    while i >= 0:
        following = reqs(st)[i].nxt
        if reqs(st)[i].ready <= t:
            remove(st, r, p.GRAMMARS, i)
            enqueue(st, r, i, t)
        i = following
    look_ahead(st, r, t)


@jit
def look_ahead(st: State, r: int, t: int) -> None:
    """Find when something in the lists of rank ``r`` next becomes ready or leaves."""
    rk = ranks(st)[r]
    rk.next_ready = p.FOREVER
    for which in (p.WAIT, p.GRAMMARS, p.PREALLOCS, p.BOOTS, p.TRANSFERS, p.FLIGHTS):
        i = lists(st)[r * p.QUEUES + which].head
        while i >= 0:
            x = reqs(st)[i]
            due = x.answer if which in (p.BOOTS, p.TRANSFERS, p.FLIGHTS) else x.ready
            if due > t:
                rk.next_ready = min(rk.next_ready, due)
            if x.cancel > t:
                rk.next_cancel = min(rk.next_cancel, x.cancel)
            i = x.nxt


@jit
def cancel_due(st: State, r: int, t: int) -> None:
    """End every request whose client left by ``t``."""
    rk = ranks(st)[r]
    rk.next_cancel = p.FOREVER
    for which in (p.WAIT, p.GRAMMARS, p.BOOTS, p.PREALLOCS, p.TRANSFERS, p.RETRACTS):
        i = lists(st)[r * p.QUEUES + which].head
        while i >= 0:
            x = reqs(st)[i]
            following = x.nxt
            if x.cancel > 0 and x.cancel <= t:
                if which == p.WAIT:
                    leave_wait(st, r, i)
                else:
                    remove(st, r, which, i)
                rk.free += x.held
                x.held = 0
                end_pair(st, r, i, t, p.CANCELLED)
            elif x.cancel > 0:
                rk.next_cancel = min(rk.next_cancel, x.cancel)
            i = following
    base = r * cells(st)[p.G_SLOTS]
    last = -1
    while True:
        best = -1
        for at in range(rk.running):
            i = slots(st)[base + at].req
            x = reqs(st)[i]
            if x.cancel > t:
                rk.next_cancel = min(rk.next_cancel, x.cancel)
            elif x.cancel > 0 and x.state == p.RUNNING and i > last and (best < 0 or i < best):
                best = i
        if best < 0:
            break
        last = best
        if param(st)[r, p.FAMILY] == p.VLLM:
            drop(st, r, best)
            free_blocks(st, r, best)
        else:
            leave(st, r, best)
            release(st, r, best, True)
        refuse(st, r, best, t, p.CANCELLED)
    if rk.chunk >= 0 and reqs(st)[rk.chunk].cancel > 0:
        if reqs(st)[rk.chunk].cancel <= t:
            release(st, r, rk.chunk, False)
            refuse(st, r, rk.chunk, t, p.CANCELLED)
            rk.chunk = -1
        else:
            rk.next_cancel = min(rk.next_cancel, reqs(st)[rk.chunk].cancel)


@jit
def launch_prefill(st: State, r: int, t: int, lockstep: bool) -> None:
    """Start the batch that `admit` formed; with mixed chunk the running requests decode along."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    tokens = 0
    pairs = 0
    extra = 0
    cached = 0
    for at in range(rk.nbatch):
        i = slots(st)[base + at].batch
        x = reqs(st)[i]
        tokens += x.extend
        pairs += x.extend * (2 * x.kv + x.extend)
        if x.kv == x.tree and x.kv == x.matched:
            cached += x.matched
            extra += of_class(st, r, p.WORK, x.kind, t) + x.extra
        x.matched = -1
    dur = param(st)[r, p.STEP_BASE] + param(st)[r, p.STEP_PREFILL] * tokens + param(st)[r, p.STEP_ATTENTION] * pairs
    dur += extra + load_adapters(st, r, t)
    rk.mixing = 0
    n = rk.running
    context = rk.ctx
    if param(st)[r, p.MIXED] and param(st)[r, p.CHUNK] > 0 and n > 0 and param(st)[r, p.DRAFT] == 0:
        need = step_need(st, r)
        if need <= room(st, r):
            take(st, r, need)
            rk.mixing = 1
            dur += param(st)[r, p.STEP_DECODE] * n + param(st)[r, p.STEP_CONTEXT] * rk.ctx
            dur += param(st)[r, p.STEP_MIXED] * n
            if not lockstep:
                note_gaps(st, r, t + dur, rk.steps)
            rk.steps += 1
            rk.ctx += n
            rk.emitted += n - rk.ndone
    rk.decode_left = param(st)[r, p.DECODE_INTERVAL]
    rk.processed += tokens
    rk.began = t
    rk.prev_steps = rk.steps - rk.mixing
    rk.kind = 1
    rk.dur = dur
    rk.now = t + dur
    rk.busy += dur
    publish(st, r, t, used(st, r))
    note(st, t, r, p.LOG_PREFILL, rk.nbatch, tokens, cached, rk.running, dur, rk.mixing)
    note_step(st, t, r, 1, tokens, pairs, context if rk.mixing else 0, rk.mixing != 0)


@jit
def boundary(st: State, r: int, t: int, cut: int, lockstep: bool, order_fn: Callable[..., int]) -> None:
    """The iteration of rank ``r`` at ``t``; afterwards ``rank.now`` is its next boundary.

    ``lockstep``: the group decides when the step ends, so one step only, and its gaps are counted later.
    """
    rk = ranks(st)[r]
    rk.seen = rk.began if rk.kind != 0 and param(st)[r, p.OVERLAP] else t
    complete(st, r, t)
    if t >= rk.next_perturb:
        refresh(st, r, t)
    if rk.halted or param(st)[r, p.HANG]:
        rk.now = rk.next_perturb
        if not rk.halted:
            rk.hold = 1
        return
    rk.hold = 0
    receive(st, r, rk.seen)
    if t >= rk.next_cancel:
        cancel_due(st, r, t)
    role = param(st)[r, p.ROLE]
    if role == p.DECODE_ROLE:
        cells(st)[p.G_STOP] = 0
        while poll_decode(st, r, t) and rk.running == 0:
            pass
        if cells(st)[p.G_STOP]:
            # another rank has something to do now: look again after one step
            cut = t
    elif role == p.PREFILL_ROLE:
        poll_prefill(st, r, t)
    wait_list = lists(st)[r * p.QUEUES + p.WAIT]
    box = lists(st)[r * p.QUEUES + p.BOX]
    while param(st)[r, p.FAMILY] == p.VLLM:
        stop = min(cut, rk.next_cancel, rk.next_perturb)
        arrival = rk.next_ready
        if box.head >= 0:
            arrival = min(arrival, reqs(st)[box.head].ready)
        if vllm_step(st, r, t, stop, arrival):
            return
        break
    while param(st)[r, p.FAMILY] == p.SGLANG:
        if role != p.DECODE_ROLE and admit(st, r, t, order_fn):
            launch_prefill(st, r, t, lockstep)
            return
        if rk.running == 0:
            break
        stop = min(cut, rk.next_cancel, rk.next_perturb)
        arrival = rk.next_ready
        if box.head >= 0:
            arrival = min(arrival, reqs(st)[box.head].ready)
        one = rk.chunk >= 0 or (wait_list.n > 0 and not rk.full)
        one = one or (wait_list.n > 0 and param(st)[r, p.PRIORITY] != 0 and param(st)[r, p.PREEMPT_ON] != 0)
        if role == p.DECODE_ROLE:
            # what may be allocated changes with every generated token
            one = one or lists(st)[r * p.QUEUES + p.PREALLOCS].n + lists(st)[r * p.QUEUES + p.RETRACTS].n > 0
        if decode(st, r, t, stop, arrival, one, lockstep):
            return
        if rk.halted:
            rk.now = p.FOREVER
            return
    rk.ratio = param(st)[r, p.RATIO_INIT]
    rk.full = 0
    rk.dur = 0
    if rk.stirred:
        publish(st, r, t, used(st, r))
        rk.stirred = 0
    if role == p.UNIFIED:
        rk.next_cancel = p.FOREVER
        look_ahead(st, r, rk.seen)
    rk.now = min(rk.next_ready, rk.next_cancel, rk.next_perturb)
    if box.head >= 0:
        rk.now = min(rk.now, reqs(st)[box.head].ready)
    # what came while the last step ran is seen in another look, at once
    rk.now = max(rk.now, t)


@jit
def short_of(st: State, r: int) -> int:
    """Which table is too small for one more iteration of rank ``r`` (RAN: none)."""
    n = lists(st)[r * p.QUEUES + p.WAIT].n + lists(st)[r * p.QUEUES + p.BOX].n
    if ranks(st)[r].now == p.FOREVER:
        return p.RAN
    asked = 2 * (n if n < 200 or param(st)[r, p.ORDER] == p.DFS_WEIGHT or param(st)[r, p.ORDER] == p.SHORTEST_PREFILL
                 else 200) + 3 * cells(st)[p.G_SLOTS] + 16  # fmt: skip
    if cells(st)[p.G_TOP_NODE] + asked > len(nodes(st)):
        return p.NEED_NODES
    if cells(st)[p.G_LOGGING] and cells(st)[p.G_LOG] + n + 3 * cells(st)[p.G_SLOTS] + 64 > len(logs(st)):
        return p.NEED_LOG
    width = max(n + cells(st)[p.G_SLOTS], 64) + 2
    if param(st)[r, p.ORDER] == p.DFS_WEIGHT:
        width = max(width, cells(st)[p.G_TOP_NODE] + asked)
    return p.NEED_SCRATCH if width > scratch(st).shape[1] else p.RAN
