"""Request and crash dumps of SGLang (SIGNALS §5), read without importing or calling anything a pickle names.

`read_dump(path, *, limits=DEFAULT) -> Dump` reads one file (plain, gzip or zstd), told by content. It never raises for
content: a file that is no dump, is hostile or is cut gives a `Dump` whose `refused` is one line; what came in front of
a cut is kept in `requests`. It raises `InputError` only where the file cannot be opened.

`DumpedRequest` and `Dump` are in `records.py`, `Limits` in `inert/limits.py`, the machine in `inert/machine.py`.
"""

import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from ridgeline.signals.dump.inert.limits import DEFAULT, Limits
from ridgeline.signals.dump.reader import inert
from ridgeline.signals.dump.records import Dump, DumpedRequest
from ridgeline.signals.dump.shapes import dump_of
from ridgeline.signals.dump.sniff import looks_like_pickle
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import HEAD_BYTES, Blob

__all__ = ["DEFAULT", "Dump", "DumpedRequest", "Limits", "read_blob", "read_dump"]

NO_DUMP: Final = "is a pickle, but no dump of requests: it holds no list of (request, answer, times) entries"


def read_dump(path: Path, *, limits: Limits = DEFAULT) -> Dump:
    """The requests of one dump file. Raises InputError where it cannot be opened."""
    return read_blob(Blob(str(path), path), limits=limits)


def read_blob(blob: Blob, *, limits: Limits = DEFAULT) -> Dump:
    """The same of a source's bytes."""
    deadline = time.monotonic() + limits.seconds
    unpacking = Reading(0, blob.shown)
    data = blob.whole(unpacking, limits.file_bytes + 1)
    if len(data) > limits.file_bytes:
        return refused(blob, f"is larger than {limits.file_bytes >> 20} MiB unpacked, the most that is read")
    damage = "; ".join(note.removeprefix(f"{blob.shown}: ") for note in unpacking.notes)
    if not data:
        return refused(blob, damage or "is empty")
    if not looks_like_pickle(data[:HEAD_BYTES]):
        return refused(blob, "is no pickle: request and crash dumps are")
    found = inert(data, limits, deadline)
    if "refused" in found:
        reason = str(found["refused"])
        return refused(blob, f"was not read: it {reason}" + (f" ({damage})" if damage else ""))
    dump = dump_of(found.get("root"), blob.shown)
    if dump is None:
        return refused(blob, f"is cut: {found['cut']}, before any request" if found.get("cut") else NO_DUMP)
    if found.get("cut"):
        kept = len(dump.requests)
        before = f"{kept:,} whole requests came before and were read" if kept else "no request was whole before"
        return replace(dump, refused=f"is cut: {found['cut']}; {before}")
    rest = found.get("rest")
    return replace(dump, notes=(*dump.notes, f"{rest:,} bytes behind its end were not read")) if rest else dump


def refused(blob: Blob, reason: str) -> Dump:
    """A dump that was not read."""
    return Dump(blob.shown, None, None, (), {}, None, (), None, reason)
