"""Traffic whose truth is known: a plain run under given coefficients, observed as an engine would stamp it."""

import numpy as np

from ridgeline.scenario.model import PS, Scenario, make
from ridgeline.scenario.traffic import OBSERVED, Traffic
from ridgeline.sim.fit.run import Run, Runner
from ridgeline.sim.settings import Settings
from ridgeline.sim.timing import TimeModel
from tests.sim.fit.plain_vllm import plain_run

TRUTH = TimeModel(
    "truth", base_ps=20_000_000_000, prefill_token_ps=100_000_000, attention_half_pair_ps=2_000,
    decode_request_ps=50_000_000, context_token_ps=150_000, mixed_request_ps=60_000_000,
)  # fmt: skip

SMALL = Settings(
    engine="vllm", version="0.32.0", max_running_requests=12, chunked_prefill_size=512, page_size=16,
    max_total_num_tokens=200_000, async_scheduling=True,
)  # fmt: skip


def scenario_of(n: int = 120, rate: float = 6.0, seed: int = 1, groups: int = 0) -> Scenario:
    """Poisson arrivals, prompts of 50-600 tokens, outputs of 5-60; ``groups`` openings of 320 tokens."""
    draw = np.random.default_rng(seed)
    arrivals = np.cumsum(draw.exponential(1 / rate, n))
    prompts = draw.integers(50, 600, n) + (320 if groups else 0)
    segments = None
    if groups:
        ids = draw.integers(1, groups + 1, n)
        segments = (np.arange(n + 1), ids.astype(np.int64), np.full(n, 320, np.int64))
    return make(
        {
            "arrival_ps": np.round(arrivals * PS).astype(np.int64), "input_tokens": prompts.astype(np.int64),
            "output_tokens": draw.integers(5, 60, n).astype(np.int64),
        },
        segments,
    )  # fmt: skip


def observed(
    scenario: Scenario, settings: Settings, runner: Runner = plain_run, truth: TimeModel = TRUTH, jitter: float = 0.0
) -> Traffic:
    """The traffic that a server with those coefficients would have left."""
    run = runner(scenario, settings, truth)
    return traffic_from(scenario, run, jitter)


def traffic_from(scenario: Scenario, run: Run, jitter: float = 0.0) -> Traffic:
    draw = np.random.default_rng(5)
    arrival = scenario["arrival_ps"] / PS
    tokens = scenario["output_tokens"]
    last = run.last * 1.0
    first = run.first + np.abs(draw.normal(0, jitter, scenario.n))
    seen = {name: np.full(scenario.n, np.nan) for name in OBSERVED}
    seen |= {
        "queue_s": run.scheduled - run.queued, "ttft_s": first - arrival, "e2e_s": last - arrival,
        "tpot_s": np.where(tokens > 1, (last - first) / np.maximum(tokens - 1, 1), np.nan),
        "queued": run.queued, "scheduled": run.scheduled, "first": first, "last": last,
        "cached_tokens": run.cached_tokens, "retractions": run.retractions,
    }  # fmt: skip
    return Traffic(
        scenario, tuple(f"r{i}" for i in range(scenario.n)), 1_796_000_000.0, seen, np.ones(scenario.n, np.bool_),
        ("finished",) * scenario.n, "groups" if len(scenario.segment_id) else "cached", (),
    )  # fmt: skip
