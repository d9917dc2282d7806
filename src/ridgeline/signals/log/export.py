"""Logs inside another format: Docker's json-file, JSON lines of a collector, a CSV or JSON export of a log store.

Each record's message becomes a line again, with the number of the line it stood on. The record's own time is put
before it in the form that `prefixes` knows as a wrapper's.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from ridgeline.signals.lines import I64
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob

MESSAGE: Final = ("log", "message", "msg", "MESSAGE", "@message", "textPayload", "_raw", "line", "body")
TIME: Final = (
    "time", "@timestamp", "timestamp", "Time", "_time", "ts", "__REALTIME_TIMESTAMP", "Timestamp", "date",
)  # fmt: skip
ISO: Final = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?$")
KIBANA: Final = re.compile(r"[A-Z][a-z]{2} \d{1,2}, \d{4} @ [\d:.]+$")
OWN_EVENT: Final = re.compile(r'^\s*\{"timestamp": "[^"]*", "event": "')  # SGLang's own JSON lines are no wrapper
DOCUMENT: Final = re.compile(r"\s*(?:\{|\[\s*(?:\{|$))")  # `[2026-…` is a log
BATCH_LINES: Final = 20_000
PARTS: Final = 4096  # of 16 KiB: a line of 64 MiB


def records(blob: Blob, reading: Reading) -> Iterator[tuple[I64, bytes]] | None:
    """(line numbers, lines) runs of an export; None where the source is a plain log."""
    head = blob.head(1 << 16).decode("utf-8", "replace").lstrip("\ufeff")
    first = next((line for line in head.splitlines() if line.strip()), "")
    if first.lstrip().startswith("{") and not OWN_EVENT.match(first):
        value = _json(first)
        if isinstance(value, dict) and _message(value) is not None:
            return _packed(_json_lines(blob, reading))
    if DOCUMENT.match(first) and '"' in head and not OWN_EVENT.match(first):
        document = _json(blob.whole(reading).decode("utf-8", "replace"))
        found = _hits(document)
        if found:
            return _packed(_of_records(found))
    names = [name.strip().strip('"') for name in first.split(",")]
    if len(names) >= 2 and any(name in MESSAGE for name in names):
        return _packed(_csv_lines(blob, reading))
    return None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _hits(document: Any) -> list[Mapping[str, Any]]:
    if isinstance(document, dict):
        hits = document.get("hits")
        document = hits.get("hits") if isinstance(hits, dict) else hits
    if not isinstance(document, list) or not document:
        return []
    found = [item.get("_source", item) for item in document if isinstance(item, dict)]
    return [item for item in found if isinstance(item, dict) and _message(item) is not None]


def _message(record: Mapping[str, Any]) -> str | None:
    return next((record[name] for name in MESSAGE if isinstance(record.get(name), str)), None)


def _stamp(record: Mapping[str, Any]) -> str:
    value = next((record[name] for name in TIME if isinstance(record.get(name), str)), "").strip()
    if KIBANA.match(value):
        return value + "  "
    found = ISO.match(value)
    if not found:
        return ""
    date, clock, fraction, zone = found.groups()
    if zone is None:
        return f"{date} {clock} "
    zone = zone if len(zone) != 5 else f"{zone[:3]}:{zone[3:]}"
    return f"{date}T{clock}.{(fraction or '').ljust(6, '0')}{zone} "


def _json_lines(blob: Blob, reading: Reading) -> Iterator[tuple[int, str]]:
    """Docker cuts messages at 16 KiB: a part without a newline at its end goes on in the next record of its stream."""
    started: dict[str, tuple[int, list[str]]] = {}
    for first, data in blob.chunks(reading):
        for number, raw in enumerate(data.decode("utf-8", "replace").splitlines(), first):
            if not raw.strip():
                continue
            value = _json(raw)
            text = _message(value) if isinstance(value, dict) else None
            if text is None:
                yield number, raw  # not of the export's form: read as it stands
                continue
            stream = str(value.get("stream")) if "log" in value and "stream" in value else ""
            if stream in started:
                started[stream][1].append(text)
            elif stream and not text.endswith("\n"):
                started[stream] = (number, [_stamp(value), text])
            else:
                yield number, _stamp(value) + text
            if stream in started and (text.endswith("\n") or len(started[stream][1]) > PARTS):
                at, parts = started.pop(stream)
                yield at, "".join(parts)
    for at, parts in sorted(started.values()):
        yield at, "".join(parts)


def _of_records(found: list[Mapping[str, Any]]) -> Iterator[tuple[int, str]]:
    for number, record in enumerate(found, 1):
        yield number, _stamp(record) + (_message(record) or "")


def _csv_lines(blob: Blob, reading: Reading) -> Iterator[tuple[int, str]]:
    text = (line for _, data in blob.chunks(reading) for line in data.decode("utf-8", "replace").splitlines(True))
    rows = csv.reader(line.replace("\0", "") for line in text)
    names: list[str] = []
    while True:
        at = rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as e:
            reading.note(f"{reading.path}:{at}: not a CSV row ({e}); skipped")
            continue
        if not names:
            names = [name.strip("\ufeff ") for name in row]
            reading.understood += 1
            reading.lines += 1
            continue
        record = dict(zip(names, row, strict=False))
        yield at, _stamp(record) + (_message(record) or ",".join(row))


def _packed(found: Iterator[tuple[int, str]]) -> Iterator[tuple[I64, bytes]]:
    numbers: list[int] = []
    lines: list[str] = []
    for number, text in found:
        for part in text.rstrip("\r\n").split("\n"):
            numbers.append(number)
            lines.append(part.replace("\r", " "))
        if len(lines) >= BATCH_LINES:
            yield np.array(numbers, np.int64), ("\n".join(lines) + "\n").encode("utf-8", "replace")
            numbers, lines = [], []
    if lines:
        yield np.array(numbers, np.int64), ("\n".join(lines) + "\n").encode("utf-8", "replace")
