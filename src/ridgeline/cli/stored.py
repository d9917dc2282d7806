"""What a bundle already holds of an earlier run: the windows and symptom it was diagnosed under, and a decision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ridgeline.model.diagnosis import Diagnosis, State, Window
from ridgeline.model.errors import InputError
from ridgeline.model.fact import Statement

Decided = tuple[str, Any]


def decision_of(sources: Sequence[str], given: Path | None = None) -> Decided | None:
    """(path, decision) as given, or as it lies in the bundle. Raises InputError where it cannot be read."""
    path = given / "decision.json" if given is not None and given.is_dir() else given
    if path is None:
        lying = [Path(s) / "decision.json" for s in sources]
        path = next((p for p in lying if p.is_file()), None)
    if path is None:
        return None
    try:
        return str(path), json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise InputError(f"{path}: cannot be read ({e}); run `ridgeline decide` again") from e


@dataclass(frozen=True)
class Stored:
    """What a bundle was diagnosed under: the symptom, how its windows came (given | change-point | none), and those."""

    symptom: str
    how: str
    incident: Window | None
    baseline: Window | None


def stored(sources: Sequence[str]) -> Stored | None:
    """The diagnosis that lies in the first of the sources that holds one; None without one.

    Raises InputError for a damaged file.
    """
    path = next((p for s in sources if (p := Path(s) / "diagnosis.json").is_file()), None)
    if path is None:
        return None
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        windows, symptom = told["windows"], str(told["symptom"])
        ends = [windows["incident"], windows["baseline"]]
        incident, good = (Window(*(datetime.fromisoformat(t).timestamp() for t in w)) if w else None for w in ends)
        return Stored(symptom, str(windows["how"]), incident, good)
    except (OSError, ValueError, TypeError, KeyError) as e:
        raise InputError(f"{path}: cannot be read ({e}); diagnose the bundle again, or remove it") from e


def as_stored(sources: Sequence[str]) -> tuple[str, Window | None, Window | None]:
    """(symptom, incident, baseline) under which a bundle was diagnosed before; "auto" and None where it was not.

    Windows that were found are found again; those that were given are kept. Raises InputError for a damaged file.
    """
    known = stored(sources)
    if known is None:
        return "auto", None, None
    if known.how != "given":
        return known.symptom, None, None
    return known.symptom, known.incident, known.baseline


def answered(d: Diagnosis, decided: Decided | None) -> Diagnosis:
    """The diagnosis with what the decision says on rung A5, where it decides on the first finding."""
    told = decided[1] if decided else {}
    if not isinstance(told, dict) or not d.findings or told.get("cause") != d.findings[0].cause:
        return d
    english = str(told.get("sentence", ""))
    known = told.get("sentences")  # in every language, where this version wrote it
    sentence = {"en": english, **({k: str(v) for k, v in known.items()} if isinstance(known, dict) else {})}
    said = Statement("a5.decided", (("sentence", sentence),))
    state: State = "cannot-tell" if told.get("verdict") == "no-traffic" else "answered"
    rungs = tuple(replace(a, state=state, answer=said) if a.rung == "A5" else a for a in d.ladder)
    return replace(d, ladder=rungs)
