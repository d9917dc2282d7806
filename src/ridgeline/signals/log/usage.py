"""Token usage that a client prints per answer (hosted APIs, LangChain, OpenAI and Anthropic clients) → `records`.

Read by key, in JSON or as Python prints it, over one line or several. Cached tokens are those read from the cache.
Anthropic's own `input_tokens` leaves cached ones out, so there the prompt is the sum; everywhere else input is the
whole prompt. What was written to the cache is kept as the attribute `cache_write_tokens` of the same line.
"""

import re
from typing import Any, Final

import numpy as np

from ridgeline.signals.lines import LogLines, Parsed
from ridgeline.signals.log.rules import matching, table_rows
from ridgeline.signals.rows import Reading

START: Final = r"usage(?:_metadata)?['\"]?\s*[=:(]\s*[{(\w]|cache_read_input_tokens"
KEY: Final = re.compile(
    r"\b(input_tokens|prompt_tokens|output_tokens|completion_tokens|cache_creation_input_tokens|cache_creation"
    r"|cache_read_input_tokens|cache_read|cached_tokens|reasoning_tokens|reasoning)['\"]?\s*[=:]\s*(\d{1,15})(?=[^\d.])"
)
CONTINUES: Final = re.compile(r"^\s+['\"\w]|^\s*[})\]]")
MAX_LINES: Final = 30


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """One record of kind `client` per printed usage."""
    understood = np.zeros(len(lines), np.bool_)
    records: list[dict[str, Any]] = []
    attrs: list[dict[str, Any]] = []
    starts = np.flatnonzero(matching(lines.body, START)).tolist()
    done = -1
    for i in starts:
        if i <= done:
            continue
        text, done = _whole(lines, i)
        found: dict[str, int] = {}
        for key, value in KEY.findall(text):
            found.setdefault(key, int(value))
        if not found.keys() & {"input_tokens", "prompt_tokens"}:
            done = i
            continue
        understood[i : done + 1] = True
        at = {"source": reading.source, "line": int(lines.line[i])}
        ts = None if np.isnan(lines.ts[i]) else float(lines.ts[i])
        records.append({**at, "kind": "client", "event": "usage", "role": "client", "logged_ts": ts, **_columns(found)})
        written = found.get("cache_creation_input_tokens", found.get("cache_creation"))
        if written is not None:
            attrs.append({**at, "name": "cache_write_tokens", "number": float(written)})
    return Parsed([*table_rows("records", records), *table_rows("request_attrs", attrs)], understood)


def _whole(lines: LogLines, i: int) -> tuple[str, int]:
    """(text of the usage from line i on, index of its last line): lines are added until its brackets close."""
    text = lines.body[i].as_py()[:4000]
    last = i
    while _open(text) > 0 and last + 1 < len(lines) and last - i < MAX_LINES:
        following = lines.body[last + 1].as_py()[:4000]
        if lines.prefixed[last + 1] or not CONTINUES.match(following):
            break
        last += 1
        text = f"{text}\n{following}"
    return text + "\n" * bool(lines.ended[last]), last  # the last number of a cut file has no end and is not taken


def _open(text: str) -> int:
    return sum(text.count(c) for c in "{([") - sum(text.count(c) for c in "})]")


def _columns(found: dict[str, int]) -> dict[str, Any]:
    read = found.get("cache_read_input_tokens", found.get("cache_read", found.get("cached_tokens")))
    prompt = found.get("input_tokens", found.get("prompt_tokens"))
    if prompt is not None and "cache_read_input_tokens" in found:
        prompt += found["cache_read_input_tokens"] + found.get("cache_creation_input_tokens", 0)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": found.get("output_tokens", found.get("completion_tokens")),
        "reasoning_tokens": found.get("reasoning_tokens", found.get("reasoning")),
        "cached_tokens": read,
        "state": "finished",
    }
