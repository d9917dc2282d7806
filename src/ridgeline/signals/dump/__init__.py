"""Request and crash dumps of SGLang (SIGNALS §5), read without importing or calling anything a pickle names.

`read_dump(path, *, limits=DEFAULT) -> Dump` reads one file (plain, gzip or zstd), told by content. It never raises for
content: a file that is no dump, is hostile or is cut gives a `Dump` whose `refused` is one line; what came in front of
a cut is kept in `requests`. It raises `InputError` only where the file cannot be opened.

`DumpedRequest` and `Dump` are in `records.py`, `Limits` in `inert/limits.py`.
"""

from pathlib import Path

from ridgeline.model.errors import Unsupported
from ridgeline.signals.dump.inert.limits import DEFAULT, Limits
from ridgeline.signals.dump.records import Dump, DumpedRequest

__all__ = ["DEFAULT", "Dump", "DumpedRequest", "Limits", "read_dump"]


def read_dump(path: Path, *, limits: Limits = DEFAULT) -> Dump:
    """The requests of one dump file."""
    raise Unsupported(f"{path}: dumps are not read yet")
