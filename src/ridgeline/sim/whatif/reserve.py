"""A decode side that holds back more for each request than its arguments say: how much, as the incident shows it."""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline.sim.engine import params as p
from ridgeline.sim.tables import Perturbation
from ridgeline.sim.timing import PS
from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.compare import work_of
from ridgeline.sim.whatif.paired import statistic
from ridgeline.sim.whatif.pool import run_all
from ridgeline.sim.whatif.variants import Variant

CAUSE: Final = "disagg.prealloc"
TIMES: Final = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 20)
"""How many times the configured reserve is tried."""
BETTER: Final = 0.5
"""A larger reserve is believed where it misses the observed TTFT (as a ratio) by at most this share of what the
configured one misses it by."""


def held_back(basis: Basis, bad: NDArray[np.int64] | None, since_ts: float | None) -> Basis:
    """The basis with the reserve under which the TTFT of the incident's requests (rows ``bad``, from wall second
    ``since_ts``) comes nearest to what was observed; as it is where nothing larger explains it clearly better."""
    traffic = basis.traffic
    if traffic is None or bad is None or since_ts is None or not basis.settings.decode_workers:
        return basis
    seen = [statistic(traffic.observed["ttft_s"][bad], name) for name in ("p50", "p90")]
    if not all(value > 0 for value in seen):
        return basis
    since = max(0, round((since_ts - traffic.origin_ts) * PS))
    missed: dict[int, float] = {}
    for times in TIMES:
        done, _ = run_all(work_of(larger(basis, times, since), 0), [Variant((), basis.settings)], 1, 1)
        if (0, 0) not in done:
            return basis
        guess = [statistic(done[0, 0].values["ttft_s"][bad], name) for name in ("p50", "p90")]
        missed[times] = sum(abs(float(np.log(max(g, 1e-6) / s))) for g, s in zip(guess, seen, strict=True))
    best = min(missed, key=lambda times: missed[times])
    if best == 1 or missed[best] > BETTER * missed[1]:
        return basis
    tokens = basis.settings.num_reserved_decode_tokens
    note = (f"the incident is reproduced with {best} times the configured reserve: the decode side holds back about "
            f"{best * tokens} tokens for each request, and not {tokens}")  # fmt: skip
    return replace(larger(basis, best, since), notes=(*basis.notes, note))


def larger(basis: Basis, times: int, since_ps: int) -> Basis:
    """The basis with the reserve ``times`` as large from a moment on."""
    if times == 1:
        return basis
    return replace(basis, shaken=(Perturbation("reserved_decode_tokens", since_ps, p.FOREVER // 2, 1000 * times),))
