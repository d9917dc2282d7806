"""KV tokens of one rank: what is free, what a batch takes, what a request gives back.

Always ``free + evictable + protected + held by requests + stolen = pool`` (tokens, whole pages).
"""

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tree import evict, insert, lock, offer, unlock


@jit
def ceil_page(tokens: int, page: int) -> int:
    """``tokens`` rounded up to whole pages."""
    return (tokens + page - 1) // page * page


@jit
def room(st: State, r: int) -> int:
    """Tokens that could be had now: free and evictable."""
    return int(st.rank[r].free + st.rank[r].evictable)


@jit
def take(st: State, r: int, tokens: int) -> None:
    """Allocate ``tokens`` (whole pages), evicting only what is short."""
    rk = st.rank[r]
    rk.free -= tokens
    if rk.free < 0:
        rk.free += evict(st, r, -rk.free)
    rk.peak = max(rk.peak, st.param[r, p.POOL] - rk.free - rk.evictable)


@jit
def used(st: State, r: int) -> int:
    """Tokens in use as SGLang counts them: neither free nor evictable."""
    return int(st.param[r, p.POOL] - st.rank[r].free - st.rank[r].evictable)


@jit
def keep_prefix(st: State, r: int, i: int, last: bool) -> None:
    """Move what request ``i`` has computed into the tree and hold it there (after a prefill chunk).

    Pages another request put there first are given back. ``last``: the prompt is complete.
    """
    if st.param[r, p.CACHE] == 0:
        return
    x = st.req[i]
    page = st.param[r, p.PAGE]
    length = x.kv - x.kv % page
    n = insert(st, r, i, length, last)
    st.rank[r].free += st.g[p.G_MATCHED] - x.tree
    lock(st, r, n)
    unlock(st, r, x.node)
    x.held -= length - x.tree
    x.tree = length
    x.node = n


@jit
def release(st: State, r: int, i: int, keep: bool) -> None:
    """Give back all KV of request ``i``; ``keep`` leaves whole pages in the tree (a normal finish)."""
    x = st.req[i]
    rk = st.rank[r]
    if st.param[r, p.CACHE] == 0:
        rk.free += x.held
    else:
        if keep:
            page = st.param[r, p.PAGE]
            length = x.kv - x.kv % page
            n = insert(st, r, i, length, True)
            rk.free += x.held - (length - st.g[p.G_MATCHED])
            unlock(st, r, x.node)
            offer(st, r, n)
        else:
            rk.free += x.held
            unlock(st, r, x.node)
    x.held = 0
    x.tree = 0
    x.kv = 0
    x.node = rk.root
