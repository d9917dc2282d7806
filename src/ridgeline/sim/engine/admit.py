"""Prefill admission: who enters the next prefill batch, and how much of it (rules: SIGNALS §14.3).

Reserve ratios are integers in billionths; only running requests are scaled by the ratio. Because every
compared quantity but the reserve is a whole number, rounding the reserve down decides exactly as the
fraction would.
"""

from collections.abc import Callable

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.batch import gained, leave
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.lora import lora_fits
from ridgeline.sim.engine.memory import ceil_page, release, room, take
from ridgeline.sim.engine.queues import arrange, leave_wait, wait
from ridgeline.sim.engine.records import note
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import cells, lists, nodes, param, ranks, reqs, scratch, slots
from ridgeline.sim.engine.tree import lock, match, unlock

BILLION = 1_000_000_000
CONTINUE, NO_TOKEN, OTHER = range(3)
# cells of the pass's budget (`State.ask` row 2): see `admit`
TOTAL, CURRENT, INPUT, CHUNK_LEFT, RESERVE = range(5)


@jit
def left_of(st: State, r: int, i: int, key: int) -> int:
    """Tokens the running request ``i`` may still generate (``key``: its slot's)."""
    if param(st)[r, p.DRAFT] == 0:
        return int(max(0, key - ranks(st)[r].steps))
    return int(reqs(st)[i].max_new - reqs(st)[i].g0 - gained(st, r, i))


@jit
def running_reserve(st: State, r: int) -> int:
    """Billionths of tokens that the running requests may still ask for, as admission estimates it."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    clip = param(st)[r, p.CLIP]
    plain = 0
    whole = 0
    for at in range(rk.running):
        s = slots(st)[base + at]
        left = min(left_of(st, r, s.req, s.key), clip)
        if s.full:
            whole += left
        else:
            plain += left
    if param(st)[r, p.IGNORE_EOS_FULL]:
        return int(plain * rk.ratio + whole * BILLION)
    return int((plain + whole) * rk.ratio)


@jit
def remaining(st: State, r: int) -> int:
    """Tokens admission still sees: free and evictable, less what the batch and the running reserve."""
    b = param(st)[cells(st)[p.G_ASK] + 2]
    return int(room(st, r) - b[TOTAL] - b[RESERVE] // BILLION)


@jit
def charge(st: State, r: int, i: int, extend: int, new: int) -> None:
    """Enter request ``i`` in the batch with ``extend`` tokens to compute and reserve for it."""
    b = param(st)[cells(st)[p.G_ASK] + 2]
    rk = ranks(st)[r]
    x = reqs(st)[i]
    page = param(st)[r, p.PAGE]
    paged = ceil_page(extend, page)
    b[TOTAL] += paged + page + new
    b[CURRENT] += paged + page
    b[INPUT] -= paged
    b[CHUNK_LEFT] -= paged
    x.extend = extend
    x.held += paged
    slots(st)[r * cells(st)[p.G_SLOTS] + rk.nbatch].batch = i
    rk.nbatch += 1


@jit
def budget_state(st: State, r: int) -> int:
    """Whether the pass goes on after an admission."""
    b = param(st)[cells(st)[p.G_ASK] + 2]
    if remaining(st, r) <= 0 or room(st, r) - b[CURRENT] <= 0:
        return NO_TOKEN
    if b[INPUT] <= 0 or (param(st)[r, p.CHUNK] > 0 and b[CHUNK_LEFT] <= 0):
        return OTHER
    return CONTINUE


@jit
def continue_chunk(st: State, r: int) -> None:
    """Give the half-done request its next chunk; it leaves `chunk` when its prompt ends with it."""
    rk = ranks(st)[r]
    i = rk.chunk
    x = reqs(st)[i]
    b = param(st)[cells(st)[p.G_ASK] + 2]
    page = param(st)[r, p.PAGE]
    left = x.prompt + x.gen - x.kv
    most = min(b[CHUNK_LEFT], remaining(st, r))
    if most <= 0:
        most = b[CHUNK_LEFT]
    most = min(most, room(st, r))
    size = min(left, most)
    if size < left or ceil_page(size, page) > room(st, r):
        size = most - most % page
        if size <= 0:
            return
        size = min(size, left)
    done = size == left
    charge(st, r, i, size, min(x.max_new, param(st)[r, p.CLIP]) if done else 0)
    if done:
        rk.chunk = -1


@jit
def fits_ignore_eos(st: State, r: int, i: int, extend: int) -> bool:
    """The finer estimate for ignore_eos without a cache: walk releases in order of what is left to do."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    s = scratch(st)
    n = 0
    for at in range(-1, rk.running + rk.nbatch):
        j = i
        if at >= 0:
            j = slots(st)[base + at].req if at < rk.running else slots(st)[base + at - rk.running].batch
        x = reqs(st)[j]
        gen = x.gen
        if 0 <= at < rk.running:
            gen = x.g0 + gained(st, r, j)
        ratio = BILLION if x.bits & p.IGNORE_EOS else rk.ratio
        left = x.max_new * ratio - gen * BILLION
        if left <= 0:
            continue
        k = n
        while k > 0 and s[0, k - 1] > left:
            s[0, k] = s[0, k - 1]
            s[1, k] = s[1, k - 1]
            k -= 1
        s[0, k] = left
        s[1, k] = x.prompt + gen
        n += 1
    page = param(st)[r, p.PAGE]
    now = (room(st, r) - param(st)[cells(st)[p.G_ASK] + 2, CURRENT] - ceil_page(extend, page) - page) * BILLION
    freed = 0
    for k in range(n):
        size = n - k
        if now + freed * BILLION - s[0, k] * size <= size * BILLION:
            return False
        freed += s[1, k]
    return True


