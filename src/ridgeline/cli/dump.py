"""`ridgeline dump ls|show|convert`: request and crash dumps, read without running anything in them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from cyclopts import App, Parameter

from ridgeline.model.errors import InputError
from ridgeline.report.escape import plain

if TYPE_CHECKING:
    from ridgeline.signals.dump import Dump, DumpedRequest
    from ridgeline.signals.dump.groups import Group
    from ridgeline.signals.stream import Blob

Format = Literal["text", "json"]
SCHEMA: Final = "ridgeline.dump/1"
ENDINGS: Final = (".jsonl", ".parquet")

dump = App(name="dump", help="Request and crash dumps of SGLang, read without importing or calling what they name.")


@dump.command
def ls(*files: str, format: Format = "text") -> int:
    """List dumps: what each is, how many requests it holds, how many were still open at the crash.

    Parameters
    ----------
    files
        Dumps (.gz and .zst too), folders, globs, - for standard input.
    format
        text, or json (schema ridgeline.dump/1).
    """
    dumps = [_read(blob) for blob in _blobs(files)]
    if format == "json":
        print(_safe(json.dumps({"schema": SCHEMA, "files": [_summary(d) for d in dumps]}, indent=1)))
    else:
        print("\n".join(_listed(dumps)))
    return 1 if any(d.refused is not None for d in dumps) else 0


@dump.command
def show(file: str, *, limit: int = 20, rid: str | None = None, format: Format = "text") -> int:
    """Show one dump: the last requests before its end, and all of them grouped by shape.

    Parameters
    ----------
    file
        One dump, - for standard input.
    limit
        How many requests to list.
    rid
        Show this one request with its parameters, times and outcome; the prompt by its length only.
    format
        text, or json.
    """
    if limit < 1:
        raise InputError(f"--limit {limit}: is no number of requests above zero")
    blobs = list(_blobs((file,)))
    if len(blobs) > 1:
        raise InputError(f"{file}: holds {len(blobs)} dumps; name one of them (`ridgeline dump ls` lists them)")
    found = _read(blobs[0])
    if found.refused is not None:
        print(f"ridgeline: {plain(f'{found.path}: {found.refused}')}", file=sys.stderr)
        if not found.requests:
            return 1
    if rid is not None:
        chosen = [r for r in found.requests if r.rid == rid]
        if not chosen:
            raise InputError(f"{found.path}: holds no request {plain(rid, 80)}; `ridgeline dump show` lists its ids")
        _print_requests(chosen, format)
    else:
        _print_dump(found, limit, format)
    return 0 if found.refused is None else 1


@dump.command
def convert(
    *files: str, out: Annotated[Path, Parameter(name=["-o", "--out"])], keep_text: bool = False, quiet: bool = False
) -> int:
    """Write the requests of dumps as JSON lines or Parquet, one row each.

    Parameters
    ----------
    files
        Dumps (.gz and .zst too), folders, globs, - for standard input.
    out
        The file to write: NAME.jsonl or NAME.parquet.
    keep_text
        Keep prompts, outputs, ids and names readable; else they are hashed with your key.
    quiet
        Print nothing but errors.
    """
    from ridgeline.bundle.redact import load_key
    from ridgeline.cli.dump_rows import rows_of, write

    if out.suffix not in ENDINGS:
        raise InputError(f"{out}: give a name that ends in {' or '.join(ENDINGS)}")
    key = None if keep_text else load_key()
    rows: list[dict[str, Any]] = []
    bad = 0
    for blob in _blobs(files):
        found = _read(blob)
        if found.refused is not None:
            bad += 1
            print(f"ridgeline: {plain(f'{found.path}: {found.refused}')}", file=sys.stderr)
        rows += rows_of(found, key)
    if not rows:
        raise InputError("no request was read, so nothing was written")
    write(rows, out)
    if not quiet:
        print(f"{plain(str(out))}: {len(rows):,} requests{'' if keep_text else ', inputs and names hashed'}")
    return 1 if bad else 0


def _safe(text: str) -> str:
    from ridgeline.signals.secrets import scrubbed

    return scrubbed(text)  # what a server answered may quote the key that it was given


def _blobs(files: Sequence[str]) -> Iterator[Blob]:
    """What to read. Files given by name are always read; in folders and globs only what begins like a pickle."""
    from ridgeline.bundle.find import find
    from ridgeline.signals.dump import DEFAULT
    from ridgeline.signals.dump.sniff import looks_like_pickle
    from ridgeline.signals.stream import Blob, pipe, standard_input

    if not files:
        raise InputError("no dump was given; name files, folders or -")
    for given in files:
        path = Path(given)
        if given == "-":
            yield standard_input()
        elif path.is_fifo():  # such as <(zcat FILE): it can be read once only
            yield Blob(given, None, pipe(path, DEFAULT.file_bytes + 1))
        elif path.is_file() or not (path.is_dir() or any(c in given for c in "*?[")):
            yield Blob(given, path)
        else:
            found = [Blob(str(b.path), b.path, b.data) for b in find((given,)).blobs]
            some = [b for b in found if looks_like_pickle(b.head(4096))]
            if not some:
                raise InputError(f"{given}: holds no dump; request and crash dumps are pickles (*.pkl)")
            yield from some


def _read(blob: Blob) -> Dump:
    from ridgeline.signals.dump import read_blob, refused

    try:
        return read_blob(blob)
    except InputError as e:
        return refused(blob, str(e).removeprefix(f"{blob.shown}: "))


def _summary(d: Dump) -> dict[str, Any]:
    counts = {"requests": len(d.requests), "finished": d.finished, "unfinished": d.unfinished}
    return {"file": d.path, "kind": d.kind, "version": d.version, **counts, "refused": d.refused}


def _listed(dumps: Sequence[Dump]) -> list[str]:
    """A table of the dumps that were read, then one line for each that was not, or not wholly."""
    head = ("file", "kind", "version", "requests", "finished", "unfinished", "from", "to")
    rows = [
        (plain(d.path, 200), d.kind or "-", d.version or "-", f"{len(d.requests):,}", f"{d.finished:,}",
         f"{d.unfinished:,}", *_span(d))
        for d in dumps if d.requests or d.refused is None
    ]  # fmt: skip
    lines = _columns(head, rows, right=(3, 4, 5)) if rows else []
    lines += [f"{plain(d.path, 200)}: note: {plain(note)}" for d in dumps for note in d.notes]
    return [*lines, *(f"{plain(d.path, 200)}: refused: {plain(d.refused)}" for d in dumps if d.refused is not None)]


def _span(d: Dump) -> tuple[str, str]:
    wall = [r for r in d.requests if r.clock == "wall"]
    starts = [r.arrival_ts for r in wall if r.arrival_ts is not None]
    ends = [r.end_ts for r in wall if r.end_ts is not None]
    return _when(min(starts, default=None)), _when(max(ends, default=None))


def _print_dump(found: Dump, limit: int, format: Format) -> None:
    from ridgeline.signals.dump.groups import grouped, last

    groups, chosen = grouped(found), last(found, limit)
    if format == "json":
        lists = {"last": [_figures(r) for r in chosen], "groups": [asdict(g) for g in groups]}
        print(_safe(json.dumps({"schema": SCHEMA, **_summary(found), "crash_ts": found.crash_ts, **lists}, indent=1)))
        return
    end = "" if found.crash_ts is None else f", crash at {_when(found.crash_ts)}"
    print(f"{plain(found.path, 200)}: {found.kind} {found.version or ''}, {len(found.requests):,} requests, "
          f"{found.unfinished:,} unfinished{end}")  # fmt: skip
    for note in found.notes:
        print(f"note: {plain(note)}")
    print(f"\nlast requests{', the unfinished before all others' if found.unfinished else ''}:")
    print("\n".join(_requests(chosen)))
    print("\nby shape, most unfinished first:")
    print("\n".join(_groups(groups, limit)))


def _requests(chosen: Sequence[DumpedRequest]) -> list[str]:
    head = ("no.", "rid", "arrived", "state", "prompt", "cached", "output", "max new", "queue s", "ttft s", "e2e s")
    rows = [
        (str(r.number), plain(r.rid or "-", 40), _clock(r), plain(_state(r), 24), _n(r.prompt_tokens),
         _n(r.cached_tokens), _n(_output(r)), _n(r.max_new_tokens), _s(r.queue_s), _s(r.ttft_s), _s(r.e2e_s))
        for r in chosen
    ]  # fmt: skip
    return _columns(head, rows, right=(0, *range(4, 11)))


def _groups(groups: Sequence[Group], limit: int) -> list[str]:
    head = ("unfinished", "finished", "aborted", "last arrival", "prompt", "max new", "sampling", "features")
    rows = [
        (f"{g.unfinished:,}", f"{g.finished:,}", f"{g.failed:,}", _before(g.last_s), g.shape.prompt,
         g.shape.limit, plain(g.shape.sampling, 60), plain(", ".join(g.shape.features) or "-", 80))
        for g in groups[:limit]
    ]  # fmt: skip
    more = [f"{len(groups) - limit:,} more shapes; --limit shows them"] if len(groups) > limit else []
    return [*_columns(head, rows, right=(0, 1, 2, 3)), *more]


def _print_requests(chosen: Sequence[DumpedRequest], format: Format) -> None:
    if format == "json":
        print(_safe(json.dumps({"schema": SCHEMA, "requests": [_figures(r) for r in chosen]}, indent=1)))
        return
    for r in chosen:
        for name, value in _figures(r).items():
            if value is not None and value != {}:
                shown = _safe(json.dumps(value) if isinstance(value, dict | list) else str(value))
                print(f"{name:<18}{plain(shown, 400)}")


def _figures(r: DumpedRequest) -> dict[str, Any]:
    """Everything of a request but its content: texts and ids by their lengths."""
    from ridgeline.cli.dump_rows import finite

    found = asdict(r)
    for name in ("asked", "text", "input_ids", "output_text", "output_ids"):
        found.pop(name)
    found["sampling"] = {k: v for k, v in r.sampling.items() if v is not None}
    found["prompt_chars"] = None if r.text is None else len(r.text)
    found["input_tokens"] = None if r.input_ids is None else len(r.input_ids)
    found["output_chars"] = None if r.output_text is None else len(r.output_text)
    found["output_tokens"] = None if r.output_ids is None else len(r.output_ids)
    return {name: finite(value) for name, value in found.items()}


def _output(r: DumpedRequest) -> int | None:
    if r.completion_tokens is not None:
        return r.completion_tokens
    return None if r.output_ids is None else len(r.output_ids)


def _state(r: DumpedRequest) -> str:
    if r.finished is False:
        return "unfinished"
    return r.finish_reason or ("finished" if r.finished else "unknown")


def _before(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.3f} s before"


def _n(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _s(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _clock(r: DumpedRequest) -> str:
    if r.clock != "wall" or r.arrival_ts is None:
        return "-"
    return datetime.fromtimestamp(r.arrival_ts, UTC).strftime("%H:%M:%S.%f")[:-3]


def _when(ts: float | None) -> str:
    return "-" if ts is None else datetime.fromtimestamp(ts, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> list[str]:
    table = [head, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
