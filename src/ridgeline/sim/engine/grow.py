"""Rebuilding the child table after it has been enlarged."""

from ridgeline.sim.engine import params as p
from ridgeline.sim.engine.jit import entry
from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import cells, nodes
from ridgeline.sim.engine.tree import put


@entry
def rehash(st: State) -> None:
    """Enter every live node but the roots anew."""
    for n in range(cells(st)[p.G_TOP_NODE]):
        x = nodes(st)[n]
        if (x.alive and x.parent >= 0) or (x.parent < 0 and x.inheap):
            put(st, n)
