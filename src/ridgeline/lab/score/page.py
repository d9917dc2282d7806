"""`docs/accuracy.md`: every figure with its cases and interval, the arms, releases, floors, pairs, and every fault."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Final

from ridgeline.lab.score import measure
from ridgeline.lab.score.arms import DESCRIBED
from ridgeline.lab.score.count import Share, of_cases, over_faults, over_groups, percent, said
from ridgeline.lab.score.floors import CONSTANT
from ridgeline.lab.score.measure import Result

VERSIONS: Final = ("0.5.3", "0.5.9", "0.5.23", "vllm")


def grouped(results: Iterable[Result], by: Callable[[Result], Any]) -> dict[Any, list[Result]]:
    """Results by a key, in the order the keys come."""
    out: dict[Any, list[Result]] = defaultdict(list)
    for r in results:
        out[by(r)].append(r)
    return out


def told_of(results: list[Result]) -> list[Result]:
    """Admitted cases whose evidence the arm changed."""
    return [r for r in results if r["admitted"] and not r.get("same")]


def known_of(results: list[Result]) -> list[Result]:
    """Cases with a cause of the catalogue."""
    return [r for r in told_of(results) if not r["truth"]["healthy"] and r["truth"]["cause"] != "unknown"]


def healthy_of(results: list[Result]) -> list[Result]:
    """Healthy cases."""
    return [r for r in told_of(results) if r["truth"]["healthy"]]


def alarms(results: list[Result]) -> Share:
    """Healthy runs that were given a finding."""
    return of_cases(r["verdict"] == "finding" for r in healthy_of(results))


def pairs_macro(results: list[Result]) -> Share:
    """Pairs with both members right, each pair of causes weighing the same."""
    return over_groups(list(both) for both in measure.pairs_right(told_of(results)).values())


def figure_rows(full: list[Result]) -> list[str]:
    """The main figures, one a row."""
    known, told = known_of(full), told_of(full)
    errors = sorted(e for e in (measure.onset_error_s(r) for r in known) if e is not None)
    onset = f"{errors[len(errors) // 2]:.0f} s ({len(errors)} cases)" if errors else "-"
    checked = [r["recomputed"] for r in full if r.get("recomputed")]
    same, asked = sum(a for a, _ in checked), sum(b for _, b in checked)
    outside = [r for r in told if not r["truth"]["healthy"] and r["truth"]["cause"] == "unknown"]
    right = [r for r in known if measure.first_right(r)]
    rows = [
        ("the cause comes first", said(over_faults(known, measure.first_right))),
        ("the cause is among the first three", said(over_faults(known, measure.three_right))),
        ("the layer is right", said(over_faults(known, measure.layer_right))),
        ("confusable pairs: both members right", said(pairs_macro(full))),
        ("healthy runs taken for an incident", said(alarms(full))),
        ("wrong with medium or high confidence, or wrongly healthy",
         said(of_cases(measure.wrong_and_confident(r) for r in told))),
        ("wrong with high confidence", said(of_cases(measure.wrong_and_high(r) for r in told))),
        ("the true cause was ruled out", said(of_cases(map(measure.ruled_out_true, told)))),
        ("outside the catalogue: no confident wrong cause",
         said(of_cases(not measure.wrong_and_confident(r) for r in outside))),
        ("the route, where the cause is right", said(of_cases(map(measure.route_right, right)))),
        ("the scope, where the truth has one", said(of_cases(map(measure.scope_right, known)))),
        ("error of the onset, median", onset),
        ("claims that recompute", f"{same} of {asked} asked"),
        ("runs in which `diagnose` failed", f"{sum(r['verdict'] is None for r in told)} of {len(told)}"),
    ]  # fmt: skip
    return ["| figure | value (95 % interval; cases) |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)]


def arm_rows(by_arm: dict[str, list[Result]]) -> list[str]:
    """One row per arm."""
    rows = [
        "| evidence | cause first | layer | undecided | wrong and confident | false alarms |",
        "|---|---|---|---|---|---|",
    ]
    for arm, results in by_arm.items():
        known, told = known_of(results), told_of(results)
        if told:
            rows.append(
                f"| {DESCRIBED[arm]} | {said(over_faults(known, measure.first_right))} | "
                f"{percent(over_faults(known, measure.layer_right).value)} | "
                f"{percent(of_cases(r['verdict'] == 'inconclusive' for r in known).value)} | "
                f"{said(of_cases(measure.wrong_and_confident(r) for r in told))} | {said(alarms(results))} |"
            )
    return rows


def version_rows(full: list[Result]) -> list[str]:
    """One row per release."""
    by = grouped(full, lambda r: r["truth"]["parameters"]["version"])
    rows = ["| release | cause first | layer | wrong and confident | false alarms |", "|---|---|---|---|---|"]
    for version in [v for v in VERSIONS if v in by]:
        known = known_of(by[version])
        rows.append(
            f"| {version} | {said(over_faults(known, measure.first_right))} | "
            f"{percent(over_faults(known, measure.layer_right).value)} | "
            f"{said(of_cases(map(measure.wrong_and_confident, told_of(by[version]))))} | "
            f"{said(alarms(by[version]))} |"
        )
    return rows


def severity_rows(full: list[Result]) -> list[str]:
    """Cause first by severity, and by share of requests where the fault hits a class."""
    known = known_of(full)
    rows = ["| cases | cause first |", "|---|---|"]
    for severity, results in sorted(grouped(known, lambda r: r["truth"]["severity"]).items()):
        name = ("mild", "clear", "severe")[severity - 1]
        rows.append(f"| severity {severity}, {name} | {said(over_faults(results, measure.first_right))} |")
    parted = [r for r in known if r["cell"].get("share") is not None]
    for part, results in sorted(grouped(parted, lambda r: r["truth"]["share"]).items()):
        rows.append(f"| {100 * part:.0f} % of requests | {said(over_faults(results, measure.first_right))} |")
    return rows


def floor_rows(full: list[Result]) -> list[str]:
    """What the floors reach on the same cases."""
    known = known_of(full)
    constant = over_faults(known, lambda r: CONSTANT in measure.wanted(r))
    chance = over_faults(known, lambda r: r["floors"]["random"][0] in measure.wanted(r))
    chance3 = over_faults(known, lambda r: bool(set(r["floors"]["random"]) & measure.wanted(r)))
    doctor = over_faults(known, lambda r: r["floors"]["doctor"] in measure.wanted(r))
    wrong = of_cases(r["floors"]["doctor"] != "healthy" for r in healthy_of(full))
    return [
        "| floor | cause first | in first three | false alarms |", "|---|---|---|---|",
        f"| always {CONSTANT} | {percent(constant.value)} | {percent(constant.value)} | 100.0 % |",
        f"| random | {percent(chance.value)} | {percent(chance3.value)} | - |",
        f"| ten thresholds | {percent(doctor.value)} | - | {percent(wrong.value)} |",
    ]  # fmt: skip


def pair_rows(full: list[Result]) -> list[str]:
    """One row per confusable pair, and the mean over pairs."""
    rows = ["| cause | twin | both right |", "|---|---|---|"]
    for (a, b), both in measure.pairs_right(told_of(full)).items():
        rows.append(f"| {a} | {b} | {said(of_cases(both))} |")
    mean = pairs_macro(full)
    return [*rows, "", f"Mean over {mean.groups} pairs that were seen: {said(mean)}."]


def fault_rows(full: list[Result]) -> list[str]:
    """One row per fault: recorded, admitted, right, and what it was most often taken for."""
    rows = ["| fault | recorded | admitted | cause first | in first three | layer | most often taken for |",
            "|---|---|---|---|---|---|---|"]  # fmt: skip
    for name, results in grouped(full, lambda r: r["truth"]["fault"]).items():
        told = told_of(results)
        wrong: dict[str, int] = defaultdict(int)
        for r in told:
            if not measure.first_right(r):
                wrong[measure.answers(r)[0]] += 1
        most = max(sorted(wrong), key=lambda c: wrong[c]) if wrong else ""
        rows.append(
            f"| {name} | {len(results)} | {len(told)} | {said(of_cases(map(measure.first_right, told)))} | "
            f"{percent(of_cases(map(measure.three_right, told)).value)} | "
            f"{percent(of_cases(map(measure.layer_right, told)).value)} | {f'{most} ({wrong[most]})' if most else ''} |"
        )
    return rows


INTRODUCTION: Final = """\
# Accuracy of `ridgeline diagnose` on the lab's incidents

