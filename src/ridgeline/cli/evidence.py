"""Opening what a command is pointed at: files, folders, a bundle, or live servers that are watched for a while."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ridgeline.bundle.view import View

DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?")
UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


def seconds_of(text: str) -> float:
    """`60s`, `2m`, `1.5h` or plain seconds. Raises InputError for anything else and for 0."""
    from ridgeline.model.errors import InputError

    matched = DURATION.fullmatch(text.strip())
    value = float(matched[1]) * UNITS[matched[2]] if matched else 0.0
    if value <= 0:
        raise InputError(f"--for {text}: is no time above zero; write 60s, 2m or 1h")
    return value


@contextmanager
def watched(
    sources: Sequence[str], *, for_: str, label: Sequence[str], tz: str | None, year: int | None, quiet: bool
) -> Iterator[View]:
    """A view over the sources; URLs among them are polled first (GET only) and then read like files.

    Raises InputError where nothing could be read, SourceUnavailable where no server answered.
    """
    import duckdb

    from ridgeline.bundle.open import open_sources
    from ridgeline.cli.progress import progress
    from ridgeline.cli.sources import zone_of
    from ridgeline.model.errors import InputError

    if not sources:
        raise InputError("nothing to read: give files, folders, a bundle or http(s) URLs")
    urls = [s for s in sources if s.startswith(("http://", "https://"))]
    given = [s for s in sources if s not in urls]
    with tempfile.TemporaryDirectory(prefix="ridgeline-live-") as folder:
        if urls:
            from ridgeline.live.poll import collect

            given.append(str(collect(urls, Path(folder), seconds_of(for_))))
        with progress(quiet) as on_progress:
            view = open_sources(given, tz=zone_of(tz), year=year, labels=label, on_progress=on_progress)
        try:
            yield view
        except duckdb.Error as e:
            reason = str(e).splitlines()[0][:200]
            raise InputError(f"{', '.join(sources)}: its tables cannot be read ({reason}); ingest again") from e
