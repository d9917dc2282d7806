"""OTLP trace JSON → spans: the file exporter's JSONL, one document, arrays of documents; base64 or hex ids.

Shapes: https://opentelemetry.io/docs/specs/otlp/ (JSON protobuf encoding: camelCase keys, 64-bit integers as text,
ids as hex; plain protobuf-to-JSON converters write ids as base64 and may keep snake_case keys).
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from ridgeline.signals.span import NO_ATTRS, Span, whole

HEX: Final = re.compile(r"[0-9a-fA-F]*\Z")
SPAN_START: Final = re.compile(r'\{\s*"trace(?:Id|_id)"')
WRAPPERS: Final = ("result", "body", "data", "request")


def hex_id(value: Any, size: int) -> str:
    """An id of `size` bytes as lower-case hex, from hex or base64 text; "" where it is missing, zero or neither."""
    if not isinstance(value, str) or not value:
        return ""
    if len(value) == 2 * size and HEX.match(value):
        text = value.lower()
    else:
        try:
            text = base64.b64decode(value, validate=True).hex()
        except (binascii.Error, ValueError):
            return value[:64]
    return text if text.strip("0") else ""


def plain(value: Any) -> Any:
    """An OTLP AnyValue as a plain value."""
    if not isinstance(value, dict):
        return value
    for kind, inner in value.items():
        match kind:
            case "stringValue" | "boolValue" | "string_value" | "bool_value" | "bytesValue" | "bytes_value":
                return inner
            case "intValue" | "int_value":
                return whole(inner)
            case "doubleValue" | "double_value":
                return inner
            case "arrayValue" | "array_value":
                items = inner.get("values", ()) if isinstance(inner, dict) else ()
                return [plain(item) for item in items] if isinstance(items, list) else []
            case "kvlistValue" | "kvlist_value":
                return attributes(inner.get("values")) if isinstance(inner, dict) else {}
    return None


def attributes(items: Any) -> dict[str, Any]:
    """A list of {key, value} pairs as a mapping; already plain mappings pass."""
    if not items:
        return NO_ATTRS
    if isinstance(items, dict):
        return items
    if not isinstance(items, list):
        return NO_ATTRS
    return {
        item["key"]: plain(item.get("value"))
        for item in items
        if isinstance(item, dict) and isinstance(item.get("key"), str)
    }


def has_spans(document: Any) -> bool:
    """True where a JSON value is an OTLP trace document or holds some."""
    return next(_documents(document), None) is not None


def spans_of(document: Any, line: int) -> Iterator[Span]:
    """Every span of one JSON value; parts of another shape are skipped."""
    for inner in _documents(document):
        for part in _list(inner, "resourceSpans", "resource_spans"):
            resource = part.get("resource")
            attrs = attributes(resource.get("attributes")) if isinstance(resource, dict) else NO_ATTRS
            service = str(attrs.get("service.name") or "")
            scopes = _list(part, "scopeSpans", "scope_spans") or _list(part, "instrumentationLibrarySpans", "")
            for scope in scopes:
                for raw in _list(scope, "spans", ""):
                    yield span_of(raw, line, service)


def salvage(text: str, line: int) -> Iterator[Span]:
    """The complete spans of a document that was cut or damaged."""
    decoder, at = json.JSONDecoder(), 0
    while found := SPAN_START.search(text, at):
        try:
            raw, at = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            at = found.end()
            continue
        if isinstance(raw, dict) and "name" in raw and ("startTimeUnixNano" in raw or "start_time_unix_nano" in raw):
            yield span_of(raw, line, "")


def span_of(raw: dict[str, Any], line: int, service: str) -> Span:
    """One OTLP JSON span."""
    get = raw.get
    status = get("status")
    code = str(status.get("code") or "") if isinstance(status, dict) else ""
    message = str(status.get("message") or "") if isinstance(status, dict) else ""
    error = code in {"STATUS_CODE_ERROR", "2", "ERROR", "Error"}
    return Span(
        trace=hex_id(get("traceId") or get("trace_id"), 16),
        span=hex_id(get("spanId") or get("span_id"), 8),
        parent=hex_id(get("parentSpanId") or get("parent_span_id"), 8),
        name=str(get("name") or ""),
        start_ns=nanoseconds(get("startTimeUnixNano", get("start_time_unix_nano"))),
        end_ns=nanoseconds(get("endTimeUnixNano", get("end_time_unix_nano"))),
        line=line,
        service=service,
        error=error,
        status=message or ("error" if error else ""),
        attrs=attributes(get("attributes")),
        links=tuple(hex_id(link.get("spanId") or link.get("span_id"), 8) for link in _list(raw, "links", "")),
        marks=tuple(
            (
                nanoseconds(mark.get("timeUnixNano", mark.get("time_unix_nano"))),
                str(mark.get("name") or ""),
                attributes(mark.get("attributes")),
            )
            for mark in _list(raw, "events", "")
        ),
    )


def nanoseconds(value: Any) -> int:
    """A 64-bit time as text or number; 0 where it is missing or no such thing."""
    number = whole(value)
    return number if number is not None and number > 0 else 0


def _documents(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, list):
        for item in document:
            yield from _documents(item) if isinstance(item, dict) else ()
    elif isinstance(document, dict):
        if "resourceSpans" in document or "resource_spans" in document:
            yield document
        else:
            for name in WRAPPERS:
                inner = document.get(name)
                if isinstance(inner, dict) and ("resourceSpans" in inner or "resource_spans" in inner):
                    yield inner


def _list(raw: Any, camel: str, snake: str) -> list[dict[str, Any]]:
    if not isinstance(raw, dict):
        return []
    items = raw.get(camel)
    if items is None and snake:
        items = raw.get(snake)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
