"""Opening what a command is pointed at: files, folders, a bundle, or live servers that are watched for a while."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ridgeline.bundle.view import View

DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?")
ADDRESS: Final = re.compile(r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}(?:/\S*)?")  # without a scheme
UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


def seconds_of(text: str) -> float:
    """`60s`, `2m`, `1.5h` or plain seconds. Raises InputError for anything else and for 0."""
    from ridgeline.model.errors import InputError

    matched = DURATION.fullmatch(text.strip())
    value = float(matched[1]) * UNITS[matched[2]] if matched else 0.0
    if value <= 0:
        raise InputError(f"--for {text}: is no time above zero; write 60s, 2m or 1h")
    return value


def servers_and_logs(given: Sequence[str], logs: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """URLs, and logs: words behind `--logs` that a shell made of its pattern stand among the URLs.

    Raises InputError for a word that is neither.
    """
    from ridgeline.model.errors import InputError

    urls = [word for word in given if "://" in word]
    more = [word for word in given if "://" not in word]
    for word in more:
        if ADDRESS.fullmatch(word) and not Path(word).exists():
            raise InputError(f"{word}: not a server's URL; write http://{word}")
        if not logs and Path(word).exists():
            raise InputError(f"{word}: is a file, not a server; to follow it write --logs {word}")
        if not Path(word).exists():
            quote = "; quote the pattern, as in --logs '/var/log/sglang/*.log'" if logs else "; write http://HOST:PORT"
            raise InputError(f"{word}: neither a server's URL nor a file that is there{quote}")
    return tuple(urls), (*logs, *more)


@contextmanager
def watched(
    sources: Sequence[str], *, for_: str, label: Sequence[str], tz: str | None, year: int | None, quiet: bool,
    on: str | None = None,
) -> Iterator[View]:  # fmt: skip
    """A view over the sources; URLs among them are polled first (GET only) and then read like files.

    `on`: a Ray cluster whose tasks read raw sources.

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
    for source in given:
        if ADDRESS.fullmatch(source) and not Path(source).exists():
            raise InputError(f"{source}: no file of that name; for a server write http://HOST:PORT: http://{source}")
    with tempfile.TemporaryDirectory(prefix="ridgeline-live-") as folder:
        if urls:
            from ridgeline.live.poll import collect
            from ridgeline.report.escape import plain

            duration_s = seconds_of(for_)
            if not quiet:
                said = ", ".join(plain(url, 200) for url in urls)
                print(f"ridgeline: watching {said} for {duration_s:g} s, then reading", file=sys.stderr, flush=True)
            given.append(str(collect(urls, Path(folder), duration_s)))
        with progress(quiet) as on_progress:
            view = open_sources(given, tz=zone_of(tz), year=year, labels=label, on_progress=on_progress, on=on)
        try:
            yield view
        except duckdb.Error as e:
            reason = str(e).splitlines()[0][:200]
            raise InputError(f"{', '.join(sources)}: its tables cannot be read ({reason}); ingest again") from e
