"""`ridgeline export KIND SRC… -o F`: the evidence in other programs' formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ridgeline.model.errors import InputError

if TYPE_CHECKING:
    from ridgeline.bundle.view import View

Kind = Literal["perfetto", "otlp", "mooncake", "csv", "parquet", "alerts", "dashboard"]
Written = list[tuple[Path, str]]


def export(
    kind: Kind,
    *sources: str,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    table: str | None = None,
    version: str | None = None,
    most: int = 100_000,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    to: str | None = None,
    label: tuple[str, ...] = (),
    tz: str | None = None,
    year: int | None = None,
    keep_text: bool = False,
    format: Literal["text", "json", "md"] = "text",
    quiet: bool = False,
) -> int:
    """Write the evidence as a trace, a scenario, tables, alert rules or a dashboard.

    Parameters
    ----------
    kind
        perfetto (Chrome JSON, open it in ui.perfetto.dev), otlp (JSON lines of spans), mooncake (a trace with
        hash_ids), csv, parquet, alerts (Prometheus rules), dashboard (Grafana).
    sources
        Files, folders, globs, - for standard input, or one bundle.
    output
        The file to write; for csv and parquet without a suffix a folder of all tables.
    table
        Which table, for csv and parquet; requests where the output is a file.
    version
        The engine's version for alerts and dashboard, where the evidence does not state it.
    most
        Requests in a perfetto trace; more are thinned evenly.
    from_
        Leave out what is before this moment (perfetto, otlp).
    to
        Leave out what is after this moment (perfetto, otlp).
    label
        ROLE=FILE or ROLE:NAME=FILE where content does not tell.
    tz
        Zone of log times that name none; also of --from and --to.
    year
        Year of log times that name none.
    keep_text
        Leave ids and names of raw sources readable; otherwise they are hashed as in a bundle.
    format
        How to print what was written.
    quiet
        Print nothing but errors.
    """
    from ridgeline.cli.evidence import watched
    from ridgeline.cli.hidden import hide_names, is_stored
    from ridgeline.cli.moments import windows_of

    with watched(sources, for_="60s", label=label, tz=tz, year=year, quiet=quiet) as view:
        if not keep_text and not is_stored(sources):
            hide_names(view)
        within = view.window(windows_of(view, from_, to, None, tz)[0], None)
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            written = _write(kind, within, output, table, version, most)
        except OSError as e:
            raise InputError(f"{output}: cannot be written ({e.strerror}); give another file") from e
    if not quiet:
        _said(written, kind, format)
    return 0


def _write(kind: Kind, view: View, out: Path, table: str | None, version: str | None, most: int) -> Written:
    match kind:
        case "csv" | "parquet":
            from ridgeline.export.tables import write as write_tables

            return [(path, f"{rows:,} rows") for path, rows in write_tables(view, kind, out, table)]
        case "alerts" | "dashboard":
            from ridgeline.export import alerts, dashboard
            from ridgeline.export.promql import exported

            of = exported(view, version)
            out.write_text(alerts.text(of) if kind == "alerts" else dashboard.text(of), encoding="utf-8")
            stated = "" if of.sure else ", the newest release read: the evidence states no version"
            return [(out, f"metric names of {of.engine} {of.version}{stated}")]
        case "perfetto":
            return [(out, _into(out, lambda f: _perfetto(view, f, most)))]
        case "otlp":
            return [(out, _into(out, lambda f: _otlp(view, f)))]
        case "mooncake":
            return [(out, _into(out, lambda f: _mooncake(view, f)))]


def _into(out: Path, write: Callable[[IO[str]], str]) -> str:
    """Write to a file beside it first: what is there is whole. A pipe or device is written to, never replaced."""
    if out.exists() and not out.is_file():
        with out.open("w", encoding="utf-8") as f:
            return write(f)
    beside = out.with_name(out.name + ".part")
    try:
        with beside.open("w", encoding="utf-8") as f:
            said = write(f)
        beside.replace(out)
    finally:
        beside.unlink(missing_ok=True)
    return said


def _perfetto(view: View, f: IO[str], most: int) -> str:
    from ridgeline.export.perfetto import write

    if most < 1:
        raise InputError(f"--most {most}: give a number above 0")
    written, timed = write(view, f, most)
    thinned = "" if written == timed else f" of {timed:,}, thinned evenly (--most, --from and --to change that)"
    return f"{written:,} requests{thinned}"


def _otlp(view: View, f: IO[str]) -> str:
    from ridgeline.export.otlp import write

    written, untimed = write(view, f)
    if not written:
        raise InputError("no request has an arrival: there is nothing to place in time (needs --log-requests)")
    return f"{written:,} requests{f', {untimed:,} without an arrival left out' if untimed else ''}"


def _mooncake(view: View, f: IO[str]) -> str:
    from ridgeline.export.mooncake import write
    from ridgeline.scenario.from_bundle import traffic_of

    traffic = traffic_of(view, whole=True)
    notes = f" ({'; '.join(traffic.notes)})" if traffic.notes else ""
    return f"{write(traffic.scenario, f):,} requests{notes}"


def _said(written: Written, kind: str, format: str) -> None:
    import json

    if format == "json":
        files = [{"path": str(path), "bytes": path.stat().st_size, "holds": words} for path, words in written]
        print(json.dumps({"schema": "ridgeline.export/1", "kind": kind, "files": files}, ensure_ascii=False))
        return
    for path, words in written:
        print(f"{'- ' if format == 'md' else ''}{path}: {words}")
