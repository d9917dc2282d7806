"""Public traces and request logs as scenarios: Mooncake, Azure, SGLang's request logger."""

import csv
import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from ridgeline.scenario.model import PS, Scenario, ScenarioError, make

MOONCAKE_BLOCK = 512
PREFIX = re.compile(r"^\[[^\]]*\]\s*")


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and object of every JSON line; a leading ``[time]`` is skipped.

    Raises:
        ScenarioError: the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                text = PREFIX.sub("", line).strip()
                if not text.startswith("{"):
                    continue
                try:
                    row = json.loads(text)
                except ValueError:
                    continue
                if isinstance(row, dict):
                    yield number, row
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror or error}") from error


def whole(row: dict[str, Any], key: str, where: str, least: int) -> int:
    """The whole number ``row[key]``, at least ``least``.

    Raises:
        ScenarioError: it is missing or not one.
    """
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value < least:
        raise ScenarioError(f"{where}: {key} is {value!r}, want a number of at least {least}")
    return int(value)


def mooncake(path: Path, block_tokens: int = MOONCAKE_BLOCK) -> Scenario:
    """A Mooncake trace: ``timestamp`` (ms), ``input_length``, ``output_length``, ``hash_ids`` per 512-token block.

    The ids are chained (equal ids mean equal prefixes), so each is one segment; the last holds what is left.
    Format: kvcache-ai/Mooncake, FAST25-release/traces.

    Raises:
        ScenarioError: no readable request, or a row without these fields.
    """
    when: list[int] = []
    inputs: list[int] = []
    outputs: list[int] = []
    counts: list[int] = []
    ids: list[int] = []
    tokens: list[int] = []
    for number, row in objects(path):
        where = f"{path}:{number}"
        length = whole(row, "input_length", where, 1)
        hashes = row.get("hash_ids", [])
        if not isinstance(hashes, list) or not all(isinstance(h, int) and 0 <= h < 2**31 - 2 for h in hashes):
            raise ScenarioError(f"{where}: hash_ids is not a list of small whole numbers")
        hashes = hashes[: -(-length // block_tokens)]
        when.append(whole(row, "timestamp", where, 0) * (PS // 1000))
        inputs.append(length)
        outputs.append(max(1, whole(row, "output_length", where, 0)))
        counts.append(len(hashes))
        ids.extend(h + 1 for h in hashes)
        tokens.extend(min(block_tokens, length - k * block_tokens) for k in range(len(hashes)))
    if not when:
        raise ScenarioError(f"{path}: no Mooncake request in it (want JSON lines with timestamp, input_length, …)")
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    columns = {"arrival_ps": np.array(when), "input_tokens": np.array(inputs), "output_tokens": np.array(outputs)}
    return make(columns, (offsets, np.array(ids, np.int64), np.array(tokens, np.int64)), f"mooncake {path.name}")


def azure(path: Path) -> Scenario:
    """An Azure LLM inference trace: CSV with TIMESTAMP, ContextTokens, GeneratedTokens (AzurePublicDataset).

    Raises:
        ScenarioError: other columns, or a row that does not parse.
    """
    when: list[int] = []
    inputs: list[int] = []
    outputs: list[int] = []
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as lines:
            rows = csv.DictReader(lines)
            if not {"TIMESTAMP", "ContextTokens", "GeneratedTokens"} <= set(rows.fieldnames or ()):
                raise ScenarioError(f"{path}: want columns TIMESTAMP, ContextTokens, GeneratedTokens")
            for row in rows:
                where = f"{path}:{rows.line_num}"
                try:
                    stamp, _, fraction = row["TIMESTAMP"].partition(".")
                    seconds = int((datetime.fromisoformat(stamp) - datetime(1970, 1, 1)).total_seconds())
                    when.append(seconds * PS + int(fraction[:12].ljust(12, "0")))
                    inputs.append(max(1, int(row["ContextTokens"])))
                    outputs.append(max(1, int(row["GeneratedTokens"])))
                except (ValueError, TypeError, AttributeError) as error:
                    raise ScenarioError(f"{where}: not a request row ({error})") from error
    except (OSError, csv.Error) as error:
        raise ScenarioError(f"{path}: {error}") from error
    if not when:
        raise ScenarioError(f"{path}: no request in it")
    first = min(when)
    columns = {"arrival_ps": np.array([w - first for w in when]), "input_tokens": np.array(inputs),
               "output_tokens": np.array(outputs)}  # fmt: skip
    return make(columns, None, f"azure {path.name}")


def arrival_seconds(row: dict[str, Any], meta: dict[str, Any]) -> float | None:
    """When a logged request arrived: its received stamp, else the finish stamp less its latency."""
    received = meta.get("request_received_ts")
    if isinstance(received, int | float) and not isinstance(received, bool) and received > 0:
        return float(received)
    latency = meta.get("e2e_latency")
    try:
        finished = datetime.fromisoformat(str(row.get("timestamp")))
    except ValueError:
        return None
    if not isinstance(latency, int | float) or latency != latency:
        return None
    return (finished.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() - float(latency)


def request_log(path: Path) -> Scenario:
    """SGLang's JSON request log (0.5.9 and later), finished requests only; arrivals to the microsecond.

    Contents are not read: only lengths, ``max_new_tokens`` where the level logs it, asked rank, priority.
    A hand-made log without stamps is refused, as arrivals would be invented.

    Raises:
        ScenarioError: no finished request with a time and lengths.
    """
    columns: dict[str, list[int]] = {name: [] for name in
                                     ("arrival_ps", "input_tokens", "output_tokens", "max_new_tokens", "dp_rank",
                                      "priority")}  # fmt: skip
    seen = 0
    for _, row in objects(path):
        if row.get("event") != "request.finished":
            continue
        seen += 1
        out, obj = row.get("out"), row.get("obj")
        meta = out.get("meta_info") if isinstance(out, dict) else None
        if not isinstance(meta, dict) or not isinstance(obj, dict):
            continue
        at = arrival_seconds(row, meta)
        prompt, made = meta.get("prompt_tokens"), meta.get("completion_tokens")
        if at is None or not isinstance(prompt, int) or not isinstance(made, int) or prompt < 1:
            continue
        sampling = obj.get("sampling_params")
        limit = sampling.get("max_new_tokens") if isinstance(sampling, dict) else None
        rank = obj.get("routed_dp_rank", obj.get("data_parallel_rank"))
        priority = obj.get("priority")
        columns["arrival_ps"].append(round(at * 1_000_000))
        columns["input_tokens"].append(prompt)
        columns["output_tokens"].append(max(1, made))
        columns["max_new_tokens"].append(max(limit if isinstance(limit, int) else 0, made, 1))
        columns["dp_rank"].append(rank if isinstance(rank, int) and rank >= 0 else -1)
        columns["priority"].append(priority if isinstance(priority, int) and abs(priority) < 2**15 else 0)
    if not columns["arrival_ps"]:
        raise ScenarioError(f"{path}: {seen} finished requests, none with a time and lengths")
    arrays = {name: np.array(values, np.int64) for name, values in columns.items()}
    since = arrays["arrival_ps"] - arrays["arrival_ps"].min()
    if since.max() >= 2**62 // (PS // 1_000_000):
        raise ScenarioError(f"{path}: its stamps span more than 50 days; cut the log first")
    arrays["arrival_ps"] = since * (PS // 1_000_000)
    return make(arrays, None, f"request log {path.name}")