@jit
def try_add(st: State, r: int, i: int) -> int:
    """Try to admit waiting request ``i``; returns whether the pass goes on."""
    rk = ranks(st)[r]
    x = reqs(st)[i]
    b = param(st)[cells(st)[p.G_ASK] + 2]
    page = param(st)[r, p.PAGE]
    most = param(st)[r, p.PREFILL_MAX]
    if most > 0 and rk.nbatch >= most:
        return OTHER
    fill = x.prompt + x.gen
    cached = param(st)[r, p.CACHE] != 0
    node = rk.root
    if cached:
        node = match(st, r, i, (fill - 1) - (fill - 1) % page)
    prefix = nodes(st)[node].end
    extend = fill - prefix
    clip = param(st)[r, p.CLIP]
    chunked = param(st)[r, p.CHUNK] > 0
    paged = ceil_page(extend, page)
    fine = not cached and (x.bits & p.IGNORE_EOS) != 0
    if fine:
        if paged + page > room(st, r) - b[CURRENT] or not fits_ignore_eos(st, r, i, extend):
            return NO_TOKEN
    else:
        lock(st, r, node)
        if extend + min(max(x.max_new - x.gen, 0), clip) + page >= remaining(st, r):
            unlock(st, r, node)
            return NO_TOKEN
    size = extend
    if chunked:
        if (extend if fine else paged) > b[CHUNK_LEFT]:
            size = b[CHUNK_LEFT] - b[CHUNK_LEFT] % page
            size = (prefix + size) - (prefix + size) % page - prefix
    elif not fine and rk.nbatch > 0 and paged >= b[INPUT]:
        size = 0
    if size <= 0 or (size < extend and rk.chunk >= 0):
        if not fine:
            unlock(st, r, node)
        return OTHER
    x.node = node
    x.tree = prefix
    x.kv = prefix
    x.held = 0
    if x.start == 0:
        x.cached = prefix
    x.matched = prefix
    rk.cached_tokens += prefix
    charge(st, r, i, size, min(x.max_new, clip) if size == extend else 0)
    if size < extend:
        rk.chunk = i
    return budget_state(st, r)


