"""Counting up to moments equals counting by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.lab.tally import Tally

TIMES = st.lists(st.floats(0, 100), max_size=40)


@given(TIMES, st.lists(st.floats(0, 5), min_size=40, max_size=40))
def test_counts_and_histograms(times: list[float], values: list[float]) -> None:
    tally = Tally()
    seen = values[: len(times)]
    tally.count("c", 0, times, 2.0)
    tally.observe("h", None, times, seen)
    moments = [10.0, 50.0, 101.0]
    for moment, counted in zip(moments, tally.upto(moments, lambda _: (1.0, 2.0), [({},)] * 3), strict=True):
        inside = [v for t, v in zip(times, seen, strict=True) if t <= moment]
        assert counted.counters[("c", 0, ())] == 2.0 * len(inside)
        histogram = counted.histograms[("h", None, ())]
        by_hand = (sum(v <= 1 for v in inside), sum(1 < v <= 2 for v in inside), sum(v > 2 for v in inside))
        assert histogram.counts == by_hand
        assert np.isclose(histogram.total, sum(inside))


def test_what_never_happened_is_not_counted() -> None:
    tally = Tally()
    tally.count("c", None, [np.nan, 1.0])
    tally.observe("h", None, [1.0, 2.0, np.nan], [0.5, np.nan, 0.5])
    (counted,) = tally.upto([9.0], lambda _: (1.0,), [({},)])
    assert counted.counters[("c", None, ())] == 1.0
    assert counted.histograms[("h", None, ())].counts == (1, 0)
