"""A basis whose observed times are the engine's own, so that the truth is known."""

from dataclasses import replace

import numpy as np

from ridgeline.scenario.generate import Lengths, generated
from ridgeline.scenario.model import Scenario
from ridgeline.scenario.traffic import OBSERVED, Traffic
from ridgeline.sim.service import simulate
from ridgeline.sim.settings import Settings
from ridgeline.sim.summary import moments
from ridgeline.sim.timing import DEFAULT, TimeModel
from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.repeats import paced

TIGHT = Settings(max_running_requests=8, max_total_num_tokens=60_000)
"""A cap that binds: requests wait."""


def traffic_under(scenario: Scenario, settings: Settings, model: TimeModel = DEFAULT) -> Traffic:
    """What a server with these settings and step times would have shown."""
    service = simulate(scenario, settings, model)
    found = moments(service)
    rows = service.requests()
    observed = {name: np.full(scenario.n, np.nan) for name in OBSERVED} | dict(found.values)
    observed["cached_tokens"] = rows["cached"].astype(np.float64)
    observed["retractions"] = rows["retractions"].astype(np.float64)
    observed["dp_rank"] = rows["rank"].astype(np.float64)
    observed["server"] = np.zeros(scenario.n)
    return Traffic(scenario, ("",) * scenario.n, 1000.0, observed, found.done, ("",) * scenario.n, "hashes", ())


def made_basis(n: int = 300, settings: Settings = TIGHT, rate: float = 8.5, seed: int = 1) -> Basis:
    """Traffic with shared prefixes that was served under ``settings``."""
    scenario = generated("poisson", n, rate, Lengths(200, 900), Lengths(50, 200), seed, prefix_groups=4,
                         prefix_tokens=300)  # fmt: skip
    traffic = traffic_under(scenario, settings)
    return Basis(scenario, settings, DEFAULT, traffic=traffic, fitted=True, sampled=True)


def slower(model: TimeModel, times: float) -> TimeModel:
    """A model whose steps all take ``times`` as long."""
    return paced(model, times)


def pinned_basis(max_running_requests: int) -> Basis:
    """Two ranks of such a limit, and every request asks for the first."""
    settings = Settings(dp_size=2, max_running_requests=max_running_requests, max_total_num_tokens=60_000)
    basis = made_basis(settings=settings)
    columns = {**basis.scenario.columns, "dp_rank": np.zeros(basis.scenario.n, np.int64)}
    scenario = replace(basis.scenario, columns=columns)
    return replace(basis, scenario=scenario, traffic=traffic_under(scenario, settings))
