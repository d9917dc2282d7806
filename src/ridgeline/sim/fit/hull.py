"""How much of the predicted part leaves what the fit has seen."""

import numpy as np
from numpy.typing import NDArray

from ridgeline.sim.fit.run import Floats, Steps

SLACK = 1.1
"""Up to a tenth beyond the largest step seen still counts as seen."""


def outside(steps: Steps, last: Floats, train: NDArray[np.int64], test: NDArray[np.int64]) -> float:
    """Share of the test part's time in steps with more decodes, context or prefill than any training step (0..1).

    The training part ends where its last request ends; steps are judged by their per-step averages.
    """
    if len(steps.start) == 0 or len(train) == 0 or len(test) == 0:
        return 0.0
    count = np.maximum(steps.features[:, 0], 1)
    shape = np.column_stack([steps.features[:, j] / count for j in (1, 3, 4)])
    ends = last[train][~np.isnan(last[train])]
    if len(ends) == 0:
        return 1.0
    seen = steps.start <= float(ends.max())
    if seen.all():
        return 0.0
    most = shape[seen].max(axis=0) * SLACK
    beyond = (shape > most).any(axis=1) & ~seen
    spans = steps.end - steps.start
    return float(spans[beyond].sum() / max(float(spans[~seen].sum()), 1e-12))
