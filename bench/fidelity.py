"""How true the simulator is to recorded servers: ``python bench/fidelity.py [--pairs] [--gate] [--write]``.

Fits on the first half of each run's requests by arrival, simulates the whole run, and compares the second half (mean,
p50, p90, p99 in per cent; bars in brackets). ``--pairs``: fitted on a whole base run alone, what another setting gives.
``--gate``: over many splits, whether trust on one part foretells the next. ``--write``: puts the tables in
docs/simulator.md. Reads ../shared/traces/real_vllm_gpu and ../shared/real next to the checkout.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ridgeline.bundle.open import open_sources
from ridgeline.scenario.from_bundle import traffic_of
from ridgeline.sim.fidelity.figures import METRICS, STATISTICS, Figure, figures, observed_and_predicted
from ridgeline.sim.fidelity.gate import judge
from ridgeline.sim.fidelity.measure import fidelity
from ridgeline.sim.fit.choices import choices_of
from ridgeline.sim.fit.configured import configured
from ridgeline.sim.fit.engine import engine_run
from ridgeline.sim.fit.fit import fit, simulated
from ridgeline.sim.fit.lines import decode_lines
from ridgeline.sim.fit.whole import fitted_on
from ridgeline.sim.warm import warm

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT / ".." / "shared"
GPU, REAL = SHARED / "traces" / "real_vllm_gpu", SHARED / "real"

BARS: list[tuple[str, Path, dict[str, tuple[float, float, float, float]]]] = [
    ("Qwen3-32B, 2 x RTX PRO 6000", GPU / "RTXPRO6000_Qwen3-32B",
     {"queue_s": (3, 3, 3, 5), "ttft_s": (3, 3, 3, 5), "tpot_s": (5, 3, 3, 5), "e2e_s": (3, 3, 8, 10)}),
    ("Llama-3.1-8B, RTX 4090, short of KV", GPU / "RTX4090_Llama-3.1-8B",
     {"queue_s": (5, 5, 12, 5), "ttft_s": (5, 5, 12, 5), "tpot_s": (3, 3, 6, 10), "e2e_s": (3, 3, 4, 5)}),
    ("vLLM 0.32.0 on CPU, run1", REAL / "vllm_0.32.0" / "run1",
     {"queue_s": (12, 12, 15, 15), "ttft_s": (12, 12, 15, 15), "e2e_s": (12, 12, 15, 15)}),
    ("SGLang 0.5.23 on CPU, single_full", REAL / "sglang_0.5.23" / "single_full",
     {"queue_s": (30, 999, 20, 30), "e2e_s": (30, 999, 20, 30)}),
]  # fmt: skip

MORE = [
    "pairs/sglang_0.5.23/mix_base_1", "pairs/sglang_0.5.23/mix_base_2", "pairs/sglang_0.5.23/mix_maxrun4",
    "pairs/sglang_0.5.23/over_base_1", "pairs/sglang_0.5.23/over_cons03_1", "pairs/vllm_0.32.0/mix_base_1",
    "pairs/vllm_0.32.0/mix_base_2", "pairs/vllm_0.32.0/mix_maxseqs4", "sglang_0.5.9/mix_base",
    "sglang_0.5.9/mix_maxrun4", "sglang_0.5.6/mix_base", "sglang_0.5.3/mix_base",
]  # fmt: skip

PAIRS: list[tuple[str, str, dict[str, Any]]] = [
    ("pairs/sglang_0.5.23/mix_base_1", "pairs/sglang_0.5.23/mix_maxrun4", {"max_running_requests": 4}),
    ("pairs/sglang_0.5.23/mix_base_2", "pairs/sglang_0.5.23/mix_maxrun4", {"max_running_requests": 4}),
    ("pairs/sglang_0.5.23/over_base_1", "pairs/sglang_0.5.23/over_cons03_1", {"schedule_conservativeness": 0.3}),
    ("sglang_0.5.9/mix_base", "sglang_0.5.9/mix_maxrun4", {"max_running_requests": 4}),
    ("pairs/vllm_0.32.0/mix_base_1", "pairs/vllm_0.32.0/mix_maxseqs4", {"max_running_requests": 4}),
    ("pairs/vllm_0.32.0/mix_base_2", "pairs/vllm_0.32.0/mix_maxseqs4", {"max_running_requests": 4}),
]


def per_cent(figure: Figure) -> str:
    return "-" if figure.error is None else f"{100 * figure.error:+.1f}"


def within(metric: str, figure: Figure, bar: float) -> bool:
    if figure.error is None or figure.predicted is None or figure.observed is None:
        return False
    close = metric in ("queue_s", "ttft_s") and abs(figure.predicted - figure.observed) <= 0.05
    return close or abs(figure.error) <= bar / 100


def halves() -> list[str]:
    out = ["| run | queue | TTFT | TPOT | E2E | within the bars | trusted | s |", "|---|---|---|---|---|---|---|---|"]
    for name, folder, bars in [*BARS, *((name, REAL / name, {}) for name in MORE)]:
        view = open_sources([str(folder)])
        begin = time.perf_counter()
        answer = fidelity(traffic_of(view), configured(view), engine_run, 0.5, decode_lines(view))
        took = time.perf_counter() - begin
        cells = [" / ".join(per_cent(answer.figures[m][s]) for s in STATISTICS) for m in METRICS]
        ok = all(
            within(m, answer.figures[m][s], bar)
            for m, row in bars.items()
            for s, bar in zip(STATISTICS, row, strict=True)
        )
        every = [f for m in METRICS for f in answer.figures[m].values()]
        bounded = [f for f in every if f.observed is not None and f.low is not None and f.high is not None]
        inside = sum(f.low <= f.observed <= f.high for f in bounded)  # type: ignore[operator]
        verdict = ("yes" if ok else "NO") if bars else "no bar"
        out.append(f"| {name} | {' | '.join(cells)} | {verdict}; {inside} of {len(bounded)} inside bounds | "
                   f"{'yes' if answer.trust else 'no'} | {took:.1f} |")  # fmt: skip
        print(out[-1], flush=True)
    return out


def pairs() -> list[str]:
    out = [
        "| base → other | figure | base observed | other observed | other predicted | off | sign |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for base, other, change in PAIRS:
        traffic, _setup, fitted = fitted_on(open_sources([str(REAL / base)]), engine_run)
        there = traffic_of(open_sources([str(REAL / other)]))
        if fitted is None:
            continue
        changed = replace(fitted, settings=replace(fitted.settings, **change))
        own, what_if = simulated(traffic, fitted, engine_run)[1], simulated(traffic, changed, engine_run)[1]
        load = np.array(["warm" not in rid for rid in traffic.rids]) & traffic.measured
        load_there = np.array(["warm" not in rid for rid in there.rids]) & there.measured
        for metric in ("queue_s", "ttft_s", "e2e_s"):
            before = float(np.nanmean(traffic.observed[metric][load]))
            after = float(np.nanmean(there.observed[metric][load_there]))
            told, guess = float(np.nanmean(own[metric][load])), float(np.nanmean(what_if[metric][load]))
            sign = "right" if (guess - told) * (after - before) > 0 else "WRONG"
            out.append(f"| {base} → {other.rsplit('/', 1)[1]} | {metric} | {before:.2f} | {after:.2f} | {guess:.2f} | "
                       f"{100 * (guess / after - 1):+.0f} % | {sign} |")  # fmt: skip
            print(out[-1], flush=True)
    return out


def gate() -> list[str]:
    """Fit on the first part, gate on the next, truth on the one after that."""
    agree = total = 0
    for name, folder in [(b[0], b[1]) for b in BARS] + [(name, REAL / name) for name in MORE]:
        view = open_sources([str(folder)])
        traffic, setup = traffic_of(view), configured(view)
        rows = np.flatnonzero(np.array([state != "hidden" for state in traffic.outcome]))
        for low in (0.3, 0.4, 0.5):
            cut, end = int(len(rows) * low), int(len(rows) * (low + 0.25))
            fitted = fit(traffic, choices_of(setup, traffic, rows[:cut]), rows[:cut], engine_run)
            if fitted is None:
                continue
            predicted = simulated(traffic, fitted, engine_run)[1]
            verdicts = []
            for part in (rows[cut:end], rows[end:]):
                table = {m: figures(*observed_and_predicted(traffic, predicted, part, m), None) for m in METRICS}
                verdicts.append(judge(table, ())[0])
            agree += verdicts[0] == verdicts[1]
            total += 1
        print(name, agree, total, flush=True)
    return [f"Trust judged on one part agreed with the truth on the next in {agree} of {total} cases."]


def write(mark: str, lines: list[str]) -> None:
    page = ROOT / "docs" / "simulator.md"
    text = page.read_text()
    begin, end = f"<!-- {mark} -->\n", f"<!-- end {mark} -->\n"
    if begin not in text or end not in text:
        raise SystemExit(f"{page}: has no place marked {mark}; put the two marks back")
    head, rest = text.split(begin)
    page.write_text(head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    warm()
    sections = {"halves": halves}
    if "--pairs" in sys.argv or "--write" in sys.argv:
        sections["pairs"] = pairs
    if "--gate" in sys.argv or "--write" in sys.argv:
        sections["gate"] = gate
    for mark, section in sections.items():
        told = section()
        if "--write" in sys.argv:
            write(mark, told)
