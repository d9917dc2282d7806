"""Compile the engine ahead of time: ``python -m ridgeline.sim.warm`` (what ``make warm`` runs)."""

import sys
import time


def warm(say: bool = True) -> float:
    """Compile what is not compiled yet; returns the seconds it took. Says so first, on standard error."""
    from ridgeline.sim.engine.jit import is_compiled

    ready = is_compiled()
    if say and not ready:
        print("compiling the simulator's engine (once, up to 40 s) …", file=sys.stderr, flush=True)
    begin = time.monotonic()
    from ridgeline.scenario.generate import Lengths, generated
    from ridgeline.sim.service import simulate
    from ridgeline.sim.settings import Settings

    simulate(generated("poisson", 2, 1.0, Lengths(2, 2), Lengths(2, 2), 0), Settings())
    return time.monotonic() - begin


if __name__ == "__main__":
    warm()
