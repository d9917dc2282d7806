"""The text form of the request log (SIGNALS §3.4) → canonical JSON records.

`Receive: obj=GenerateReqInput(…)`, `Receive OpenAI: obj={…}`, `Finish: obj=…[, headers={…}], out={…}`. Keys inside
dicts are printed without escaping, so a hostile key could fake structure: a line that does not read as one whole
record from the left to its very end, that names a field twice, or whose two ids differ, is not used at all.
"""

import re
from typing import Any, Final, NamedTuple

from ridgeline.signals.request_log.pyrepr import TRUNCATED, Broken, Cut, Ints, fields

_NESTED: Final = frozenset({"meta_info"})
_CALL: Final = re.compile(r"[A-Za-z_]\w*\(")
_HEAD: Final = re.compile(r"(Receive|Receive OpenAI|Finish): obj=")
_EVENTS: Final = {
    "Receive": "request.received",
    "Receive OpenAI": "request.received.openai",
    "Finish": "request.finished",
}


class TextRecord(NamedTuple):
    """A record in JSON's form, and whether its line was cut."""

    record: dict[str, Any]
    cut: bool


def text_record(body: str) -> TextRecord | None:
    """The record of one line without its time prefix; None where it is none or cannot be trusted."""
    head = _HEAD.match(body)
    if head is None:
        return None
    obj: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    try:
        end = _object(body, head.end(), obj)
        cut = False
        if head.group(1) == "Finish" or end < len(body):
            end = _tail(body, end, extra)
        if end != len(body.rstrip()):
            return None
    except Cut:
        cut = True
    except (Broken, RecursionError):
        return None
    record: dict[str, Any] = {"event": _EVENTS[head.group(1)], "obj": _plain(obj), **_plain(extra)}
    rid = record["obj"].get("rid")
    if rid is not None:
        record["rid"] = rid
    out = record.get("out")
    meta = out.get("meta_info") if isinstance(out, dict) else None
    if isinstance(meta, dict) and isinstance(rid, str) and meta.get("id", rid) != rid:
        return None
    return TextRecord(record, cut)


def _object(body: str, at: int, into: dict[str, Any]) -> int:
    if body.startswith("{", at):
        return fields(body, at + 1, into, frozenset(), False)
    call = _CALL.match(body, at)
    if call is None:
        raise Cut if len(body) - at < 80 and "(" not in body[at:] else Broken
    return fields(body, call.end(), into, frozenset(), True)


def _tail(body: str, at: int, into: dict[str, Any]) -> int:
    """`, headers={…}` and `, out={…}` behind the object."""
    while at < len(body.rstrip()):
        for name in ("headers", "out"):
            start = f", {name}={{"
            if body.startswith(start, at):
                if name in into:
                    raise Broken
                inner: dict[str, Any] = {}
                into[name] = inner
                at = fields(body, at + len(start), inner, _NESTED, False)
                break
        else:
            raise Cut if any(f", {name}={{".startswith(body[at:]) for name in ("headers", "out")) else Broken
    if "out" not in into and not body.startswith("Receive"):
        raise Cut
    return at


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Without what was truncated; floats that JSON has no word for become null."""
    made: dict[str, Any] = {}
    for key, value in values.items():
        if value is TRUNCATED or (isinstance(value, float) and value - value != 0):
            continue
        if isinstance(value, dict):
            made[key] = _plain(value)
        elif isinstance(value, list):
            made[key] = _item(value)
        elif isinstance(value, str | int | float) or value is None:
            made[key] = value
    return made


def _item(value: Any) -> Any:
    if isinstance(value, dict):
        return _plain(value)
    if isinstance(value, Ints):
        return value
    if isinstance(value, list):
        return [_item(item) for item in value]
    if value is TRUNCATED:
        return "..."
    return value if isinstance(value, str | int | float) or value is None else None
