"""Request logger: text of 0.5.3, bare JSON of 0.5.9, prefixed JSON of 0.5.23 (SIGNALS §3)."""

import json
from typing import Any

from ridgeline.lab.emit.meta import asked, meta_info
from ridgeline.lab.emit.model import Line, Request, Server
from ridgeline.lab.emit.stamp import iso, prefix

KEEP_IDS = 2048
"""Longest list level 2 shows whole; longer ones keep their first and last 1024 entries."""


def cut(ids: list[int]) -> list[Any]:
    """A list as level 2 logs it."""
    return ids if len(ids) <= KEEP_IDS else [*ids[:1024], "...", *ids[-1024:]]


def shown(server: Server, r: Request) -> dict[str, Any]:
    """The request object as logged."""
    obj = asked(server, r)
    if "input_ids" in obj:
        obj["input_ids"] = cut(obj["input_ids"])
    return obj


def headers(server: Server, r: Request) -> dict[str, str] | None:
    """Logged headers: only those on the allow-list (0.5.9 on)."""
    return {"x-smg-routing-key": r.routing_key} if server.at > 0 and r.routing_key else None


def json_line(server: Server, ts: float, event: str, r: Request, out: dict[str, Any] | None) -> Line:
    """One JSON event; 0.5.23 puts a time in front of it."""
    record: dict[str, Any] = {"timestamp": iso(ts), "event": event, "rid": r.rid, "obj": shown(server, r)}
    found = headers(server, r)
    if found:
        record["headers"] = found
    if out is not None:
        record["out"] = out
    return Line(ts, (prefix(server, ts) if server.at == 2 else "") + json.dumps(record))


def received(server: Server, r: Request) -> Line:
    """The line written when a request was taken in."""
    if server.at == 0:
        return Line(r.received_ts, f"{prefix(server, r.received_ts)}Receive: obj={object_text(shown(server, r))}")
    return json_line(server, r.received_ts, "request.received", r, None)


def finished(server: Server, r: Request) -> Line:
    """The line written when its last piece left the API server."""
    assert r.finished_ts is not None
    out: dict[str, Any] = {"meta_info": meta_info(server, r)}
    if r.input_ids is not None:
        out = {"text": None, "output_ids": list(r.output_ids or ()), **out}
        if server.at == 0:
            del out["text"], out["output_ids"]
    if server.at == 0:
        text = f"Finish: obj={object_text(shown(server, r))}, out={out!r}"
        return Line(r.finished_ts, prefix(server, r.finished_ts) + text)
    return json_line(server, r.finished_ts, "request.finished", r, out)


def object_text(obj: dict[str, Any]) -> str:
    """``GenerateReqInput(field=repr, …)``."""
    return "GenerateReqInput(" + ", ".join(f"{k}={v!r}" for k, v in obj.items()) + ")"


def exported(server: Server, r: Request) -> str:
    """One line of an exporter file: parameters as JSON inside JSON, then meta_info flattened (SIGNALS §4)."""
    given = {
        k: v for k, v in asked(server, r).items() if v is not None and k not in ("input_ids", "text", "video_data")
    }
    if server.at == 1:
        given["received_time_perf"] = given["received_time"] - 1_792_000_000
    return json.dumps({"request_parameters": json.dumps(given), **meta_info(server, r)})
