"""What a reader gives and what it keeps while reading one source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from sys import float_info
from typing import Any, Final, NamedTuple

import pyarrow as pa

from ridgeline.model.tables import TABLES

ARROW: Final[dict[str, pa.DataType]] = {
    "i64": pa.int64(),
    "f64": pa.float64(),
    "str": pa.string(),
    "bool": pa.bool_(),
    "list<f64>": pa.list_(pa.float64()),
    "list<i64>": pa.list_(pa.int64()),
    "list<str>": pa.list_(pa.string()),
}


LARGEST: Final = float_info.max  # JSON has integers beyond it


class Rows(NamedTuple):
    """Some rows of one table; `data` has a subset of the table's columns, already in their types."""

    table: str
    data: pa.Table


def schema(table: str) -> pa.Schema:
    """The Arrow schema of a table of the bundle."""
    return pa.schema([pa.field(name, ARROW[kind]) for name, kind in TABLES[table].items()])


def rows_of(table: str, columns: Mapping[str, Sequence[Any] | pa.Array | pa.ChunkedArray]) -> Rows:
    """Columns (lists, numpy arrays or Arrow arrays of equal length) → Rows, cast to the table's types.

    Raises KeyError for a column the table does not have: a reader's mistake, not the input's.
    """
    kinds = TABLES[table]
    arrays: dict[str, Any] = {}
    for name, values in columns.items():
        wanted = ARROW[kinds[name]]
        if isinstance(values, pa.Array | pa.ChunkedArray):
            arrays[name] = values if values.type == wanted else values.cast(wanted)
        else:
            arrays[name] = _array(values, wanted)
    return Rows(table, pa.table(arrays))


def _array(values: Sequence[Any], wanted: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, type=wanted, from_pandas=True)
    except (UnicodeEncodeError, OverflowError, pa.ArrowInvalid):
        return pa.array([_fitting(value, wanted) for value in values], type=wanted, from_pandas=True)


def _fitting(value: Any, wanted: pa.DataType) -> Any:
    """A text without halves of surrogate pairs, a number that the column can hold; None for one that it cannot."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple) and pa.types.is_list(wanted):
        return [_fitting(item, wanted.value_type) for item in value]
    if isinstance(value, int | float) and (pa.types.is_integer(wanted) or pa.types.is_floating(wanted)):
        limit = 2.0**63 if pa.types.is_integer(wanted) else LARGEST
        return value if -limit <= value < limit else None
    return value


@dataclass
class Reading:
    """State of reading one source: its number, how to read its times, and what was counted so far.

    `understood` counts lines or records a reader knows, `unparsed` those it does not, `blank` the empty and comment
    lines that are neither. Unread lines are handed over as rows of the table `unread`.
    """

    source: int
    path: str
    tz: tzinfo | None = None  # given with --tz; None: the reader states what it assumed in `notes`
    year: int | None = None  # given with --year
    kind: str = ""
    version: str | None = None
    confidence: str = "high"
    role: str | None = None
    clock: str = "wall"
    lines: int = 0
    blank: int = 0
    understood: int = 0
    unparsed: int = 0
    unparsed_errors: int = 0
    from_ts: float | None = None
    to_ts: float | None = None
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Keep one line for the user (each text once)."""
        if text not in self.notes:
            self.notes.append(text)

    def saw(self, first_ts: float | None, last_ts: float | None) -> None:
        """Widen the span of time this source covers."""
        for ts in (first_ts, last_ts):
            if ts is None or ts != ts:
                continue
            self.from_ts = ts if self.from_ts is None else min(self.from_ts, ts)
            self.to_ts = ts if self.to_ts is None else max(self.to_ts, ts)
