"""One answer to a request, or an API error, saved as JSON → `events`, and a `records` row where it names the request.

Shapes: SGLang's `/generate` answer (`text`, `meta_info`), OpenAI-style errors (`{"error": {…}}`, `{"object":
"error"}`). A failed request often has HTTP status 200 outside and an abort inside. Text after the JSON (a shell
prompt, more of the terminal) is read as a log.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from ridgeline.signals.answers import I64_LIMIT, decoded, real, whole
from ridgeline.signals.log import reader as log
from ridgeline.signals.log.unread import template
from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.signals.stream import Blob

# What the message says → kind of event; the first that fits. Anything else is request-error.
MESSAGES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r"bootstrap[_ ](?:room|host).{0,60}(?:missing|required|None\b|not )", "transfer-config"),
        (r"disaggregated request received without", "transfer-config"),
        (r"KVTransferError|Failed to get kvcache|transfer failed", "transfer-failed"),
        (r"bootstrap failed|KVBootstrap", "bootstrap-failed"),
        (r"queue (?:is )?full|too many (?:requests|queued)|maximum (?:queue|number of queued)", "queue-full"),
        (r"longer than|exceed\w* .{0,40}(?:context|length|max)|too long", "request-too-large"),
        (r"timed? ?out|timeout", "request-timeout"),
    )
)
ROOM: Final = re.compile(r"bootstrap_room=(\d{1,20})\b")


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """Rows of `events` and `records`, and those of the log reader for the text that is not JSON."""
    text = blob.whole(reading).decode("utf-8", "replace")
    rest: list[str] = []
    events: list[dict[str, Any]] = []
    records: list[dict[str, Any]] = []
    for at, end, value in decoded(text):
        line = text.count("\n", 0, at) + 1
        found = value if isinstance(value, list) else [value]
        if value is None or not any(_message(item, line, events, records) for item in found):
            rest.append(text[at:end])
            continue
        reading.understood += 1
        # Lines keep their numbers: what was read is replaced by nothing.
        rest.append("\n" * text.count("\n", at, end))
    yield from _tables(events, records, reading)
    left = "".join(rest)
    lines = text.count("\n") + (not text.endswith("\n"))
    if left.strip():
        yield from log.read(Blob(blob.shown, None, left.encode()), reading)
    reading.lines = max(reading.lines, lines)


def _message(value: Any, line: int, events: list[dict[str, Any]], records: list[dict[str, Any]]) -> bool:
    """Take one answer; False where it is none."""
    if not isinstance(value, dict):
        return False
    meta = value.get("meta_info")
    if isinstance(meta, dict):
        records.append(_record(meta, line))
        reason = meta.get("finish_reason")
        if isinstance(reason, dict) and reason.get("type") == "abort":
            events.append(
                _event(str(reason.get("message") or ""), whole(reason.get("status_code")), meta.get("id"), line)
            )
        return True
    error = value.get("error")
    if isinstance(error, dict) or value.get("object") == "error":
        said = error if isinstance(error, dict) else value
        events.append(_event(str(said.get("message") or ""), whole(said.get("code")), value.get("id"), line))
        return True
    if isinstance(error, str) or (value.keys() == {"detail"} and isinstance(value["detail"], str)):
        events.append(_event(error if isinstance(error, str) else value["detail"], None, None, line))
        return True
    return False


def _event(message: str, status: int | None, rid: Any, line: int) -> dict[str, Any]:
    kind = next((kind for pattern, kind in MESSAGES if pattern.search(message)), "request-error")
    if status == 400 and kind == "request-error":
        kind = "request-invalid"
    room = ROOM.search(message)
    number = int(room[1]) if room and int(room[1]) < I64_LIMIT else None
    return {
        "kind": kind,
        "severity": "warning" if kind in ("queue-full", "request-invalid", "request-too-large") else "error",
        "rid": rid if isinstance(rid, str) else None,
        "room": number,
        "count": 1,
        "copies": 1,
        "text": message[:500],
        "template": template(message),
        "attrs": json.dumps({"status": status, **({"side": "decode"} if message.startswith("Decode") else {})}),
        "line": line,
    }


def _record(meta: dict[str, Any], line: int) -> dict[str, Any]:
    reason = meta.get("finish_reason")
    kind = reason.get("type") if isinstance(reason, dict) else None
    return {
        "kind": "answer",
        "rid": meta.get("id") if isinstance(meta.get("id"), str) else None,
        "state": "aborted" if kind == "abort" else "finished" if isinstance(kind, str) else None,
        "finish_reason": kind if isinstance(kind, str) else None,
        "abort_message": str(reason.get("message"))[:500]
        if isinstance(reason, dict) and reason.get("message")
        else None,
        "status_code": whole(reason.get("status_code")) if isinstance(reason, dict) else None,
        "prompt_tokens": whole(meta.get("prompt_tokens")),
        "completion_tokens": whole(meta.get("completion_tokens")),
        "cached_tokens": whole(meta.get("cached_tokens")),
        "e2e_s": real(meta.get("e2e_latency")),
        "queue_s": real(meta.get("queue_time")),
        "line": line,
    }


def _tables(events: list[dict[str, Any]], records: list[dict[str, Any]], reading: Reading) -> Iterator[Rows]:
    for table, rows in (("events", events), ("records", records)):
        if rows:
            columns = {name: [row[name] for row in rows] for name in rows[0]}
            yield rows_of(table, {**columns, "source": [reading.source] * len(rows)})
