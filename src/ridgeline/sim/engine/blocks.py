"""Blocks of the vLLM family: the free queue, block hashes, who has which block (docs/vllm-scheduler.md)."""

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.content import mix, page_hash, seg_at
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import blocks, cells, lists, nodes, param, ranks, reqs, slots, table
from ridgeline.sim.engine.tree import put, take_out


@jit
def queue_block(st: State, r: int, b: int) -> None:
    """Append block ``b`` to the free queue."""
    q = lists(st)[r * p.QUEUES + p.BLOCKS]
    nodes(st)[b].hnext = -1
    nodes(st)[b].hchild = q.tail
    if q.tail >= 0:
        nodes(st)[q.tail].hnext = b
    else:
        q.head = b
    q.tail = b
    q.n += 1
    ranks(st)[r].free += param(st)[r, p.PAGE]


@jit
def unqueue_block(st: State, r: int, b: int) -> None:
    """Take block ``b`` out of the free queue."""
    q = lists(st)[r * p.QUEUES + p.BLOCKS]
    x = nodes(st)[b]
    if x.hchild >= 0:
        nodes(st)[x.hchild].hnext = x.hnext
    else:
        q.head = x.hnext
    if x.hnext >= 0:
        nodes(st)[x.hnext].hchild = x.hchild
    else:
        q.tail = x.hchild
    q.n -= 1
    ranks(st)[r].free -= param(st)[r, p.PAGE]


@jit
def new_block(st: State, r: int) -> int:
    """The block at the head of the free queue; the hash it carried is forgotten."""
    b = lists(st)[r * p.QUEUES + p.BLOCKS].head
    unqueue_block(st, r, b)
    x = nodes(st)[b]
    if x.inheap:
        take_out(st, b)
        x.inheap = 0
    x.lock = 1
    return int(b)


@jit
def block_hash(st: State, i: int, k: int, h: int, page: int) -> int:
    """Chain hash of block ``k`` of request ``i``, given that of the block before."""
    return page_hash(st, i, seg_at(st, i, 0, k * page), k * page, (k + 1) * page, h)


@jit
def known_block(st: State, h: int) -> int:
    """The block first entered under hash ``h``, or -1."""
    mask = cells(st)[p.G_MASK]
    at = h & mask
    while table(st)[at] >= 0:
        n = table(st)[at]
        if nodes(st)[n].h == h:
            return int(n)
        at = (at + 1) & mask
    return -1


@jit
def first_hash(st: State, r: int, i: int) -> int:
    """What the chain of request ``i`` on rank ``r`` starts from."""
    return mix(mix(29, r), reqs(st)[i].space)


@jit
def enter_hashes(st: State, r: int, i: int, upto: int) -> None:
    """Enter the blocks of request ``i`` that are full with ``upto`` tokens and not entered yet."""
    if param(st)[r, p.CACHE] == 0:
        return
    x = reqs(st)[i]
    page = param(st)[r, p.PAGE]
    full = upto // page
    k = x.tree // page
    h = first_hash(st, r, i) if k == 0 else nodes(st)[blocks(st)[x.slot, k - 1]].h
    while k < full:
        b = blocks(st)[x.slot, k]
        h = block_hash(st, i, k, h, page)
        y = nodes(st)[b]
        y.h = h
        y.inheap = 1
        put(st, b)
        k += 1
    x.tree = max(x.tree, full * page)


@jit
def give_blocks(st: State, r: int, i: int, count: int) -> None:
    """Take ``count`` new blocks for request ``i``; there must be that many."""
    x = reqs(st)[i]
    page = param(st)[r, p.PAGE]
    own = x.held // page
    for k in range(count):
        blocks(st)[x.slot, own + k] = new_block(st, r)
    x.held += count * page
    rk = ranks(st)[r]
    rk.peak = max(rk.peak, param(st)[r, p.POOL] - rk.free)


@jit
def free_blocks(st: State, r: int, i: int) -> None:
    """Give the blocks of request ``i`` back, last first."""
    x = reqs(st)[i]
    own = x.held // param(st)[r, p.PAGE]
    for k in range(own - 1, -1, -1):
        b = blocks(st)[x.slot, k]
        nodes(st)[b].lock -= 1
        if nodes(st)[b].lock == 0:
            queue_block(st, r, b)
    x.held = 0
    x.tree = 0
    slots(st)[x.slot].full = 0


@jit
def spare(st: State, r: int) -> int:
    """Blocks that can be had now."""
    return int(lists(st)[r * p.QUEUES + p.BLOCKS].n - param(st)[r, p.STOLEN] // param(st)[r, p.PAGE])
