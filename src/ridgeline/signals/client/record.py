"""Rows of the client's view: what every client format is brought to, and the small readings they share."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median
from typing import Any, Final

from ridgeline.model.tables import REQUEST
from ridgeline.signals.rows import LARGEST, Reading, Rows, rows_of

BATCH: Final = 20_000
WALL_FROM: Final = 1e9  # seconds; a smaller number is no epoch time
TEXT_LIMIT: Final = 300
RELATIVE_LAG: Final = "sent less planned"  # never a row: `lag_rows` makes `send_lag_s` of it
# Epoch times in milliseconds, microseconds and nanoseconds are told by their size.
SCALES: Final = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))


@dataclass
class Collected:
    """Records and attributes of one client file, handed over in batches."""

    reading: Reading
    records: list[dict[str, Any]] = field(default_factory=list)
    attrs: list[tuple[int, str | None, str, Any]] = field(default_factory=list)
    relative: list[tuple[int, str | None, float]] = field(default_factory=list)

    def add(self, line: int, record: Mapping[str, Any], attrs: Mapping[str, Any]) -> None:
        """Keep one request; counts it as understood."""
        self.reading.understood += 1
        self.records.append({**record, "line": line})
        self.reading.saw(record.get("received_ts"), record.get("finished_ts"))
        rid = record.get("rid")
        if RELATIVE_LAG in attrs:
            self.relative.append((line, rid, attrs[RELATIVE_LAG]))
        names = [name for name in sorted(attrs) if attrs[name] is not None and name != RELATIVE_LAG]
        self.attrs.extend((line, rid, name, attrs[name]) for name in names)

    def full(self) -> bool:
        """Whether it is time to hand over a batch."""
        return len(self.records) >= BATCH

    def rows(self) -> Iterator[Rows]:
        """Everything kept since the last call."""
        if self.records:
            n = len(self.records)
            names = [name for name in REQUEST if any(record.get(name) is not None for record in self.records)]
            columns: dict[str, Any] = {name: [record.get(name) for record in self.records] for name in names}
            columns |= {
                "role": ["client"] * n,
                "kind": ["client"] * n,
                "event": ["finished"] * n,
                "source": [self.reading.source] * n,
                "line": [record["line"] for record in self.records],
            }
            yield rows_of("records", columns)
        if self.attrs:
            yield rows_of("request_attrs", self._attr_columns())
        self.records, self.attrs = [], []

    def lag_rows(self) -> Iterator[Rows]:
        """`send_lag_s` where plans count from the run's start: the promptest request is taken to be on time."""
        if self.relative:
            start = min(offset for *_, offset in self.relative)
            self.attrs = [(line, rid, "send_lag_s", offset - start) for line, rid, offset in self.relative]
            self.relative = []
            yield from self.rows()

    def _attr_columns(self) -> dict[str, Any]:
        numeric = [isinstance(value, int | float) and not isinstance(value, bool) for *_, value in self.attrs]
        return {
            "line": [line for line, *_ in self.attrs],
            "rid": [rid for _, rid, _, _ in self.attrs],
            "name": [name for _, _, name, _ in self.attrs],
            "value": [None if n else text_of(row[3]) for n, row in zip(numeric, self.attrs, strict=True)],
            "number": [float(row[3]) if n else None for n, row in zip(numeric, self.attrs, strict=True)],
            "source": [self.reading.source] * len(self.attrs),
        }


def text_of(value: Any) -> str:
    """An attribute's value as text: true and false as JSON writes them."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)[:TEXT_LIMIT]


def number(value: Any) -> float | None:
    """A finite number, or None; true and false are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= LARGEST else None


def count(value: Any) -> int | None:
    """A whole number that is not negative, or None."""
    found = number(value)
    return int(found) if found is not None and found >= 0 and found == int(found) and found < 2**53 else None


def first_of(values: Mapping[str, Any], names: Sequence[str]) -> Any:
    """The first of some keys that is there and not null."""
    return next((values[name] for name in names if values.get(name) is not None), None)


def stamp(value: Any, reading: Reading) -> float | None:
    """Epoch seconds of a number in s, ms, µs or ns, or of an ISO text; a small number stays as it is."""
    found = number(value)
    if found is not None:
        return next((found * scale for least, scale in SCALES if found >= least), found)
    if not isinstance(value, str):
        return None
    try:
        when = datetime.fromisoformat(value)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=reading.tz or UTC)
        if reading.tz is None:
            reading.clock = "naive"
            reading.note(f"{reading.path}: times carry no zone; read as UTC (give --tz if the clock was elsewhere)")
    return when.timestamp()


def timed(
    sent: float | None, first: float | None, last: float | None, end: float | None, reading: Reading
) -> dict[str, Any]:
    """Stamps and the durations between them. Times that are no epoch times give durations only."""
    known = [value for value in (sent, first, last, end) if value is not None]
    wall = bool(known) and all(value >= WALL_FROM for value in known)
    made: dict[str, Any] = {"ttft_s": less(first, sent), "e2e_s": less(end, sent)}
    if wall:
        made |= {"received_ts": sent, "first_token_ts": first, "last_token_ts": last, "finished_ts": end}
        made["clock"] = "wall"
    elif known:
        made["clock"] = "monotonic"
        reading.note(f"{reading.path}: times are no epoch times; only the durations between them were used")
    return made


def less(later: float | None, earlier: float | None) -> float | None:
    """later - earlier; None where one is missing or time would run backwards."""
    return later - earlier if later is not None and earlier is not None and later >= earlier else None


def gaps(values: Any, scale: float, chunks: int | None, reading: Reading) -> dict[str, Any]:
    """`itl_max_s` and `itl_p50_s` of a list of gaps between chunks.

    A list shorter than the stream (a client that keeps only so many) says nothing of the longest gap.
    """
    if not isinstance(values, list):
        return {}
    found = [one * scale for value in values if (one := number(value)) is not None and one >= 0]
    if not found:
        return {}
    if chunks is not None and len(found) < chunks - 1:
        reading.note(f"{reading.path}: some streams list fewer gaps than chunks; their longest gap is not known")
        return {"itl_p50_s": median(found)}
    return {"itl_max_s": max(found), "itl_p50_s": median(found)}


def per_token(first: float | None, last: float | None, tokens: int | None) -> float | None:
    """Mean time per output token behind the first."""
    span = less(last, first)
    return span / (tokens - 1) if span is not None and tokens is not None and tokens > 1 else None


def ended(status: int | None, error: str | None, aborted: bool, done: bool) -> dict[str, Any]:
    """`state`, `status_code` and `abort_message` of a request as its client saw it end."""
    words = (error or "").lower()
    if "queue is full" in words or status == 429:
        state = "rejected"
    elif aborted or words.startswith("cancel"):
        state = "aborted"
    elif status is not None and 400 <= status < 500:
        state = "rejected"
    elif error or (status is not None and status >= 500):
        state = "error"
    else:
        state = "finished" if done else "unfinished"
    return {"state": state, "status_code": status, "abort_message": error[:TEXT_LIMIT] if error else None}


def error_text(value: Any) -> str | None:
    """The message inside an error: a text, an object with `message`, or an OpenAI error body as JSON text."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value or None
    if isinstance(value, dict):
        inner = value.get("error")
        value = first_of(value, ("message", "detail", "type")) or (error_text(inner) if inner else None)
    return str(value) if value else None
