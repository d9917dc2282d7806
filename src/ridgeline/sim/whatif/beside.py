"""Why the table's base is not the fidelity line's figure, in one line with the figures that are comparable."""

import numpy as np

from ridgeline.sim.whatif.paired import statistic
from ridgeline.sim.whatif.result import NAMES, Comparison


def apart(found: Comparison) -> str | None:
    """Which requests the table counts and how its base compares with what was observed of them; None: nothing was.

    The fidelity line is about all requests with observed times, as they came. The table is about those of the incident
    (``over``), each simulated to its end whether or not the evidence saw it, as a mean over repeats.
    """
    traffic, by = found.basis.traffic, found.objective
    metric = "ttft_s" if by.metric == "goodput" else by.metric
    name = "mean" if by.metric == "goodput" else by.statistic
    if traffic is None:
        return None
    rows = np.arange(traffic.n) if found.over is None else found.over
    seen = traffic.known(metric)[rows]
    observed = traffic.observed[metric][rows][seen]
    first = found.base.outcomes[0].values[metric]
    if not seen.any() or len(first) != len(rows):
        return None
    told = f"{NAMES[metric]} {name}"
    which = f"the {len(rows)} of {traffic.n} requests of the incident" if found.over is not None else "all requests"
    unseen = int((~seen).sum())
    tail = f", with the {unseen} whose {NAMES[metric]} the evidence does not show" if unseen else ""
    days = f", mean of {found.repeats} days with other orders and speeds" if found.repeats > 1 else ""
    return (f"The base row counts {which}{tail}{days}; on the {int(seen.sum())} observed of them, as they came: {told} "
            f"{statistic(observed, name):.3g} s observed, {statistic(first[seen], name):.3g} s simulated.")  # fmt: skip
