"""How far a simulated run is from what was observed, as one number to choose between fits."""

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fit.run import Floats, Run

HOPELESS = 1e6
CAP = 0.95
PREFILL_WEIGHT = 0.6
"""Prefill times are short and carry the jitter of one or two steps: they count less than the rest."""


def predicted(traffic: Traffic, run: Run, front_s: float, back_first_s: float, back_s: float) -> dict[str, Floats]:
    """Predicted queue, TTFT, TPOT and E2E of each request (s; NaN where the run did not get there).

    ``front_s`` is the way from arrival to the scheduler, ``back_*`` the way of a token back to the caller; the run's
    moments are on the traffic's clock (its arrivals came ``front_s`` later).
    """
    arrival = traffic.arrival_s
    tokens = traffic.scenario["output_tokens"]
    last = np.where(np.isnan(run.last), np.nan, run.last + back_s)
    first = run.first + back_first_s
    return {
        "queue_s": run.scheduled - run.queued,
        "ttft_s": first - arrival,
        "tpot_s": np.where(tokens > 1, (last - first) / np.maximum(tokens - 1, 1), np.nan),
        "e2e_s": last - arrival,
    }


def loss(traffic: Traffic, run: Run, figures: dict[str, Floats], rows: NDArray[np.int64]) -> float:
    """Mean absolute errors over ``rows``, each relative to the mean observed, summed.

    What never happened in the run is off by its whole size.
    """
    total = 0.0
    known = False
    for name in ("ttft_s", "tpot_s", "e2e_s"):
        use = rows[traffic.known(name)[rows]]
        if len(use) == 0:
            continue
        actual = traffic.observed[name][use]
        guess = np.where(np.isnan(figures[name][use]), 2 * actual, figures[name][use])
        scale = np.maximum(actual, 1e-6) if name == "tpot_s" else max(float(np.mean(actual)), 1e-6)
        total += capped_mean(np.abs(guess - actual) / scale)
        known = True
    prefill = traffic.observed["first"] - traffic.observed["scheduled"]
    use = rows[(~np.isnan(prefill) & (prefill > 0))[rows]]
    if len(use):
        ratio = (run.first - run.scheduled)[use] / prefill[use]
        total += PREFILL_WEIGHT * float(np.mean(np.minimum(np.nan_to_num(np.abs(ratio - 1), nan=1.0), 1)))
    return total if known else HOPELESS


def capped_mean(errors: Floats) -> float:
    """Mean of errors, of which none counts for more than the `CAP` quantile: a cold start must not choose the fit."""
    return float(np.mean(np.minimum(errors, np.quantile(errors, CAP))))
