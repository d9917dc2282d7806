"""Does what `decide` recommends remove the harm? ``python bench/decide.py [--seeds 1:3] [--sentences] [FAULT…]``.

Each lab incident whose cause a setting can mend is recorded, decided on from its files alone, and played once more by
the lab with the recommended change. Removed: the share of the excess over the healthy twin that is gone, for the figure
that was hurt most (failures where they grew, else 95th percentile of TTFT, time per token or E2E as the client saw it),
and for the one of the hurt figures that is mended least.
`python bench/fidelity.py --write decide` puts two seeds on the page.
"""

import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ridgeline.bundle.open import open_sources
from ridgeline.cli.decide import decided
from ridgeline.lab.case import Case
from ridgeline.lab.faults import FAULTS
from ridgeline.lab.harm import ADMIT, ADMIT_ERRORS, figures
from ridgeline.lab.play import play
from ridgeline.lab.record import make_case, record
from ridgeline.ladder.diagnose import diagnose
from ridgeline.words.whatif import BY_LOAD, TRIES

MENDED = 0.8
"""Share of the harm that must be gone for an incident to count as mended."""
FIGURES = ("ttft_p95_s", "tpot_p95_s", "e2e_p95_s", "failed")


def settled(case: Case, settings: dict[str, Any], unpin: bool) -> dict[str, float]:
    """The lab's own figures of the case under other settings.

    The lab writes down where stale loads sent each request; a method that looks at no load sends it elsewhere.
    """
    method = settings.get("load_balance_method")
    blind = case.fault.cause == "routing.stale-load" and method is not None and method not in BY_LOAD
    return figures(play(replace(case, changed=tuple(settings.items()), unpin=unpin or blind)))


def excess(figure: str, mine: float, twin: float) -> float:
    """How much worse than the twin, as a share (points for failures)."""
    return mine - twin if figure == "failed" else mine / twin - 1 if twin > 0 else 0.0


def hurts(harm: dict[str, float], twin: dict[str, float]) -> list[str]:
    """Figures that the incident hurt by the lab's own bar, the worst first: failures, then the largest ratio."""
    bars = {name: ADMIT_ERRORS if name == "failed" else ADMIT - 1 for name in FIGURES}
    found = [name for name in FIGURES if excess(name, harm[name], twin[name]) >= bars[name]]
    return sorted(found, key=lambda name: (name != "failed", -excess(name, harm[name], twin[name])))


def gone(name: str, harm: dict[str, float], twin: dict[str, float], after: dict[str, float]) -> float:
    """Share of the excess of one figure that is gone."""
    return 1 - max(0.0, excess(name, after[name], twin[name])) / excess(name, harm[name], twin[name])


def one(name: str, seed: int) -> dict[str, Any]:
    """One incident from recording to the remedy tried."""
    case = make_case(name, seed)
    with tempfile.TemporaryDirectory() as folder:
        truth = record(case, Path(folder) / "evidence")
        view = open_sources([str(Path(folder) / "evidence")])
        found = diagnose(view)
        decision = decided(view, found, (), 5, 0, 1, True)
    harm, twin = truth["harm"]["case"], truth["harm"]["twin"]
    told = found.findings[0].cause if found.findings else found.verdict
    figures_hurt = hurts(harm, twin) or ["e2e_p95_s"]
    hurt = figures_hurt[0]
    out = {"fault": name, "seed": seed, "told": told, "right": told == case.fault.cause, "verdict": "-", "flag": "-",
           "hurt": hurt, "before": harm[hurt], "twin": twin[hurt], "after": None, "removed": None, "least": None,
           "worse": ""}  # fmt: skip
    if decision is None:
        return out
    out |= {"verdict": decision.verdict, "flag": decision.flag or "-", "sentence": decision.sentence}
    if decision.chosen is not None:
        variant = decision.chosen.variant
        if variant.unpin:
            out["flag"] = " and ".join(["no rank asked for", *([decision.flag] if decision.flag else [])])
        after = settled(case, dict(variant.changes), variant.unpin)
        shares = {f: gone(f, harm, twin, after) for f in figures_hurt if excess(f, harm[f], twin[f]) > 0}
        worse = [f for f in FIGURES if f != "failed" and after[f] > ADMIT * max(harm[f], twin[f])]
        out |= {"after": after[hurt], "removed": shares.get(hurt), "least": min(shares.values(), default=None),
                "worse": ", ".join(f"{f} {harm[f]:.3g} → {after[f]:.3g}" for f in worse)}  # fmt: skip
    return out


def row(r: dict[str, Any]) -> str:
    removed, least = ("-" if r[name] is None else f"{r[name]:.0%}" for name in ("removed", "least"))
    after = "-" if r["after"] is None else f"{r['after']:.3g}"
    return (f"| {r['fault']} | {r['seed']} | {r['told']} | {r['verdict']} | {r['flag']} | {r['hurt']} | "
            f"{r['twin']:.3g} | {r['before']:.3g} | {after} | {removed} | {least} | {r['worse'] or '-'} |")  # fmt: skip


def table(seeds: Iterable[int], names: Sequence[str] = (), sentences: bool = False) -> list[str]:
    """The table over seeds and faults (all with something to try, unless named), and how many removed the harm."""
    faults = [f for f in FAULTS if f.cause in TRIES and (not names or f.id in names)]
    lines = ["| incident | seed | told | verdict | change | figure hurt | twin | before | after | harm removed | "
             "of the figure least mended | now worse than before |",
             "|---|---:|---|---|---|---|---:|---:|---:|---:|---:|---|"]  # fmt: skip
    found = []
    for fault in faults:
        for seed in seeds:
            found.append(one(fault.id, seed))
            lines.append(row(found[-1]))
            print(lines[-1], flush=True)
            if sentences:
                print(f"    {found[-1].get('sentence')}", flush=True)
    mended = sum((r["removed"] or 0.0) >= MENDED for r in found)
    told = sum(r["removed"] is not None for r in found)
    return [*lines, "", f"{mended} of {len(found)} incidents lose at least {MENDED:.0%} of the harm; for {told} a "
            "change is named."]  # fmt: skip


def main() -> None:
    text = sys.argv[sys.argv.index("--seeds") + 1] if "--seeds" in sys.argv else "1:1"
    low, _, high = text.partition(":")
    names = [a for a in sys.argv[1:] if "." in a]
    print(table(range(int(low), int(high or low) + 1), names, "--sentences" in sys.argv)[-1])


if __name__ == "__main__":
    main()
