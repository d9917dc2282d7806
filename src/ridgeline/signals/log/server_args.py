"""SGLang's `server_args=…` line → launch arguments: `ServerArgs(k=v, …)` up to 0.5.9, a dict's repr in 0.5.23.

Values come out as in every reader of settings (`settings`): strings bare, the rest JSON, secrets `<secret>`.
"""

import ast
import re
from typing import Any, Final

from ridgeline.signals.settings import flat

NAME: Final = re.compile(r"(?:, |)([A-Za-z_]\w*)=")
CALL: Final = re.compile(r"[A-Za-z_]*Args\(")
RAW_CHARS: Final = 500
CUT_TRIES: Final = 40
UNREADABLE: Final = (ValueError, SyntaxError, RecursionError, MemoryError, TypeError)


def arguments(text: str) -> dict[str, str] | None:
    """Argument names and values; None where the text is of neither form. A cut line gives the whole ones of its start.

    A nested argument's keys are joined by dots.
    """
    text = text.strip()
    if text.startswith("{"):
        found = _literal(text)
        if found is None:
            found = _start_of_dict(text)
        return flat({str(k): v for k, v in found.items()}) if isinstance(found, dict) else None
    call = CALL.match(text)
    return flat(_keywords(text[call.end() :])) if call else None


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except UNREADABLE:
        return None


def _start_of_dict(text: str) -> Any:
    """The whole items at the start of a dict that was cut."""
    at = len(text)
    for _ in range(CUT_TRIES):
        at = text.rfind(", '", 0, at)
        if at <= 0:
            return None
        found = _literal(text[:at] + "}")
        if found is not None:
            return found
    return None


def _keywords(body: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    names = _names(body)
    ends = [*(start for _, start, _ in names[1:]), None]
    for (name, _, begin), end in zip(names, ends, strict=False):
        raw = body[begin:end]
        if end is None:
            if not raw.rstrip().endswith(")"):
                break  # the line was cut inside this value
            raw = raw.rstrip()[:-1]
        value = _literal(raw)
        values[name] = value if value is not None or raw == "None" else raw[:RAW_CHARS]
    return values


def _names(body: str) -> list[tuple[str, int, int]]:
    """(name, where its text begins, where its value begins) of each argument outside brackets and quotes."""
    names: list[tuple[str, int, int]] = []
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
        elif depth == 0 and (i == 0 or char == ","):
            found = NAME.match(body, i)
            if found:
                names.append((found[1], i, found.end()))
                i = found.end()
                continue
        i += 1
    return names
