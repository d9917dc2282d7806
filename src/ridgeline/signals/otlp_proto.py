"""OTLP trace protobuf → spans: one ExportTraceServiceRequest, or many, each behind its length as a varint.

Needs the extra `live` (opentelemetry-proto); without it the file is named in a note and nothing else is lost.
"""

from collections.abc import Iterator
from typing import Any

from ridgeline.signals.rows import Reading
from ridgeline.signals.span import Span
from ridgeline.signals.stream import Blob


def looks_like_otlp(head: bytes) -> bool:
    """True where bytes begin like an ExportTraceServiceRequest, alone or behind its length.

    Field 1 (resource_spans) is 0x0a and a length; inside, field 1 (resource) or 2 (scope_spans) follows.
    """
    return _request_at(head, 0) or (bool(head) and _request_at(head, _varint(head, 0)[1]))


def requests_of(blob: Blob, reading: Reading) -> Iterator[list[Span]]:
    """Spans, one list per request; `line` is the number of the request. Damage ends the reading with a note."""
    try:
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ImportError:
        reading.note(
            f"{reading.path}: OTLP protobuf needs the extra `live`; pip install 'ridgeline[live]' and read it again"
        )
        reading.unparsed += 1
        return
    data = blob.whole(reading)
    pieces = [(0, data)] if _request_at(data, 0) else _delimited(data)
    for number, (at, piece) in enumerate(pieces, 1):
        request = ExportTraceServiceRequest()
        try:
            request.ParseFromString(piece)
        except DecodeError:
            reading.unparsed += 1
            reading.note(f"{reading.path}: protobuf ends early or is damaged at byte {at}; what came before was read")
            return
        reading.lines += 1
        yield list(_spans(request, number))


def _delimited(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        size, start = _varint(data, at)
        yield start, data[start : start + size] if size > 0 else b"\x00"  # no length: not parsed, and said
        at = start + size if size > 0 else len(data)


def _request_at(data: bytes, at: int) -> bool:
    if data[at : at + 1] != b"\x0a":
        return False
    size, start = _varint(data, at + 1)
    return size > 1 and data[start : start + 1] in {b"\x0a", b"\x12"} and _varint(data, start + 1)[0] in range(size)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, index behind it); value -1 where there is none."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            return -1, at
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    return -1, at


def _spans(request: Any, number: int) -> Iterator[Span]:
    for part in request.resource_spans:
        service = str(_attrs(part.resource.attributes).get("service.name", ""))
        for scope in part.scope_spans:
            for raw in scope.spans:
                error = raw.status.code == 2
                yield Span(
                    trace=_id(raw.trace_id),
                    span=_id(raw.span_id),
                    parent=_id(raw.parent_span_id),
                    name=raw.name,
                    start_ns=raw.start_time_unix_nano,
                    end_ns=raw.end_time_unix_nano,
                    line=number,
                    service=service,
                    error=error,
                    status=raw.status.message or ("error" if error else ""),
                    attrs=_attrs(raw.attributes),
                    links=tuple(_id(link.span_id) for link in raw.links),
                    marks=tuple((mark.time_unix_nano, mark.name, _attrs(mark.attributes)) for mark in raw.events),
                )


def _id(value: bytes) -> str:
    text = value.hex()
    return text if text.strip("0") else ""


def _attrs(items: Any) -> dict[str, Any]:
    return {item.key: _value(item.value) for item in items}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return _attrs(value.kvlist_value.values)
    inner = getattr(value, kind)
    return inner.hex() if isinstance(inner, bytes) else inner
