"""vLLM's start-up lines → `config`, `servers` and one start-up event per boot."""

import ast
import hashlib
import re
from typing import Any, Final

import numpy as np

from ridgeline.signals.lines import LogLines, Parsed
from ridgeline.signals.log.pyrepr import SECRET, items, unquoted
from ridgeline.signals.log.rules import event, event_rows, matching, ranks_of, table_rows
from ridgeline.signals.rows import Reading

MARKS: Final = "|".join(
    (
        r"non-default args: \{",
        r"^args: Namespace\(",
        r"Initializing (?:a V1|an) LLM engine \(v",
        r"# (?:GPU|cuda|NPU|CPU|HPU|device) blocks: \d",
        r"KV cache size: [\d,]+ tokens",
        r"Maximum concurrency for [\d,]+ tokens",
        r"Using max model len \d",
        r"num_gpu_blocks_override=\d",
        r"enabled with max_num_batched_tokens=\d",
        r"vLLM API server version ",
    )
)
ENGINE: Final = re.compile(r"Initializing (?:a V1|an) LLM engine \(v([^)\s]{1,60})\) with config: ")
# A figure in a line → the configuration key it is kept under (vLLM's own names where it has one).
FIGURES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("num_gpu_blocks", re.compile(r"# (?:GPU|cuda|NPU|HPU|device) blocks: (\d+)(?=\D)")),
    ("num_cpu_blocks", re.compile(r"# CPU blocks: (\d+)(?=\D)")),
    ("kv_cache_tokens", re.compile(r"\b\w+ KV cache size: ([\d,]+) tokens")),
    ("max_concurrency", re.compile(r"Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x")),
    ("max_concurrency_tokens", re.compile(r"Maximum concurrency for ([\d,]+) tokens per request")),
    ("max_model_len", re.compile(r"Using max model len (\d+)(?=\D)")),
    ("num_gpu_blocks", re.compile(r"num_gpu_blocks_override=(\d+)(?=\D)")),
    ("max_num_batched_tokens", re.compile(r"enabled with max_num_batched_tokens=(\d+)(?=\D)")),
    ("version", re.compile(r"vLLM API server version (\S{1,60})(?=\s)")),
)
# Configuration key → column of `servers`.
COLUMNS: Final = {
    "model": "model",
    "data_parallel_size": "dp_size",
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "block_size": "page_size",
    "kv_cache_tokens": "pool_tokens",
    "max_num_seqs": "max_running",
    "max_num_batched_tokens": "max_prefill_tokens",
    "max_model_len": "context_len",
    "max_seq_len": "context_len",
    "max_concurrency_tokens": "context_len",
    "version": "version",
}
TEXT_COLUMNS: Final = frozenset({"model", "version"})


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """`config` rows for every argument and figure; one `servers` row per boot seen in these lines."""
    understood = matching(lines.body, MARKS)
    config: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    servers: list[dict[str, Any]] = []
    for i in np.flatnonzero(understood).tolist():
        text = lines.body[i].as_py()[:65536] + "\n" * bool(lines.ended[i])  # a cut file's last number has no end
        origin, found = _facts(text)
        if not found:
            understood[i] = False
            continue
        ts = None if np.isnan(lines.ts[i]) else float(lines.ts[i])
        at = {"source": reading.source, "line": int(lines.line[i])}
        config.extend(
            {**at, "key": key, "value": value, "origin": origin, "ts": ts, "dp_rank": ranks_of(lines, i)[0]}
            for key, value in found.items()
        )
        if origin == "arguments" or not servers:
            servers.append({**at, "engine": "vllm", "boot_ts": ts})
        if origin == "arguments":
            digest = hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()
            servers[-1]["args_hash"] = digest[:16]
        engine = ENGINE.search(text)
        if engine:
            found = {**found, "version": engine[1]}
            events.append(event(lines, i, reading, "startup", {"version": engine[1]}))
        _fill(servers[-1], found)
        if "version" in found:
            reading.version = found["version"].removeprefix("v")
    return Parsed(
        [*table_rows("config", config), *table_rows("servers", servers), *event_rows(events)],
        understood,
    )


def _facts(text: str) -> tuple[str, dict[str, str]]:
    """(where from: arguments | config | log, key → value as text)."""
    at = text.find("non-default args: {")
    if at >= 0:
        return "arguments", _literal(text[at + len("non-default args: ") :].rstrip())
    if text.startswith("args: Namespace("):
        return "arguments", {
            key: unquoted(value) for key, value in items(text[len("args: Namespace(") :].rstrip(")\n")).items()
        }
    engine = ENGINE.search(text)
    if engine:
        return "config", {key: unquoted(value) for key, value in items(text[engine.end() :].rstrip(".,\n")).items()}
    return "log", {
        key: found[1].replace(",", "") for key, pattern in FIGURES if (found := pattern.search(text)) is not None
    }


def _literal(text: str) -> dict[str, str]:
    """A printed dict; what is no literal in it (an enum, an object) is read as `'key': value` pairs instead."""
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pairs = re.findall(r"'(\w{1,80})': ('[^']{0,300}'|[\w.+-]{1,80})(?=[,}])", text)
        return {key: _kept(key, unquoted(part)) for key, part in pairs}
    if not isinstance(value, dict):
        return {}
    return {str(key): _kept(str(key), str(part)) for key, part in value.items()}


def _kept(key: str, value: str) -> str:
    return "<removed>" if SECRET.search(key) else value[:2000]


def _fill(server: dict[str, Any], found: dict[str, str]) -> None:
    for key, value in found.items():
        column = COLUMNS.get(key)
        if column is None or value in {"None", ""} or column in server:
            continue
        if column in TEXT_COLUMNS:
            server[column] = value.removeprefix("v") if column == "version" else value
        elif value.isascii() and value.isdigit() and len(value) < 19:
            server[column] = int(value)
