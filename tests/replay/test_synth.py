"""Drawn prompts: equal lengths, equal shared prefixes, the same bytes for the same seed."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.replay.shot import Drawn
from ridgeline.replay.synth import FIRST_ID, IDS, ids_of, text_of

SEGMENTS = st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 40)), max_size=4).map(tuple)


@given(SEGMENTS, st.integers(1, 120), st.integers(0, 3))
@settings(deadline=None)
def test_the_length_is_exact_and_the_seed_decides(
    segments: tuple[tuple[int, int], ...], tokens: int, seed: int
) -> None:
    drawn = Drawn(7, tokens, segments)
    ids = ids_of(drawn, seed)
    assert len(ids) == tokens and ids.min() >= FIRST_ID and ids.max() < FIRST_ID + IDS
    assert (ids == ids_of(drawn, seed)).all()
    assert len(text_of(drawn, seed).split()) == tokens
    assert tokens < 20 or (ids != ids_of(drawn, seed + 1)).any()


@given(SEGMENTS, SEGMENTS, SEGMENTS)
@settings(deadline=None)
def test_prompts_share_as_far_as_their_segments_do(
    common: tuple[tuple[int, int], ...], a: tuple[tuple[int, int], ...], b: tuple[tuple[int, int], ...]
) -> None:
    shared = sum(n for _, n in common)
    first = ids_of(Drawn(1, shared + sum(n for _, n in a) + 30, common + a), 0).tolist()
    second = ids_of(Drawn(2, shared + sum(n for _, n in b) + 30, common + b), 0).tolist()
    assert first[:shared] == second[:shared]
    if not a and not b:
        assert first[shared : shared + 10] != second[shared : shared + 10], "what is its own is not shared"


def test_a_segment_longer_than_the_prompt_is_cut() -> None:
    assert ids_of(Drawn(0, 5, ((3, 100),)), 0).tolist() == ids_of(Drawn(1, 100, ((3, 100),)), 0).tolist()[:5]
