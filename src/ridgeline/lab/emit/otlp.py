"""OTLP JSON lines as a file exporter writes them: ids in base64, times in nanoseconds as text."""

import base64
import json
from dataclasses import dataclass
from typing import Any

from ridgeline.lab.emit.meta import hash_text

INTERNAL = "SPAN_KIND_INTERNAL"


@dataclass(frozen=True)
class Span:
    """One span. Ids are texts that `ident` turns into bytes; ``parent`` and ``link`` name other spans of the trace."""

    trace: str
    id: str
    name: str
    start_ts: float
    end_ts: float
    parent: str | None = None
    link: str | None = None
    attrs: tuple[tuple[str, str | int | float], ...] = ()
    kind: str = INTERNAL
    events: tuple[tuple[float, str], ...] = ()
    failed: str | None = None


def ident(text: str, size: int) -> str:
    """A made-up id of ``size`` bytes in base64; a trace id's upper half is zero, as SGLang's generator leaves it."""
    low = hash_text(text).to_bytes(8, "big")
    return base64.b64encode(low if size == 8 else bytes(8) + low).decode()


def nanoseconds(ts: float) -> str:
    """Wall seconds as a decimal text of nanoseconds."""
    return str(round(ts * 1e6) * 1000)


def attribute(key: str, value: str | int | float) -> dict[str, Any]:
    """A key with a typed value."""
    if isinstance(value, str):
        return {"key": key, "value": {"stringValue": value}}
    if isinstance(value, int):
        return {"key": key, "value": {"intValue": str(value)}}
    return {"key": key, "value": {"doubleValue": value}}


def span_json(s: Span) -> dict[str, Any]:
    """One span as the protobuf JSON form has it."""
    trace = ident(s.trace, 16)
    out: dict[str, Any] = {"traceId": trace, "spanId": ident(s.trace + s.id, 8)}
    if s.parent is not None:
        out["parentSpanId"] = ident(s.trace + s.parent, 8)
    out |= {"name": s.name, "kind": s.kind, "startTimeUnixNano": nanoseconds(s.start_ts),
            "endTimeUnixNano": nanoseconds(s.end_ts)}  # fmt: skip
    if s.attrs:
        out["attributes"] = [attribute(k, v) for k, v in s.attrs]
    if s.events:
        out["events"] = [{"timeUnixNano": nanoseconds(t), "name": name} for t, name in s.events]
    if s.link is not None:
        out["links"] = [{"traceId": trace, "spanId": ident(s.trace + s.link, 8), "flags": 256}]
    out["status"] = {"code": "STATUS_CODE_ERROR", "message": s.failed} if s.failed else {}
    out["flags"] = 256
    return out


def line(spans: list[Span], service: str, instance: str, scope: str) -> str:
    """One export request with the spans of one process."""
    resource = [
        attribute("telemetry.sdk.language", "python"),
        attribute("telemetry.sdk.name", "opentelemetry"),
        attribute("telemetry.sdk.version", "1.45.2"),
        attribute("service.instance.id", instance),
        attribute("service.name", service),
    ]
    body = {"scope": {"name": scope}, "spans": [span_json(s) for s in spans]}
    record = {"recv_ts": max(s.end_ts for s in spans) + 0.5, "resourceSpans": [
        {"resource": {"attributes": resource}, "scopeSpans": [body]}
    ]}  # fmt: skip
    return json.dumps(record)
