"""What-ifs of kinds that no recorded pair shows, against a server that is not as the time model thinks.

The server is the tests' plain step-by-step scheduler (it shares no code with the engine) under the recorded mix of
`pairs/sglang_0.5.23/mix_base_1`. Its steps cost what the model knows and more: an overhead of every prefill pass and of
each request in it, batches padded to powers of two, jitter, a speed that swings. The time model is fitted on the base
run alone, cached tokens and prefix groups as a client and the server would tell them.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from tests.sim import oracle_admit
from tests.sim.compare import oracle_cfg, oracle_requests
from tests.sim.oracle_rank import Rank
from tests.sim.oracle_service import Oracle

from ridgeline.bundle.open import open_sources
from ridgeline.scenario.from_bundle import traffic_of
from ridgeline.scenario.model import PS, Scenario, make
from ridgeline.scenario.prefixes import segments_of
from ridgeline.scenario.traffic import OBSERVED, Traffic
from ridgeline.sim.fit.choices import choices_of
from ridgeline.sim.fit.configured import Configured, configured
from ridgeline.sim.fit.engine import engine_run
from ridgeline.sim.fit.fit import fit
from ridgeline.sim.settings import Settings
from ridgeline.sim.timing import TimeModel
from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.compare import compare
from ridgeline.sim.whatif.ground import way_of
from ridgeline.sim.whatif.variants import Variant, variant_of

TRUTH: Final = TimeModel("truth", 9_000_000_000, 70_000_000, 10_000, 1_200_000_000, 500_000)
SERVERS: Final = ("as the model", "prefill passes", "padding", "jitter", "swings", "all of these")
CHANGES: Final[dict[str, dict[str, Any]]] = {
    "cache off": {"disable_radix_cache": True}, "policy lpm": {"schedule_policy": "lpm"},
    "policy lof": {"schedule_policy": "lof"}, "policy dfs-weight": {"schedule_policy": "dfs-weight"},
    "chunk 128": {"chunked_prefill_size": 128}, "chunk 256": {"chunked_prefill_size": 256},
    "chunk 512": {"chunked_prefill_size": 512}, "at most 4 running": {"max_running_requests": 4},
    "pool 3000": {"max_total_num_tokens": 3000}, "page 16": {"page_size": 16},
}  # fmt: skip
BACK: Final = ("cache off", "chunk 256", "policy lpm")
"""Settings that are the base, too, with the recorded ones as the change."""
FIGURES: Final = ("queue_s", "ttft_s", "e2e_s")
SMALL: Final = 0.03
"""A change below this share has no sign to get right."""


def odd(kind: str, seed: int) -> Callable[[int, int, int, int, int], int]:
    """(picoseconds as the model has them, prefill tokens, prefilling, decoding, moment) → what the step takes."""
    draw = np.random.default_rng(seed)
    every = kind == "all of these"

    def took(dur: int, tokens: int, prefilling: int, decoding: int, t: int) -> int:
        seconds = dur / PS
        if tokens and (every or kind == "prefill passes"):
            seconds += 0.008 + 0.003 * prefilling
        if every or kind == "padding":
            seconds += 0.0004 * (2 ** np.ceil(np.log2(max(decoding, 1))) - decoding)
        if every or kind == "jitter":
            seconds *= float(np.exp(draw.normal(0, 0.15)))
        if every or kind == "swings":
            seconds *= 1 + 0.1 * np.sin(t / PS / 7)
        return max(1, round(seconds * PS))

    return took


def served(scenario: Scenario, settings: Settings, kind: str, seed: int) -> list[Any]:
    """The requests as the odd server serves them."""
    took = odd(kind, seed)
    plain = oracle_admit.launch

    class OddRank(Rank):
        def decode(self, t: int) -> bool:
            going = super().decode(t)
            if going:
                self.dur = took(self.dur, 0, 0, len(self.running), t)
            return going

    def launch(rank: Rank, t: int) -> None:
        plain(rank, t)
        rank.dur = took(rank.dur, sum(q.extend for q in rank.batch), len(rank.batch), 0, t)

    oracle_admit.launch = launch
    try:
        requests = oracle_requests(scenario)
        Oracle(oracle_cfg(settings, TRUTH, (), 0), OddRank).run(requests)
    finally:
        oracle_admit.launch = plain
    return requests


def observed(scenario: Scenario, requests: list[Any], groups: list[int | None]) -> Traffic:
    """The run as stamps, cached tokens and the client's prefix groups tell it."""

    def at(name: str) -> Any:
        return np.array([getattr(q, name) / PS if getattr(q, name) else np.nan for q in requests])

    arrival, tokens = scenario["arrival_ps"] / PS, scenario["output_tokens"]
    first, last, start, queued = at("first"), at("finish"), at("start"), at("queued")
    cached = np.array([float(q.cached) for q in requests])
    seen = {name: np.full(scenario.n, np.nan) for name in OBSERVED} | {
        "queue_s": start - queued, "ttft_s": first - arrival, "e2e_s": last - arrival,
        "tpot_s": np.where(tokens > 1, (last - first) / np.maximum(tokens - 1, 1), np.nan), "queued": queued,
        "scheduled": start, "first": first, "last": last, "cached_tokens": cached,
        "retractions": np.array([float(q.retractions) for q in requests]),
    }  # fmt: skip
    off = not cached.any()
    prompts = scenario["input_tokens"].tolist()
    prefix, segments = segments_of(prompts, cached, groups, [None] * len(prompts), cache_off=off)
    made = make(dict(scenario.columns), segments)
    return Traffic(made, ("",) * made.n, 0.0, seen, np.ones(made.n, np.bool_), ("finished",) * made.n, prefix, ())


