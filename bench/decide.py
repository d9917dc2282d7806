"""Does what `decide` recommends remove the harm? ``python bench/decide.py [--seeds 1:3] [--sentences] [FAULT…]``.

Each lab incident whose cause a setting can mend is recorded, decided on from its files alone, and played once more by
the lab with the recommended change. Removed: the share of the excess over the healthy twin that is gone, for the figure
that was hurt most (95th percentile of TTFT, time per token or E2E as the client saw it, or failures).
`python bench/fidelity.py --write decide` puts three seeds on the page.
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
from ridgeline.lab.harm import figures
from ridgeline.lab.play import play
from ridgeline.lab.record import make_case, record
from ridgeline.ladder.diagnose import diagnose
from ridgeline.words.whatif import TRIES

MENDED = 0.8
"""Share of the harm that must be gone for an incident to count as mended."""
FIGURES = ("ttft_p95_s", "tpot_p95_s", "e2e_p95_s", "failed")


def settled(case: Case, settings: dict[str, Any], unpin: bool) -> dict[str, float]:
    """The lab's own figures of the case under other settings."""
    return figures(play(replace(case, changed=tuple(settings.items()), unpin=unpin)))


def excess(figure: str, mine: float, twin: float) -> float:
    """How much worse than the twin, as a share (points for failures)."""
    return mine - twin if figure == "failed" else mine / twin - 1 if twin > 0 else 0.0


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
    hurt = max(FIGURES, key=lambda f: excess(f, harm[f], twin[f]))
    out = {"fault": name, "seed": seed, "told": told, "right": told == case.fault.cause, "verdict": "-", "flag": "-",
           "hurt": hurt, "before": harm[hurt], "twin": twin[hurt], "after": None, "removed": None}  # fmt: skip
    if decision is None:
        return out
    out |= {"verdict": decision.verdict, "flag": decision.flag or "-", "sentence": decision.sentence}
    if decision.chosen is not None:
        variant = decision.chosen.variant
        after = settled(case, dict(variant.changes), variant.unpin)
        out["after"] = after[hurt]
        whole = excess(hurt, harm[hurt], twin[hurt])
        out["removed"] = 1 - max(0.0, excess(hurt, after[hurt], twin[hurt])) / whole if whole > 0 else None
    return out


def row(r: dict[str, Any]) -> str:
    removed = "-" if r["removed"] is None else f"{r['removed']:.0%}"
    after = "-" if r["after"] is None else f"{r['after']:.3g}"
    return (f"| {r['fault']} | {r['seed']} | {r['told']} | {r['verdict']} | {r['flag']} | {r['hurt']} | "
            f"{r['twin']:.3g} | {r['before']:.3g} | {after} | {removed} |")  # fmt: skip


def table(seeds: Iterable[int], names: Sequence[str] = (), sentences: bool = False) -> list[str]:
    """The table over seeds and faults (all with something to try, unless named), and how many removed the harm."""
    faults = [f for f in FAULTS if f.cause in TRIES and (not names or f.id in names)]
    lines = ["| incident | seed | told | verdict | change | figure hurt | twin | before | after | harm removed |",
             "|---|---:|---|---|---|---|---:|---:|---:|---:|"]  # fmt: skip
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
