"""Finding the prompt that another resembles, wherever the common content stands."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.signals.prompt.anchors import MOST, Anchors, windows

BODY = [(37 * n * n + 11 * n) % 7919 for n in range(2000)]


def windows_of(*prompts: list[int]) -> list[list[int]]:
    return windows(np.array([u for p in prompts for u in p], np.int64), np.array([len(p) for p in prompts], np.int64))


def test_shifted_content_has_the_same_windows() -> None:
    one, two = windows_of(BODY, [1, 2, 3, *BODY])
    assert len(set(one) & set(two)) >= 0.8 * len(one) > 8


def test_windows_do_not_reach_into_the_next_prompt() -> None:
    (alone,), (first, _) = windows_of(BODY[:300]), windows_of(BODY[:300], BODY[300:])
    assert alone == first


@given(st.lists(st.lists(st.integers(0, 1), max_size=400), max_size=4))
def test_any_prompts(prompts: list[list[int]]) -> None:
    found = windows_of(*prompts)
    assert len(found) == len(prompts)
    assert all(len(some) <= MOST for some in found)


def test_a_prompt_of_one_character_costs_nothing() -> None:
    assert len(windows_of([7] * 100_000)[0]) <= 1


def test_the_latest_of_those_that_share_most() -> None:
    anchors = Anchors()
    anchors.add(1, [1, 2, 3])
    anchors.add(2, [4, 5])
    anchors.add(3, [6])
    assert anchors.nearest([1, 2, 4]) == 1
    assert anchors.nearest([2, 3, 4, 5]) == 2
    assert anchors.nearest([9, 8]) is None
    assert anchors.nearest([6, 8, 9]) is None  # one window of several is chance
    assert anchors.nearest([6]) == 3
