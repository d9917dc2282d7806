"""KV tokens of one rank: what is free, what a batch takes, what a request gives back.

Always ``free + evictable + protected + held by requests + stolen = pool`` (tokens, whole pages).
"""

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import cells, param, ranks, reqs
from ridgeline.sim.engine.tree import evict, insert, lock, offer, unlock


@jit
def ceil_page(tokens: int, page: int) -> int:
    """``tokens`` rounded up to whole pages."""
    return (tokens + page - 1) // page * page


@jit
def room(st: State, r: int) -> int:
    """Tokens that could be had now: free and evictable."""
    return int(ranks(st)[r].free + ranks(st)[r].evictable)


@jit
def take(st: State, r: int, tokens: int) -> None:
    """Allocate ``tokens`` (whole pages), evicting only what is short."""
    rk = ranks(st)[r]
    rk.free -= tokens
    if rk.free < 0:
        rk.free += evict(st, r, -rk.free)
    rk.peak = max(rk.peak, param(st)[r, p.POOL] - rk.free - rk.evictable)


@jit
def used(st: State, r: int) -> int:
    """Tokens in use as SGLang counts them: neither free nor evictable."""
    return int(param(st)[r, p.POOL] - ranks(st)[r].free - ranks(st)[r].evictable)


@jit
def keep_prefix(st: State, r: int, i: int, last: bool) -> None:
    """Move what request ``i`` has computed into the tree and hold it there (after a prefill chunk).

    Pages another request put there first are given back. ``last``: the prompt is complete.
    """
    if param(st)[r, p.CACHE] == 0:
        return
    x = reqs(st)[i]
    page = param(st)[r, p.PAGE]
    length = x.kv - x.kv % page
    n = insert(st, r, i, length, last)
    ranks(st)[r].free += cells(st)[p.G_MATCHED] - x.tree
    lock(st, r, n)
    unlock(st, r, x.node)
    x.held -= length - x.tree
    x.tree = length
    x.node = n


@jit
def release(st: State, r: int, i: int, keep: bool) -> None:
    """Give back all KV of request ``i``; ``keep`` leaves whole pages in the tree (a normal finish)."""
    x = reqs(st)[i]
    rk = ranks(st)[r]
    if param(st)[r, p.CACHE] == 0:
        rk.free += x.held
    else:
        if keep:
            page = param(st)[r, p.PAGE]
            length = x.kv - x.kv % page
            n = insert(st, r, i, length, True)
            rk.free += x.held - (length - cells(st)[p.G_MATCHED])
            unlock(st, r, x.node)
            offer(st, r, n)
        else:
            rk.free += x.held
            unlock(st, r, x.node)
    x.held = 0
    x.tree = 0
    x.kv = 0
    x.node = rk.root
