"""vLLM's periodic lines (SIGNALS §15.2): engine stats, speculative decoding and KV transfer figures → `batches`.

The lines are read by key, not by order, so that old (V0: Swapped, Pending) and new forms, wrapped or decorated ones
give what they have. A number counts only with its unit behind it: a cut line gives no cut number. Percentages
become shares.
"""

import json
import re
from typing import Any, Final

import numpy as np

from ridgeline.signals.lines import LogLines, Parsed
from ridgeline.signals.log.rules import event, event_rows, matching, ranks_of, table_rows
from ridgeline.signals.rows import Reading

STATS: Final = (
    r"Avg (?:prompt|generation) throughput: |SpecDecoding metrics: |Speculative metrics: |KV Transfer metrics: "
)
ENGINE: Final = re.compile(r"\bEngine (\d{1,5}): ")
AGGREGATED: Final = re.compile(r"\b(\d{1,5}) Engines Aggregated: ")
PARTS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("input_tps", re.compile(r"Avg prompt throughput: ([\d.]+) tokens/s")),
    ("gen_tps", re.compile(r"Avg generation throughput: ([\d.]+) tokens/s")),
    ("running", re.compile(r"\bRunning: (\d+) reqs")),
    ("waiting", re.compile(r"\b(?:Waiting|Pending): (\d+) reqs")),
    ("deferred", re.compile(r"\bDeferred: (\d+) reqs")),
    ("preemptions", re.compile(r"\bPreemptions: (\d+)(?=[,\s]|$)")),
    ("usage", re.compile(r"\b\w+ KV cache usage: ([\d.]+)%")),
    ("hit_rate", re.compile(r"\bPrefix cache hit rate: (?:\w+: )?([\d.]+)%")),
    ("external_hit_rate", re.compile(r"\bExternal prefix cache hit rate: ([\d.]+)%")),
)
SHARES: Final = frozenset({"usage", "hit_rate", "external_hit_rate"})
COUNTS: Final = frozenset({"running", "waiting", "deferred", "preemptions"})
EXTRA: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("swapped", re.compile(r"\bSwapped: (\d+) reqs")),
    ("corrupted", re.compile(r"\bCorrupted: (\d+) reqs")),
    ("mm_hit_rate_percent", re.compile(r"\bMM cache hit rate: ([\d.]+)%")),
    ("kv_fetch_waiting", re.compile(r"\bKV fetch: (\d+) waiting to start")),
    ("kv_fetch_in_progress", re.compile(r"\bKV fetch: .{0,40}?(\d+) in progress")),
    ("kv_fetch_completed", re.compile(r"\bKV fetch: .{0,60}?(\d+) completed waiting")),
)
SPEC: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("accept_length", re.compile(r"Mean acceptance length: ([\d.]+)(?=[,\s]|$)")),
    ("accept_rate_percent", re.compile(r"Avg Draft acceptance rate: ([\d.]+)%")),
    ("accept_rate", re.compile(r"Speculative metrics: Draft acceptance rate: ([\d.]+)(?=,)")),
    ("accepted_tokens", re.compile(r"\bAccepted: (\d+) tokens")),
    ("drafted_tokens", re.compile(r"\bDrafted: (\d+) tokens")),
)
POSITIONS: Final = re.compile(r"Per-position acceptance rate: ((?:[\d.]+, )*[\d.]+), ")
TRANSFER: Final = re.compile(r"([A-Z][\w/ ]{2,40}?(?: \([\w/]+\))?)=([\d.]+)(?=[,\s]|$)")
# What the KV transfer line counts as failed → event kind.
FAILURES: Final = (
    ("Num failed transfers", "transfer-failed"),
    ("Num failed notifications", "transfer-failed"),
    ("Num KV expired reqs", "kv-released"),
)


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """Rows of `batches` (kind `stats`) and the events that such lines count (preemptions, failed transfers)."""
    understood = np.zeros(len(lines), np.bool_)
    batches: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    for i in np.flatnonzero(matching(lines.body, STATS)).tolist():
        text = lines.body[i].as_py()[:4000].replace("*", "")
        last = lines.ended[i]
        if not last:
            text = text.rstrip("0123456789.")
        row = _row(lines, i, reading)
        if "throughput: " in text and "metrics: " not in text:
            found = _stats(text, row)
            if found and row.get("preemptions"):
                count = {"count": str(row["preemptions"])}
                events.append(event(lines, i, reading, "preemption", count, "warning", {"from": "stats"}))
        elif "KV Transfer metrics: " in text:
            found = _transfer(text, row)
            held = json.loads(row.get("extra") or "{}")
            for name, kind in FAILURES:
                if held.get(name):
                    count = {"count": str(int(held[name]))}
                    events.append(event(lines, i, reading, kind, count, "warning", {"from": "stats"}))
        else:
            found = _spec(text, row)
        if not found:
            continue
        understood[i] = True
        if "engine" not in row and batches and _same_report(batches[-1], row):
            row["dp_rank"] = batches[-1]["dp_rank"]
        batches.append(row)
    for row in batches:
        row.pop("engine", None)
        row.pop("process", None)
    return Parsed([*table_rows("batches", batches), *event_rows(events)], understood)


