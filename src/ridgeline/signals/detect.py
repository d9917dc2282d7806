"""Which kind a source is, told by its first bytes alone and never by its name."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

from ridgeline.signals.dump.sniff import looks_like_pickle
from ridgeline.signals.log.prefixes import looks_like_record
from ridgeline.signals.otlp_proto import looks_like_otlp
from ridgeline.signals.prompt.files import looks_like_prompts

Kind = Literal[
    "log",
    "request-log",
    "exporter",
    "exposition",
    "prometheus-range",
    "loads",
    "get-load",
    "server-info",
    "model-info",
    "health",
    "launch",
    "answer",
    "incident-bundle",
    "otlp",
    "jaeger",
    "vllm-requests",
    "timeseries-csv",
    "client",
    "mooncake",
    "prompts",
    "dump",
    "text",
    "empty",
    "binary",
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

SCRAPE: Final = re.compile(r"^#### scrape ts=[\d.]+ .*?url=(\S+)")
# The path of a scraped endpoint → what its answers are.
ENDPOINTS: Final[tuple[tuple[str, Kind], ...]] = (
    ("/metrics", "exposition"),
    ("/engine_metrics", "exposition"),
    ("/v1/loads", "loads"),
    ("/get_load", "get-load"),
    ("/load", "get-load"),
    ("/get_server_info", "server-info"),
    ("/server_info", "server-info"),
    ("/get_model_info", "model-info"),
    ("/model_info", "model-info"),
    ("/health", "health"),
    ("/ready", "health"),
    ("/version", "server-info"),
    ("/hicache", "server-info"),
)
# Keys of a JSON document or of a JSON line → kind; the first row whose keys are all there wins.
JSON_KEYS: Final[tuple[tuple[frozenset[str], Kind], ...]] = (
    (frozenset({"resourceSpans"}), "otlp"),
    (frozenset({"request_parameters"}), "exporter"),
    (frozenset({"log", "stream", "time"}), "log"),
    (frozenset({"request_id", "input_toks", "output_toks"}), "vllm-requests"),
    (frozenset({"vllm_version", "engine_kwargs"}), "vllm-requests"),
    (frozenset({"num_nodes", "nodes"}), "vllm-requests"),
    (frozenset({"request_id", "arrival_time"}), "vllm-requests"),
    (frozenset({"meta_info", "text"}), "answer"),
    (frozenset({"artifact_type", "base_url"}), "incident-bundle"),
    (frozenset({"loads"}), "loads"),
    (frozenset({"is_generation", "model_path"}), "model-info"),
    (frozenset({"internal_states"}), "server-info"),
    (frozenset({"model_path", "tokenizer_path"}), "server-info"),
    (frozenset({"model_path", "served_model_name"}), "server-info"),
    (frozenset({"server_args"}), "server-info"),
    (frozenset({"dp_rank", "num_reqs"}), "get-load"),
    (frozenset({"num_reqs", "num_waiting_reqs"}), "get-load"),
    (frozenset({"server_load"}), "get-load"),
    (frozenset({"version", "num_accelerators"}), "loads"),
    (frozenset({"benchmarks"}), "client"),
    (frozenset({"itls", "ttfts"}), "client"),
    (frozenset({"request_throughput", "completed"}), "client"),
    (frozenset({"request_throughput", "request_latency"}), "client"),
    (frozenset({"metadata", "metrics"}), "client"),
    (frozenset({"client_rid"}), "client"),
    (frozenset({"hash_ids", "input_length"}), "mooncake"),
)
# Names of times and lengths that a client's own records use; two of them make a JSONL file the client's view.
CLIENT_WORDS: Final = frozenset(
    (
        "send_ts", "sent_ts", "start_ts", "end_ts", "start_time", "end_time", "first_token_ts",
        "first_chunk_ts", "ttft", "ttft_s", "ttft_ms", "latency", "latency_s", "e2e", "e2e_s", "prompt_len",
        "output_len", "prompt_tokens", "completion_tokens", "output_tokens", "input_tokens", "status", "itl",
        "success", "error", "finish_reason",
    )
)  # fmt: skip
LOG_WORDS: Final = frozenset({"message", "msg", "log", "textPayload", "MESSAGE", "@message", "_raw", "line", "body"})
SAMPLE: Final = re.compile(
    r"^[A-Za-z_:][\w:.]*(?:\{.*\})? +"
    r"(?:[-+]?(?:\d[\d_.]*(?:[eE][-+]?\d+)?|\.\d+)|[-+]?Inf|NaN|[-+]?inf|nan)(?: -?\d+)?$"
)
REQUEST_LINE: Final = re.compile(r'^(?:\[[^\]]{0,60}\] ?)?\{"timestamp": ?"[^"]*", ?"event": ?"(?:request|scheduler)\.')
JSON_START: Final = re.compile(r"\{|\[\s*[\[{\]]")  # `[2026-…` and `[12:03:04 TP0]` begin a log line, not an array
COMMENT: Final = re.compile(r"^# (?:HELP|TYPE|UNIT|EOF)\b")
LAUNCH: Final = re.compile(
    r"(?:^|[\s;&|\"'])(?:python[\d.]* -m "
    r"(?:sglang[\w.]*\.(?:launch_server|launch_router)|sglang_router[\w.]*|vllm\.[\w.]+)"
    r"|sglang serve|sglang\.launch_server|vllm serve)\b"
)
SUMMARY: Final = re.compile(r"[a-z_]+\.(?:txt|json): (?:ok$|failed status=)")  # SUMMARY.txt of an incident bundle
CSV_TIMES: Final = frozenset({"t", "ts", "time", "timestamp", "@timestamp"})
CSV_SERIES: Final = re.compile(r"throughput|running|waiting|queue|usage|kv|tps", re.IGNORECASE)
LOG_MARKS: Final = re.compile(
    r"(?:Prefill|Decode) batch[.,\s\[]|new fill batch\. #seq|Req ?Time ?Stats\(|HTTP/\d(?:\.\d)?\" \d{3}"
    r"|Avg prompt throughput:"
    r"|Traceback \(most recent call last\)|#running-req: |out of memory|watchdog timeout|KVTransferError|KVPoll\."
    r"|(?:memory|pool) leak detected|usage_metadata=|\bavailable=\d+, evictable="
    r"|Caught signal \d+|Avg generation throughput:",
    re.IGNORECASE,
)
HEAD_LINES: Final = 60
UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


def detect(head: bytes) -> Kind:
    """The kind of a source from its first (decompressed) bytes; `text` for words that no reader knows better."""
    if not head.strip():
        return "empty"
    if looks_like_pickle(head):
        return "dump"
    if _is_binary(head):
        if looks_like_otlp(head):
            return "otlp"
        # A log that was cut to nothing while it was written begins with NUL bytes, thousands in a row.
        filled = head.replace(b"\0", b"")
        if b"\0" not in head or _is_binary(filled) or not filled.strip() or not _is_text(filled):
            return "binary"
        behind = detect(filled)
        return behind if behind in ("log", "request-log") else "binary"
    text = head.decode("utf-16" if head[:2] in UTF16 else "utf-8-sig", "replace")
    lines = [line for line in text.splitlines()[:HEAD_LINES] if line.strip()]
    if len(lines) > 1 and not text.endswith("\n") and text.count("\n") < HEAD_LINES:
        lines.pop()  # perhaps cut where the head ends
    if not lines:
        return "empty"
    scrape = next((found for line in lines[:3] if (found := SCRAPE.match(line))), None)
    if scrape:
        return _endpoint(scrape.group(1))
    first = lines[0].lstrip()
    if JSON_START.match(text.lstrip()) or REQUEST_LINE.match(lines[0]):
        kind = _json_kind(text.lstrip(), lines)
        if kind:
            return kind
    if _is_exposition(lines):
        return "exposition"
    if "," in first:
        kind = _csv_kind(first)
        if kind:
            return kind
    return _text_kind(text, lines)


def _is_binary(head: bytes) -> bool:
    sample = head[:65536]
    if sample[:2] in UTF16:
        return False
    odd = sum(sample.count(bytes((code,))) for code in range(32) if code not in (7, 8, 9, 10, 11, 12, 13, 27))
    return b"\x00" in sample or odd > len(sample) // 50


def _is_text(sample: bytes) -> bool:
    """Whether nearly all of it is UTF-8 (the head may end inside a character)."""
    return sample.decode("utf-8", "ignore").count("") > 0.9 * len(sample)


def _endpoint(url: str) -> Kind:
    path = re.sub(r"^\w+://[^/]+", "", url)
    if path.startswith("/v1/loads") and "format=prometheus" in path:
        return "loads"
    return next((kind for start, kind in ENDPOINTS if path.startswith(start)), "text")


def _json_kind(text: str, lines: list[str]) -> Kind | None:
    if REQUEST_LINE.match(lines[0]) and not all(REQUEST_LINE.match(line) for line in lines):
        return "log"  # a server log that begins with request lines
    for value in (_decoded(lines[0]), _decoded(text)):
        kind = _value_kind(value)
        if kind:
            return kind
    # One document longer than the head, or cut: its first keys tell.
    keys = set(re.findall(r'"([\w@.]+)"\s*:', text[:20000]))
    kind = _keys_kind(dict.fromkeys(keys, ""))
    if REQUEST_LINE.match(lines[0]) and all(REQUEST_LINE.match(line) for line in lines):
        return "request-log"
    if text.startswith("{") and kind in (None, "client"):
        return "jaeger" if {"traceID", "spans"} <= keys else "prometheus-range" if "resultType" in keys else kind
    return kind


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _value_kind(value: Any) -> Kind | None:
    if isinstance(value, list):
        return _value_kind(value[0]) if value and isinstance(value[0], dict) else None
    if not isinstance(value, dict):
        return None
    if {"ok", "status", "path"} <= value.keys() or {"ok", "status", "json"} <= value.keys():
        return _value_kind(value.get("json")) or _endpoint(str(value.get("path")))
    if value.get("object") == "error":
        return "answer"
    event = value.get("event")
    if isinstance(event, str) and event.startswith(("request.", "scheduler.")):
        return "request-log"
    data = value.get("data")
    if isinstance(data, dict) and "resultType" in data:
        return "prometheus-range"
    if isinstance(data, list) and data and isinstance(data[0], dict) and "spans" in data[0]:
        return "jaeger"
    if "traceID" in value and "spans" in value:
        return "jaeger"
    return _keys_kind(value)


def _keys_kind(value: Mapping[str, Any]) -> Kind | None:
    for keys, kind in JSON_KEYS:
        if keys <= value.keys():
            return kind
    if LOG_WORDS & value.keys():
        return "log"
    if len(CLIENT_WORDS & value.keys()) >= 2:
        return "client"
    if value.keys() == {"version"}:
        return "server-info"
    if isinstance(value.get("cmd"), list):
        return "launch"
    if isinstance(value.get("error"), dict):
        return "answer"
    if "messages" in value or "prompt" in value or {"custom_id", "body"} <= value.keys():
        return "prompts"
    return "health" if value.keys() == {"status"} else None


def _is_exposition(lines: list[str]) -> bool:
    hits = sum(1 for line in lines if SAMPLE.match(line.strip()))
    comments = sum(1 for line in lines if COMMENT.match(line))
    return hits > 0 and hits + comments >= 0.6 * len(lines) and (comments > 0 or any("{" in line for line in lines))


def _csv_kind(first: str) -> Kind | None:
    names = [name.strip().strip('"').lower() for name in first.split(",")]
    if len(names) >= 2 and {"message", "log", "msg", "_raw", "line"} & set(names):
        return "log"
    if names[0] == "metric" and ({"avg", "value"} & set(names)):
        return "client"
    if names[0] in CSV_TIMES and any(CSV_SERIES.search(name) for name in names[1:]):
        return "timeseries-csv"
    return None


def _text_kind(text: str, lines: list[str]) -> Kind:
    if all(SUMMARY.match(line) for line in lines[:2]):
        return "incident-bundle"
    if looks_like_prompts(lines):
        return "prompts"
    marked = sum(1 for line in lines if looks_like_record(line[:400]) or LOG_MARKS.search(line[:2000]))
    launch = any(LAUNCH.search(line) for line in lines[:20])
    if launch and len(lines) <= 40 and marked == 0:
        return "launch"
    if marked and (marked * 4 >= len(lines) or LOG_MARKS.search(text[:65536])):
        return "log"
    if launch:
        return "launch"
    if len(lines) == 1 and lines[0].strip().strip('"').lower() in ("ok", "healthy", "pong"):
        return "health"
    return "text"
