"""LoRA adapters: at most so many in one batch, each loaded when first used (it prolongs that step)."""

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.jit import jit
from ridgeline.sim.engine.state import State

MOST = 64
"""Most adapter slots a rank can have: its columns in `State.lora` (id, last use)."""


@jit
def in_batch(st: State, r: int, adapter: int) -> bool:
    """Whether a running or just admitted request of rank ``r`` uses ``adapter``."""
    rk = st.rank[r]
    base = r * st.g[p.G_SLOTS]
    for at in range(rk.running):
        if st.slot[base + at].lora == adapter:
            return True
    for at in range(rk.nbatch):  # noqa: SIM110 (compiled code has no generators)
        if st.req[st.slot[base + at].batch].lora == adapter:
            return True
    return False


@jit
def lora_fits(st: State, r: int, i: int) -> bool:
    """Whether request ``i``'s adapter is in the batch already or a slot is left for it."""
    rk = st.rank[r]
    adapter = st.req[i].lora
    if adapter <= 0 or in_batch(st, r, adapter):
        return True
    base = r * st.g[p.G_SLOTS]
    s = st.scratch
    n = 0
    for at in range(rk.running + rk.nbatch):
        other = st.slot[base + at].lora if at < rk.running else st.req[st.slot[base + at - rk.running].batch].lora
        known = other <= 0
        for k in range(n):
            known = known or s[6, k] == other
        if not known:
            s[6, n] = other
            n += 1
    return bool(n < st.param[r, p.LORA_SLOTS])


@jit
def load_adapters(st: State, r: int, t: int) -> int:
    """Load what the new batch needs and lacks (least recently used goes); returns the picoseconds it takes."""
    rk = st.rank[r]
    slots = min(st.param[r, p.LORA_SLOTS], MOST)
    if slots <= 0:
        return 0
    base = r * st.g[p.G_SLOTS]
    cost = 0
    for at in range(rk.nbatch):
        adapter = st.req[st.slot[base + at].batch].lora
        if adapter <= 0:
            continue
        at_slot = -1
        for k in range(slots):
            if st.wide[st.g[p.G_LORA] + r, k] == adapter:
                at_slot = k
        if at_slot < 0:
            cost += st.param[r, p.LORA_LOAD]
            for k in range(slots):
                held = st.wide[st.g[p.G_LORA] + r, k]
                if held > 0 and in_batch(st, r, held):
                    continue
                if at_slot < 0 or st.wide[st.g[p.G_LORA] + r, MOST + k] < st.wide[st.g[p.G_LORA] + r, MOST + at_slot]:
                    at_slot = k
            if at_slot < 0:
                continue
            st.wide[st.g[p.G_LORA] + r, at_slot] = adapter
            rk.nlora += 1
        st.wide[st.g[p.G_LORA] + r, MOST + at_slot] = t
    return int(cost)
