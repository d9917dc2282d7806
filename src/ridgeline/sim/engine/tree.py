"""The radix prefix cache of one rank: match, insert, lock, evict (rules: SIGNALS §10).

Nodes of all ranks share one pool. A child is found in one hash table by its parent and the content of its
first page. Evictable leaves sit in a pairing heap inside the nodes, keyed by the eviction policy; every
policy's key only grows while a leaf waits, so a stale key is refreshed when it reaches the top.
Gateway trees of the cache-aware router are the same thing under pseudo-ranks with pages of one token.
"""

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.content import agree, mix, page_hash, seg_at
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import cells, nodes, param, ranks, reqs, table


@jit
def new_node(st: State, r: int, parent: int) -> int:
    """Take a node from the free list or the top of the pool."""
    n = cells(st)[p.G_FREE_NODE]
    if n >= 0:
        cells(st)[p.G_FREE_NODE] = nodes(st)[n].hnext
    else:
        n = cells(st)[p.G_TOP_NODE]
        cells(st)[p.G_TOP_NODE] += 1
    cells(st)[p.G_LIVE_NODES] += 1
    x = nodes(st)[n]
    x.parent = parent
    x.rank = r
    x.lock = 0
    x.nchild = 0
    x.hits = 0
    x.hchild = -1
    x.hnext = -1
    x.inheap = 0
    x.alive = 1
    x.priority = 0
    x.weight = 0
    ranks(st)[r].order_next += 1
    x.order = ranks(st)[r].order_next
    return int(n)


@jit
def put(st: State, n: int) -> None:
    """Enter node ``n`` in the child table under its hash."""
    mask = cells(st)[p.G_MASK]
    at = nodes(st)[n].h & mask
    while table(st)[at] >= 0:
        at = (at + 1) & mask
    table(st)[at] = n


@jit
def take_out(st: State, n: int) -> None:
    """Remove node ``n`` from the child table, closing the gap it leaves."""
    mask = cells(st)[p.G_MASK]
    at = nodes(st)[n].h & mask
    while table(st)[at] != n:
        at = (at + 1) & mask
    hole = at
    at = (at + 1) & mask
    while table(st)[at] >= 0:
        home = nodes(st)[table(st)[at]].h & mask
        if ((at - home) & mask) >= ((at - hole) & mask):
            table(st)[hole] = table(st)[at]
            hole = at
        at = (at + 1) & mask
    table(st)[hole] = -1


@jit
def child_of(st: State, parent: int, h: int) -> int:
    """The child of ``parent`` whose first page hashes to ``h``, or -1."""
    mask = cells(st)[p.G_MASK]
    at = h & mask
    while table(st)[at] >= 0:
        n = table(st)[at]
        if nodes(st)[n].h == h and nodes(st)[n].parent == parent:
            return int(n)
        at = (at + 1) & mask
    return -1


@jit
def child_key(st: State, r: int, parent: int, i: int, k: int, start: int, page: int) -> int:
    """Hash of the page of request ``i`` at ``start``; under the root the namespace belongs to it."""
    h = mix(parent + 17, reqs(st)[i].space) if parent == ranks(st)[r].root else mix(parent + 17, -1)
    return page_hash(st, i, k, start, start + page, h)


@jit
def heap_meld(st: State, a: int, b: int) -> int:
    """Join two pairing heaps; smaller (hk1, hk2) on top, the node made first where they are equal."""
    if a < 0:
        return b
    if b < 0:
        return a
    x = nodes(st)[a]
    y = nodes(st)[b]
    if y.hk1 < x.hk1 or (y.hk1 == x.hk1 and (y.hk2 < x.hk2 or (y.hk2 == x.hk2 and y.order < x.order))):
        a, b = b, a
    nodes(st)[b].hnext = nodes(st)[a].hchild
    nodes(st)[a].hchild = b
    return a


