"""The simulated engine's radix tree as an oracle: requests one after the other find what the split says they find."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.prefix.split import split_prompts
from ridgeline.scenario.model import PS, make
from ridgeline.sim.service import simulate
from ridgeline.sim.settings import Settings
from tests.prefix.compose import Ask, prompts_of, setting_of

# A prompt as segments (identity, tokens); two prompts agree exactly as far as these do.
SEGMENTS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 9)), min_size=1, max_size=4)
SPACES = ("", "extra=a", "extra=b")


def found_by_engine(
    prompts: list[list[tuple[int, int]]], spaces: list[int], page: int, pool: int, outputs: int = 1
) -> list[int]:
    """Cached tokens of requests that come a hundred seconds apart, each long done before the next."""
    n = len(prompts)
    offsets = np.concatenate(([0], np.cumsum([len(p) for p in prompts])))
    ids, tokens = (np.array([s[k] for p in prompts for s in p], np.int64) for k in (0, 1))
    scenario = make(
        {
            "arrival_ps": np.arange(n, dtype=np.int64) * 100 * PS,
            "input_tokens": np.array([sum(size for _, size in p) for p in prompts], np.int64),
            "output_tokens": np.full(n, outputs, np.int64),
            "namespace": np.array(spaces, np.int64),
        },
        (offsets.astype(np.int64), ids, tokens),
    )
    service = simulate(scenario, Settings(page_size=page, max_total_num_tokens=pool))
    return [int(c) for c in service.requests()["cached"]]


def asks_of(prompts: list[list[tuple[int, int]]], spaces: list[int]) -> list[Ask]:
    """The same prompts as token ids: a segment's tokens are its own, counted from where it begins."""
    return [
        Ask(tuple(1000 * who + at for who, size in p for at in range(size)), SPACES[space])
        for p, space in zip(prompts, spaces, strict=True)
    ]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(SEGMENTS, st.integers(0, 2)), min_size=1, max_size=8), st.sampled_from([1, 2, 4, 16]))
def test_a_pool_that_holds_everything(traffic: list[tuple[list[tuple[int, int]], int]], page: int) -> None:
    # The same identity with another length before it is other text in the engine's terms: lengths go by identity.
    prompts = [[(who, 3 * who + at) for at, (who, _) in enumerate(p)] for p, _ in traffic]
    spaces = [space for _, space in traffic]
    made = prompts_of(asks_of(prompts, spaces))
    ours = split_prompts(made, setting_of(made, page, 100_000)).parts.hit.tolist()
    assert ours == found_by_engine(prompts, spaces, page, 100_000)


@pytest.mark.parametrize("page", [1, 4])
@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=20), st.integers(2, 4))
def test_least_recent_first(page: int, order: list[int], holds: int) -> None:
    # Prompts of one length that share nothing: whole leaves are then what single pages come to. The engine is given
    # a little more, for the token that a repeat computes anew.
    size = 24
    prompts = [[(who, size)] for who in order]
    made = prompts_of(asks_of(prompts, [0] * len(order)))
    ours = split_prompts(made, setting_of(made, page, holds * size)).parts.hit.tolist()
    assert ours == found_by_engine(prompts, [0] * len(order), page, holds * size + 2 * page)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 2), st.integers(2, 12)), min_size=1, max_size=6), st.sampled_from([1, 4]))
def test_the_next_turn_finds_the_answer_before_it(turns: list[tuple[int, int]], page: int) -> None:
    # Two conversations; each turn is all that was said before, the answers too, and a new question of `size` tokens.
    said: dict[int, list[tuple[int, int]]] = {1: [], 2: []}
    prompts, outputs = [], []
    for n, (who, size) in enumerate(turns):
        said[who] = [*said[who], (100 + n, size)]
        prompts.append(list(said[who]))
        outputs.append(5 + n)
        said[who] = [*said[who], (500 + n, 5 + n)]
    asks = asks_of(prompts, [0] * len(turns))
    made = prompts_of(asks, [tuple(1000 * (500 + n) + at for at in range(4 + n)) for n in range(len(turns))])
    ours = split_prompts(made, setting_of(made, page, 100_000)).parts.hit.tolist()
    n = len(turns)
    offsets = np.concatenate(([0], np.cumsum([len(p) for p in prompts]))).astype(np.int64)
    ids, tokens = (np.array([s[k] for p in prompts for s in p], np.int64) for k in (0, 1))
    scenario = make(
        {
            "arrival_ps": np.arange(n, dtype=np.int64) * 100 * PS,
            "input_tokens": np.array([len(a.ids) for a in asks], np.int64),
            "output_tokens": np.array(outputs, np.int64),
            "output_segment": np.arange(500, 500 + n, dtype=np.int64),
        },
        (offsets, ids, tokens),
    )
    engine = simulate(scenario, Settings(page_size=page, max_total_num_tokens=100_000)).requests()["cached"]
    assert ours == [int(c) for c in engine]
