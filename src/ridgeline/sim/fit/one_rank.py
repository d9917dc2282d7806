"""One rank of a data-parallel server: ranks step by themselves, so a fit must look at one of them."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ridgeline.scenario.model import take
from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fit.configured import Configured

LATE = 0.75
"""From this share of the arrivals on is towards the end."""
MOSTLY = 0.9
"""Share of the measured requests whose rank must have been seen."""


def one_rank(traffic: Traffic, setup: Configured) -> tuple[Traffic, Configured]:
    """The requests of the busiest rank as those of a server with one; unchanged with one rank, or where none is seen.

    Requests that never got to tell their rank are dealt out (see `everywhere`).
    """
    size = setup.settings.dp_size
    rank = traffic.observed["dp_rank"]
    seen = ~np.isnan(rank) & (rank >= 0) & (rank < size)
    if size < 2 or setup.settings.enable_dp_attention or seen[traffic.measured].sum() < MOSTLY * traffic.measured.sum():
        return traffic, setup
    counts = np.bincount(rank[seen].astype(np.int64), minlength=size)
    busiest = int(np.argmax(counts))
    rows = np.flatnonzero(everywhere(traffic, np.where(seen, rank, -1).astype(np.int64), size) == busiest)
    scenario = take(traffic.scenario, rows)
    columns = {**scenario.columns, "dp_rank": np.full(len(rows), -1, np.int64)}
    alone = replace(
        traffic, scenario=replace(scenario, columns=columns), rids=tuple(traffic.rids[i] for i in rows),
        observed={name: values[rows] for name, values in traffic.observed.items()}, measured=traffic.measured[rows],
        outcome=tuple(traffic.outcome[i] for i in rows),
        notes=(*traffic.notes, f"{size} ranks: fitted on rank {busiest}, the one with most requests"),
    )  # fmt: skip
    return shifted_to_zero(alone), replace(setup, settings=replace(setup.settings, dp_size=1))


def everywhere(traffic: Traffic, place: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The place of every request: as seen, else dealt out by how much each place held in flight towards the end.

    Those that never told theirs were mostly still there when the evidence ended, so a slow place had more of them.
    """
    unseen = place < 0
    if not unseen.any():
        return place
    late = traffic.arrival_s >= np.quantile(traffic.arrival_s, LATE)
    spent = np.nan_to_num(traffic.observed["e2e_s"])
    held = np.array([float(spent[late & (place == k)].sum()) for k in range(size)])
    shares = held / held.sum() if held.sum() > 0 else np.full(size, 1 / size)
    edges = np.cumsum(shares)
    # a golden-ratio sequence: any stretch of it has nearly the shares
    turns = (np.arange(1, int(unseen.sum()) + 1) * 0.6180339887498949) % 1.0
    out = place.copy()
    out[unseen] = np.minimum(np.searchsorted(edges, turns, side="right"), size - 1)
    return out


def shifted_to_zero(traffic: Traffic) -> Traffic:
    """The traffic with its clock at the first arrival."""
    scenario = traffic.scenario
    start = int(scenario["arrival_ps"][0]) if scenario.n else 0
    columns = dict(scenario.columns)
    columns["arrival_ps"] = columns["arrival_ps"] - start
    columns["cancel_ps"] = np.where(columns["cancel_ps"] > 0, np.maximum(columns["cancel_ps"] - start, 1), 0)
    stamps = ("queued", "scheduled", "first", "last")
    observed = {k: v - (start / 1e12 if k in stamps else 0.0) for k, v in traffic.observed.items()}
    return replace(
        traffic, scenario=replace(scenario, columns=columns), observed=observed,
        origin_ts=traffic.origin_ts + start / 1e12,
    )  # fmt: skip
