"""A fit looks at one rank; requests that never told theirs are dealt out by what each rank held."""

from dataclasses import replace

import numpy as np

from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.fit.configured import Configured
from ridgeline.sim.fit.one_rank import everywhere, one_rank
from ridgeline.sim.settings import Settings
from tests.sim.whatif.made import made_basis, traffic_under

TWO = Settings(dp_size=2, load_balance_method="round_robin", max_running_requests=8)


def two_ranks(n: int = 200) -> Traffic:
    return traffic_under(made_basis(n).scenario, TWO)


def setup() -> Configured:
    return Configured(TWO, True, True, True, ())


def test_the_busiest_rank_becomes_a_server_of_its_own() -> None:
    traffic = two_ranks()
    alone, configured = one_rank(traffic, setup())
    assert configured.settings.dp_size == 1 and alone.n == 100 and alone.scenario["arrival_ps"][0] == 0
    assert (alone.scenario["dp_rank"] == -1).all() and "rank" in alone.notes[-1]
    shift = alone.origin_ts - traffic.origin_ts
    first = traffic.observed["ttft_s"][traffic.observed["dp_rank"] == traffic.observed["dp_rank"][0]]
    assert shift >= 0 and np.isin(alone.observed["ttft_s"][:5], traffic.observed["ttft_s"]).all() and len(first) == 100


def test_one_rank_or_unseen_ranks_are_left_alone() -> None:
    traffic = two_ranks()
    assert one_rank(traffic, replace(setup(), settings=Settings()))[0] is traffic
    blind = replace(traffic, observed={**traffic.observed, "dp_rank": np.full(traffic.n, np.nan)})
    assert one_rank(blind, setup())[0] is blind


def test_a_slow_rank_had_more_of_those_that_never_ended() -> None:
    traffic = two_ranks(400)
    place = np.arange(400) % 2
    spent = np.where(place == 0, 9.0, 1.0)
    place[300::10] = -1
    traffic = replace(traffic, observed={**traffic.observed, "e2e_s": spent})
    dealt = everywhere(traffic, place.astype(np.int64), 2)
    assert (dealt[place >= 0] == place[place >= 0]).all() and (dealt[place < 0] == 0).sum() >= 8
