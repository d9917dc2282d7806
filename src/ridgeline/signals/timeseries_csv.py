"""A CSV with a time column and one column per figure, as benchmark harnesses sample an engine → `series`, `samples`.

Columns of vLLM's figures get the canonical names (`prompt_throughput` tokens/s, `running`, `waiting`, `kv_cache_pct`
in per cent → share); any other numeric column keeps its own. The time may be epoch seconds, an ISO time, or seconds
since the run began: those stay relative, which is said, and `ts` is null.
"""

import csv
import io
from collections.abc import Iterator
from typing import Final

from ridgeline.signals.client.record import WALL_FROM, stamp
from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.signals.stream import Blob
from ridgeline.signals.unread import unread_rows

TIMES: Final = frozenset({"t", "ts", "time", "timestamp", "@timestamp"})
# Column → (canonical name, factor).
NAMES: Final[dict[str, tuple[str, float]]] = {
    "running": ("num_requests_running", 1.0),
    "waiting": ("num_requests_waiting", 1.0),
    "kv_cache_pct": ("kv_cache_usage_perc", 0.01),
    "kv_cache_usage": ("kv_cache_usage_perc", 1.0),
    "prompt_throughput": ("avg_prompt_throughput_toks_per_s", 1.0),
    "gen_throughput": ("avg_generation_throughput_toks_per_s", 1.0),
}


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """The rows of one CSV. A line with another number of fields, or whose time is none, is `unread`."""
    columns: list[tuple[int, float]] = []  # per field: series number (0: none) and factor
    at_time = -1
    for first, chunk in blob.chunks(reading):
        unread: list[tuple[int, str]] = []
        kept: list[tuple[int, float, float | None, int]] = []
        lines = chunk.decode("utf-8", "replace").removesuffix("\n").split("\n")
        reading.lines += len(lines)
        for number, line in enumerate(lines, first):
            fields = [field.strip() for field in _fields(line.removeprefix("\ufeff"))]
            if not any(fields):
                reading.blank += 1
            elif not columns:
                at_time, names = _head(fields)
                columns = [(place, factor) for place, _, factor, _ in names]
                reading.understood += 1
                yield _series(names, reading)
            elif (found := _samples(fields, columns, at_time, number, reading)) is None:
                unread.append((number, line))
            else:
                kept += found
                reading.understood += 1
        if kept:
            yield _rows(kept, reading)
        if unread:
            yield unread_rows(reading, unread)


def _fields(line: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(line.rstrip("\r"))), [])
    except csv.Error:
        return [line]


def _head(fields: list[str]) -> tuple[int, list[tuple[int, str, float, str]]]:
    """(which field is the time, per field: series number or 0, canonical name, factor, raw name)."""
    at_time = next((i for i, name in enumerate(fields) if name.lower() in TIMES), 0)
    names = []
    for i, raw in enumerate(fields):
        name, factor = NAMES.get(raw.lower(), (raw, 1.0))
        names.append((0 if i == at_time else i + 1, name, factor, raw))
    return at_time, names


def _series(names: list[tuple[int, str, float, str]], reading: Reading) -> Rows:
    some = [row for row in names if row[0]]
    return rows_of(
        "series",
        {
            "series": [row[0] for row in some],
            "name": [row[1] for row in some],
            "raw": [row[3] for row in some],
            "kind": ["gauge"] * len(some),
            "labels": ["{}"] * len(some),
            "source": [reading.source] * len(some),
        },
    )


def _samples(
    fields: list[str], columns: list[tuple[int, float]], at_time: int, line: int, reading: Reading
) -> list[tuple[int, float, float | None, int]] | None:
    if len(fields) != len(columns):
        return None
    raw = _number(fields[at_time])
    ts = stamp(raw if raw is not None else fields[at_time], reading)
    if ts is None:
        return None
    if ts < WALL_FROM:
        reading.clock = "relative"
        reading.note(f"{reading.path}: times count from the start of the run; the samples have an order and no time")
        ts = None
    reading.saw(ts, ts)
    made = []
    for text, (place, factor) in zip(fields, columns, strict=True):
        value = _number(text)
        if place and value is not None:
            made.append((place, value * factor, ts, line))
    return made


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value - value == 0 else None


def _rows(kept: list[tuple[int, float, float | None, int]], reading: Reading) -> Rows:
    return rows_of(
        "samples",
        {
            "series": [place for place, *_ in kept],
            "value": [value for _, value, _, _ in kept],
            "ts": [ts for _, _, ts, _ in kept],
            "scrape": [line for *_, line in kept],
            "source": [reading.source] * len(kept),
            "line": [line for *_, line in kept],
        },
    )
