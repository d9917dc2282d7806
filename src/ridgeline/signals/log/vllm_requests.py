"""vLLM's request log: received, generated, aborted (SIGNALS §15.3, 0.32.0) → `records` of kind `vllm-log`.

Times are those of the log lines (whole seconds): bounds for joins, no measure of latency. A prompt or an output
stands inside the line and may say anything, so parameters are taken from behind it and the finish reason from the
end of the line.
"""

import re
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc

from ridgeline.signals.lines import LogLines, Parsed
from ridgeline.signals.log.pyrepr import balanced, items, quoted_end, unquoted
from ridgeline.signals.log.rules import event, event_rows, matching, table_rows
from ridgeline.signals.rows import Reading

STARTS: Final = (
    r"^(?:Received request [^ ]|Generated response [^ ]|Added request [^ ]|Aborted request|Request [^ ]{1,200} "
    r"(?:aborted|failed|finished)|Finished request [^ ])"
)
RECEIVED: Final = re.compile(r"Received request (\S{1,300}?): (?=prompt: |params: )")
GENERATED: Final = re.compile(r"Generated response (\S{1,300})(?: \(streaming (delta|complete)\))?: output: ")
FINISH: Final = re.compile(r", finish_reason: (\w+)$")
ABORTED: Final = re.compile(r"Request (\S{1,300}) aborted(?: by \w+)?\.$|Aborted request (?!\(s\))(\S{1,300}?)\.$")
FAILED: Final = re.compile(r"Request (\S{1,300}) failed(?: \(([^)]{1,200})\)| due to (.{1,200}))?")
QUIET: Final = re.compile(
    r"(?:Added request \S+?|Aborted request\(s\) .+?|Finished request \S+?|Request \S+ finished)\.?$"
)
PARAMS: Final = "params: SamplingParams("
LORA: Final = re.compile(r"lora_request: (?:None|LoRARequest\((.{0,2000}))")
SCHEMAS: Final = ("structured_outputs", "guided_decoding", "guided_options")
UNSET: Final = frozenset({"None", "", "[]", "0"})


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """Records and abort events of a vLLM server's own request lines."""
    understood = matching(lines.body, STARTS)
    if not understood.any():
        return Parsed([], understood)
    body: Any = lines.body
    deltas = pc.and_(pc.starts_with(body, "Generated response "), pc.ends_with(body, ", finish_reason: None"))
    todo = understood & ~np.asarray(pc.fill_null(deltas, False).to_numpy(zero_copy_only=False), np.bool_)
    records: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    for i in np.flatnonzero(todo).tolist():
        text = body[i].as_py()
        row, happening = _one(text, lines, i, reading)
        if row:
            records.append({**_base(lines, i, reading), **row})
        if happening:
            events.append(happening)
        understood[i] = bool(row or happening or QUIET.match(text[:2000]))
    return Parsed([*table_rows("records", records), *event_rows(events)], understood)


def _base(lines: LogLines, i: int, reading: Reading) -> dict[str, Any]:
    ts = float(lines.ts[i])
    return {
        "source": reading.source,
        "line": int(lines.line[i]),
        "kind": "vllm-log",
        "role": "unified",
        "logged_ts": None if np.isnan(ts) else ts,
        "clock": "naive" if reading.tz is None else "wall",
    }


def _one(text: str, lines: LogLines, i: int, reading: Reading) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """(columns of a record, an event) of one line; both None where it is neither."""
    ts = None if np.isnan(lines.ts[i]) else float(lines.ts[i])
    if found := RECEIVED.match(text):
        return {
            "event": "received",
            "rid": found[1],
            "state": "received",
            "received_ts": ts,
            **_params(text, found.end()),
        }, None
    if found := GENERATED.match(text):
        why = FINISH.search(text[-60:]) if lines.ended[i] else None
        reason = why[1] if why and why[1] != "streaming_complete" else None
        if not why or reason == "None":
            return None, None
        state = "aborted" if reason == "abort" else "finished"
        record = {"event": "finished", "rid": found[1], "state": state, "finish_reason": reason, "finished_ts": ts}
        return {**record, "stream": bool(found[2])}, None
    if found := ABORTED.match(text):
        rid = found[1] or found[2]
        happening = event(lines, i, reading, "abort", {"rid": rid})
        return {
            "event": "aborted",
            "rid": rid,
            "state": "aborted",
            "finish_reason": "abort",
            "finished_ts": ts,
        }, happening
    if found := FAILED.match(text):
        why_text = found[2] or found[3] or ""
        invalid = "bad request" in why_text or "validation" in why_text
        kind = "request-invalid" if invalid else "request-error"
        happening = event(lines, i, reading, kind, {"rid": found[1], "why": why_text or None}, "error")
        record = {"event": "failed", "rid": found[1], "state": "rejected" if invalid else "error"}
        return {**record, "abort_message": why_text or None, "finished_ts": ts}, happening
    return None, None


def _params(text: str, at: int) -> dict[str, Any]:
    """What stands behind `Received request RID: `: perhaps a quoted prompt, then the parameters."""
    if text.startswith("prompt: ", at):
        end = quoted_end(text, at + len("prompt: "))
        at = text.find(PARAMS, at) if end < 0 else end + 2
    if at < 0 or not text.startswith(PARAMS, at):
        return {}
    inner = balanced(text, at + len(PARAMS) - 1)
    if inner is None:
        return {}
    given = items(inner[0])
    out: dict[str, Any] = {
        "params_logged": True,
        "n": _int(given.get("n")),
        "max_new_tokens": _int(given.get("max_tokens")),
        "temperature": _float(given.get("temperature")),
        "ignore_eos": _bool(given.get("ignore_eos")),
        "stop_set": _set(given.get("stop")),
        "schema_set": any(_set(given.get(name)) for name in SCHEMAS) if given.keys() & set(SCHEMAS) else None,
        "logprobs": _set(given.get("logprobs")) if given.get("logprobs") != "0" else True,
    }
    lora = LORA.search(text, inner[1])
    if lora and lora[1]:
        name = items(lora[1]).get("lora_name")
        out["lora"] = unquoted(name) if name else None
    return out


def _int(value: str | None) -> int | None:
    return (
        int(value)
        if value and len(value) < 19 and value.lstrip("-").isascii() and value.lstrip("-").isdigit()
        else None
    )


def _float(value: str | None) -> float | None:
    try:
        return float(value) if value else None
    except ValueError:
        return None


def _bool(value: str | None) -> bool | None:
    return {"True": True, "False": False}.get(value or "")


def _set(value: str | None) -> bool | None:
    return None if value is None else value not in UNSET