@jit
def heap_keys(st: State, r: int, n: int) -> None:
    """Write the present eviction key of node ``n`` into it (lowest leaves first)."""
    x = nodes(st)[n]
    policy = param(st)[r, p.EVICTION]
    x.hk2 = x.tick
    x.hk1 = 0
    if policy == p.LFU:
        x.hk1 = x.hits
    elif policy == p.SLRU:
        x.hk1 = 1 if x.hits >= 2 else 0
    elif policy == p.PRIORITY_EVICTION:
        x.hk1 = x.priority
    elif policy == p.TLRU:
        keep = max(0, x.end + param(st)[r, p.TLRU_NEXT] - param(st)[r, p.TLRU_THRESHOLD])
        x.hk1 = 0 if x.start >= keep else 1
    elif policy == p.FIFO:
        x.hk2 = x.order


@jit
def heap_push(st: State, r: int, n: int) -> None:
    """Offer node ``n`` as an evictable leaf."""
    heap_keys(st, r, n)
    x = nodes(st)[n]
    x.inheap = 1
    x.hchild = -1
    x.hnext = -1
    ranks(st)[r].heap = heap_meld(st, ranks(st)[r].heap, n)


@jit
def heap_pop(st: State, r: int) -> int:
    """Take the top off the rank's heap (two-pass pairing)."""
    top = ranks(st)[r].heap
    rest = -1
    at = nodes(st)[top].hchild
    while at >= 0:
        other = nodes(st)[at].hnext
        after = -1
        nodes(st)[at].hnext = -1
        if other >= 0:
            after = nodes(st)[other].hnext
            nodes(st)[other].hnext = -1
        pair = heap_meld(st, at, other)
        nodes(st)[pair].hnext = rest
        rest = pair
        at = after
    heap = -1
    while rest >= 0:
        following = nodes(st)[rest].hnext
        nodes(st)[rest].hnext = -1
        heap = heap_meld(st, heap, rest)
        rest = following
    ranks(st)[r].heap = heap
    nodes(st)[top].inheap = 0
    nodes(st)[top].hchild = -1
    return int(top)


@jit
def lock(st: State, r: int, n: int) -> None:
    """Hold ``n`` and its ancestors: held tokens are not evictable."""
    rk = ranks(st)[r]
    while n != rk.root:
        x = nodes(st)[n]
        if x.lock == 0:
            rk.evictable -= x.end - x.start
            rk.protected += x.end - x.start
        x.lock += 1
        n = x.parent


@jit
def unlock(st: State, r: int, n: int) -> None:
    """Let go of ``n`` and its ancestors."""
    rk = ranks(st)[r]
    while n != rk.root:
        x = nodes(st)[n]
        x.lock -= 1
        if x.lock == 0:
            rk.evictable += x.end - x.start
            rk.protected -= x.end - x.start
            if x.nchild == 0 and x.inheap == 0:
                heap_push(st, r, n)
        n = x.parent


@jit
def split(st: State, r: int, n: int, at: int, page: int) -> int:
    """Cut node ``n`` at position ``at``; returns the new upper part."""
    take_out(st, n)
    parent = nodes(st)[n].parent
    u = new_node(st, r, parent)
    upper = nodes(st)[u]
    x = nodes(st)[n]
    upper.h = x.h
    upper.owner = x.owner
    upper.start = x.start
    upper.end = at
    upper.seg = x.seg
    upper.lock = x.lock
    upper.nchild = 1
    upper.hits = x.hits
    upper.priority = x.priority
    upper.tick = x.tick
    upper.order, x.order = x.order, upper.order
    x.parent = u
    x.start = at
    x.seg = seg_at(st, x.owner, x.seg, at)
    x.h = child_key(st, r, u, x.owner, x.seg, at, page)
    put(st, u)
    put(st, n)
    if param(st)[r, p.EVICTION] == p.TLRU and x.inheap:
        ranks(st)[r].dirty = 1
    return u


