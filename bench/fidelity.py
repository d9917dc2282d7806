"""How true the simulator is: ``python bench/fidelity.py [--write] [SECTION…]``; without a section, all of them.

halves: fits on the first half of each run's requests by arrival, simulates the whole run, and compares the second half
(mean, p50, p90, p99 in per cent). pairs: fitted on a whole base run alone, what another setting gives. kinds: the same
for other kinds of setting, on a server that the time model does not know. gate: over many splits and broken models,
whether trust is right. less: with less evidence. decide: does what `decide` recommends remove a lab incident's harm.
``--write`` keeps each section in docs/simulator.json and puts it in docs/simulator.md; a test holds the two together.
Reads ../shared/traces/real_vllm_gpu and ../shared/real next to the checkout.
"""

import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ridgeline.bundle.open import open_sources
from ridgeline.lab.record import make_case, record
from ridgeline.scenario.from_bundle import traffic_of
from ridgeline.sim.fidelity.figures import METRICS, STATISTICS, Figure, figures, observed_and_predicted, statistics_of
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


WRONG: list[tuple[str, Any]] = [
    ("as fitted", lambda f: f),
    ("steps 1.3 times as long", lambda f: replace(f, coefficients=f.coefficients * 1.3)),
    ("steps 0.75 times as long", lambda f: replace(f, coefficients=f.coefficients * 0.75)),
    ("cache off", lambda f: replace(f, settings=replace(f.settings, disable_radix_cache=True))),
    ("half the running limit", lambda f: replace(f, settings=replace(
        f.settings, max_running_requests=max(1, f.settings.max_running_requests // 2)))),
    ("a pool 0.6 times as large", lambda f: replace(f, settings=replace(
        f.settings, max_total_num_tokens=int(f.settings.max_total_num_tokens * 0.6)))),
]  # fmt: skip
LAB = ("queue.running-cap", "memory.saturation", "decode.batch-growth", "queue.over-reservation", "healthy/steady")


def gated_runs() -> list[tuple[str, Path]]:
    """Recorded runs, and lab runs recorded now."""
    folder = Path(tempfile.mkdtemp())
    for name in LAB:
        record(make_case(name), folder / name)
    recorded = [(b[0], b[1]) for b in BARS if "32B" not in b[0]] + [(name, REAL / name) for name in MORE]
    return recorded + [(f"lab {name}", folder / name) for name in LAB]


def gate() -> list[str]:
    """Trust as the gate gives it on one half of the requests after a split, truth on the other half, by one rule.

    Models as fitted and with one feature broken. Beside it: whether trust on a part foretells the part after it.
    """
    counts = {name: [0, 0, 0, 0] for name, _ in WRONG}  # agreed, cases, trusted though wrong, distrusted though right
    ahead = [0, 0]
    for name, folder in gated_runs():
        view = open_sources([str(folder)])
        traffic, setup = traffic_of(view), configured(view)
        rows = np.flatnonzero(np.array([state != "hidden" for state in traffic.outcome]))
        for low in (0.3, 0.4, 0.5, 0.6):
            cut = int(len(rows) * low)
            fitted = fit(traffic, choices_of(setup, traffic, rows[:cut]), rows[:cut], engine_run)
            if fitted is None:
                continue
            rest = rows[cut:]
            drawn = np.random.default_rng(int(100 * low)).permutation(len(rest))
            halves_of = [np.sort(rest[drawn[: len(rest) // 2]]), np.sort(rest[drawn[len(rest) // 2 :]])]
            for what, broken in WRONG:
                predicted = simulated(traffic, broken(fitted), engine_run)[1]
                trust, truth = (verdict(traffic, predicted, part) for part in halves_of)
                tally = counts[what]
                tally[0] += trust == truth
                tally[1] += 1
                tally[2] += trust and not truth
                tally[3] += truth and not trust
                if what == "as fitted":
                    middle = len(rest) // 2
                    parts_of = (rest[:middle], rest[middle:])
                    ahead[0] += verdict(traffic, predicted, parts_of[0]) == verdict(traffic, predicted, parts_of[1])
                    ahead[1] += 1
        print(name, {what: f"{c[0]}/{c[1]}" for what, c in counts.items()}, f"ahead {ahead[0]}/{ahead[1]}", flush=True)
    out = ["| model | agreed | trusted though wrong | distrusted though right |", "|---|---:|---:|---:|"]
    out += [f"| {what} | {c[0]} of {c[1]} | {c[2]} | {c[3]} |" for what, c in counts.items()]
    whole = [sum(c[i] for c in counts.values()) for i in range(4)]
    out.append(f"| all | {whole[0]} of {whole[1]} ({whole[0] / whole[1]:.0%}) | {whole[2]} | {whole[3]} |")
    out += ["", f"Trust on one part and truth on the part after it agreed in {ahead[0]} of {ahead[1]} cases."]
    return out


def verdict(traffic: Any, predicted: Any, part: Any) -> bool:
    table = {m: figures(*observed_and_predicted(traffic, predicted, part, m), None) for m in METRICS}
    return judge(table, ())[0]


def without(traffic: Any, how: str) -> Any:
    """The traffic with less evidence."""
    gone = {name: np.full(traffic.n, np.nan) for name in traffic.observed}
    if how == "client times only":
        return replace(traffic, observed=gone | {k: traffic.observed[k] for k in ("ttft_s", "tpot_s", "e2e_s")})
    finished = np.flatnonzero(traffic.measured & ~np.isnan(traffic.observed["e2e_s"]))
    if how == "one request in five":
        keep = np.random.default_rng(5).choice(finished, len(finished) // 5, replace=False)
    else:
        half = finished[: len(finished) // 2]
        done = traffic.arrival_s[half] + traffic.observed["e2e_s"][half]
        keep = np.concatenate([half[np.argsort(done)[:40]], finished[len(finished) // 2 :]])
    mask = np.isin(np.arange(traffic.n), keep)
    return replace(traffic, observed={k: np.where(mask, v, np.nan) for k, v in traffic.observed.items()})


def less() -> list[str]:
    """Errors and coverage of the bounds with less evidence; truth is what the whole evidence observed."""
    out = ["| evidence | run | queue mean | TTFT mean | TPOT mean | E2E mean | inside bounds |",
           "|---|---|---:|---:|---:|---:|---:|"]  # fmt: skip
    for how in ("client times only", "one request in five", "first 40 completed"):
        inside = bounded = 0
        for name, folder in [(b[0], b[1]) for b in BARS if "32B" not in b[0]] + [(name, REAL / name) for name in MORE]:
            view = open_sources([str(folder)])
            traffic, setup = traffic_of(view), configured(view)
            reduced = without(traffic, how)
            answer = fidelity(reduced, setup, engine_run, 0.5, None)
            rows = np.flatnonzero(np.array([state != "hidden" for state in traffic.outcome]))
            test = rows[int(len(rows) * 0.5) :]
            cells, mine, all_mine = [], 0, 0
            for metric in METRICS:
                told = answer.figures[metric]
                known = reduced.known(metric)[test].any()
                truth = {s: told[s].observed for s in STATISTICS}
                if not known and traffic.known(metric)[test].any():
                    values = statistics_of(traffic.observed[metric][test[traffic.known(metric)[test]]])
                    truth = dict(zip(STATISTICS, (float(v) for v in values), strict=True))
                off = None
                if truth["mean"] and told["mean"].predicted is not None:
                    off = told["mean"].predicted / truth["mean"] - 1
                cells.append("-" if off is None else f"{100 * off:+.1f}")
                for s in STATISTICS:
                    low, high, seen = told[s].low, told[s].high, truth[s]
                    if low is None or high is None or seen is None:
                        continue
                    close = metric in ("queue_s", "ttft_s") and low - 0.05 <= seen <= high + 0.05
                    mine += low <= seen <= high or close
                    all_mine += 1
            inside, bounded = inside + mine, bounded + all_mine
            out.append(f"| {how} | {name} | {' | '.join(cells)} | {mine} of {all_mine} |")
            print(out[-1], flush=True)
        out.append(f"| {how} | all runs | | | | | {inside} of {bounded} ({inside / bounded:.1%}) |")
        print(out[-1], flush=True)
    return out


def write(mark: str, lines: list[str]) -> None:
    """Keep a section in docs/simulator.json, and show it on the page."""
    kept = ROOT / "docs" / "simulator.json"
    told = json.loads(kept.read_text()) if kept.is_file() else {}
    kept.write_text(json.dumps(dict(sorted({**told, mark: lines}.items())), indent=1, ensure_ascii=False) + "\n")
    page = ROOT / "docs" / "simulator.md"
    text = page.read_text()
    begin, end = f"<!-- {mark} -->\n", f"<!-- end {mark} -->\n"
    if begin not in text or end not in text:
        raise SystemExit(f"{page}: has no place marked {mark}; put the two marks back")
    head, rest = text.split(begin)
    page.write_text(head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1])


def kinds() -> list[str]:
    from kinds import kinds as run

    return run(REAL / "pairs/sglang_0.5.23/mix_base_1")


def decided() -> list[str]:
    from decide import table

    return table(range(1, 3))


SECTIONS = {"halves": halves, "pairs": pairs, "kinds": kinds, "less": less, "gate": gate, "decide": decided}

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    warm()
    for name in [a for a in sys.argv[1:] if a in SECTIONS] or SECTIONS:
        found = SECTIONS[name]()
        if "--write" in sys.argv:
            write(name, found)
