"""SGLang's `server_args=…` line → launch arguments. Values of secret arguments never leave this file."""

import ast
import json
import re
from typing import Any, Final

SECRET: Final = re.compile(
    r"(?:^|_)(?:api_key|admin_api_key|key|token|password|passwd|secret|credential|auth|ssl_keyfile_password)s?(?:$|_)",
    re.IGNORECASE,
)
# Names with such a word in them that hold no secret.
HARMLESS: Final = re.compile(
    r"token(?:s|izer|_usage|_budget|_id|_ratio)|max_.*token|keep_alive|key_cache", re.IGNORECASE
)
REDACTED: Final = "<redacted>"
ITEM: Final = re.compile(r"(?:^|, )([A-Za-z_]\w*)=")
NUMBERS: Final = {
    "dp_size": "dp_size",
    "tp_size": "tp_size",
    "pp_size": "pp_size",
    "page_size": "page_size",
    "max_running_requests": "max_running",
    "max_prefill_tokens": "max_prefill_tokens",
    "chunked_prefill_size": "chunked_prefill_size",
    "context_length": "context_len",
    "max_total_tokens": "pool_tokens",
}


def arguments(text: str) -> dict[str, str] | None:
    """`ServerArgs(k=v, …)` or `{'k': v, …}` → argument names and values as text (JSON, strings bare); None if it is neither.

    A cut line gives the arguments whose values are whole.
    """
    text = text.strip()
    if text.startswith("{"):
        return _of_dict(text)
    found = re.match(r"[A-Za-z_]*Args\(", text)
    if found is None:
        return None
    body = text[found.end() :]
    values: dict[str, str] = {}
    marks = _top_level(body)
    for (name, start), (_, stop) in zip(marks, [*marks[1:], ("", len(body))], strict=True):
        raw = body[start : stop - len(_) - 3] if _ else body[start:]
        if not _:
            if not raw.rstrip().endswith(")"):
                break  # the line was cut inside this value
            raw = raw.rstrip()[:-1]
        values[name] = _value(name, raw)
    return values


def _of_dict(text: str) -> dict[str, str] | None:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        found = _cut_dict(text)
    if not isinstance(found, dict):
        return None
    return {str(name): _shown(str(name), value) for name, value in found.items()}


def _cut_dict(text: str) -> Any:
    """The whole items at the start of a dict that was cut."""
    at = len(text)
    for _ in range(40):
        at = text.rfind(", '", 0, at)
        if at <= 0:
            return None
        try:
            return ast.literal_eval(text[:at] + "}")
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _top_level(body: str) -> list[tuple[str, int]]:
    """(name, where its value starts) of each argument outside brackets and quotes."""
    marks: list[tuple[str, int]] = []
    depth, quote, i = 0, "", 0
    while i < len(body):
        char = body[i]
        if quote:
            if char == "\\":
                i += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth < 0:
                break
        elif depth == 0 and (i == 0 or body[i - 2 : i] == ", "):
            found = ITEM.match(body, i - 2 if i else 0)
            if found:
                marks.append((found[1], found.end()))
                i = found.end()
                continue
        i += 1
    return marks


def _value(name: str, raw: str) -> str:
    try:
        return _shown(name, ast.literal_eval(raw))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return REDACTED if is_secret(name) and raw != "None" else raw[:500]


def is_secret(name: str) -> bool:
    """Whether an argument's value must not be kept."""
    return bool(SECRET.search(name)) and not HARMLESS.search(name)


def _shown(name: str, value: Any) -> str:
    if is_secret(name) and value not in (None, "", False):
        return REDACTED
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
