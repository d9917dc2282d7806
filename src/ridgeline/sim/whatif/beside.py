"""Why the table's base is not the fidelity line's figure, in one line with the figures that are comparable."""

import numpy as np

from ridgeline.sim.whatif.paired import statistic
from ridgeline.sim.whatif.result import NAMES, Comparison


def apart(found: Comparison) -> str | None:
    """Which requests the table counts and how its base compares with what was observed of them; None: nothing was
    observed, or they are the fidelity line's own.

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
    unseen = int((~seen).sum())
    if found.over is None and not unseen and found.repeats == 1:
        return None  # the same requests in the same order
    which = f"the {len(rows)} of {traffic.n} requests of the incident" if found.over is not None else "all requests"
    lacking = f", {unseen} of them without {NAMES[metric]} in the evidence" if unseen else ""
    repeats = f", mean of {found.repeats} repeats" if found.repeats > 1 else ""
    return (f"The table's base is not the fidelity line's figure: it counts {which}{lacking}{repeats}. On the "
            f"{int(seen.sum())} observed, as they came: {told} {statistic(observed, name):.3g} s observed, "
            f"{statistic(first[seen], name):.3g} s simulated.")  # fmt: skip
