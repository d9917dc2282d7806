"""How often `compare` is wrong, on 2,000 pairs with AFTER drawn from INCIDENT's own process.

Traffic hangs together in time: bursty arrivals (two-state) at a service with several slots, first come first served, so
that a bad minute is a bad minute for everybody. One long run per scenario; INCIDENT and AFTER are two windows of it
that do not overlap, BASELINE a window of the same traffic at a service twice as fast. `real` resamples a recorded run
(`--real DIR`) in stretches of five seconds. Power: the same, with AFTER from a service that is faster by a factor, or
has half as many slots again (then only the wait gets better).

    python bench/compare.py [--pairs 2000] [--seed 1] [--real ../shared/real/pairs/sglang_0.5.23/mix_base_1]
"""

import argparse
import heapq
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ridgeline.verdict.compare import of_evidence
from ridgeline.verdict.evidence import Evidence
from ridgeline.verdict.requests import LABELS, Requests

Floats = NDArray[np.float64]
COLUMNS = ("ttft_s", "queue_s", "tpot_s", "e2e_s", "prompt_tokens", "completion_tokens", "cached_tokens", "retractions",
           "bad", "open", "stream", "last_ts")  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """A service under load: requests per second, how bursty (1: Poisson), slots, length of a window."""

    name: str
    load: float  # of what the slots can carry
    burst: float
    burst_s: float
    window_s: float
    rate: float = 4.0
    slots: int = 8


SCENARIOS = (
    Scenario("steady", 0.7, 1.0, 0.0, 300.0),
    Scenario("busy", 0.9, 1.0, 0.0, 600.0),
    Scenario("bursty", 0.75, 3.0, 20.0, 600.0),
    Scenario("short", 0.8, 2.0, 10.0, 120.0),
    Scenario("near-full", 0.95, 1.5, 20.0, 900.0),
)


def traffic(s: Scenario, seconds: float, seed: int, faster: float = 1.0, wider: float = 1.0) -> Requests:
    """One long run as request rows. Service time: 0.1 s of prefill and tokens at 20 ms, divided by `faster`.

    `wider`: so many times the slots, which changes the wait alone.
    """
    rng = np.random.default_rng(seed)
    at = arrivals(s, seconds, rng)
    n = at.size
    prompt = np.maximum(16, rng.lognormal(6.0, 0.8, n)).round()
    mean_s = s.load * s.slots / s.rate
    output = np.maximum(2, rng.lognormal(0.0, 0.6, n) / np.exp(0.18) * (mean_s - 0.12) / 0.02).round()
    prefill = (0.05 + prompt / 8000) / faster
    tpot = 0.02 * np.exp(rng.normal(0, 0.1, n)) / faster
    service = prefill + tpot * (output - 1)
    free = [0.0] * round(s.slots * wider)
    start = np.empty(n)
    for i in range(n):
        begin = max(at[i], heapq.heappop(free))
        start[i] = begin
        heapq.heappush(free, begin + service[i])
    queue = start - at
    bad = (rng.random(n) < 0.002).astype(np.float64)
    values = (queue + prefill, queue, tpot, queue + service, prompt, output, np.zeros(n), np.zeros(n), bad, np.zeros(n),
              np.ones(n), start + service)  # fmt: skip
    none = np.full(n, None, object)
    return Requests("engine", at, dict(zip(COLUMNS, values, strict=True)), dict.fromkeys(LABELS, none), none, True, 0)


def arrivals(s: Scenario, seconds: float, rng: np.random.Generator) -> Floats:
    """Poisson, or Poisson whose rate switches between a quiet and a `burst` times higher level."""
    if s.burst <= 1:
        return np.cumsum(rng.exponential(1 / s.rate, int(s.rate * seconds)))
    low = s.rate / (0.75 + 0.25 * s.burst)
    out, t, high = [], 0.0, False
    while t < seconds:
        stay = rng.exponential(s.burst_s * (1 if high else 3))
        count = rng.poisson(stay * low * (s.burst if high else 1))
        out.append(np.sort(rng.uniform(t, t + stay, count)))
        t, high = t + stay, not high
    return np.concatenate(out)


def cut(run: Requests, start: float, seconds: float) -> Requests:
    a, b = np.searchsorted(run.at, [start, start + seconds])
    return taken(run, np.arange(a, b), run.at[a:b])


def taken(run: Requests, rows: NDArray[np.int64], at: Floats) -> Requests:
    none = np.full(rows.size, None, object)
    columns = {name: values[rows] for name, values in run.columns.items()}
    return Requests("engine", at, columns, dict.fromkeys(LABELS, none), none, True, 0)


def restretched(run: Requests, seed: int, stretch_s: float = 5.0) -> Requests:
    """A run of the same length from stretches of the recorded one, drawn with replacement."""
    rng = np.random.default_rng(seed)
    start, end = float(run.at[0]), float(run.at[-1])
    rows, at, t = [], [], 0.0
    while t < end - start:
        origin = rng.uniform(start, end - stretch_s)
        a, b = np.searchsorted(run.at, [origin, origin + stretch_s])
        rows.append(np.arange(a, b))
        at.append(run.at[a:b] - origin + t)
        t += stretch_s
    return taken(run, np.concatenate(rows), np.concatenate(at))


