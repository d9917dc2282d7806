"""`docs/accuracy.md`: the figures, the floors, every fault on its own, and what was not admitted."""

from collections import defaultdict
from typing import Any

from ridgeline.lab.score import measure
from ridgeline.lab.score.floors import CONSTANT
from ridgeline.lab.score.measure import Result, Score


def percent(value: float | None) -> str:
    """A share in whole per cent with one decimal, or a dash."""
    return "-" if value is None else f"{100 * value:.1f} %"


def figure_rows(scores: dict[str, Score]) -> list[str]:
    """One row per arm."""
    head = [
        "| evidence | faulty cases | cause first | in first three | layer | wrong and confident | scope | "
        "onset, median | route |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for arm, s in scores.items():
        onset = "-" if s.onset_median_s is None else f"{s.onset_median_s:.0f} s"
        head.append(
            f"| {arm} | {s.cases} | {percent(s.first)} | {percent(s.three)} | {percent(s.layer)} | "
            f"{percent(s.wrong_confident)} | {percent(s.scope)} | {onset} | {percent(s.route)} |"
        )
    return head


def floor_rows(full: list[Result]) -> list[str]:
    """What the floors reach on the same cases."""
    known = [r for r in full if r["admitted"] and not r["truth"]["healthy"] and r["truth"]["cause"] != "unknown"]
    constant = measure.macro(known, lambda r: CONSTANT in measure.wanted(r))
    by_chance = measure.macro(known, lambda r: r["floors"]["random"][0] in measure.wanted(r))
    chance3 = measure.macro(known, lambda r: bool(set(r["floors"]["random"]) & measure.wanted(r)))
    doctor = measure.macro(known, lambda r: r["floors"]["doctor"] in measure.wanted(r))
    well = [r for r in full if r["admitted"] and r["truth"]["healthy"]]
    alarms = measure.share(r["floors"]["doctor"] != "healthy" for r in well)
    return [
        "| floor | cause first | in first three | false alarms |", "|---|---|---|---|",
        f"| always {CONSTANT} | {percent(constant)} | {percent(constant)} | 100.0 % |",
        f"| random | {percent(by_chance)} | {percent(chance3)} | - |",
        f"| ten thresholds | {percent(doctor)} | - | {percent(alarms)} |",
    ]  # fmt: skip


def fault_rows(full: list[Result]) -> list[str]:
    """One row per fault: recorded, admitted, right, and what it was most often taken for."""
    by: dict[str, list[Result]] = defaultdict(list)
    for r in full:
        by[r["truth"]["fault"]].append(r)
    rows = [
        "| fault | recorded | admitted | first | in three | layer | most often taken for |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, results in by.items():
        told = [r for r in results if r["admitted"]]
        wrong: dict[str, int] = defaultdict(int)
        for r in told:
            if not measure.first_right(r):
                wrong[measure.answers(r)[0]] += 1
        most = max(sorted(wrong), key=lambda c: wrong[c]) if wrong else ""
        rows.append(
            f"| {name} | {len(results)} | {len(told)} | {percent(measure.share(map(measure.first_right, told)))} | "
            f"{percent(measure.share(map(measure.three_right, told)))} | "
            f"{percent(measure.share(map(measure.layer_right, told)))} | {f'{most} ({wrong[most]})' if most else ''} |"
        )
    return rows


def accuracy_page(results: list[Result], grid: str) -> str:
    """The whole page."""
    by_arm: dict[str, list[Result]] = defaultdict(list)
    for r in results:
        by_arm[r["arm"]].append(r)
    full = by_arm["full"]
    scores = {arm: measure.score(rs) for arm, rs in by_arm.items()}
    main = scores["full"]
    checked = [r["recomputed"] for r in full if r.get("recomputed")]
    same, asked = sum(a for a, _ in checked), sum(b for _, b in checked)
    lines = [
        "# Accuracy of `ridgeline diagnose` on the lab's incidents",
        "",
        f"Written by `ridgeline lab score` ({grid}). Every case is played by the engine, written in real formats",
        "and diagnosed by a process that sees only the evidence. A case counts if its users are worse off than in the",
        "healthy twin of the same seed: a p95 at least 1.25 times as long, or 2 % more failures. Shares are means over",
        "faults, not over cases.",
        "",
        *figure_rows(scores),
        "",
        f"Healthy runs: {main.healthy}, of them taken for an incident: {main.false_alarms} "
        f"(95 % upper bound {percent(main.false_alarm_high)}). Runs in which `diagnose` failed: {main.failed}.",
        f"Outside the catalogue: {percent(main.abstained)} answered without a confident wrong cause. "
        f"Claims that recompute: {same} of {asked} asked.",
        "",
        f"Cases in which the true cause was ruled out: {percent(measure.share(map(measure.ruled_out_true, full)))}.",
        "",
        "## Floors",
        "",
        *floor_rows(full),
        "",
        "## Confusable pairs",
        "",
        "| cause | twin | pairs | both right |",
        "|---|---|---|---|",
        *(f"| {a} | {b} | {n} | {percent(s)} |" for a, b, n, s in measure.pairs_right(full)),
        "",
        "## Every fault",
        "",
        *fault_rows(full),
        "",
        "## By severity and share",
        "",
        *severity_rows(full),
        "",
    ]
    return "\n".join(lines)


def severity_rows(full: list[Result]) -> list[str]:
    """Cause first, by severity and share of requests."""
    cell: dict[tuple[int, str], list[Result]] = defaultdict(list)
    for r in full:
        if r["admitted"] and not r["truth"]["healthy"]:
            cell[(r["truth"]["severity"], f"{100 * r['truth']['share']:.0f} %")].append(r)
    rows = ["| severity | share | cases | cause first |", "|---|---|---|---|"]
    for (severity, part), results in sorted(cell.items()):
        rows.append(
            f"| {severity} | {part} | {len(results)} | {percent(measure.share(map(measure.first_right, results)))} |"
        )
    return rows


def confusion_chart(results: list[Result]) -> dict[str, Any]:
    """The confusion of layers as a Vega-Lite specification."""
    counts = measure.confusion([r for r in results if r["arm"] == "full"])
    values = [{"true": a, "said": b, "cases": n} for (a, b), n in counts.items()]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json", "data": {"values": values},
        "title": "True layer and the layer of the first answer", "width": 360, "height": 360,
        "mark": "rect",
        "encoding": {
            "x": {"field": "said", "type": "nominal", "title": "answered"},
            "y": {"field": "true", "type": "nominal", "title": "true"},
            "color": {"field": "cases", "type": "quantitative", "scale": {"scheme": "greys"}},
        },
    }  # fmt: skip
