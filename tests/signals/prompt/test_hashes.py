"""Prefix hashes: equal exactly for equal prefixes, at every grain."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from ridgeline.signals.prompt.hashes import prefix_hashes, text_of_ids, units_of

PROMPTS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=12), min_size=1, max_size=6)


def hashes_of(prompts: list[list[int]], grain: int) -> list[list[int]]:
    units = np.array([u for p in prompts for u in p], np.int64)
    found, counts = prefix_hashes(units, np.array([len(p) for p in prompts], np.int64), grain)
    ends = np.cumsum(counts).tolist()
    return [found[end - n : end].tolist() for n, end in zip(counts.tolist(), ends, strict=True)]


@given(PROMPTS, st.integers(1, 5))
@example([[0, 0], [1, 1]], 1)  # a unit may equal its position
def test_equal_hash_means_equal_prefix(prompts: list[list[int]], grain: int) -> None:
    by_hash: dict[int, tuple[int, ...]] = {}
    by_prefix: dict[tuple[int, ...], int] = {}
    for prompt, hashes in zip(prompts, hashes_of(prompts, grain), strict=True):
        assert len(hashes) == -(-len(prompt) // grain)
        for k, value in enumerate(hashes):
            prefix = tuple(prompt[: (k + 1) * grain])
            assert by_hash.setdefault(value, prefix) == prefix
            assert by_prefix.setdefault(prefix, value) == value


@given(PROMPTS)
def test_grain_does_not_change_the_hash_of_a_prefix(prompts: list[list[int]]) -> None:
    for fine, coarse in zip(hashes_of(prompts, 1), hashes_of(prompts, 4), strict=True):
        assert coarse == [*fine[3::4], *([fine[-1]] if len(fine) % 4 else [])]


def test_empty_prompts_beside_others() -> None:
    assert hashes_of([[], [7], []], 1)[::2] == [[], []]
    assert hashes_of([[], [7], []], 1)[1] == hashes_of([[7]], 1)[0]


@given(st.lists(st.integers(0, 0x10FFFF), max_size=20))
def test_ids_as_characters_and_back(ids: list[int]) -> None:
    text = text_of_ids(np.array(ids, np.int64))
    assert text is not None
    assert units_of(text).tolist() == ids


def test_ids_that_no_character_has() -> None:
    assert text_of_ids(np.array([1, 0x110000])) is None
    assert text_of_ids(np.array([-1])) is None
