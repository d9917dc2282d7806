"""The engine against formulas: queues with known answers, conservation, Little's law, cache hit ratios."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from ridgeline.scenario.generate import Lengths, generated
from ridgeline.scenario.model import PS, Scenario, make
from ridgeline.sim.service import Service, simulate
from ridgeline.sim.settings import Settings
from ridgeline.sim.timing import TimeModel

MS = PS // 1000
ONE = TimeModel("a step of 10 ms whatever is in it", 10 * MS, 0, 0, 0, 0)


def seconds(service: Service, a: str, b: str) -> NDArray[np.float64]:
    rows = service.requests()
    result: NDArray[np.float64] = (rows[b] - rows[a]) / PS
    return result


@pytest.mark.parametrize("load", [0.3, 0.6, 0.85])
def test_one_at_a_time_is_m_d_1(load: float) -> None:
    # one request per batch, one token: a server with a fixed service time of one step
    rate = load / 0.010
    scenario = generated("poisson", 200_000, rate, Lengths(10, 10), Lengths(1, 1), seed=3)
    service = simulate(
        scenario, Settings(max_running_requests=1, disable_radix_cache=True, disable_overlap_schedule=True), ONE
    )
    wait = seconds(service, "arrival", "start").mean()
    expected = load * 0.010 / (2 * (1 - load))
    assert wait == pytest.approx(expected, rel=0.05)


def erlang_c(c: int, a: float) -> float:
    top = a**c / math.factorial(c) * c / (c - a)
    return top / (sum(a**k / math.factorial(k) for k in range(c)) + top)


@pytest.mark.parametrize(("c", "load"), [(2, 0.7), (4, 0.8)])
def test_many_slots_are_m_m_c(c: int, load: float) -> None:
    # exponential outputs on c slots, steps far shorter than a request, prefill nearly free: an M/M/c queue
    rng = np.random.default_rng(5)
    n, mean = 150_000, 1000
    step = TimeModel("short steps", MS, 0, 0, 0, 0)
    out = np.maximum(1, np.round(rng.exponential(mean, n))).astype(np.int64)
    service_s = mean * 0.001
    when = np.cumsum(rng.exponential(service_s / (c * load), n) * PS).astype(np.int64)
    scenario = make({"arrival_ps": when, "input_tokens": np.ones(n, np.int64), "output_tokens": out})
    service = simulate(scenario, Settings(max_running_requests=c, disable_radix_cache=True,
                                          max_total_num_tokens=10_000_000, clip_max_new_tokens=1,
                                          disable_overlap_schedule=True), step)  # fmt: skip
    wait = seconds(service, "arrival", "start").mean()
    expected = erlang_c(c, c * load) * service_s / (c * (1 - load))
    assert wait == pytest.approx(expected, rel=0.08)


def test_little() -> None:
    scenario = generated("gamma", 20_000, 12.0, Lengths(1, 2047), Lengths(1, 511), seed=1, shape=0.4)
    service = simulate(scenario, Settings(max_running_requests=64))
    rows = service.requests()
    edges = np.concatenate([rows["arrival"], rows["finish"]])
    change = np.concatenate([np.ones(len(rows)), -np.ones(len(rows))])
    order = np.argsort(edges, kind="stable")
    inside = np.cumsum(change[order])[:-1]
    span = np.diff(edges[order])
    average = float((inside * span).sum() / span.sum())
    rate = len(rows) / (span.sum() / PS)
    assert average == pytest.approx(rate * seconds(service, "arrival", "finish").mean(), rel=1e-9)


def test_tokens_conserved() -> None:
    scenario = generated("bursts", 5_000, 10.0, Lengths(1, 900), Lengths(1, 300), seed=2, shape=8.0, period_s=60,
                         prefix_groups=7, prefix_tokens=333)  # fmt: skip
    service = simulate(scenario, Settings(max_total_num_tokens=20_000, page_size=16, schedule_conservativeness=0.2))
    rows = service.requests()
    assert rows["retractions"].sum() > 0, "the case must hurt"
    assert (rows["gen"] == rows["out"]).all()
    # every token after a request's first is one gap
    assert service.gaps().sum() == (rows["gen"] - 1).sum()
    rank = service.state.rank[0]
    assert rank.free + rank.evictable + rank.protected == 20_000
    assert rank.protected == 0


def stack_distance_hits(scenario: Scenario, capacity_blocks: int, block: int) -> int:
    """Tokens an LRU cache of blocks would have reused, one request at a time (last used, last of its prompt first)."""
    order: dict[tuple[int, ...], None] = {}
    hits = 0
    for i in range(scenario.n):
        ids = scenario.segment_id[scenario.offsets[i] : scenario.offsets[i + 1]]
        chains = [tuple(ids[: k + 1]) for k in range(len(ids))]
        matched = 0
        while matched < len(chains) and chains[matched] in order:
            matched += 1
        hits += min(matched * block, (int(scenario["input_tokens"][i]) - 1) // block * block)
        for chain in reversed(chains):
            order.pop(chain, None)
            order[chain] = None
        while len(order) > capacity_blocks:
            order.pop(next(iter(order)))
    return hits


@pytest.mark.parametrize("capacity", [12, 30, 1000])
def test_hit_ratio_is_lru_stack_distance(capacity: int) -> None:
    # one request at a time, one block per page and node, nothing generated: the tree is a plain LRU of blocks
    rng = np.random.default_rng(11)
    block, n = 16, 400
    ids, offsets = [], [0]
    for _ in range(n):
        path = [int(rng.integers(1, 9))]
        while rng.random() < 0.6 and len(path) < 6:
            path.append(path[-1] * 10 + int(rng.integers(1, 4)))
        ids += path
        offsets.append(len(ids))
    lengths = np.diff(offsets)
    columns = {"arrival_ps": np.arange(n) * PS, "input_tokens": lengths * block, "output_tokens": np.ones(n, np.int64)}
    parts = (np.array(offsets), np.array(ids), np.full(len(ids), block))
    scenario = make(columns, parts)
    service = simulate(scenario, Settings(page_size=block, max_total_num_tokens=capacity * block,
                                          engine="vllm"), ONE)  # fmt: skip
    assert int(service.requests()["cached"].sum()) == pytest.approx(
        stack_distance_hits(scenario, capacity, block), rel=0.0 if capacity == 1000 else 0.1
    )
    radix = simulate(scenario, Settings(page_size=block, max_total_num_tokens=1000 * block), ONE)
    if capacity == 1000:
        assert int(radix.requests()["cached"].sum()) == stack_distance_hits(scenario, 1000, block)


def test_same_seed_same_bytes() -> None:
    scenario = generated("poisson", 3000, 40.0, Lengths(1, 900), Lengths(1, 200), seed=4, routing_keys=9)
    chosen = Settings(workers=4, router="power_of_two", schedule_policy="random", max_total_num_tokens=30_000)
    one, two = (simulate(scenario, chosen, seed=7).requests().tobytes() for _ in range(2))
    assert one == two
    assert simulate(scenario, chosen, seed=8).requests().tobytes() != one


def test_balanced_and_skewed_ranks() -> None:
    scenario = generated("poisson", 2000, 30.0, Lengths(1, 900), Lengths(1, 200), seed=4)
    even = simulate(scenario, Settings(dp_size=4)).requests()["rank"]
    assert np.bincount(even).tolist() == [500] * 4
    columns = dict(scenario.columns)
    columns["dp_rank"] = np.where(np.arange(2000) % 2 == 0, 3, -1)
    skewed = Scenario(columns, scenario.offsets, scenario.segment_id, scenario.segment_tokens)
    assert np.bincount(simulate(skewed, Settings(dp_size=4)).requests()["rank"])[3] == 1250


def test_page_rounding() -> None:
    # a common prefix of 20 tokens with pages of 16 reuses 16; a whole prompt of 32 reuses 16 (one token must be left)
    columns = {"arrival_ps": np.array([0, PS, 2 * PS]), "input_tokens": np.array([32, 32, 32]),
               "output_tokens": np.ones(3, np.int64)}  # fmt: skip
    parts = (np.array([0, 2, 4, 6]), np.array([1, 2, 1, 3, 1, 3]), np.array([20, 12] * 3))
    scenario = make(columns, parts)
    assert simulate(scenario, Settings(page_size=16), ONE).requests()["cached"].tolist() == [0, 16, 16]
    assert simulate(scenario, Settings(page_size=1), ONE).requests()["cached"].tolist() == [0, 20, 31]
    off = replace(Settings(page_size=1), disable_radix_cache=True)
    assert simulate(scenario, off, ONE).requests()["cached"].tolist() == [0, 0, 0]