def _row(lines: LogLines, i: int, reading: Reading) -> dict[str, Any]:
    ts = float(lines.ts[i])
    name = lines.logger[i].as_py() or ""
    return {
        "source": reading.source,
        "line": int(lines.line[i]),
        "kind": "stats",
        "ts": None if np.isnan(ts) else ts,
        "dp_rank": ranks_of(lines, i)[0],
        "shape": "vllm",
        "copies": 1,
        "process": " ".join(word for word in name.split() if ".py:" not in word),
    }


def _same_report(before: dict[str, Any], row: dict[str, Any]) -> bool:
    """Acceptance and transfer lines name no engine: they follow the stats line of theirs, from the same process."""
    return bool(before["process"] == row["process"] and before["ts"] == row["ts"])


def _stats(text: str, row: dict[str, Any]) -> bool:
    engine, aggregated = ENGINE.search(text), AGGREGATED.search(text)
    extra = _extra(text, EXTRA)
    if engine:
        row["dp_rank"] = row["engine"] = int(engine[1])
    elif aggregated:
        row["dp_rank"], row["engine"], extra["engines"] = None, -1, float(aggregated[1])
    seen = 0
    for name, pattern in PARTS:
        found = pattern.search(text)
        value = _number(found[1]) if found else None
        if value is None:
            continue
        seen += 1
        row[name] = round(value / 100, 6) if name in SHARES else int(value) if name in COUNTS else value
    row["extra"] = json.dumps(extra, sort_keys=True) if extra else None
    return seen > 0


def _spec(text: str, row: dict[str, Any]) -> bool:
    found = _extra(text, SPEC)
    row["accept_length"] = found.pop("accept_length", None)
    percent = found.pop("accept_rate_percent", None)
    row["accept_rate"] = round(percent / 100, 6) if percent is not None else found.pop("accept_rate", None)
    positions = POSITIONS.search(text)
    extra: dict[str, Any] = dict(found)
    if positions:
        extra["per_position"] = [_number(part) for part in positions[1].split(", ")]
    row["extra"] = json.dumps(extra, sort_keys=True) if extra else None
    return row["accept_length"] is not None or row["accept_rate"] is not None


def _transfer(text: str, row: dict[str, Any]) -> bool:
    found = {name.strip(): _number(value) for name, value in TRANSFER.findall(text.split("metrics: ", 1)[1])}
    row["extra"] = json.dumps(found, sort_keys=True) if found else None
    return bool(found)


def _extra(text: str, parts: tuple[tuple[str, re.Pattern[str]], ...]) -> dict[str, float]:
    held = {name: _number(found[1]) for name, pattern in parts if (found := pattern.search(text))}
    return {name: value for name, value in held.items() if value is not None}


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number < 1e15 else None
