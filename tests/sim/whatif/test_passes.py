"""A prompt cut into more chunks pays its start more often; nothing else moves."""

from dataclasses import replace

import numpy as np
import pytest

from ridgeline.sim.timing import Way
from ridgeline.sim.whatif.compare import compare
from ridgeline.sim.whatif.passes import charged, chunks, passes_of
from ridgeline.sim.whatif.variants import Variant, variant_of
from tests.sim.whatif.made import made_basis


def test_chunks_of_a_prompt() -> None:
    tokens = np.array([1, 128, 129, 1000])
    assert chunks(tokens, 128).tolist() == [1, 1, 2, 8]
    assert chunks(tokens, -1).tolist() == [1, 1, 1, 1] == chunks(tokens, 4096).tolist()


def test_what_the_cache_holds_takes_no_pass() -> None:
    basis = replace(made_basis(40), way=Way(request_s=0.01))
    assert basis.traffic is not None
    found = passes_of(basis.scenario, basis.traffic, basis.settings, 0.01)
    assert found is not None and found.request_us == 10_000
    cached = np.nan_to_num(basis.traffic.observed["cached_tokens"]).astype(np.int64)
    assert cached.sum() > 0 and (found.tokens == basis.scenario["input_tokens"] - cached).all()
    assert passes_of(basis.scenario, basis.traffic, basis.settings, 0.0) is None


@pytest.mark.parametrize("size", [128, 256])
def test_a_smaller_chunk_pays_for_each_pass_and_the_same_chunk_pays_as_before(size: int) -> None:
    basis = replace(made_basis(60), way=Way(request_s=0.01))
    found = passes_of(basis.scenario, basis.traffic, basis.settings, 0.01)
    assert found is not None
    whole = basis.burdened()
    assert charged(whole, found, basis.settings) is whole
    small = charged(whole, found, replace(basis.settings, chunked_prefill_size=size))
    assert (small["work_us"] == 10_000 * chunks(found.tokens, size)).all()
    under_small = replace(basis, settings=replace(basis.settings, chunked_prefill_size=size))
    back = passes_of(under_small.scenario, under_small.traffic, under_small.settings, 0.01)
    less = charged(whole, back, basis.settings)["work_us"]
    assert (less == np.round(10_000 / chunks(found.tokens, size))).all()


def test_the_cost_of_small_chunks_is_in_the_comparison() -> None:
    basis = made_basis(120)
    small = replace(basis.settings, chunked_prefill_size=128)
    ways = [Variant((), basis.settings), variant_of(basis.settings, small)]
    free = compare(basis, ways).runs[1].figures["ttft_s"]
    dear = compare(replace(basis, way=Way(request_s=0.02)), ways).runs[1].figures["ttft_s"]
    assert free is not None and dear is not None and dear["p50"] > free["p50"] + 0.05