def evidence(name: str, requests: Requests) -> Evidence:
    return Evidence(
        name=name, window=None, requests=requests, histograms={}, ratios={}, finished=None, summaries={},
        identity={"model": "m", "version": "1", "engine": "sglang"}, config={}, note=None, reach=None,
    )  # fmt: skip


def verdict(incident: Requests, after: Requests, baseline: Requests | None, slo: dict[str, float]) -> str:
    sides = [evidence("INCIDENT", incident), evidence("AFTER", after)]
    if baseline is not None:
        sides.append(evidence("BASELINE", baseline))
    return of_evidence(sides, slo=slo).verdict


def windows(run: Requests, seconds: float, rng: np.random.Generator) -> tuple[Requests, Requests]:
    """Two windows that do not overlap, anywhere in the run."""
    end = float(run.at[-1]) - seconds
    while True:
        a, b = rng.uniform(0, end, 2)
        if abs(a - b) > seconds:
            return cut(run, a, seconds), cut(run, b, seconds)


def null(s: Scenario, pairs: int, seed: int) -> dict[str, Counter[str]]:
    """AFTER from INCIDENT's process, under each reference. The SLO is just below what the process truly does."""
    run = traffic(s, 600 * s.window_s, seed)
    calm = traffic(s, 200 * s.window_s, seed + 1, 2.0)
    true = {"ttft_p90": float(np.quantile(run.columns["ttft_s"], 0.9)) * 0.95,
            "e2e_p50": float(np.quantile(run.columns["e2e_s"], 0.5)) * 0.95}  # fmt: skip
    rng = np.random.default_rng(seed + 2)
    out: dict[str, Counter[str]] = {"none": Counter(), "slo": Counter(), "baseline": Counter()}
    for _ in range(pairs):
        incident, after = windows(run, s.window_s, rng)
        base, _ = windows(calm, s.window_s, rng)
        out["none"][verdict(incident, after, None, {})] += 1
        out["slo"][verdict(incident, after, None, true)] += 1
        out["baseline"][verdict(incident, after, base, {})] += 1
    return out


def power(s: Scenario, pairs: int, seed: int, faster: float, wider: float = 1.0) -> Counter[str]:
    """AFTER from the same traffic at a service that is `faster`, or has `wider` room."""
    run, better = traffic(s, 200 * s.window_s, seed), traffic(s, 200 * s.window_s, seed + 5, faster, wider)
    rng = np.random.default_rng(seed + 3)
    found: Counter[str] = Counter()
    for _ in range(pairs):
        found[verdict(windows(run, s.window_s, rng)[0], windows(better, s.window_s, rng)[0], None, {})] += 1
    return found


def recorded(folder: Path, pairs: int, seed: int) -> Counter[str]:
    """Pairs resampled from one recorded run."""
    from ridgeline.bundle.open import open_sources
    from ridgeline.verdict.requests import requests_of

    run = requests_of(open_sources([str(folder)]), "engine", None)
    found: Counter[str] = Counter()
    for k in range(pairs):
        found[verdict(restretched(run, seed + 2 * k), restretched(run, seed + 2 * k + 1), None, {})] += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", type=Path)
    parser.add_argument("--power", type=int, default=100, help="pairs for each effect size")
    given = parser.parse_args()
    began = time.perf_counter()
    totals: dict[str, Counter[str]] = {}
    each = given.pairs // len(SCENARIOS)
    for s in SCENARIOS:
        found = null(s, each, given.seed)
        for reference, counts in found.items():
            totals.setdefault(reference, Counter()).update(counts)
            print(json.dumps({"null": s.name, "reference": reference, "pairs": each, **counts}), flush=True)
    worst = 0.0
    for reference, counts in totals.items():
        n = sum(counts.values())
        good = (counts["recovered"] + counts["improved"]) / n
        bad = counts["worse"] / n
        worst = max(worst, good, bad)
        print(json.dumps({"reference": reference, "pairs": n, "false_recovered": good, "false_worse": bad}), flush=True)
    if given.real:
        counts = recorded(given.real, each, given.seed)
        print(json.dumps({"null": "recorded", "pairs": each, **counts}), flush=True)
        worst = max(worst, (counts["improved"] + 0.0) / each, counts["worse"] / each)
    for s in SCENARIOS if given.power else ():
        for faster in (1.1, 1.25, 1.5, 2.0):
            counts = power(s, given.power, given.seed, faster)
            print(json.dumps({"power": s.name, "faster": faster, "pairs": given.power, **counts}), flush=True)
        counts = power(s, given.power, given.seed, 1.0, 1.5)
        print(json.dumps({"power": s.name, "wider": 1.5, "pairs": given.power, **counts}), flush=True)
    print(json.dumps({"bar": 0.02, "worst": worst, "met": worst <= 0.02, "took_s": time.perf_counter() - began}))
    return 0 if worst <= 0.02 else 1


if __name__ == "__main__":
    sys.exit(main())
