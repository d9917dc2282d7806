"""Records that are not one JSON object: cut by a collector, two on one line, or for a batch. → canonical JSON texts.

Of a cut record only complete values are kept: a number or word at the cut may have lost its end, and an object that
was not closed is dropped unless it is one of the containers read here (`obj`, `out`, `meta_info`).
"""

import json
import re
from typing import Any, Final

import msgspec

from ridgeline.signals.request_log.shape import KEPT

CUT_NOTE: Final = "{path}: some request-log lines were cut; only values complete before the cut were used"
_PREFIX: Final = re.compile(r"\s*(?:\[[^\]\n]{0,80}\]\s*)?")
_KEY: Final = re.compile(r'\s*"((?:[^"\\]|\\.){1,80})"\s*:\s*')
_COMMA: Final = re.compile(r"\s*([,}])")
_CONTAINERS: Final = frozenset({"obj", "out", "meta_info"})
_INSIDE: Final = re.compile(r"[^\[{]")
_DECODER: Final = json.JSONDecoder()
_TOP: Final = ("timestamp", "event", "rid", "headers", "rank", "running_rids", "queued_rids")
_LIMIT: Final = 8  # records on one line


def records(text: str) -> tuple[list[dict[str, Any]], bool]:
    """(the objects found on a line, whether the last one was cut). Empty: nothing usable."""
    found: list[dict[str, Any]] = []
    at = _skip(text, 0)
    while at < len(text) and len(found) < _LIMIT:
        if _INSIDE.match(text, at):
            return [], False  # goes on as the inside of a text does: a prompt may hold a record, and be cut before it
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            partial = _partial(text, at)
            if partial is not None and partial.get("event"):
                found.append(partial)
                return found, True
            return found, False
        if not isinstance(value, dict):
            return found, False
        found.append(value)
        at = _skip(text, at)
    return found, False


def canonical(record: dict[str, Any]) -> str:
    """A record as JSON text with only the keys that are read, free of what UTF-8 cannot hold."""
    kept: dict[str, Any] = {key: record[key] for key in _TOP if key in record}
    obj = record.get("obj")
    if isinstance(obj, dict):
        kept["obj"] = {key: value for key, value in obj.items() if key in KEPT}
    out = record.get("out")
    if isinstance(out, dict) and isinstance(out.get("meta_info"), dict):
        kept["out"] = {"meta_info": {key: value for key, value in out["meta_info"].items() if key in KEPT}}
    try:
        return msgspec.json.encode(kept).decode()
    except (TypeError, ValueError):  # half a surrogate pair, a key of another type
        return json.dumps(kept, ensure_ascii=False).encode("utf-8", "replace").decode()


def decoded(text: str) -> Any:
    """The JSON value of a text; None where it is none (or null)."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def members(text: str) -> dict[str, Any] | None:
    """The complete members of a JSON object that was cut."""
    return _partial(text, _skip(text, 0))


def _skip(text: str, at: int) -> int:
    found = _PREFIX.match(text, at)
    return found.end() if found else at


def _partial(text: str, at: int) -> dict[str, Any] | None:
    """The complete members of an object whose end is missing; None where it is broken rather than cut."""
    if at >= len(text) or text[at] != "{":
        return None
    kept: dict[str, Any] = {}
    at += 1
    while key := _KEY.match(text, at):
        name, at = key.group(1), key.end()
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            if name in _CONTAINERS and text.startswith("{", at):
                inner = _partial(text, at)
                if inner is not None:
                    kept[name] = inner
            return kept
        after = _COMMA.match(text, end)
        if after is None:
            # Nothing follows the value: only a value that closes itself is known to be whole.
            if isinstance(value, str | list | dict) and not text[end:].strip():
                kept[name] = value
            return kept
        if name in kept:
            return None
        kept[name] = value
        at = after.end()
        if after.group(1) == "}":
            return kept
    return kept


def expanded(record: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str], int, float | None]:
    """A record whose rid is a list → (one record per request, the rids, n, its received time).

    With n > 1 the list holds one rid per choice and the finished records come with rids of their own: one record,
    under the first rid. A batch gives one record per entry.
    """
    rids = [rid for rid in record["rid"] if isinstance(rid, str)]
    obj = record.get("obj")
    obj = obj if isinstance(obj, dict) else {}
    sampling = _entry(obj.get("sampling_params"), 0, len(rids))
    n = sampling.get("n") if isinstance(sampling, dict) else None
    n = n if isinstance(n, int) and n > 0 else 1
    mono = obj.get("received_time_perf") or obj.get("received_time")
    made = []
    for at in range(max(1, len(rids) // n) if rids else 0):
        one = {key: _entry(value, at, len(rids)) for key, value in obj.items() if key in KEPT}
        made.append({**record, "rid": rids[at], "obj": one})
    return made, rids, n, mono if isinstance(mono, float) else None


def _entry(value: Any, at: int, size: int) -> Any:
    return value[at] if isinstance(value, list) and len(value) == size else value
