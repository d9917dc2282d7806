"""A folder of raw bytes → a bundle in the same folder: parsed by the one ingest, cleaned, raw bytes gone at the end.

Nothing is removed before the bundle is whole: an interrupted seal is begun again with `ridgeline capture --seal DIR`.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final

from ridgeline.bundle.find import MANIFEST, find, is_bundle
from ridgeline.bundle.open import read_sources
from ridgeline.bundle.readin import OnProgress
from ridgeline.bundle.store import write_bundle
from ridgeline.model.alone import hold
from ridgeline.model.errors import InputError

RAW: Final = "raw"
MARK: Final = ".capture.json"
PART: Final = ".sealing"


@dataclass(frozen=True)
class Sealed:
    """What a seal gave: rows by table, and what must be said (logging that was never put back)."""

    rows: dict[str, int]
    notes: tuple[str, ...]


def begin(folder: Path, about: dict[str, Any]) -> Path:
    """The raw folder of a new capture. Raises InputError where the folder holds something else already."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder}: {_holding(folder)}; give a new folder")
        (folder / RAW).mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        note(folder, about)
    except OSError as e:
        raise InputError(f"{folder}: cannot be written ({e.strerror}); give another folder") from e
    return folder / RAW


def _holding(folder: Path) -> str:
    if not folder.is_dir():
        return "is a file"
    if is_bundle(folder):
        return f"holds a bundle already (ridgeline diagnose {folder})"
    if (folder / MARK).exists():
        return f"holds a capture that is not sealed (ridgeline capture --seal {folder})"
    return "is not empty"


def note(folder: Path, about: dict[str, Any]) -> None:
    """Keep what a later seal must know, in a file that readers skip."""
    (folder / MARK).write_text(json.dumps(about, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def about(folder: Path) -> dict[str, Any]:
    """What was noted of a capture. Raises InputError where the folder is none."""
    try:
        value = json.loads((folder / MARK).read_bytes())
    except (OSError, ValueError) as e:
        raise InputError(f"{folder}: is no unsealed capture; give the folder of `ridgeline capture -o`") from e
    return value if isinstance(value, dict) else {}


def seal(
    folder: Path, *, keep_text: bool = False, tz: tzinfo | None = None, year: int | None = None,
    labels: Sequence[str] = (), on_progress: OnProgress | None = None,
) -> Sealed:  # fmt: skip
    """Make the folder a bundle. Raises InputError where nothing was captured or the disk does not hold the bundle."""
    known = about(folder)
    with _alone(folder):
        return _seal(folder, known, keep_text, tz, year, labels, on_progress)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One seal at a time: the process of a recorder that was killed may still be at it."""
    with (folder / MARK).open("rb") as held:
        try:
            hold(held, wait=False)
        except OSError as e:
            raise InputError(f"{folder}: is being sealed by another process; wait for it") from e
        yield


def _seal(
    folder: Path, known: dict[str, Any], keep_text: bool, tz: tzinfo | None, year: int | None, labels: Sequence[str],
    on_progress: OnProgress | None,
) -> Sealed:  # fmt: skip
    raw, part = folder / RAW, folder / PART
    if not raw.is_dir():
        if is_bundle(folder):
            return Sealed({}, ("it was sealed already",))
        raise InputError(f"{folder}: holds no raw bytes to seal")
    try:
        shutil.rmtree(part, ignore_errors=True)
        found = find([str(raw)], labels)
        view, sources = read_sources(found, tz=tz, year=year, hash_all=True, on_progress=on_progress)
        rows = write_bundle(view, sources, part, embed=True, keep_text=keep_text)
        view.con.close()
        for name in ("tables", "sources"):
            shutil.rmtree(folder / name, ignore_errors=True)
            if (part / name).exists():
                (part / name).rename(folder / name)
        # The manifest last: a folder with one is a whole bundle.
        (part / MANIFEST).rename(folder / MANIFEST)
        shutil.rmtree(part, ignore_errors=True)
        shutil.rmtree(raw)
    except OSError as e:
        raise InputError(
            f"{folder}: cannot be sealed ({e.strerror}); what was captured is whole in {raw}: make room, then run "
            f"ridgeline capture --seal {folder}"
        ) from e
    return Sealed(rows, tuple(_left_raised(known)))


def _left_raised(known: dict[str, Any]) -> list[str]:
    from ridgeline.live.raising import put_back

    left = known.get("raised")
    if not isinstance(left, dict):
        return []
    return [f"{base}: its logging was raised and never put back; {put_back(base, settings)}"
            for base, settings in left.items() if isinstance(settings, dict)]  # fmt: skip
