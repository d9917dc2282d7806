"""Where a bundle is put: written beside its place and moved there whole, so that nobody ever opens half of one."""

import glob
import json
import os
import shutil
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ridgeline.bundle.find import MANIFEST, is_bundle
from ridgeline.model.errors import InputError

# What is made of the old tables goes with them; anything else in the folder of a bundle stays.
MADE: Final = frozenset((MANIFEST, "tables", "sources", "diagnosis.json", "decision.json"))


@contextmanager
def placed(out: Path, hashes: Set[str], force: bool = False) -> Iterator[Path]:
    """An empty folder to write into; it takes the place of `out` at the end, and is removed where writing fails.

    Raises InputError where `out` must not be replaced (see `refuse`), or cannot be written.
    """
    out = out.resolve()
    refuse(out)
    if is_bundle(out) and not force:
        _refuse_loss(out, hashes)
    folder: Path | None = None
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _sweep(out)
        folder = _room(out)
        yield folder
        _swap(folder, out)
    except OSError as e:
        raise InputError(f"{e.filename or out}: cannot be written ({e.strerror}); give another folder") from e
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def refuse(out: Path) -> None:
    """Raise InputError where `out` is a file, or a folder that holds something else than a bundle."""
    try:
        if out.exists() and not out.is_dir():
            raise InputError(f"{out}: is a file; give a folder for the bundle")
        if out.is_dir() and any(out.iterdir()) and not is_bundle(out):
            raise InputError(f"{out}: holds something else than a bundle; give a new folder")
    except OSError as e:
        raise InputError(f"{out}: cannot be written ({e.strerror}); give another folder") from e


def _refuse_loss(out: Path, hashes: Set[str]) -> None:
    """A bundle may be the last copy of its evidence: it is replaced only by one that has all of its sources."""
    try:
        said: Any = json.loads((out / MANIFEST).read_bytes())
        sources = said["sources"]
        lost = [str(s["path"]) for s in sources if s["bytes"] and s["sha256"] not in hashes]
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as e:
        raise InputError(
            f"{out}: is a damaged bundle, what was in it cannot be told; give a new folder, or --force to replace it"
        ) from e
    if lost:
        few = ", ".join(lost[:3]) + (", …" if len(lost) > 3 else "")
        raise InputError(
            f"{out}: is a bundle with {len(lost)} of {len(sources)} sources that are not among these ({few}); "
            "give a new folder, or --force to replace it"
        )


def _swap(folder: Path, out: Path) -> None:
    if not out.exists():
        folder.rename(out)
        return
    for entry in out.iterdir():
        if entry.name not in MADE and entry != folder:
            _copy(entry, folder / entry.name)
    old = _beside(out, "old")
    try:
        out.rename(old)
    except OSError:
        _into(folder, out)  # a mount point, or a folder whose parent is not ours
        return
    try:
        folder.rename(out)
    except OSError:
        old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _into(folder: Path, out: Path) -> None:
    """Without a rename: the manifest goes first and comes last, so that half of a bundle says that it is none."""
    (out / MANIFEST).unlink(missing_ok=True)
    for name in ("tables", "sources"):
        shutil.rmtree(out / name, ignore_errors=True)
    for name in ("diagnosis.json", "decision.json"):
        (out / name).unlink(missing_ok=True)
    for name in ("tables", "sources", MANIFEST):
        if (folder / name).exists():
            shutil.move(folder / name, out / name)


def _copy(entry: Path, to: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.copytree(entry, to, symlinks=True)
    else:
        shutil.copy2(entry, to, follow_symlinks=False)


def _room(out: Path) -> Path:
    """A new folder beside `out`; inside it where the folder above cannot be written."""
    folder = _beside(out, "partial")
    try:
        folder.mkdir()
    except PermissionError:
        folder = out / folder.name
        folder.mkdir()
    return folder


def _beside(out: Path, what: str) -> Path:
    return out.parent / f".{out.name}.{what}-{os.getpid()}"


def _sweep(out: Path) -> None:
    """Remove what runs that were killed left beside `out`."""
    for path in out.parent.glob(f".{glob.escape(out.name)}.partial-*"):
        number = path.name.rpartition("-")[2]
        if number.isdigit() and not _alive(int(number)):
            shutil.rmtree(path, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
