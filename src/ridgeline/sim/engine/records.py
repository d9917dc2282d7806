"""The log: one row per batch, retraction, abort, transfer. Off unless asked for."""

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import cells, lists, logs, param, ranks


@jit
def note(st: State, t: int, r: int, kind: int, a: int, b: int, c: int, d: int, e: int, f: int) -> None:
    """Append a log row with six figures, and the queue lengths of rank ``r`` after them."""
    if not cells(st)[p.G_LOGGING]:
        return
    row = logs(st)[cells(st)[p.G_LOG]]
    cells(st)[p.G_LOG] += 1
    row.t = t
    row.rank = r
    row.kind = kind
    row.v0 = a
    row.v1 = b
    row.v2 = c
    row.v3 = d
    row.v4 = e
    row.v5 = f
    row.v6 = lists(st)[r * p.QUEUES + p.WAIT].n
    row.v7 = ranks(st)[r].wtokens
    row.v8 = param(st)[r, p.POOL] - ranks(st)[r].free - ranks(st)[r].evictable
    row.v9 = ranks(st)[r].running
