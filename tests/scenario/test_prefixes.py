"""Prefixes inferred from routing keys: only where hits say so again and again."""

import numpy as np

from ridgeline.scenario.prefixes import heads_of, segments_of


def test_keys_that_hit_equally_far_share_a_head() -> None:
    keys = ["a"] * 6 + ["b"] * 6
    cached: list[float | None] = [0, 500, 502, 500, 500, None, 0, 900, 900, 0, 903, 900]
    assert heads_of(keys, cached) == {"a": 500, "b": 900}


def test_hits_of_all_lengths_are_conversations_and_no_head() -> None:
    assert heads_of(["a"] * 8, [0, 120, 340, 610, 990, 1400, 2100, 2900]) == {}


def test_nothing_is_learned_where_keys_explain_few_of_the_hits() -> None:
    keys = ["a", "a", "a", "a", None, None, None, None]
    assert heads_of(keys, [0, 50, 50, 50, 4000, 4000, 4000, 4000]) == {}


def test_a_head_is_shared_by_its_key_alone_and_never_the_whole_prompt() -> None:
    prefix, segments = segments_of(
        [800, 800, 400, 900], np.array([0.0, 500.0, np.nan, 0.0]), [None] * 4, [None] * 4,
        ["a", "a", "a", None], {"a": 500},
    )  # fmt: skip
    assert prefix == "keys" and segments is not None
    offsets, ids, tokens = segments
    assert np.diff(offsets).tolist() == [1, 1, 1, 0]
    assert len(set(ids.tolist())) == 1 and tokens.tolist() == [500, 500, 399]
