"""Record a cell, take evidence away, let `ridgeline diagnose` answer in a process of its own, note what it said."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from ridgeline.lab.record import make_case, record
from ridgeline.lab.score.arms import ARMS, no_baseline
from ridgeline.lab.score.floors import doctor, random_answer
from ridgeline.lab.score.grid import Cell

Result = dict[str, Any]
TIMEOUT_S: Final = 300
SHOWN: Final = 2
"""Pieces of evidence recomputed per checked case."""


def command(*arguments: str) -> list[str]:
    """The installed program, run by this interpreter."""
    return [sys.executable, "-m", "ridgeline", *arguments]


def ask(folder: Path, symptom: str) -> tuple[dict[str, Any] | None, float, str]:
    """(the diagnosis, seconds, what went wrong) of a folder; nothing else than the folder is handed over."""
    start = time.monotonic()
    env = {
        k: v
        for k, v in os.environ.items()
        if k in ("PATH", "HOME", "PYTHONPATH", "RIDGELINE_CACHE_DIR", "LANG", "TMPDIR")
    }
    try:
        done = subprocess.run(
            command("diagnose", str(folder), "--symptom", symptom, "--format", "json"),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env=env,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, time.monotonic() - start, "timeout"
    took = time.monotonic() - start
    if done.returncode not in (0, 2, 3):
        return None, took, (done.stderr.strip() or done.stdout.strip())[-300:]
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError as e:
        return None, took, f"not JSON: {e}"
    return found, took, ""


def recomputes(folder: Path, diagnosis: dict[str, Any], symptom: str) -> tuple[int, int]:
    """(pieces of evidence that `ridgeline show` gives the same value for, pieces asked)."""
    cited = [e for f in diagnosis.get("findings", []) for e in f.get("evidence", [])][:SHOWN]
    same = 0
    for name in cited:
        done = subprocess.run(
            command("show", name, str(folder), "--symptom", symptom, "--format", "json"),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        try:
            again = json.loads(done.stdout)
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
            {k: f.get(k) for k in ("cause", "layer", "confidence", "scope", "onset", "route")}
            for f in diagnosis.get("findings", [])[:5]
        ],
    }


def taken_away(arm: str, full: Path, onset: str | None) -> Path:
    """A copy of the folder with the arm's evidence removed."""
    copy = full.with_name(f"{full.name}-{arm}")
    shutil.copytree(full, copy)
    if arm == "no-baseline":
        if onset is not None:
            no_baseline(copy, datetime.fromisoformat(onset).timestamp())
    else:
        ARMS[arm](copy)
    return copy


def run_cell(cell: Cell, arms: tuple[str, ...], check: bool) -> list[Result]:
    """Record one case and diagnose it under every arm; a case that harms nobody is only noted."""
    with tempfile.TemporaryDirectory(prefix="ridgeline-lab-") as base:
        # the folder's name says nothing
        folder = Path(base) / "evidence"
        case = make_case(
            cell.fault, cell.seed, cell.version, "small", cell.rate, cell.ranks, None, cell.severity, cell.share
        )
        truth = record(case, folder)
        (Path(base) / "evidence.truth.json").unlink()
        admitted = bool(case.fault.harmless or truth["harm"]["admitted"])
        shared = {"cell": asdict(cell), "truth": truth, "admitted": admitted}
        if not admitted:
            return [{**shared, "arm": "full"}]
        out: list[Result] = []
        for arm in arms:
            place = folder if arm == "full" else taken_away(arm, folder, truth["onset"])
            diagnosis, took, wrong = ask(place, case.fault.symptom)
            result: Result = {**shared, "arm": arm, "took_s": round(took, 2), "error": wrong, **condensed(diagnosis)}
            if arm == "full":
                result["floors"] = {"random": random_answer(cell.seed), "doctor": doctor(place)}
                if check and diagnosis is not None:
                    result["recomputed"] = recomputes(place, diagnosis, case.fault.symptom)
            out.append(result)
            if arm != "full":
                shutil.rmtree(place)
        return out
