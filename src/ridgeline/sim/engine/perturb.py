"""Timed perturbations: any tunable, multiplied or shifted, on one rank or all, for one class or all."""

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import cells, param, ranks

FROM, TO, CODE, RANK_, KIND, TIMES, PLUS = range(7)


@jit
def applies(st: State, row: int, r: int, t: int) -> bool:
    """Whether perturbation ``row`` holds on rank ``r`` at ``t``."""
    q = param(st)[cells(st)[p.G_PERTURB] + row]
    return bool((q[RANK_] < 0 or q[RANK_] == r) and q[FROM] <= t < q[TO])


@jit
def refresh(st: State, r: int, t: int) -> None:
    """Bring the parameters of rank ``r`` up to ``t`` and note when they change next."""
    before = param(st)[r, p.STOLEN]
    rk = ranks(st)[r]
    rk.next_perturb = p.FOREVER
    for code in range(p.PARAMS):
        param(st)[r, code] = param(st)[cells(st)[p.G_BASE] + r, code]
    for row in range(cells(st)[p.G_PERTURBS]):
        q = param(st)[cells(st)[p.G_PERTURB] + row]
        if q[KIND] >= 0 or (q[RANK_] >= 0 and q[RANK_] != r):
            continue
        if applies(st, row, r, t):
            code = q[CODE]
            param(st)[r, code] = param(st)[r, code] * q[TIMES] // 1000 + q[PLUS]
            rk.next_perturb = min(rk.next_perturb, q[TO])
        elif q[FROM] > t:
            rk.next_perturb = min(rk.next_perturb, q[FROM])
    rk.free -= param(st)[r, p.STOLEN] - before


@jit
def for_class(st: State, r: int, code: int, kind: int, t: int, value: int) -> int:
    """``value`` of parameter ``code`` as requests of class ``kind`` meet it at ``t``."""
    if cells(st)[p.G_PERTURBED]:
        for row in range(cells(st)[p.G_PERTURBS]):
            q = param(st)[cells(st)[p.G_PERTURB] + row]
            if q[KIND] == kind and q[CODE] == code and applies(st, row, r, t):
                value = value * q[TIMES] // 1000 + q[PLUS]
    return value


@jit
def of_class(st: State, r: int, code: int, kind: int, t: int) -> int:
    """Parameter ``code`` of rank ``r`` as requests of class ``kind`` meet it at ``t``."""
    return for_class(st, r, code, kind, t, param(st)[r, code])