Written by `ridgeline lab score` ({grid}). Every case is played by the engine, written in real formats and diagnosed by
a process that sees only the evidence. A case counts if its users are worse off than in the healthy twin of the same
seed: a p95 at least 1.25 times as long, or 2 % more failures. Cause, layer and pairs are means over faults (or pairs),
each weighing the same, with a normal interval over them; other shares are of cases, with the exact interval. In
brackets: the 95 % interval in per cent, and the cases."""


def accuracy_page(results: list[Result], grid: str, picture: str) -> str:
    """The whole page; ``picture``: where the confusion lies, as the page links it."""
    by_arm = grouped(results, lambda r: r["arm"])
    by_arm = {arm: by_arm[arm] for arm in DESCRIBED if arm in by_arm}
    full = by_arm.get("full", [])
    parts: list[tuple[str, list[str]]] = [
        ("", figure_rows(full)),
        ("With less evidence", arm_rows(by_arm)),
        ("By release", version_rows(full)),
        ("By severity and share", severity_rows(full)),
        ("Floors", floor_rows(full)),
        ("Confusable pairs", pair_rows(full)),
        ("Which layer was taken for which", [f"![True layer and layer of the first answer]({picture})"]),
        ("Every fault", fault_rows(full)),
    ]
    lines = [INTRODUCTION.format(grid=grid)]
    for title, rows in parts:
        lines += ["", f"## {title}", "", *rows] if title else ["", *rows]
    return "\n".join(lines) + "\n"
