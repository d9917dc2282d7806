"""Why the table's base is not the fidelity line's figure, in one line with the figures that are comparable."""

import numpy as np

from ridgeline.model.fact import Statement
from ridgeline.sim.whatif.paired import statistic
from ridgeline.sim.whatif.result import NAMES, Comparison


def apart(found: Comparison) -> Statement | None:
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
    unseen = int((~seen).sum())
    if found.over is None and not unseen and found.repeats == 1:
        return None  # the same requests in the same order
    some = found.over is not None
    figures = (
        ("over", len(rows) if some else None), ("n", traffic.n), ("every", None if some else "all requests"),
        ("unseen", unseen or None), ("name", NAMES[metric]), ("repeats", found.repeats if found.repeats > 1 else None),
        ("seen", int(seen.sum())), ("figure", f"{NAMES[metric]} {name}"), ("observed", statistic(observed, name)),
        ("simulated", statistic(first[seen], name)),
    )  # fmt: skip
    return Statement("tried.apart", figures)