@jit
def preempt_for(st: State, r: int, i: int, t: int) -> bool:
    """Make room for request ``i`` by putting back running requests of much lower priority."""
    rk = ranks(st)[r]
    x = reqs(st)[i]
    sign = param(st)[r, p.PRIORITY_SIGN]
    clip = param(st)[r, p.CLIP]
    base = r * cells(st)[p.G_SLOTS]
    need = (x.prompt + x.gen + min(x.max_new, clip) - remaining(st, r)) * BILLION
    chosen = 0
    while True:
        best = -1
        for at in range(rk.running):
            s = slots(st)[base + at]
            if s.full > 1 or reqs(st)[s.req].state == p.DONE:
                continue
            if best < 0:
                best = at
                continue
            y = reqs(st)[s.req]
            z = reqs(st)[slots(st)[base + best].req]
            ky = -y.priority * sign
            kz = -z.priority * sign
            later = y.entry > z.entry or (y.entry == z.entry and s.req > slots(st)[base + best].req)
            if ky < kz or (ky == kz and later):
                best = at
        if best < 0:
            break
        s = slots(st)[base + best]
        if (x.priority - reqs(st)[s.req].priority) * -sign <= param(st)[r, p.PREEMPT_THRESHOLD]:
            break
        s.full += 2
        scratch(st)[4, chosen] = s.req
        chosen += 1
        need -= min(left_of(st, r, s.req, s.key), clip) * rk.ratio
        if need <= 0:
            break
    for at in range(rk.running):
        if slots(st)[base + at].full > 1:
            slots(st)[base + at].full -= 2
    if chosen == 0 or need > 0:
        return False
    for at in range(chosen):
        j = scratch(st)[4, at]
        y = reqs(st)[j]
        s = slots(st)[base + y.slot]
        whole = param(st)[r, p.IGNORE_EOS_FULL] and s.full
        left = min(left_of(st, r, s.req, s.key), clip)
        param(st)[cells(st)[p.G_ASK] + 2, RESERVE] -= left * (BILLION if whole else rk.ratio)
        leave(st, r, j)
        release(st, r, j, False)
        y.retractions += 1
        rk.retractions += 1
        scratch(st)[5, param(st)[cells(st)[p.G_ASK] + 2, 5]] = j
        param(st)[cells(st)[p.G_ASK] + 2, 5] += 1
    note(st, t, r, p.LOG_PREEMPT, chosen, i, rk.running, 0, 0, 0)
    rk.full = 1
    return True


@jit
def admit(st: State, r: int, t: int, order_fn: Callable[..., int]) -> bool:
    """One admission pass at time ``t``: form the next prefill batch; False if there is none.

    The pass keeps its budget in the third row that policies see: tokens promised in all, tokens taken now, input
    budget left, chunk budget left, running reserve (billionths), number of preempted requests.
    """
    rk = ranks(st)[r]
    rk.nbatch = 0
    preempts = param(st)[r, p.PRIORITY] != 0 and param(st)[r, p.PREEMPT_ON] != 0
    if preempts:
        rk.full = 0
    q = lists(st)[r * p.QUEUES + p.WAIT]
    if (rk.full or q.n == 0) and rk.chunk < 0:
        return False
    if rk.decode_left > 0 and rk.running > 0:
        return False
    most = param(st)[r, p.MAX_RUNNING]
    if rk.running >= most and rk.chunk < 0 and not preempts:
        rk.full = 1
        return False
    rk.passes += 1
    arrange(st, r, order_fn)
    b = param(st)[cells(st)[p.G_ASK] + 2]
    mixed = rk.running if param(st)[r, p.MIXED] and param(st)[r, p.CHUNK] > 0 else 0
    b[TOTAL] = mixed
    b[CURRENT] = mixed
    b[INPUT] = param(st)[r, p.MAX_PREFILL] - mixed
    b[CHUNK_LEFT] = param(st)[r, p.CHUNK] - mixed
    b[RESERVE] = running_reserve(st, r)
    b[5] = 0
    if rk.chunk >= 0 and b[CHUNK_LEFT] > 0:
        continue_chunk(st, r)
    i = q.head
    while i >= 0:
        following = reqs(st)[i].nxt
        x = reqs(st)[i]
        if param(st)[r, p.LORA_SLOTS] > 0 and not lora_fits(st, r, i):
            i = following
            continue
        if rk.nbatch >= most - rk.running:
            rk.full = 1
        if rk.full and not (preempts and preempt_for(st, r, i, t)):
            break
        if x.ready > rk.seen:
            i = following
            continue
        verdict = try_add(st, r, i)
        if verdict != CONTINUE:
            if verdict == NO_TOKEN and (rk.nbatch > 0 or rk.running > 0):
                rk.full = 1
            break
        i = following
    total = 0
    for at in range(rk.nbatch):
        i = slots(st)[r * cells(st)[p.G_SLOTS] + at].batch
        x = reqs(st)[i]
        if x.state == p.WAITING:
            leave_wait(st, r, i)
            x.state = p.PREFILLING
            if x.start == 0:
                x.start = t
        total += ceil_page(x.extend, param(st)[r, p.PAGE])
    for at in range(b[5]):
        wait(st, r, scratch(st)[5, at], t)
    if rk.nbatch == 0:
        return False
    take(st, r, total)
    return True