def basis_on(traffic: Traffic, settings: Settings) -> Basis:
    """What a what-if starts from, fitted on this run alone."""
    rows = np.arange(traffic.n)
    found = fit(traffic, choices_of(Configured(settings, False, True, True, ()), traffic, rows), rows, engine_run)
    if found is None:
        raise SystemExit("nothing could be fitted")
    held = found.settings.max_total_num_tokens - settings.max_total_num_tokens
    return Basis(traffic.scenario, settings, found.model, way_of(found), traffic, True, pool_held=held)


def row(kind: str, name: str, basis: Basis, changed: Settings, there: Traffic) -> str:
    """One what-if: the worst of the three means, and whether all signs are right."""
    assert basis.traffic is not None
    runs = compare(basis, [Variant((), basis.settings), variant_of(basis.settings, changed)], jobs=1).runs
    cells, right = [], True
    for metric in FIGURES:
        before, after = (float(np.nanmean(t.observed[metric])) for t in (basis.traffic, there))
        own, guess = (float(np.nanmean(run.outcomes[0].values[metric])) for run in runs)
        cells.append(
            (guess / after - 1, f"{before:.2f} → {after:.2f}, predicted {guess:.2f} ({guess / after - 1:+.0%})")
        )
        right &= abs(after / before - 1) < SMALL or (guess - own) * (after - before) > 0
    worst = max(abs(off) for off, _ in cells)
    texts = " | ".join(text for _, text in cells)
    return f"| {kind} | {name} | {texts} | {'right' if right else 'WRONG'} | {'yes' if worst <= 0.25 else 'NO'} |"


def kinds(folder: Path) -> list[str]:
    """The table over all servers and changes; ``folder``: the recorded run whose load it is."""
    view = open_sources([str(folder)])
    load, settings = traffic_of(view).scenario, replace(configured(view).settings, max_queued_requests=0)
    groups = [int(load.segment_id[lo]) if hi > lo else None
              for lo, hi in zip(load.offsets[:-1], load.offsets[1:], strict=True)]  # fmt: skip
    out = ["| the server | change | queue mean, s | TTFT mean, s | E2E mean, s | signs | within 25 % |",
           "|---|---|---|---|---|---|---|"]  # fmt: skip
    for kind in SERVERS:
        ways = {name: replace(settings, **change) for name, change in CHANGES.items()}
        runs = {name: observed(load, served(load, s, kind, 7), groups) for name, s in ways.items()}
        recorded = observed(load, served(load, settings, kind, 7), groups)
        base = basis_on(recorded, settings)
        for name, changed in ways.items():
            out.append(row(kind, name, base, changed, runs[name]))
            print(out[-1], flush=True)
        for name in BACK:
            out.append(row(kind, f"{name} → as recorded", basis_on(runs[name], ways[name]), settings, recorded))
            print(out[-1], flush=True)
    held = sum(line.endswith("yes |") and "| right |" in line for line in out)
    return [*out, "", f"{held} of {len(out) - 2} what-ifs have every sign right and every mean within 25 %."]
