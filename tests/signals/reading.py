"""Read bytes as the product does and give rows as plain mappings."""

from collections import defaultdict
from typing import Any

from ridgeline.signals.read import read
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob

Tables = dict[str, list[dict[str, Any]]]


def tables_of(data: bytes | str, **given: Any) -> tuple[Reading, Tables]:
    """(the reading, table → rows without null columns) of one source."""
    raw = data.encode() if isinstance(data, str) else data
    reading = Reading(7, "given", **given)
    tables: Tables = defaultdict(list)
    for rows in read(Blob("given", None, raw), reading):
        assert rows.data.num_rows > 0
        for row in rows.data.to_pylist():
            tables[rows.table].append({name: value for name, value in row.items() if value is not None})
    return reading, tables
