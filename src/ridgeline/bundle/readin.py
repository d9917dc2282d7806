"""Every source once through its reader, rows into the spill, one `Reading` per source."""

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import tzinfo
from pathlib import Path
from typing import IO, Any, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from ridgeline.bundle.far import Errand, read_over
from ridgeline.bundle.find import Found, Label
from ridgeline.bundle.spill import Spill
from ridgeline.model.errors import InputError
from ridgeline.signals.read import read
from ridgeline.signals.rows import Reading, Rows
from ridgeline.signals.stored import open_address, size_of
from ridgeline.signals.stream import Blob

OnProgress = Callable[[str, int, int], None]  # shown path, bytes read so far, bytes in all

# Series are numbered from 0 within a source; this many numbers are set aside for each source.
SERIES_STRIDE: Final = 1 << 32
SERIES_TABLES: Final = frozenset(("series", "samples", "histograms"))
# What a fault in a reader raises; the programs' own ends (KeyboardInterrupt, MemoryError) are not among them.
READER_FAULTS: Final = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError),
    *(pa.ArrowException, duckdb.Error),
)
NOTHING: Final = frozenset(("empty", "binary", "duplicate"))


@dataclass(frozen=True)
class Source:
    """One source after reading: its bytes, what the reader said, and what it has in common with others."""

    blob: Blob
    reading: Reading
    size: int
    sha256: str | None = None
    label: Label | None = None


@dataclass(frozen=True)
class Watched(Blob):
    """A blob that tells how far its raw bytes were read."""

    on_bytes: Callable[[int], None] | None = None

    def _open_raw(self) -> IO[bytes]:
        raw = super()._open_raw()
        if self.on_bytes is None or self.path is None:
            return raw
        raw.close()
        return io.BufferedReader(_Counted(self.path, self.on_bytes), 1 << 16)


class _Counted(io.FileIO):
    def __init__(self, path: Path, on_bytes: Callable[[int], None]) -> None:
        super().__init__(path, "rb")
        self._on_bytes = on_bytes

    def readinto(self, buffer: Any) -> int | None:
        size = super().readinto(buffer)
        self._on_bytes(self.tell())
        return size

    def readall(self) -> bytes:
        data = super().readall()
        self._on_bytes(self.tell())
        return data


def read_all(
    found: Found,
    spill: Spill,
    *,
    tz: tzinfo | None = None,
    year: int | None = None,
    hash_all: bool = False,
    on_progress: OnProgress | None = None,
    on: str | None = None,
) -> list[Source]:
    """Read every source in order, numbered from 1. Two files with the same bytes are read once, with a note.

    `hash_all` computes each file's sha256 (a bundle names it); else only files of equal size are hashed. `on`: a Ray
    cluster whose tasks read; the rows and their order are the same.
    Raises InputError where no source gave anything to read at all.
    """
    sizes = [_size(blob) for blob in found.blobs]
    seen: dict[str, str] = {}
    sources: list[Source] = []
    errands: list[Errand] = []
    for number, (blob, size) in enumerate(zip(found.blobs, sizes, strict=True), start=1):
        reading = Reading(source=number, path=blob.shown, tz=tz, year=year)
        sha = _sha256(blob) if hash_all or (size > 0 and sizes.count(size) > 1) else None
        label = found.labels.get(blob.shown)
        if sha is not None and size > 0 and sha in seen:
            reading.kind = "duplicate"
            reading.note(f"{blob.shown}: has the same bytes as {seen[sha]}, which was read; it was left out")
        else:
            if sha is not None:
                seen[sha] = blob.shown
            reading.role = label.role if label else None
            errands.append(Errand(blob, number, size, reading.role))
            if on is None:
                read_one(blob, reading, size, spill, on_progress)
        sources.append(Source(blob, reading, size, sha, label))
    if on is not None:
        far = {r.source: r for r in read_over(on, errands, spill, tz, year)}
        sources = [replace(s, reading=far.get(s.reading.source, s.reading)) for s in sources]
    for source in sources:
        if source.label and source.reading.kind != "duplicate":
            source.reading.role = source.label.role
    if all(s.reading.kind in NOTHING or not (s.reading.lines or s.reading.understood) for s in sources):
        lines = [*found.notes, *(note for s in sources for note in s.reading.notes)]
        raise InputError("; ".join(lines) or "nothing could be read from the given sources")
    return sources


