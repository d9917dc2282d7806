"""`ridgeline ingest`: read sources into a bundle."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def ingest(
    *sources: str,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    embed: bool = False,
    keep_text: bool = False,
    force: bool = False,
    tz: str | None = None,
    year: int | None = None,
    label: tuple[str, ...] = (),
    on: str | None = None,
    format: Literal["text", "json", "md"] = "text",
    quiet: bool = False,
) -> int:
    """Read sources into a bundle: one folder of evidence that every command opens.

    Parameters
    ----------
    sources
        Files, folders, globs or - for standard input; .gz and .zst are read as they are.
    output
        The folder to write.
    embed
        Copy the sources in; secrets are cut out, prompts too unless --keep-text; ids stay as they are.
    keep_text
        Leave prompts and ids readable instead of hashing them.
    force
        Replace a bundle even where it has sources that are not given this time.
    tz
        Zone of log times that name none, such as Asia/Shanghai or +08:00.
    year
        Year of log times that name none.
    label
        ROLE=FILE or ROLE:NAME=FILE where content does not tell; ROLE is unified, prefill, decode, gateway or client.
    on
        local-ray, or ray://HOST:PORT: sources are read by tasks of that cluster (ray extra), over shared storage; long
        tables of the bundle are then folders of part files.
    format
        How to print the summary.
    quiet
        Print nothing but errors.
    """
    from ridgeline.bundle.find import find, is_bundle
    from ridgeline.bundle.open import read_sources
    from ridgeline.bundle.place import refuse
    from ridgeline.bundle.store import write_bundle
    from ridgeline.cli.progress import progress
    from ridgeline.cli.sources import said, zone_of
    from ridgeline.model.errors import InputError

    found = find(sources, label)
    if found.bundle is not None:
        raise InputError(f"{found.bundle}: is a bundle already; give the raw sources")
    refuse(output)  # before anything is read, which may take minutes
    replaced = is_bundle(output)
    with progress(quiet) as on_progress:
        view, read = read_sources(found, tz=zone_of(tz), year=year, hash_all=True, on_progress=on_progress, on=on)
        rows = write_bundle(view, read, output, embed=embed, keep_text=keep_text, force=force, parted=on is not None)
    if not quiet:
        print(said(view, format))
        if format == "text":
            total = sum(rows.values())
            again = "; the bundle that was there was replaced" if replaced else ""
            print(f"\n{output}: {len(read)} sources, {total:,} rows in {len(rows)} tables{again}")
    return 0
