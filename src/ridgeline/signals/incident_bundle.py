"""A folder in the layout of SGLang's incident bundle: its `metadata.json` and `SUMMARY.txt`, and what names mean in it.

Layout: metadata.json, health.txt, health_generate.txt, metrics.txt, model_info.json, server_info.json, loads_all.json,
loads_core_queues_disagg.json, hicache_storage_backend.json, SUMMARY.txt; JSON answers are wrapped as
`{ok, status, path, json | error}`, a text answer that failed is `<name>.error.json`. The other files are read by the
readers of their kinds; only a health answer with an empty body needs its name.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, Final

from ridgeline.signals.rows import Reading, Rows
from ridgeline.signals.settings import config_rows, flat
from ridgeline.signals.stream import Blob
from ridgeline.signals.unread import unread_rows

ARTIFACT: Final = "incident_bundle"
METADATA: Final = "metadata.json"
METADATA_BYTES: Final = 65536
HEALTH: Final = {"health.txt": "/health", "health_generate.txt": "/health_generate"}
SUMMARY_LINE: Final = re.compile(r"[\w.]+\.(?:txt|json): (?:ok|failed status=-?\d+ error=.*)")
NOTES: Final = re.compile(
    r"This bundle is read-only\.|HiCache status may fail|loads_all\.json is |metrics\.txt is raw ", re.IGNORECASE
)


def metadata_of(folder: Path) -> dict[str, Any] | None:
    """The metadata of an incident bundle; None where the folder is none."""
    path = folder / METADATA
    try:
        with path.open("rb") as f:
            value = json.loads(f.read(METADATA_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and value.get("artifact_type") == ARTIFACT else None


def endpoint_in(path: Path | None) -> str | None:
    """The health endpoint whose answer a file of an incident bundle holds; None for any other file."""
    if path is None or path.name not in HEALTH or metadata_of(path.parent) is None:
        return None
    return HEALTH[path.name]


def collected_ts(metadata: dict[str, Any], tz: tzinfo | None) -> float | None:
    """When the bundle was collected: local time of the machine that did it, `YYYYmmdd_HHMMSS` (UTC unless told)."""
    try:
        at = datetime.strptime(str(metadata.get("collected_at")), "%Y%m%d_%H%M%S")
    except ValueError:
        return None
    return at.replace(tzinfo=tz or UTC).timestamp()


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """`config` rows of the metadata (origin `incident_bundle`); the summary repeats what the other files say."""
    text = blob.whole(reading).decode("utf-8", "replace")
    lines = text.splitlines()
    reading.lines += len(lines)
    if text.lstrip().startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            yield unread_rows(reading, [(1, text)])
            return
        reading.understood += 1
        ts = collected_ts(value, reading.tz)
        reading.saw(ts, ts)
        if ts is not None and reading.tz is None:
            reading.note(f"{reading.path}: collected_at has no zone; read as UTC (give --tz if it was local)")
        yield from config_rows(
            reading,
            [{"key": k, "value": v, "origin": ARTIFACT, "ts": ts, "line": 1} for k, v in flat(value).items()],
        )
        return
    unread: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            reading.blank += 1
        elif SUMMARY_LINE.fullmatch(line) or NOTES.match(line):
            reading.understood += 1
        else:
            unread.append((number, line))
    if unread:
        yield unread_rows(reading, unread)
