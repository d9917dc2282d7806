"""Record a cell, take evidence away, let `ridgeline diagnose` answer in a process of its own, note what it said."""

import json
import os
import shutil
import tempfile
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from ridgeline.lab.play import play
from ridgeline.lab.record import harm_of, make_case, write_evidence
from ridgeline.lab.score.arms import ARMS, no_baseline
from ridgeline.lab.score.ask import ridgeline
from ridgeline.lab.score.floors import doctor, random_answer
from ridgeline.lab.score.grid import Cell
from ridgeline.lab.truth import truth_of

Result = dict[str, Any]
SHOWN: Final = 2
"""Pieces of evidence recomputed per checked case."""


def ask(folder: Path, symptom: str) -> tuple[dict[str, Any] | None, float, str]:
    """(the diagnosis, seconds, what went wrong) of a folder; nothing else than the folder is handed over."""
    said = ridgeline("diagnose", str(folder), "--symptom", symptom, "--format", "json")
    if said.status not in (0, 2, 3):
        ended = f"ended by signal {-said.status}" if said.status < 0 else ""
        return None, said.took_s, (said.error.strip() or said.out.strip() or ended)[-300:]
    try:
        found: dict[str, Any] = json.loads(said.out)
    except ValueError as e:
        return None, said.took_s, f"not JSON: {e}"
    return found, said.took_s, ""


def recomputes(folder: Path, diagnosis: dict[str, Any], symptom: str) -> tuple[int, int]:
    """(pieces of evidence that `ridgeline show` gives the same value for, pieces asked)."""
    cited = [e for f in diagnosis.get("findings", []) for e in f.get("evidence", [])][:SHOWN]
    same = 0
    for name in cited:
        said = ridgeline("show", name, str(folder), "--symptom", symptom, "--format", "json")
        try:
            again = json.loads(said.out)
        except ValueError:
            continue
        same += again.get("value", again.get("fact", {}).get("value")) == diagnosis["evidence"][name].get("value")
    return same, len(cited)


def condensed(diagnosis: dict[str, Any] | None) -> Result:
    """What scoring needs of a diagnosis."""
    if diagnosis is None:
        return {"verdict": None, "findings": []}
    out = {
        c for part in (*diagnosis.get("ladder", []), *diagnosis.get("findings", [])) for c in part.get("ruled_out", [])
    }
    return {
        "verdict": diagnosis["verdict"],
        "ruled_out": sorted(out),
        "findings": [
            {k: f.get(k) for k in ("cause", "layer", "confidence", "caps", "scope", "onset", "route")}
            for f in diagnosis.get("findings", [])[:5]
        ],
    }


def taken_away(arm: str, full: Path, onset: str | None) -> Path | None:
    """The folder with the arm's evidence removed, beside it; None where that takes nothing away.

    The copy shares files with the original: an arm removes a file or puts another in its place.
    """
    copy = full.with_name(f"{full.name}-{arm}")
    shutil.copytree(full, copy, copy_function=os.link)
    if arm != "no-baseline":
        ARMS[arm](copy)
    elif onset is not None:
        no_baseline(copy, datetime.fromisoformat(onset).timestamp())
    if inodes(copy) == inodes(full):
        shutil.rmtree(copy)
        return None
    return copy


def inodes(folder: Path) -> dict[str, int]:
    """Which file stands under each name."""
    return {str(path.relative_to(folder)): path.stat().st_ino for path in folder.rglob("*") if path.is_file()}


def run_cell(cell: Cell, arms: tuple[str, ...], check: bool) -> list[Result]:
    """Play one case, and where it harms somebody record it and diagnose it under every arm; else it is only noted.

    An arm that takes nothing away from this case's evidence gives no result.
    """
    with tempfile.TemporaryDirectory(prefix="ridgeline-lab-") as base:
        # the folder's name says nothing, and the truth stays in this process
        folder = Path(base) / "evidence"
        case = make_case(
            cell.fault, cell.seed, cell.version, "small", cell.rate, cell.ranks, None, cell.severity, cell.share
        )
        ran = play(case)
        truth = truth_of(ran, harm_of(ran))
        admitted = bool(case.fault.harmless or truth["harm"]["admitted"])
        shared = {"cell": asdict(cell), "truth": truth, "admitted": admitted}
        if not admitted:
            return [{**shared, "arm": arm} for arm in arms if arm == "full"]
        write_evidence(ran, folder)
        out: list[Result] = []
        for arm in arms:
            place = folder if arm == "full" else taken_away(arm, folder, truth["onset"])
            if place is None:
                out.append({**shared, "arm": arm, "same": True})
                continue
            diagnosis, took, wrong = ask(place, case.fault.symptom)
            result: Result = {**shared, "arm": arm, "took_s": round(took, 2), "error": wrong, **condensed(diagnosis)}
            if arm == "full":
                result["floors"] = {"random": random_answer(cell.seed), "doctor": doctor(place)}
                if check and diagnosis is not None:
                    result["recomputed"] = recomputes(place, diagnosis, case.fault.symptom)
            else:
                shutil.rmtree(place)
            out.append(result)
        return out
