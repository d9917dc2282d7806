"""Jaeger's query and UI JSON: `data[].spans` with references, tags, logs and processes.

Shape: Jaeger's public API answer for /api/traces (times in microseconds, FOLLOWS_FROM references for span links).
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.signals.span import Span, whole
from ridgeline.signals.stream import Blob
from ridgeline.signals.tracetree import Forest

ERRORS: Final = {"true", "error", "1", "status_code_error"}


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """Rows of `spans`, `stages` and `records`; `line` is the number of the span in the file."""
    data = blob.whole(reading)
    reading.lines += data.count(b"\n") + 1
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        reading.unparsed += 1
        reading.note(f"{reading.path}: no complete Jaeger JSON ({e}); export the trace again")
        text = data[:500].decode("utf-8", "replace")
        yield rows_of("unread", {"source": [reading.source], "line": [1], "text": [text], "severity": [None]})
        return
    forest = Forest(reading)
    yield from forest.add(spans_of(document))
    yield from forest.finish()


def spans_of(document: Any) -> Iterator[Span]:
    """Every span of a Jaeger answer, of one trace of it, or of a list of traces."""
    number = 0
    for trace in _traces(document):
        processes = trace.get("processes")
        processes = processes if isinstance(processes, dict) else {}
        for raw in trace["spans"]:
            if isinstance(raw, dict):
                number += 1
                yield _span(raw, processes, number)


def _traces(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, dict) and isinstance(document.get("data"), list | dict):
        document = document["data"]
    for trace in document if isinstance(document, list) else [document]:
        if isinstance(trace, dict) and isinstance(trace.get("spans"), list):
            yield trace


def _span(raw: dict[str, Any], processes: dict[str, Any], number: int) -> Span:
    tags = _tags(raw.get("tags"))
    parent, links = str(raw.get("parentSpanID") or ""), []
    for reference in _dicts(raw.get("references")):
        target = str(reference.get("spanID") or "").lower()
        if reference.get("refType") == "CHILD_OF" and parent.lower() in {"", target}:
            parent = target
        else:
            links.append(target)
    process = processes.get(str(raw.get("processID")), raw.get("process"))
    service = str(process.get("serviceName") or "") if isinstance(process, dict) else ""
    start_ns = (whole(raw.get("startTime")) or 0) * 1000
    error = str(tags.get("error", "")).lower() in ERRORS or str(tags.get("otel.status_code", "")).lower() in ERRORS
    return Span(
        trace=str(raw.get("traceID") or "").lower(),
        span=str(raw.get("spanID") or "").lower(),
        parent=parent.lower(),
        name=str(raw.get("operationName") or ""),
        start_ns=start_ns,
        end_ns=start_ns + (whole(raw.get("duration")) or 0) * 1000,
        line=number,
        service=service,
        error=error,
        status=str(tags.get("otel.status_description") or ("error" if error else "")),
        attrs=tags,
        links=tuple(links),
        marks=tuple(_mark(log) for log in _dicts(raw.get("logs"))),
    )


def _mark(log: dict[str, Any]) -> tuple[int, str, dict[str, Any]]:
    fields = _tags(log.get("fields"))
    return (whole(log.get("timestamp")) or 0) * 1000, str(fields.get("event") or fields.get("message") or ""), fields


def _dicts(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _tags(items: Any) -> dict[str, Any]:
    return {item["key"]: item.get("value") for item in _dicts(items) if isinstance(item.get("key"), str)}