@jit
def match(st: State, r: int, i: int, limit: int) -> int:
    """Deepest node that holds a prefix of request ``i`` up to ``limit`` (page multiple).

    Touches and, where the match ends inside a node, splits, as a lookup in the real tree does. The matched
    length is the node's ``end`` (0 at the root).
    """
    rk = ranks(st)[r]
    page = param(st)[r, p.PAGE]
    rk.tick += 1
    n = rk.root
    at = 0
    k = 0
    while at < limit:
        c = child_of(st, n, child_key(st, r, n, i, k, at, page))
        if c < 0:
            break
        x = nodes(st)[c]
        same = agree(st, i, x.owner, k, at, min(limit, x.end))
        same -= (same - at) % page
        x.tick = rk.tick
        if same < x.end:
            return split(st, r, c, same, page)
        n = c
        at = same
        if at < limit:
            k = seg_at(st, i, k, at)
    return int(n)


@jit
def insert(st: State, r: int, i: int, length: int, count: bool) -> int:
    """Put the first ``length`` tokens (page multiple) of request ``i`` in the tree.

    Returns the node that ends there; what was there already is left in ``G_MATCHED``. Added tokens start
    unlocked; offering the new leaf for eviction is the caller's (`offer`).
    """
    rk = ranks(st)[r]
    page = param(st)[r, p.PAGE]
    rk.tick += 1
    prio = reqs(st)[i].priority
    n = rk.root
    at = 0
    k = 0
    while at < length:
        h = child_key(st, r, n, i, k, at, page)
        c = child_of(st, n, h)
        if c < 0:
            break
        x = nodes(st)[c]
        same = agree(st, i, x.owner, k, at, min(length, x.end))
        same -= (same - at) % page
        x.tick = rk.tick
        if same < x.end:
            c = split(st, r, c, same, page)
        y = nodes(st)[c]
        y.priority = max(y.priority, prio)
        if count:
            y.hits += 1
        n = c
        at = same
        if at < length:
            k = seg_at(st, i, k, at)
    cells(st)[p.G_MATCHED] = at
    if at < length:
        h = child_key(st, r, n, i, k, at, page)
        c = new_node(st, r, n)
        x = nodes(st)[c]
        x.h = h
        x.owner = i
        x.start = at
        x.end = length
        x.seg = k
        x.priority = prio
        x.tick = rk.tick
        nodes(st)[n].nchild += 1
        rk.evictable += length - at
        put(st, c)
        n = c
    return int(n)


@jit
def offer(st: State, r: int, n: int) -> None:
    """Let an unlocked leaf be evicted from now on."""
    x = nodes(st)[n]
    if n != ranks(st)[r].root and x.lock == 0 and x.nchild == 0 and x.inheap == 0:
        heap_push(st, r, n)


@jit
def rebuild_heap(st: State, r: int) -> None:
    """Offer every evictable leaf afresh (needed where a split lowered a key)."""
    rk = ranks(st)[r]
    rk.heap = -1
    rk.dirty = 0
    for n in range(cells(st)[p.G_TOP_NODE]):
        x = nodes(st)[n]
        if x.alive and x.rank == r and n != rk.root:
            x.inheap = 0
            offer(st, r, n)


@jit
def evict(st: State, r: int, need: int) -> int:
    """Drop whole leaves, lowest key first, until ``need`` tokens came free; returns how many did."""
    rk = ranks(st)[r]
    if rk.dirty:
        rebuild_heap(st, r)
    freed = 0
    while freed < need and rk.heap >= 0:
        n = heap_pop(st, r)
        x = nodes(st)[n]
        if x.lock > 0 or x.nchild > 0:
            continue
        k1 = x.hk1
        k2 = x.hk2
        heap_keys(st, r, n)
        if x.hk1 != k1 or x.hk2 != k2:
            heap_push(st, r, n)
            continue
        freed += x.end - x.start
        rk.evictable -= x.end - x.start
        take_out(st, n)
        parent = x.parent
        x.alive = 0
        x.hnext = cells(st)[p.G_FREE_NODE]
        cells(st)[p.G_FREE_NODE] = n
        cells(st)[p.G_LIVE_NODES] -= 1
        nodes(st)[parent].nchild -= 1
        offer(st, r, parent)
    return int(freed)
