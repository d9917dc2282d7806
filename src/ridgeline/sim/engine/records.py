"""The log: one row per batch, retraction, abort, transfer. Off unless asked for."""

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import cells, lists, logs, param, ranks


@jit
def note(st: State, t: int, r: int, kind: int, a: int, b: int, c: int, d: int, e: int, f: int) -> None:
    """Append a log row with six figures, and the queue lengths of rank ``r`` after them."""
    if cells(st)[p.G_LOGGING] != 1:
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


@jit
def note_step(st: State, t: int, r: int, count: int, tokens: int, pairs: int, context: int, mixed: bool) -> None:
    """Append a row for ``count`` like steps that start at ``t``: what a fit of the step time needs.

    Figures: count, prefill tokens, attention half-pairs, decoding requests, context of the first step, whether
    prefill and decode shared it, total time (ps), decode requests alone.
    """
    if not cells(st)[p.G_STEPS]:
        return
    rk = ranks(st)[r]
    row = logs(st)[cells(st)[p.G_LOG]]
    cells(st)[p.G_LOG] += 1
    row.t = t
    row.rank = r
    row.kind = p.LOG_STEP
    row.v0 = count
    row.v1 = tokens
    row.v2 = pairs
    row.v3 = rk.running if tokens == 0 or mixed else 0
    row.v4 = context
    row.v5 = mixed
    row.v6 = rk.dur
    row.v7 = 0
    row.v8 = 0
    row.v9 = rk.running
