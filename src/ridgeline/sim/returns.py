"""The way back: detokenizer and API server, as a pool of workers in front of the client.

Nothing in the engine waits for it, so it is computed afterwards: each request asks the pool twice, with its
first token and with the rest, in order of time; the worker that is free first takes it.
"""

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.state import State

Times = NDArray[np.int64]


def value_at(st: State, r: int, code: int, t: int) -> int:
    """Parameter ``code`` of rank ``r`` at ``t`` (perturbations of the rank as a whole)."""
    value = int(st.param[st.g[p.G_BASE] + r, code])
    for lo, hi, what, rank, kind, times, plus in st.param[st.g[p.G_PERTURB] : st.g[p.G_ASK], :7]:
        if what == code and kind < 0 and rank in (-1, r) and lo <= t < hi:
            value = value * int(times) // 1000 + int(plus)
    return value


def sent_times(st: State) -> tuple[Times, Times]:
    """When the client has each request's first token and its last (ps; 0: not, or not yet)."""
    rows = st.req[: int(st.g[p.G_PUSHED])]
    first, last = rows["first"].copy(), np.where(rows["outcome"] == p.FINISHED, rows["finish"], 0)
    costs = (p.RETURN_BASE, p.RETURN_TOKEN)
    base = st.param[st.g[p.G_BASE] : st.g[p.G_BASE] + st.g[p.G_RANKS]]
    touched = {int(code) for code in st.param[st.g[p.G_PERTURB] : st.g[p.G_ASK], 2]}
    if not base[:, costs].any() and not touched & set(costs):
        return first, last
    for w in range(int(st.g[p.G_WORKERS])):
        mine = np.flatnonzero((rows["worker"] == w) & (first > 0))
        back(st, int(st.rank[w].lo), mine.tolist(), rows["gen"], first, last)
    return first, last


def back(st: State, r: int, mine: Sequence[int], tokens: NDArray[np.int32], first: Times, last: Times) -> None:
    """Send the requests ``mine`` of one worker back, in place; ``r`` is its first rank."""
    asks = sorted(
        [(int(first[i]), i, 1, 0) for i in mine]
        + [(int(last[i]), i, int(tokens[i]) - 1, 1) for i in mine if last[i] > 0]
    )
    free = [0]
    for t, i, count, part in asks:
        servers = max(1, value_at(st, r, p.RETURNERS, t))
        while len(free) < servers:
            heapq.heappush(free, 0)
        while len(free) > servers:
            heapq.heappop(free)
        work = value_at(st, r, p.RETURN_BASE, t) + value_at(st, r, p.RETURN_TOKEN, t) * count
        done = max(t, heapq.heappop(free)) + work
        heapq.heappush(free, done)
        (last if part else first)[i] = done
