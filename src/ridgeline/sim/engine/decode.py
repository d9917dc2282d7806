"""Decode: memory check, retraction, and stretches of steps with unchanged membership.

A stretch of ``k`` steps over ``B`` requests with context ``S`` takes ``k (a + dB + eS) + e B k (k-1) / 2``;
it ends at the next finish, at the first step boundary at or after the next thing that could change the
batch, or where memory runs out, so it equals stepping exactly (rules: SIGNALS §14.4).
"""

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.batch import count_gaps, count_run, drop_finished, finish, gained, leave, note_gaps, reach
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.memory import release, room, take, used
from ridgeline.sim.engine.queues import push, wait
from ridgeline.sim.engine.records import note, note_step
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import cells, lists, param, ranks, reqs, slots, wide
from ridgeline.sim.engine.tree import evict

BILLION = 1_000_000_000
LONGEST = 65536
"""Most steps in one stretch: keeps every product inside 63 bits."""


@jit
def pages(st: State, r: int, k: int) -> int:
    """Pages that the next ``k`` decode steps take."""
    rk = ranks(st)[r]
    page = param(st)[r, p.PAGE]
    if page == 1:
        return int(rk.running * k)
    n = (k // page) * rk.running
    for j in range(k % page):
        n += wide(st)[cells(st)[p.G_RESIDUE] + r, -(rk.steps + j) % page]
    return int(n)


@jit
def draft_need(st: State, r: int) -> int:
    """Tokens that the next speculative step takes (whole pages)."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    need = 0
    for at in range(rk.running):
        i = slots(st)[base + at].req
        went = rk.steps - reqs(st)[i].s0
        need += reach(st, r, i, went + 1) - reach(st, r, i, went)
    return need


@jit
def step_need(st: State, r: int) -> int:
    """Tokens (whole pages) that the next decode step takes."""
    if param(st)[r, p.DRAFT] > 0:
        return draft_need(st, r)
    return int(pages(st, r, 1) * param(st)[r, p.PAGE])


@jit
def affordable(st: State, r: int, k: int) -> int:
    """Most steps up to ``k`` for which memory suffices."""
    have = room(st, r) // param(st)[r, p.PAGE]
    if pages(st, r, k) <= have:
        return k
    page = param(st)[r, p.PAGE]
    rounds = have // ranks(st)[r].running
    n = rounds * page
    have -= rounds * ranks(st)[r].running
    while n < k:
        ends = -(ranks(st)[r].steps + n) % page
        have -= wide(st)[cells(st)[p.G_RESIDUE] + r, ends] if page > 1 else ranks(st)[r].running
        if have < 0:
            break
        n += 1
    return int(n)


@jit
def victim(st: State, r: int) -> int:
    """Who is retracted next: fewest generated tokens, then longest prompt, then last joined."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    best = -1
    best_gen = 0
    for at in range(rk.running):
        i = slots(st)[base + at].req
        x = reqs(st)[i]
        gen = x.g0 + gained(st, r, i)
        if best < 0:
            best = i
            best_gen = gen
            continue
        y = reqs(st)[best]
        first = -x.prompt
        second = -y.prompt
        if param(st)[r, p.PRIORITY]:
            sign = param(st)[r, p.PRIORITY_SIGN]
            if x.priority != y.priority:
                if -x.priority * sign < -y.priority * sign:
                    best = i
                    best_gen = gen
                continue
        if (
            gen < best_gen
            or (gen == best_gen and first < second)
            or (gen == best_gen and first == second and (x.s0 > y.s0 or (x.s0 == y.s0 and i > best)))
        ):
            best = i
            best_gen = gen
    return int(best)


@jit
def retract(st: State, r: int, t: int) -> None:
    """Put running requests back until the next step fits; at least one, never the last.

    The last one that does not fit either is aborted, or (old versions) stops the scheduler.
    """
    rk = ranks(st)[r]
    count = 0
    again = p.RETRACTS if param(st)[r, p.ROLE] == p.DECODE_ROLE else p.WAIT
    while rk.running > 1 and (count == 0 or room(st, r) < step_need(st, r)):
        i = victim(st, r)
        leave(st, r, i)
        release(st, r, i, False)
        want = param(st)[r, p.RETRACT_STEPS] * rk.running
        if rk.free < want:
            rk.free += evict(st, r, want - rk.free)
        reqs(st)[i].retractions += 1
        count += 1
        if again == p.WAIT:
            wait(st, r, i, t)
        else:
            reqs(st)[i].state = p.RETRACTED
            reqs(st)[i].entry = t
            push(st, r, p.RETRACTS, i)
    rk.retractions += count
    if rk.running == 1 and room(st, r) < step_need(st, r):
        i = slots(st)[r * cells(st)[p.G_SLOTS]].req
        if param(st)[r, p.ABORT_LAST]:
            leave(st, r, i)
            release(st, r, i, False)
            finish(st, r, i, t, p.OUT_OF_MEMORY)
            note(st, t, r, p.LOG_ABORT, i, p.OUT_OF_MEMORY, 0, 0, 0, 0)
        else:
            rk.halted = 1
    generated = 0
    asked = 0
    base = r * cells(st)[p.G_SLOTS]
    for at in range(rk.running):
        i = slots(st)[base + at].req
        generated += reqs(st)[i].g0 + gained(st, r, i)
        asked += reqs(st)[i].max_new
    top = generated + param(st)[r, p.RETRACT_STEPS] * rk.running
    rk.ratio = min(BILLION, top * BILLION // (asked + 1))
    note(st, t, r, p.LOG_RETRACT, count, rk.ratio, 0, 0, 0, 0)


@jit
def steps_to(base: int, growth: int, span: int, most: int) -> int:
    """Fewest steps (1 to ``most``) whose total time reaches ``span``; the j-th takes base + j growth."""
    if most * base + growth * (most * (most - 1) // 2) < span:
        return most
    if growth == 0:
        return max(1, min(most, (span + base - 1) // base))
    half = base - 0.5 * growth
    k = int((-half + (half * half + 2.0 * growth * span) ** 0.5) / growth)
    k = max(1, min(k, most))
    while k > 1 and (k - 1) * base + growth * ((k - 1) * (k - 2) // 2) >= span:
        k -= 1
    while k < most and k * base + growth * (k * (k - 1) // 2) < span:
        k += 1
    return k


@jit
def publish(st: State, r: int, t: int, tokens: int) -> None:
    """Refresh the load snapshot that routers read."""
    rk = ranks(st)[r]
    rk.snap_at = t
    queued = lists(st)[r * p.QUEUES + p.WAIT].n + lists(st)[r * p.QUEUES + p.BOOTS].n
    queued += lists(st)[r * p.QUEUES + p.PREALLOCS].n + lists(st)[r * p.QUEUES + p.TRANSFERS].n
    queued += lists(st)[r * p.QUEUES + p.RETRACTS].n
    rk.snap_requests = rk.running + queued + rk.nbatch
    rk.snap_tokens = tokens + rk.wtokens


@jit
def decode(st: State, r: int, t: int, cut: int, arrival: int, single: bool, lockstep: bool) -> bool:
    """Launch decode steps at ``t``; False if retraction left nothing to run.

    ``cut``: the first step boundary at or after it ends the stretch; ``arrival`` likewise, but with overlap one
    step later, as a batch is formed while the one before it runs. The effects of all steps are written
    now; finished requests leave at the boundary ``rank.now``.
    """
    rk = ranks(st)[r]
    rk.nbatch = 0
    draft = param(st)[r, p.DRAFT] > 0
    calm = True
    if rk.ndone > 0 and room(st, r) < step_need(st, r):
        rk.prev_steps = rk.steps
        drop_finished(st, r, t)
        if rk.running == 0:
            return False
        # who waits may be admitted after this step
        single = True
    if room(st, r) < step_need(st, r):
        retract(st, r, t)
        calm = False
        if rk.running == 0 or rk.halted:
            return False
    else:
        rk.ratio = max(param(st)[r, p.RATIO_MIN], rk.ratio - param(st)[r, p.RATIO_DECAY])
    n = rk.running
    context = rk.ctx
    base = param(st)[r, p.STEP_BASE] + param(st)[r, p.STEP_DECODE] * n + param(st)[r, p.STEP_CONTEXT] * rk.ctx
    growth = param(st)[r, p.STEP_CONTEXT] * n
    k = 1
    if draft:
        base += param(st)[r, p.STEP_DRAFT] * n
    elif not single and not lockstep and calm and rk.ndone == 0:
        most = min(rk.fin_min - rk.steps, LONGEST)
        if rk.decode_left > 0:
            most = min(most, rk.decode_left)
        if cells(st)[p.G_LOGGING] == 1:
            every = param(st)[r, p.LOG_EVERY]
            most = min(most, every - rk.decodes % every)
        most = max(most, 1)
        k = steps_to(base, growth, cut - t, most)
        if not param(st)[r, p.OVERLAP]:
            k = min(k, steps_to(base, growth, arrival - t, most))
        elif arrival <= t:
            k = 1
        else:
            k = min(k, 1 + steps_to(base, growth, arrival - t, most))
        k = affordable(st, r, k)
        rk.ratio = max(param(st)[r, p.RATIO_MIN], rk.ratio - (k - 1) * param(st)[r, p.RATIO_DECAY])
    every = param(st)[r, p.SNAPSHOT_EVERY]
    last = (rk.decodes + k) // every * every
    if last > rk.decodes:
        ahead = last - rk.decodes
        held = draft_need(st, r) if draft else pages(st, r, ahead) * param(st)[r, p.PAGE]
        at = t + (ahead - 1) * base + growth * ((ahead - 1) * (ahead - 2) // 2)
        publish(st, r, at, used(st, r) + held)
    take(st, r, draft_need(st, r) if draft else pages(st, r, k) * param(st)[r, p.PAGE])
    if not lockstep:
        note_gaps(st, r, t + base, rk.steps)
    if k > 1:
        count_run(st, r, base + growth, growth, k - 1, n)
    total = k * base + growth * (k * (k - 1) // 2)
    if draft:
        before = rk.steps
        got = 0
        first = r * cells(st)[p.G_SLOTS]
        for at in range(n):
            i = slots(st)[first + at].req
            rk.steps = before
            had = gained(st, r, i)
            rk.steps = before + 1
            got += gained(st, r, i) - had
        rk.ctx += got
        rk.emitted += got
        count_gaps(st, r, 0, max(0, got - n))
    else:
        rk.steps += k
        rk.ctx += k * n
        rk.emitted += k * n - rk.ndone
    rk.prev_steps = rk.steps - 1
    rk.began = t + (k - 1) * base + growth * ((k - 1) * (k - 2) // 2)
    if not lockstep:
        rk.last_decode = t + total
    rk.decodes += k
    rk.decode_left = max(0, rk.decode_left - k)
    rk.kind = 2
    rk.dur = total
    rk.now = t + total
    rk.busy += total
    note_step(st, t, r, k, 0, 0, context, False)
    return True
