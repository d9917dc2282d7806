"""A log as text → what the log reader makes of it, as plain mappings."""

from collections import defaultdict
from typing import Any

from ridgeline.signals.log.reader import read
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob

Tables = dict[str, list[dict[str, Any]]]


def log(text: str | bytes, **given: Any) -> tuple[Reading, Tables]:
    """(the reading, table → rows without null columns, in order of their lines)."""
    data = text.encode() if isinstance(text, str) else text
    reading = Reading(3, "server.log", **given)
    tables: Tables = defaultdict(list)
    for rows in read(Blob("server.log", None, data), reading):
        for row in rows.data.to_pylist():
            assert row["source"] == 3
            tables[rows.table].append({k: v for k, v in row.items() if v is not None and k != "source"})
    for found in tables.values():
        found.sort(key=lambda row: row["line"])
    assert reading.lines == reading.blank + reading.understood + reading.unparsed
    return reading, tables
