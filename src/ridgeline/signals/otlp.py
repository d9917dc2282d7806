"""OpenTelemetry traces in files: OTLP JSON and JSONL (also wrapped with a receive time), and OTLP protobuf.

Protobuf (one ExportTraceServiceRequest, or many, each behind its length as a varint) needs the extra `live`.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from ridgeline.signals.otlp_json import has_spans, salvage, spans_of
from ridgeline.signals.otlp_proto import looks_like_otlp, requests_of
from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.signals.span import Span
from ridgeline.signals.stream import Blob
from ridgeline.signals.tracetree import Forest

PROBE_LINES: Final = 20
TEXT_CHARS: Final = 500


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """Rows of `spans`, `stages` and `records` of one trace file; broken lines go to `unread` with a note."""
    head = blob.head()
    forest = Forest(reading)
    if looks_like_otlp(head):
        for spans in requests_of(blob, reading):
            yield from forest.add(spans)
    elif _by_line(head):
        for first, chunk in blob.chunks(reading):
            lines = chunk.removesuffix(b"\n").split(b"\n")
            reading.lines += len(lines)
            for offset, raw in enumerate(lines):
                yield from _line(forest, reading, first + offset, raw)
    else:
        data = blob.whole(reading)
        reading.lines += data.count(b"\n") + 1
        yield from _line(forest, reading, 1, data)
    yield from forest.finish()


def _by_line(head: bytes) -> bool:
    lines = [line for line in head.split(b"\n") if line.strip()]
    if len(lines) < 2:
        return True
    return any(_decode(line) is not None for line in lines[:PROBE_LINES] if len(line) > 2)


def _decode(raw: bytes) -> Any:
    """The JSON value if it is an OTLP document, else None."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if has_spans(value) else None


def _line(forest: Forest, reading: Reading, line: int, raw: bytes) -> Iterator[Rows]:
    if not raw.strip().strip(b"[],"):
        reading.blank += 1
        return
    value = _decode(raw)
    if value is None and raw.rstrip().endswith(b","):  # an array written one document per line
        value = _decode(raw.rstrip()[:-1])
    spans: list[Span] = list(spans_of(value, line)) if value is not None else []
    if value is None:
        text = raw.decode("utf-8", "replace")
        spans = list(salvage(text, line))
        reading.unparsed += 1
        what = f"{len(spans)} whole spans of it were read" if spans else "it was skipped"
        reading.note(f"{reading.path}:{line}: no complete OTLP JSON ({what}); the file may be cut there")
        yield rows_of(
            "unread",
            {"source": [reading.source], "line": [line], "text": [text[:TEXT_CHARS]], "severity": [None]},
        )
    yield from forest.add(spans)
