"""AIPerf: `profile_export.jsonl` (a record per request), `profile_export_aiperf.json` and `.csv` (aggregates).

Read: the public documentation of AIPerf 0.14 ("Working with Profile Export Files", "JSON export schema"). A record has
`metadata` (epoch nanoseconds: `request_start_ns`, `request_ack_ns`, `request_end_ns`; `x_request_id`, …), `metrics`
(name → `{value, unit}`; a value may be a list) and `error`. `benchmark_phase` other than `profiling` is warm-up.
"""

import csv
from collections.abc import Mapping
from typing import Any, Final

from ridgeline.signals.client.record import Collected, count, ended, error_text, gaps, number, timed
from ridgeline.signals.client.series import LATENCIES, Figures, statistic

UNITS: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0}
NANO: Final = 1e-9
TOTALS: Final = {
    "request_throughput": "client_request_throughput",
    "output_token_throughput": "client_output_throughput",
    "request_count": "client_completed",
    "error_request_count": "client_errors",
}


def is_record(values: Mapping[str, Any]) -> bool:
    """Whether an object is the record of one request."""
    return isinstance(values.get("metadata"), dict) and isinstance(values.get("metrics"), dict | None)


def is_summary(values: Mapping[str, Any]) -> bool:
    """Whether an object is the aggregate export."""
    return any(isinstance(values.get(name), dict) and "unit" in values[name] for name in (*LATENCIES, *TOTALS))


def read_record(values: Mapping[str, Any], line: int, into: Collected) -> None:
    """One request."""
    meta = values["metadata"]
    metrics = values.get("metrics") or {}
    sent, end = (_seconds(meta.get(name)) for name in ("request_start_ns", "request_end_ns"))
    ttft = _latency(metrics.get("time_to_first_token"))
    first = sent + ttft if sent is not None and ttft is not None else None
    failure = values.get("error")
    code = count(failure.get("code")) if isinstance(failure, dict) else None
    made = timed(sent, first, None, end, into.reading)
    latency = _latency(metrics.get("request_latency"))
    made["e2e_s"] = latency if latency is not None else made["e2e_s"]
    cancelled = meta.get("was_cancelled") is True
    made |= ended(None if cancelled else code, error_text(failure), cancelled, end is not None)
    made["status_code"] = code
    chunk_gaps = metrics.get("inter_chunk_latency")
    if isinstance(chunk_gaps, dict):
        unit = UNITS.get(str(chunk_gaps.get("unit")))
        if unit is not None:
            made |= gaps(chunk_gaps.get("value"), unit, None, into.reading)
            listed = chunk_gaps.get("value")
            made["chunks"] = len(listed) + 1 if isinstance(listed, list) else None
    rid = meta.get("x_request_id")
    session = meta.get("x_correlation_id") or meta.get("conversation_id")
    made |= {
        "rid": str(rid) if rid else None,
        "session_id": str(session) if session else None,
        "probe": meta.get("benchmark_phase") not in (None, "profiling"),
        "prompt_tokens": count(_value(metrics, "input_sequence_length")),
        "completion_tokens": count(_value(metrics, "output_sequence_length")),
        "reasoning_tokens": count(_value(metrics, "reasoning_token_count")),
        "tpot_s": _latency(metrics.get("inter_token_latency")),
    }
    into.add(line, made, {"turn_index": meta.get("turn_index"), "worker": meta.get("worker_id")})


def read_summary(values: Mapping[str, Any], into: Collected, figures: Figures) -> None:
    """The aggregate JSON: each metric is a block of statistics with its unit."""
    for name in sorted(values):
        block = values[name]
        if isinstance(block, dict) and "unit" in block:
            into.reading.understood += 1
            for word, value in block.items():
                _figure(name, str(block["unit"]), word, value, 1, figures)


def read_csv(text: str, into: Collected, figures: Figures) -> None:
    """The aggregate CSV: blocks with a head (`Metric,avg,min,…` or `Metric,Value`), one metric per row."""
    head: list[str] = []
    for line, row in enumerate(csv.reader(text.splitlines()), 1):
        into.reading.lines += 1
        if not row or not any(cell.strip() for cell in row):
            into.reading.blank += 1
            head = []
        elif row[0].strip().lower() == "metric":
            head = [cell.strip().lower() for cell in row]
            into.reading.understood += 1
        else:
            into.reading.understood += 1
            name, _, unit = row[0].partition("(")
            key = name.strip().lower().replace(" ", "_")
            for word, value in zip(head[1:], row[1:], strict=False):
                _figure(key, unit.strip(" )"), "avg" if word == "value" else word, _float(value), line, figures)


def _figure(name: str, unit: str, word: str, value: Any, line: int, figures: Figures) -> None:
    label = statistic(word)
    if label and name in LATENCIES and unit in UNITS and number(value) is not None:
        figures.add(LATENCIES[name], {label[0]: label[1]}, float(value) * UNITS[unit], line)
    elif name in TOTALS and word == "avg":
        figures.add(TOTALS[name], {}, value, line)


def _float(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _value(metrics: Mapping[str, Any], name: str) -> Any:
    block = metrics.get(name)
    return block.get("value") if isinstance(block, dict) else None


def _latency(block: Any) -> float | None:
    if not isinstance(block, dict):
        return None
    value, unit = number(block.get("value")), UNITS.get(str(block.get("unit")))
    return value * unit if value is not None and unit is not None and value >= 0 else None


def _seconds(value: Any) -> float | None:
    found = number(value)
    return found * NANO if found is not None and found > 0 else None
