"""Command-line arguments → the sources to read: files, folders, globs, `-`, or a bundle to open.

Decides only what is looked at, never what it is: the kind is told by content later. Whatever cannot be used costs one
line in `notes` and the rest goes on; `InputError` is raised where nothing is left.
"""

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ridgeline.model.errors import InputError
from ridgeline.model.tables import TABLES
from ridgeline.signals.stored import addresses, is_address
from ridgeline.signals.stream import Blob, pipe, standard_input

MANIFEST: Final = "manifest.json"
MANIFEST_BYTES: Final = 16 << 20
BUNDLE_SCHEMA: Final = "ridgeline.bundle/"
ROLES: Final = ("unified", "prefill", "decode", "gateway", "client")

# In a folder these names cannot hold evidence; given by name they are read like anything else.
IRRELEVANT: Final = frozenset(
    (
        *(".7z", ".avif", ".bin", ".bmp", ".css", ".db", ".deb", ".dll", ".dylib", ".exe", ".gguf", ".gif", ".h5"),
        *(".ico", ".jar", ".jpeg", ".jpg", ".js", ".mp3", ".mp4", ".npy", ".npz", ".o", ".onnx", ".pdf", ".png"),
        *(".pt", ".pth", ".py", ".pyc", ".rpm", ".safetensors", ".sh", ".so", ".sqlite", ".svg", ".tar", ".tgz"),
        *(".ttf", ".wasm", ".wav", ".webp", ".whl", ".woff", ".woff2", ".zip"),
    )
)
IRRELEVANT_FOLDERS: Final = frozenset(("__pycache__", "node_modules", "venv", "site-packages"))


@dataclass(frozen=True)
class Label:
    """`--label role=FILE` or `role:name=FILE`: what the user says a file is."""

    role: str
    name: str | None
    path: str


@dataclass(frozen=True)
class Found:
    """What the arguments come to. Either `bundle` or `blobs` is set; `labels` is by shown path."""

    blobs: tuple[Blob, ...]
    bundle: Path | None
    notes: tuple[str, ...]
    labels: Mapping[str, Label]


def find(arguments: Sequence[str], labels: Sequence[str] = ()) -> Found:
    """Expand `arguments` in their order, folders sorted; each file once.

    Raises InputError where nothing can be read, where a bundle is mixed with other sources, or for a bad label.
    """
    notes: list[str] = []
    said = [label_of(text) for text in labels]
    wanted = [*arguments, *(label.path for label in said)]
    bundles = [Path(a) for a in wanted if a != "-" and is_bundle(Path(a))]
    if bundles:
        if len(wanted) > 1:
            raise InputError(f"{bundles[0]}: a bundle is opened alone; give it without other sources, or ingest anew")
        return Found((), bundles[0], (), {})
    stored = [address for a in wanted if is_address(a) for address in _stored(a, notes)]
    paths = list(_once(_expand([a for a in wanted if not is_address(a)], notes)))
    root = _common_root([p for p in paths if p is not None])
    blobs = [*_blobs(paths, root, notes), *_far(stored)]
    if not blobs:
        raise InputError(_text("; ".join(notes)) if notes else "no source was given; name files, folders or -")
    shown = {os.path.realpath(b.path): b.shown for b in blobs if b.path is not None}
    named = {shown[at]: label for label in said if (at := os.path.realpath(label.path)) in shown}
    return Found(tuple(blobs), None, tuple(_text(note) for note in notes), named)


def label_of(text: str) -> Label:
    """`decode=FILE` or `decode:worker-3=FILE` → Label. Raises InputError for an unknown role."""
    left, equals, path = text.partition("=")
    role, _, name = left.partition(":")
    if not equals or not path or role not in ROLES:
        raise InputError(f"--label {text}: expected ROLE=FILE with ROLE one of {', '.join(ROLES)}")
    return Label(role, name or None, path)


def is_bundle(path: Path) -> bool:
    """True where the folder holds what Ridgeline wrote: its manifest, or tables, even where the manifest is damaged."""
    if _manifest_names_us(path / MANIFEST):
        return True
    tables = path / "tables"
    return tables.is_dir() and any((tables / f"{table}.parquet").exists() for table in TABLES)


def _manifest_names_us(path: Path) -> bool:
    try:
        with path.open("rb") as f:
            return BUNDLE_SCHEMA.encode() in f.read(MANIFEST_BYTES)
    except OSError:
        return False


