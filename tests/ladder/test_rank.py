"""The scope of a finding: the place its required signs name, not the busiest one that a supporting sign names."""

from __future__ import annotations

from ridgeline.ladder.scope import places
from ridgeline.model.fact import Fact, Statement


def naming(measure: str, **figures: str) -> Fact:
    return Fact(measure, 1.0, "", Statement(measure, tuple(sorted(figures.items()))))


def test_what_the_required_signs_name_comes_first() -> None:
    slow, busiest = naming("slow_rank_ratio", place="a unified DP2"), naming("arrival_skew", place="a DP0")
    key = naming("top_key_share", routing_key="k1")
    assert places(("dp_rank",), (), [slow], [busiest]) == (("dp_rank", ("2",)),)
    assert places(("dp_rank",), (), [], [busiest]) == (("dp_rank", ("0",)),)
    assert places(("dp_rank", "routing_key"), (), [slow], [busiest, key]) == (
        ("dp_rank", ("2",)), ("routing_key", ("k1",)),
    )  # fmt: skip
