"""What a replay writes: raw rows beside DIR while it runs, then DIR, a bundle that the one ingest makes.

A run that is killed leaves `DIR.replay.jsonl`; `ridgeline ingest DIR.replay.jsonl -o DIR` makes the bundle of it.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ridgeline.bundle.find import find, is_bundle
from ridgeline.bundle.open import read_sources
from ridgeline.bundle.place import refuse
from ridgeline.bundle.store import write_bundle
from ridgeline.model.errors import InputError

REPORT: Final = "replay.json"
OTHER: Final = "other"
"""The bundle of a second target, inside the first one's folder."""
DIFFERENCES: Final = "differences.jsonl"


def raw_of(out: Path, side: str = "") -> Path:
    """Where rows lie while the run goes on."""
    return out.with_name(f"{out.name}{side}.replay.jsonl")


def differences_of(out: Path) -> Path:
    """Where differing outputs lie while the run goes on."""
    return out.with_name(f"{out.name}.{DIFFERENCES}")


def begin(out: Path, force: bool = False) -> None:
    """Check the place before anything is sent.

    Raises InputError where DIR holds something, unless that is a bundle and `force` is given, or where a former run was
    killed and its rows are still there.
    """
    refuse(out)
    if is_bundle(out) and not force:
        raise InputError(f"{out}: is a bundle already; give a new folder, or --force to replace it")
    for raw in (raw_of(out), raw_of(out, f"-{OTHER}")):
        if raw.exists() and not force:
            raise InputError(
                f"{raw}: holds the rows of a run that was cut; `ridgeline ingest` it, move it away, or give --force"
            )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        differences_of(out).unlink(missing_ok=True)
    except OSError as e:
        raise InputError(f"{out}: cannot be written ({e.strerror}); give another folder") from e


def finish(raw: Path, out: Path, keep_text: bool = False) -> None:
    """Make the bundle of the rows and remove them; they stay where they are if this fails."""
    view, sources = read_sources(find([str(raw)]), hash_all=True)
    write_bundle(view, sources, out, embed=True, keep_text=keep_text, force=True)
    for name in (OTHER, REPORT, DIFFERENCES):  # of a former run in the same place
        path = out / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    raw.unlink()


def write_report(out: Path, report: Mapping[str, Any]) -> None:
    """What the command printed, as JSON beside the tables; and the outputs that differ, where they were kept."""
    (out / REPORT).write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if differences_of(out).exists():
        differences_of(out).rename(out / DIFFERENCES)