def read_one(blob: Blob, reading: Reading, size: int, spill: Spill, on_progress: OnProgress | None) -> None:
    """One source through its reader into the spill; what went wrong is in the reading's notes."""
    watched = blob
    if on_progress is not None:
        tell = on_progress
        watched = Watched(
            blob.shown, blob.path, blob.data, blob.drop_nul, blob.address,
            on_bytes=lambda done: tell(blob.shown, done, size),
        )  # fmt: skip
    odd = 0
    try:
        for rows in read(watched, reading):
            rows, infinite = finite(rows)
            odd += infinite
            spill.add(renumbered(rows, reading.source))
    except InputError as e:
        reading.note(str(e))
    except READER_FAULTS as e:
        # A reader must not fail on content; if one does, the other sources still count, and it is said aloud.
        reading.confidence = "low"
        reading.unparsed += 1
        reading.unparsed_errors += 1
        reading.note(
            f"{blob.shown}: reading stopped after line {reading.lines} ({type(e).__name__}: {str(e)[:200]}); "
            "what came before is kept, the rest was not read; please report this"
        )
    if odd:
        reading.note(f"{blob.shown}: {odd:,} samples are infinite; their values are left out")
    if reading.kind == "empty" and size:
        _tell_damage(blob, reading)
    if reading.unparsed and not reading.understood:
        reading.note(
            f"{blob.shown}: looks like {reading.kind} and nothing in it could be read as that; "
            "it may be cut or of another version (`ridgeline sources --unread` shows its lines)"
        )
    if on_progress is not None:
        on_progress(blob.shown, size, size)


def _tell_damage(blob: Blob, reading: Reading) -> None:
    """A compressed file cut so early that nothing comes out is not empty: say what it is."""
    damage = Reading(reading.source, reading.path)
    if not blob.whole(damage, 1) and damage.notes:
        reading.notes[:] = damage.notes


def finite(rows: Rows) -> tuple[Rows, int]:
    """The same rows with infinite samples as null, and how many those were: no figure is made of them."""
    if rows.table != "samples":
        return rows, 0
    value = rows.data["value"]
    count = pc.sum(pc.is_inf(value)).as_py() or 0
    if not count:
        return rows, 0
    at = rows.data.column_names.index("value")
    kept = pc.if_else(pc.is_inf(value), None, value)
    return Rows(rows.table, rows.data.set_column(at, "value", kept)), count


def renumbered(rows: Rows, source: int) -> Rows:
    """The same rows with series numbers that no other source uses."""
    if rows.table not in SERIES_TABLES or "series" not in rows.data.column_names:
        return rows
    at = rows.data.column_names.index("series")
    moved = pc.add(rows.data["series"], pa.scalar(source * SERIES_STRIDE, pa.int64()))
    return Rows(rows.table, rows.data.set_column(at, "series", moved))


def _size(blob: Blob) -> int:
    if blob.address is not None:
        return size_of(blob.address)
    if blob.path is None:
        return len(blob.data or b"")
    try:
        return blob.path.stat().st_size
    except OSError:
        return 0


def _sha256(blob: Blob) -> str | None:
    try:
        if blob.address is not None:
            with open_address(blob.address) as f:
                return hashlib.file_digest(f, "sha256").hexdigest()  # type: ignore[arg-type]
        if blob.path is None:
            return hashlib.sha256(blob.data or b"").hexdigest()
        with blob.path.open("rb") as f:
            return hashlib.file_digest(f, "sha256").hexdigest()
    except OSError:
        return None
