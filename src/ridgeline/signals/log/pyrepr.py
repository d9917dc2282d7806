"""`k=v, k=v` as Python prints it (SamplingParams, engine configs), split without evaluating anything."""

import re
from typing import Final

_QUOTED: Final = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
QUOTED: Final = re.compile(_QUOTED)
SIMPLE: Final = re.compile(r"\s*(\w+)=(" + _QUOTED + r"|[^,'\"\[\](){}]*)(?:,|$)")
SECRET: Final = re.compile(r"(?i)api_?key|secret|passw|credential|hf_token|auth_token|access_token")
CLOSERS: Final = {"(": ")", "[": "]", "{": "}"}
LIMIT: Final = 64 * 1024


def items(text: str) -> dict[str, str]:
    """Key → value text of the top level; stops at the first thing that is no `key=value`, keeps what came before.

    Commas inside quotes and brackets do not split. Values of keys that name a secret are not kept.
    """
    out: dict[str, str] = {}
    at, text = 0, text[:LIMIT]
    while at < len(text):
        found = SIMPLE.match(text, at)
        if found:
            key, value, at = found[1], found[2], found.end()
        else:
            equals = re.compile(r"\s*(\w+)=").match(text, at)
            if equals is None:
                break
            key, stop = equals[1], _value_end(text, equals.end())
            if stop < 0:
                break
            value, at = text[equals.end() : stop], stop + 1
        out.setdefault(key, "<removed>" if SECRET.search(key) else value.strip())
    return out


def balanced(text: str, at: int) -> tuple[str, int] | None:
    """(text between the bracket at `at` and the one that closes it, index behind that); None where it never closes."""
    stop = _value_end(text[: at + LIMIT], at)
    if stop <= at or text[stop - 1] != CLOSERS.get(text[at]):
        return None
    return text[at + 1 : stop - 1], stop


def quoted_end(text: str, at: int) -> int:
    """Index behind the quoted text that begins at `at`; -1 where there is none or it never closes."""
    found = QUOTED.match(text, at)
    return found.end() if found else -1


def unquoted(value: str) -> str:
    """A value without the quotes around it."""
    return value[1:-1] if len(value) >= 2 and value[0] in "'\"" and value[-1] == value[0] else value


def _value_end(text: str, at: int) -> int:
    """Index of the comma (or end) that ends the value beginning at `at`; -1 where brackets or quotes never close."""
    stack: list[str] = []
    i = at
    while i < len(text):
        c = text[i]
        if c in "'\"":
            i = quoted_end(text, i) - 1
            if i < 0:
                return -1
        elif c in CLOSERS:
            stack.append(CLOSERS[c])
        elif stack and c == stack[-1]:
            stack.pop()
            if not stack and text[at] in CLOSERS:
                return i + 1
        elif c == "," and not stack:
            return i
        i += 1
    return -1 if stack else len(text)
