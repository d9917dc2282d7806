"""The limited cache against one of single pages, and its runs."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.prefix.lru import Cache, runs, simulate
from ridgeline.prefix.reach import salted, steps
from tests.prefix.compose import Ask, Pages, prompts_of

PROMPTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9).map(tuple), min_size=1, max_size=12)


@given(PROMPTS, st.integers(1, 30))
def test_runs_move_like_single_pages(prompts: list[tuple[int, ...]], capacity: int) -> None:
    of = prompts_of([Ask(ids) for ids in prompts])
    own, best = simulate(runs(steps(of, 1), salted(of.space)), of.place, [capacity], np.zeros(of.n, np.int64))
    plain = Pages(capacity)
    for n, ids in enumerate(prompts):
        keys = [ids[: k + 1] for k in range(len(ids))]
        assert own[n] == best[n] == plain.match(keys)
        plain.admit(keys)


@given(PROMPTS)
def test_runs_cover_every_page_once(prompts: list[tuple[int, ...]]) -> None:
    of = prompts_of([Ask(ids) for ids in prompts])
    made = runs(steps(of, 1), salted(of.space))
    for n, ids in enumerate(prompts):
        assert sum(made.pages[made.offsets[n] : made.offsets[n + 1]]) == len(ids)


@settings(max_examples=60)
@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4, unique=True), max_size=12), st.integers(1, 12))
def test_a_cache_never_holds_more_than_it_may(chains: list[list[int]], capacity: int) -> None:
    cache = Cache(capacity)
    for number in chains:
        cache.admit(number, [n + 1 for n in number])
        assert cache.used == sum(cache.held.values()) <= capacity


def test_a_prompt_larger_than_the_cache_keeps_its_head() -> None:
    cache = Cache(5)
    cache.admit([1, 2], [4, 4])
    assert cache.match([1, 2], [4, 4]) == 5
    cache.admit([9], [3])
    assert cache.match([1, 2], [4, 4]) == 2


def test_the_end_of_a_branch_leaves_first() -> None:
    cache = Cache(6)
    cache.admit([1, 2], [2, 2])
    cache.admit([1, 3], [2, 2])
    cache.admit([8], [1])
    assert (cache.match([1, 2], [2, 2]), cache.match([1, 3], [2, 2])) == (3, 4)
