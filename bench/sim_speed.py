"""How fast and how large the engine is: ``python bench/sim_speed.py [--full]``.

CPU seconds after warm-up, outputs on (per-request times and the distribution of token gaps). Poisson 8
requests per second and rank, 1-2047 tokens in, 1-511 out, fcfs, chunk 8192, 400k-token pool; the Mooncake
conversation hour with page 16 and 1.6M tokens per rank on 8 ranks. Each memory figure is a process of its own.
"""

import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ridgeline.scenario.generate import Lengths, generated
from ridgeline.scenario.model import Scenario
from ridgeline.sim.service import simulate
from ridgeline.sim.settings import Settings
from ridgeline.sim.summary import summary
from ridgeline.sim.timing import DEFAULT
from ridgeline.sim.warm import warm
from ridgeline.sim.whatif.basis import Basis
from ridgeline.sim.whatif.compare import compare
from ridgeline.sim.whatif.slo import limits_of
from ridgeline.sim.whatif.variants import variants

MOONCAKE = Path(__file__).resolve().parents[1] / "../shared/traces/mooncake_conversation_trace.jsonl"


def poisson(n: int, ranks: int) -> Scenario:
    return generated("poisson", n, 8.0 * ranks, Lengths(1, 2047), Lengths(1, 511), seed=1)


def cpu(scenario: Scenario, settings: Settings) -> float:
    begin = time.process_time()
    service = simulate(scenario, settings)
    spent = time.process_time() - begin
    summary(service, DEFAULT)
    return spent


def rows(full: bool) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for ranks in (1, 8):
        settings = Settings(dp_size=ranks, load_balance_method="round_robin")
        sizes = (10_000, 100_000, 3_000_000) if full else (10_000, 100_000)
        spent = {n: cpu(poisson(n, ranks), settings) for n in sizes}
        growth = math.log(spent[sizes[-1]] / spent[sizes[0]]) / math.log(sizes[-1] / sizes[0])
        best = max(n / s for n, s in spent.items() if n >= 100_000)
        name = f"poisson, {ranks} rank(s)"
        out.append({"what": name, "requests_per_cpu_s": round(best), "growth_exponent": round(growth, 3)})
    if MOONCAKE.is_file():
        from ridgeline.scenario.traces import mooncake

        hour = mooncake(MOONCAKE)
        common = {"page_size": 16, "max_total_num_tokens": 1_600_000}
        for name, more in (
            ("round_robin", {"dp_size": 8, "load_balance_method": "round_robin"}),
            ("round_robin, lpm", {"dp_size": 8, "load_balance_method": "round_robin", "schedule_policy": "lpm"}),
            ("8 workers, cache_aware", {"workers": 8, "router": "cache_aware"}),
        ):
            out.append({"what": f"mooncake hour, {name}", "cpu_s": round(cpu(hour, Settings(**common, **more)), 3)})
    return out


def comparison(n: int, repeats: int) -> dict[str, Any]:
    """Wall seconds of a comparison of twelve settings on all cores, intervals and classes included."""
    basis = Basis(poisson(n, 1), Settings())
    ways = variants(basis.settings, ("chunked_prefill_size=2048,4096,8192", "schedule_policy=fcfs,lof",
                                     "max_running_requests=128,256"))  # fmt: skip
    begin = time.monotonic()
    found = compare(basis, ways, repeats=repeats, limits=limits_of(("ttft_p99=2s",)))
    return {"what": f"{len(found.runs)} settings x {repeats} repeats of {n} requests, all cores",
            "wall_s": round(time.monotonic() - begin, 1)}  # fmt: skip


def memory(n: int) -> int:
    """Peak resident kilobytes of a process that simulates ``n`` requests and sums them up."""
    command = [sys.executable, str(Path(__file__)), "--memory", str(n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout)


def main() -> None:
    if "--memory" in sys.argv:
        cpu(poisson(int(sys.argv[-1]), 1), Settings())
        # not getrusage: its peak counts the parent's pages from before exec
        peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
        print(peak.split()[1])
        return
    begin = time.monotonic()
    warm()
    start_s = time.monotonic() - begin
    full = "--full" in sys.argv
    result = rows(full)
    result.append(comparison(100_000, 5))
    for n in (100_000, 1_000_000) if full else (100_000,):
        result.append({"what": f"memory, {n} requests", "peak_mb": round(memory(n) / 1024, 1)})
    print(json.dumps({"start_s": round(start_s, 2), "rows": result}, indent=1))


if __name__ == "__main__":
    main()
