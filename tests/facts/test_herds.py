"""Herds that go to one rank in turn, one rank that is always the fuller, and queues that are even."""

import pytest

from ridgeline.bundle.view import view_of
from ridgeline.facts.herds import herds, uneven_queues
from tests.causes.rows import decode


@pytest.mark.parametrize(
    ("queues", "share", "uneven"),
    [
        (([20, 20, 0, 0], [0, 0, 20, 20]), 1.0, 1.0),  # by turns
        (([20, 20, 18, 22], [0, 1, 0, 0]), 0.0, 0.5),  # one rank: a place of its own
        (([20, 19, 18, 22], [19, 21, 20, 18]), 0.0, 0.0),
    ],
)
def test_who_queues_where(queues: tuple[list[int], list[int]], share: float, uneven: float) -> None:
    lines = []
    for rank, waiting in enumerate(queues):
        lines += decode(80, every=5.0, waiting=waiting, dp_rank=rank, first_line=1 + 1000 * rank)
    view = view_of({"batches": lines})
    assert herds(view).value == share
    assert uneven_queues(view).value == uneven


def test_one_rank_has_no_other() -> None:
    assert herds(view_of({"batches": decode(80, waiting=9)})).value is None
