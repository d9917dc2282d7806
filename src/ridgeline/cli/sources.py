"""`ridgeline sources`: what was read as what, and the lines that were not."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, Any, Final, Literal

from ridgeline.model.errors import InputError
from ridgeline.report.escape import markdown, plain

if TYPE_CHECKING:
    from ridgeline.bundle.view import View

Format = Literal["text", "json", "md"]

SOURCES_SQL: Final = """
    SELECT path, kind, server, role, version, confidence, rows, unparsed, unparsed_errors, blank, from_ts, to_ts, clock,
        notes
    FROM sources
    ORDER BY source
"""
# Lines with the same words are one entry: a line that a program repeats may stand there millions of times.
UNREAD_SQL: Final = """
    SELECT s.path, u.first, u.last, u.lines, u.severity, u.text
    FROM (
        SELECT source, severity, text, min(line) AS first, max(line) AS last, count(*) AS lines
        FROM unread
        GROUP BY ALL
    ) AS u
    LEFT JOIN sources AS s USING (source)
    ORDER BY u.source, u.first
"""
HEAD: Final = ("source", "read as", "server", "rows", "unparsed", "from", "to", "clock")


def sources(
    *arguments: str,
    unread: bool = False,
    tz: str | None = None,
    year: int | None = None,
    label: tuple[str, ...] = (),
    format: Format = "text",
    quiet: bool = False,
) -> int:
    """Show what was read as what, and with --unread every line that was not understood.

    Parameters
    ----------
    arguments
        Files, folders, globs, - for standard input, or one bundle.
    unread
        List every line that no reader understood.
    tz
        Zone of log times that name none, such as Asia/Shanghai or +08:00.
    year
        Year of log times that name none.
    label
        ROLE=FILE or ROLE:NAME=FILE where content does not tell; ROLE is unified, prefill, decode, gateway or client.
    format
        How to print.
    quiet
        No progress bar.
    """
    from ridgeline.bundle.open import open_sources
    from ridgeline.cli.progress import progress

    with progress(quiet) as on_progress:
        view = open_sources(arguments, tz=zone_of(tz), year=year, labels=label, on_progress=on_progress)
    print(unread_said(view, format) if unread else said(view, format))
    return 0


def zone_of(text: str | None) -> tzinfo | None:
    """A zone by name or as +HH:MM. Raises InputError for anything else."""
    if text is None:
        return None
    offset = re.fullmatch(r"([+-])(\d{1,2}):?(\d{2})?", text.removeprefix("UTC").removeprefix("GMT"))
    if offset:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        if minutes < 24 * 60:
            return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes))
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as e:
        raise InputError(f"--tz {text}: is no zone known here; give a name such as Asia/Shanghai, or +08:00") from e


def said(view: "View", format: Format) -> str:
    """The table of sources in one of the three forms."""
    rows = view.arrow(SOURCES_SQL).to_pylist()
    if format == "json":
        for row in rows:
            row["from"], row["to"] = _iso(row.pop("from_ts")), _iso(row.pop("to_ts"))
        return json.dumps({"sources": rows, "notes": list(view.notes)}, indent=1, ensure_ascii=False)
    cells = [_cells(row) for row in rows]
    notes = [*view.notes, *(note for row in rows for note in row["notes"] or ())]
    if format == "md":
        lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
        lines += ["| " + " | ".join(markdown(cell) for cell in row) + " |" for row in cells]
        return "\n".join([*lines, *(["", *(f"- {markdown(note)}" for note in notes)] if notes else [])])
    return "\n".join([*_columns([HEAD, *cells]), *(["", *(f"note: {plain(note)}" for note in notes)] if notes else [])])


def unread_said(view: "View", format: Format) -> str:
    """Every unread line, safe to print and without secrets and prompts; equal ones once, with how many there are."""
    from ridgeline.bundle.redact import without_prompts
    from ridgeline.signals.secrets import scrubbed

    rows = [(*rest, text and without_prompts(scrubbed(text))) for *rest, text in view.query(UNREAD_SQL)]
    if format == "json":
        keys = ("source", "line", "last_line", "lines", "severity", "text")
        return json.dumps({"unread": [dict(zip(keys, row, strict=True)) for row in rows]}, indent=1)
    if not rows:
        return "every line was understood"
    if format == "md":
        return "\n".join(f"- {markdown(p or '')}:{_lines(*at)} {markdown(text or '')}" for p, *at, _, text in rows)
    return "\n".join(
        f"{plain(p or '')}:{_lines(*at)}: {f'[{severity}] ' if severity else ''}{plain(text or '')}"
        for p, *at, severity, text in rows
    )


def _lines(first: int, last: int, count: int) -> str:
    return f"{first}" if count == 1 else f"{first} (and {count - 1:,} like it, to line {last})"


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    version = f" {row['version']}" if row["version"] else ""
    doubt = "" if row["confidence"] in (None, "high") else f" ({row['confidence']} confidence)"
    server = " ".join(dict.fromkeys(word for word in (row["server"], row["role"]) if word))
    errors = f" ({row['unparsed_errors']} errors)" if row["unparsed_errors"] else ""
    return (
        plain(row["path"]),
        plain(f"{row['kind']}{version}{doubt}"),
        plain(server) or "-",
        f"{row['rows']:,}",
        f"{row['unparsed']:,}{errors}",
        _clock(row["from_ts"], row["clock"]),
        _clock(row["to_ts"], row["clock"]),
        row["clock"] or "-",
    )


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    right = (3, 4)
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _clock(ts: float | None, clock: str | None) -> str:
    if ts is None:
        return "-"
    try:
        at = datetime.fromtimestamp(ts, UTC)
    except (OverflowError, ValueError, OSError):
        return "no date"  # a number that no calendar holds
    return f"{at:%H:%M:%S}" if clock == "undated" else f"{at:%Y-%m-%d %H:%M:%S}"


def _iso(ts: float | None) -> str | None:
    try:
        return None if ts is None else datetime.fromtimestamp(ts, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return None  # a number that no calendar holds
