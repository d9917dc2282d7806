"""A reader of Python reprs that were cut in the middle or at the end: from the outside in, never by searching.

Text inside a quoted value cannot be mistaken for a key, whatever it says. A value that is not read as a whole
(`'abc' ... 'xyz'`, SGLang's own truncation at log level 2) comes back as TRUNCATED.
"""

import ast
import re
from typing import Any, Final

import msgspec

DEPTH: Final = 40
TRUNCATED: Final = object()

_STRING: Final = re.compile(r"[bur]{0,2}(?:'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\")", re.DOTALL)
_OPEN_STRING: Final = re.compile(r"[bur]{0,2}['\"]")
_NUMBER: Final = re.compile(r"-?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf|nan)(?![\w.])")
_INTS: Final = re.compile(r"\[(?:-?\d++(?:, -?\d++)*+)?\]")  # possessive: a list that is cut fails in one go
_OPEN_INTS: Final = re.compile(r"\[(?:-?\d++, )*+-?\d*+,?\Z")
_LIST: Final = msgspec.json.Decoder(list[int])
_NAME: Final = re.compile(r"[A-Za-z_][\w.]*")
_OBJECT: Final = re.compile(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>")
_WORDS: Final = {"None": None, "True": True, "False": False, "inf": float("inf"), "nan": float("nan")}
_FIELD: Final = re.compile(r"([A-Za-z_]\w*)=")
_ITEM: Final = re.compile(r"'((?:[^'\\]|\\.)*)': ")
_CLOSE: Final = {"[": "]", "(": ")"}
_SHUT: Final = ",)]}"


class Ints(list[int]):
    """A list that holds nothing but integers."""


class Cut(Exception):
    """The text ends inside a value."""


class Broken(Exception):
    """The text is no repr."""


def value(text: str, at: int, depth: int = 0) -> tuple[Any, int]:
    """(the value at `at`, where it ends). Raises Cut or Broken."""
    found, end = _one(text, at, depth)
    while text.startswith(" ... ", end):
        _, end = _one(text, end + 5, depth)
        found = TRUNCATED
    return found, end


def fields(text: str, at: int, into: dict[str, Any], nested: frozenset[str], call: bool, depth: int = 0) -> int:
    """Read `name=value, …)` (call) or `'name': value, …}` into a dict as they complete; returns the end.

    A value named in `nested` that is a dict is itself filled as far as it goes, so that a cut inside it keeps what
    came before. Raises Cut, Broken, and Broken for a name given twice.
    """
    close = ")" if call else "}"
    if text.startswith(close, at):
        return at + 1
    while True:
        name = (_FIELD if call else _ITEM).match(text, at)
        if name is None:
            raise Cut if _ends_inside(text, at) else Broken
        key, at = name.group(1), name.end()
        if key in into:
            raise Broken
        if key in nested and text.startswith("{", at):
            inner: dict[str, Any] = {}
            into[key] = inner
            at = fields(text, at + 1, inner, nested, False, depth + 1)
            at, done = _delimited(text, at, close)
        else:
            found, at = value(text, at, depth + 1)
            at, done = _delimited(text, at, close)
            into[key] = found  # only once what follows shows that the value is whole
        if done:
            return at


def _delimited(text: str, at: int, close: str) -> tuple[int, bool]:
    """(Where the next name or the rest begins, whether the bracket closed). Raises Cut or Broken."""
    if text.startswith(", ", at):
        return at + 2, False
    if text.startswith(close, at):
        return at + 1, True
    raise Cut if " ... ".startswith(text[at:]) or len(text) - at <= 1 else Broken


def _one(text: str, at: int, depth: int) -> tuple[Any, int]:
    if at >= len(text):
        raise Cut
    if depth > DEPTH:
        raise Broken
    first = text[at]
    if first == "[":
        ints = _INTS.match(text, at)
        if ints:
            return _ints(ints.group()), ints.end()
        if _OPEN_INTS.match(text, at):
            raise Cut
    if first in "[(":
        return _sequence(text, at, depth)
    if first == "{":
        return _mapping(text, at, depth)
    if first == "<":
        return _found(_OBJECT.match(text, at), text, at, ">")
    if _OPEN_STRING.match(text, at):
        string = _STRING.match(text, at)
        if string is None:
            raise Cut
        return _text(string.group()), string.end()
    number = _NUMBER.match(text, at)
    if number:
        if number.end() >= len(text):
            raise Cut  # perhaps more digits followed
        return _number(number.group()), number.end()
    if text.startswith("...", at):
        return TRUNCATED, at + 3
    name = _NAME.match(text, at)
    if name is None:
        raise Cut if _ends_inside(text, at) else Broken
    if name.end() >= len(text):
        raise Cut
    if text[name.end()] == "(":
        return _arguments(text, name.end() + 1, depth)
    return _WORDS.get(name.group(), TRUNCATED), name.end()


def _found(match: re.Match[str] | None, text: str, at: int, close: str) -> tuple[Any, int]:
    if match is None:
        raise Broken if close in text[at:] else Cut
    return TRUNCATED, match.end()


def _sequence(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    close, made = _CLOSE[text[at]], []
    at += 1
    while not text.startswith(close, at):
        item, at = value(text, at, depth + 1)
        made.append(item)
        at = _next(text, at, close)
    return made, at + 1


def _mapping(text: str, at: int, depth: int) -> tuple[dict[Any, Any], int]:
    made: dict[Any, Any] = {}
    at += 1
    while not text.startswith("}", at):
        key, at = value(text, at, depth + 1)
        if text.startswith(": ", at):
            item, at = value(text, at + 2, depth + 1)
            if isinstance(key, str | int | float):
                if key in made:
                    raise Broken
                made[key] = item
        at = _next(text, at, "}")
    return made, at + 1


def _arguments(text: str, at: int, depth: int) -> tuple[Any, int]:
    """`Name(…)`: passed over as a whole; a dataclass inside a request is no field that is read."""
    while not text.startswith(")", at):
        name = _FIELD.match(text, at)
        _, at = value(text, name.end() if name else at, depth + 1)
        at = _next(text, at, ")")
    return TRUNCATED, at + 1


def _next(text: str, at: int, close: str) -> int:
    """Behind the comma, or at the closing bracket."""
    if text.startswith(", ", at):
        return at + 2
    if text.startswith(",", at) and text.startswith(close, at + 1):
        return at + 1
    if text.startswith(close, at):
        return at
    raise Cut if len(text) - at <= 1 else Broken


def _ends_inside(text: str, at: int) -> bool:
    """Whether what is left could be the beginning of a name or key that was cut."""
    return not any(mark in text[at:] for mark in "=:)]}")


def _text(literal: str) -> Any:
    quote = literal[0]
    if quote in "'\"" and "\\" not in literal:
        return literal[1:-1]
    try:
        return ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError):
        return TRUNCATED


def _ints(text: str) -> Any:
    try:
        return Ints(_LIST.decode(text))  # such a list is JSON as it stands
    except msgspec.DecodeError:
        return TRUNCATED  # digits of no token


def _number(text: str) -> int | float:
    try:
        return int(text) if text.lstrip("-").isdigit() and len(text) < 19 else float(text)
    except ValueError:
        return float("nan")
