"""The stretches of a traffic that stand out."""

from dataclasses import replace

import numpy as np

from ridgeline.scenario.traffic import Traffic
from ridgeline.sim.whatif.stretches import BLOCK, slow_stretches
from tests.sim.whatif.made import made_basis


def traffic(slow: slice, times: float) -> Traffic:
    found = made_basis(300).traffic
    assert found is not None
    even = np.full(300, 1.0)
    even[slow] = times
    seen = {**found.observed, "ttft_s": even, "tpot_s": np.full(300, 0.03), "e2e_s": np.full(300, 4.0)}
    return replace(found, observed=seen)


def test_a_burst_is_the_blocks_that_were_slow() -> None:
    found = slow_stretches(traffic(slice(120, 150), 8.0))
    assert found is not None
    bad, rest = found
    assert bad.tolist() == list(range(120, 150)) and len(rest) == 300 - BLOCK
    assert not set(bad) & set(rest)


def test_nothing_stands_out_of_even_traffic_and_slow_is_no_stretch_where_it_is_the_rule() -> None:
    assert slow_stretches(traffic(slice(120, 150), 1.5)) is None
    assert slow_stretches(traffic(slice(0, 180), 8.0)) is None
    blind = traffic(slice(0, 30), 8.0)
    nothing = dict.fromkeys(blind.observed, np.full(300, np.nan))
    assert slow_stretches(replace(blind, observed=nothing)) is None