def _expand(arguments: Sequence[str], notes: list[str]) -> Iterator[Path | None]:
    for argument in arguments:
        path = Path(argument)
        if argument == "-":
            yield None
        elif argument.startswith(("http://", "https://")):
            notes.append(f"{argument}: is an address, not a file; `ridgeline diagnose` and `capture` take addresses")
        elif path.is_dir():
            yield from _folder(path, notes)
        elif path.exists() or not glob.has_magic(argument):
            yield from _readable(path, argument, notes)
        else:
            matches = sorted(glob.glob(argument, recursive=True))  # noqa: PTH207 - absolute patterns too
            if not matches:
                notes.append(f"{argument}: matches no file; check the pattern")
            for match in matches:
                yield from _folder(Path(match), notes) if Path(match).is_dir() else _readable(Path(match), match, notes)


def _folder(folder: Path, notes: list[str]) -> Iterator[Path]:
    """Files below `folder`, sorted; hidden and irrelevant ones and nested bundles are skipped and counted in a note."""
    skipped: list[str] = []
    found = False
    problems: list[OSError] = []
    for at, names, files in os.walk(folder, onerror=problems.append):
        here = Path(at)
        keep = [n for n in sorted(names) if not _skip_folder(here / n)]
        skipped += [n + "/" for n in sorted(names) if n not in keep]
        names[:] = keep
        for name in sorted(files):
            if name.startswith(".") or _suffix(name) in IRRELEVANT:
                skipped.append(name)
                continue
            if (here / name).is_fifo():
                notes.append(f"{here / name}: is a pipe; it was left out (give it by name to read it)")
                continue
            for path in _readable(here / name, str(here / name), notes):
                found = True
                yield path
    notes.extend(f"{p.filename}: cannot be read ({p.strerror}); check its permissions" for p in problems)
    if skipped:
        few = ", ".join(skipped[:4]) + (", …" if len(skipped) > 4 else "")
        notes.append(f"{folder}: {len(skipped)} hidden or irrelevant entries were skipped ({few})")
    if not found:
        notes.append(f"{folder}: holds no file that can be read")


def _skip_folder(path: Path) -> bool:
    return path.name.startswith(".") or path.name in IRRELEVANT_FOLDERS or is_bundle(path)


def _suffix(name: str) -> str:
    stem = name.lower().removesuffix(".gz").removesuffix(".zst")
    return os.path.splitext(stem)[1]  # noqa: PTH122 - a name, not a path


def _readable(path: Path, said: str, notes: list[str]) -> Iterator[Path]:
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            path.open("rb").close()
        elif not stat.S_ISFIFO(mode):
            notes.append(f"{said}: is neither a file nor a folder; it was left out")
            return
    except OSError as e:
        notes.append(f"{said}: cannot be read ({e.strerror}); check the path and its permissions")
        return
    yield path


def _once(paths: Iterable[Path | None]) -> Iterator[Path | None]:
    seen: set[str] = set()
    for path in paths:
        real = "-" if path is None else os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        yield path


def _common_root(paths: Sequence[Path]) -> Path:
    """The deepest folder above all paths: shown paths are relative to it and hold no user names."""
    if not paths:
        return Path()
    return Path(os.path.commonpath([os.path.abspath(p.parent) for p in paths]))  # noqa: PTH100 - keeps symlinks


def _stored(argument: str, notes: list[str]) -> list[str]:
    """The files an address stands for; a pattern or folder without any costs a note."""
    found = [a for a in addresses(argument) if _suffix(a.rpartition("/")[2]) not in IRRELEVANT]
    if not found:
        notes.append(f"{argument}: stands for no file that can be read; check the address")
    return found


def _far(stored: Sequence[str]) -> list[Blob]:
    """Blobs of addresses, each once, shown below the deepest folder above all of them."""
    unique = sorted(set(stored))
    # cut back to whole parts; commonpath would fold the two slashes of the scheme
    root = os.path.commonprefix([a.rpartition("/")[0] + "/" for a in unique]).rpartition("/")[0] + "/"  # noqa: RUF071
    return [Blob(a.removeprefix(root), None, address=a) for a in unique]


def _blobs(paths: Iterable[Path | None], root: Path, notes: list[str]) -> Iterator[Blob]:
    for path in paths:
        try:
            yield _blob(path, root)
        except InputError as e:
            notes.append(str(e))


def _text(name: str) -> str:
    # A file's name may hold bytes that are no UTF-8; no table and no terminal takes those as they are.
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _blob(path: Path | None, root: Path) -> Blob:
    if path is None:
        return standard_input()
    shown = _text(os.path.relpath(os.path.abspath(path), root))  # noqa: PTH100
    if path.is_fifo():
        return Blob(shown, None, pipe(path))  # a pipe is read once; `detect` and the reader need it twice
    return Blob(shown, path)
