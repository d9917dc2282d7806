"""Pairs of outcomes: where they part, what counts as a difference, and how sure the latency figures are."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.replay.compare import Comparison, first_difference, pair_of
from ridgeline.replay.paired import paired_quantile
from ridgeline.replay.shot import Outcome, Shot

GREEDY = Shot(0.0, "r", text="x", sampling={"temperature": 0})
SAMPLED = Shot(0.0, "r", text="x", sampling={"temperature": 0.7})


def outcome(**given: Any) -> Outcome:
    return Outcome(**{"status": 200, "finish_reason": "stop", "text": "abc", "completion_tokens": 3, **given})


@given(st.lists(st.integers(0, 2)), st.lists(st.integers(0, 2)))
@settings(deadline=None)
def test_the_first_difference_is_the_first(a: list[int], b: list[int]) -> None:
    at = first_difference(a, b)
    if at is None:
        assert a == b
    else:
        assert a[:at] == b[:at] and a[at : at + 1] != b[at : at + 1]


def test_tokens_are_compared_where_both_sides_show_them() -> None:
    pair = pair_of(GREEDY, outcome(output_ids=(1, 2, 3)), outcome(output_ids=(1, 9, 3), text="abc"))
    assert (pair.unit, pair.at, pair.differs) == ("token", 1, ("output",))
    assert pair_of(GREEDY, outcome(output_ids=(1, 2, 3)), outcome(text="abX")).unit == "character"


def test_sampled_outputs_may_part_but_failures_may_not() -> None:
    parted = pair_of(SAMPLED, outcome(), outcome(text="xyz", finish_reason="length", completion_tokens=9))
    assert parted.at == 0 and parted.differs == ()
    failed = pair_of(SAMPLED, outcome(), Outcome(status=500, failure="http"))
    assert failed.differs == ("error",) and failed.error == (None, "http-500")
    both = pair_of(SAMPLED, Outcome(failure="disconnect"), Outcome(failure="disconnect"))
    assert both.differs == ()


def test_greedy_must_end_alike() -> None:
    pair = pair_of(GREEDY, outcome(), outcome(text="ab", finish_reason="length", completion_tokens=2))
    assert pair.differs == ("output", "finish_reason", "length")
    drawn = pair_of(
        GREEDY, outcome(), outcome(text="ab", finish_reason="length", completion_tokens=2), with_output=False
    )
    assert drawn.differs == () and drawn.unit is None


def test_verdicts() -> None:
    nothing = Comparison("x", judge_latency=True).report()
    assert nothing["verdict"] == "nothing-comparable"
    same = Comparison("x", judge_latency=False)
    for i in range(20):
        same.add(GREEDY, outcome(e2e_s=1.0), outcome(e2e_s=9.0 + i))
    assert same.report()["verdict"] == "same", "latency against a record is not judged"
    slower = Comparison("x", judge_latency=True)
    for i in range(20):
        slower.add(GREEDY, outcome(e2e_s=1.0), outcome(e2e_s=9.0 + i))
    report = slower.report()
    assert report["verdict"] == "different" and "e2e_s p50 slower" in report["latency_moved"]
    assert slower.add(GREEDY, outcome(), Outcome(failure="cancelled")) is None and slower.unpaired == 1


def test_pairs_find_what_unpaired_samples_hide() -> None:
    rng = np.random.default_rng(1)
    a = rng.lognormal(0, 1.0, 400)
    found = paired_quantile(a, a * 1.25, 0.5)
    assert found is not None and found.verdict == "slower" and found.low is not None
    assert found.low > 0 and found.low <= found.difference <= (found.high or 0)
    assert found == paired_quantile(a, a * 1.25, 0.5), "the same input gives the same interval"


def test_noise_is_not_a_difference_and_few_are_too_few() -> None:
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(40):
        base = rng.lognormal(0, 0.5, 200)
        found = paired_quantile(base * rng.lognormal(0, 0.05, 200), base * rng.lognormal(0, 0.05, 200), 0.5)
        assert found is not None
        wrong += found.verdict in ("slower", "faster")
    assert wrong <= 2
    few = paired_quantile([1, 1, 1], [9, 9, 9], 0.5)
    assert few is not None and few.verdict == "too-few"
    assert paired_quantile([], [], 0.5) is None
