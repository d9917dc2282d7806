"""LoRA adapters: at most so many in one batch, each loaded when first used (it prolongs that step)."""

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import cells, param, ranks, reqs, scratch, slots, wide

MOST = 64
"""Most adapter slots a rank can have: its columns in `State.lora` (id, last use)."""


@jit
def in_batch(st: State, r: int, adapter: int) -> bool:
    """Whether a running or just admitted request of rank ``r`` uses ``adapter``."""
    rk = ranks(st)[r]
    base = r * cells(st)[p.G_SLOTS]
    for at in range(rk.running):
        if slots(st)[base + at].lora == adapter:
            return True
    for at in range(rk.nbatch):  # noqa: SIM110 (compiled code has no generators)
        if reqs(st)[slots(st)[base + at].batch].lora == adapter:
            return True
    return False


@jit
def lora_fits(st: State, r: int, i: int) -> bool:
    """Whether request ``i``'s adapter is in the batch already or a slot is left for it."""
    rk = ranks(st)[r]
    adapter = reqs(st)[i].lora
    if adapter <= 0 or in_batch(st, r, adapter):
        return True
    base = r * cells(st)[p.G_SLOTS]
    s = scratch(st)
    n = 0
    for at in range(rk.running + rk.nbatch):
        other = slots(st)[base + at].lora if at < rk.running else reqs(st)[slots(st)[base + at - rk.running].batch].lora
        known = other <= 0
        for k in range(n):
            known = known or s[6, k] == other
        if not known:
            s[6, n] = other
            n += 1
    return bool(n < param(st)[r, p.LORA_SLOTS])


@jit
def load_adapters(st: State, r: int, t: int) -> int:
    """Load what the new batch needs and lacks (least recently used goes); returns the picoseconds it takes."""
    rk = ranks(st)[r]
    places = min(param(st)[r, p.LORA_SLOTS], MOST)
    if places <= 0:
        return 0
    base = r * cells(st)[p.G_SLOTS]
    cost = 0
    for at in range(rk.nbatch):
        adapter = reqs(st)[slots(st)[base + at].batch].lora
        if adapter <= 0:
            continue
        at_slot = -1
        for k in range(places):
            if wide(st)[cells(st)[p.G_LORA] + r, k] == adapter:
                at_slot = k
        if at_slot < 0:
            cost += param(st)[r, p.LORA_LOAD]
            for k in range(places):
                held = wide(st)[cells(st)[p.G_LORA] + r, k]
                if held > 0 and in_batch(st, r, held):
                    continue
                row = cells(st)[p.G_LORA] + r
                if at_slot < 0 or wide(st)[row, MOST + k] < wide(st)[row, MOST + at_slot]:
                    at_slot = k
            if at_slot < 0:
                continue
            wide(st)[cells(st)[p.G_LORA] + r, at_slot] = adapter
            rk.nlora += 1
        wide(st)[cells(st)[p.G_LORA] + r, MOST + at_slot] = t
    return int(cost)
