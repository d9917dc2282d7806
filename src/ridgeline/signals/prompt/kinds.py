"""What kind of value differs between two prompts that should be equal: told from the two texts at the difference."""

import re
from typing import Final

CLOCK: Final = "clock or date"
UUID: Final = "uuid"
COUNTER: Final = "counter"
NUMBER: Final = "number"
RANDOM: Final = "random value"
SPACE: Final = "whitespace or template"
ORDER: Final = "order of parts"
TOOLS: Final = "tool-schema order"
NAMESPACE: Final = "namespace"
OTHER: Final = "changing text"
IDS: Final = "token ids"
# Kinds that name a value which no answer depends on: a short prompt is called drifting for these only.
PLAIN: Final = frozenset((CLOCK, UUID, COUNTER, RANDOM, SPACE, TOOLS))

_WORD: Final = re.compile(r"[\w:.,/+\-]")
_REACH: Final = 48
_MONTHS: Final = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_DAYS: Final = "(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_CLOCK: Final = re.compile(
    r"(?ix) \d{1,2}:\d{2} (?: :\d{2} )? | \d{4}[-/.]\d{1,2}[-/.]\d{1,2} | \d{1,2}[-/.]\d{1,2}[-/.]\d{4}"
    rf" | \b(?:{_MONTHS})\b | \b{_DAYS}\b"
)
_EPOCH: Final = re.compile(r"1[5-9]\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?")
_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
_MIXED: Final = re.compile(r"(?=[\w\-]*\d)(?=[\w\-]*[A-Za-z])[\w\-]{8,}")
_HEX: Final = re.compile(r"(?i)[0-9a-f]{8,}")
_NUMBER: Final = re.compile(r"\d+")
_SCHEMA: Final = re.compile(r'"(?:name|function|parameters|properties|type|description|required)"|<tool|"tools"')
NEAR: Final = 1_000_000  # two counters of one service are not further apart than this


def kind_of(a: str, b: str, at: int, end_a: int, end_b: int) -> str:
    """The kind of the difference between a[at:end_a] and b[at:end_b] of two texts that are equal before `at`."""
    cut_a, cut_b = a[at:end_a], b[at:end_b]
    if "".join(cut_a.split()) == "".join(cut_b.split()):
        return SPACE
    # The whole value, not only the digits that changed: back and forth over what values are made of.
    left = at
    while left > 0 and at - left < _REACH and _WORD.match(a[left - 1]):
        left -= 1
    value_a, value_b = a[left : _end(a, end_a)], b[left : _end(b, end_b)]
    if _UUID.search(value_a) and _UUID.search(value_b):
        return UUID
    if _clock(a, left, at, end_a, value_a) and _clock(b, left, at, end_b, value_b):
        return CLOCK
    return _plain(value_a.strip(":.,/+-"), value_b.strip(":.,/+-"))


def order_kind(a: str, b: str) -> str | None:
    """The kind where two differing stretches hold the same words in another order; None where they do not."""
    words_a, words_b = re.findall(r"\w+", a), re.findall(r"\w+", b)
    if len(words_a) < 6 or words_a == words_b or sorted(words_a) != sorted(words_b):
        return None
    return TOOLS if len(_SCHEMA.findall(a)) >= 2 else ORDER


def shape(text: str) -> str:
    """A text without its content: letters become x (a run of them one x), digits 9, the rest stays."""
    return re.sub(r"\d", "9", re.sub(r"[^\W\d_]+", "x", text))


def _end(text: str, at: int) -> int:
    end = at
    while end < len(text) and end - at < _REACH and _WORD.match(text[end]):
        end += 1
    return end


def _clock(text: str, left: int, at: int, end: int, value: str) -> bool:
    """A date's words lie apart by blanks: what counts is a match that overlaps the difference."""
    if _EPOCH.fullmatch(value.strip(":.,/+-")):
        return True
    low = max(0, min(left, at - 12))
    around = text[low : _end(text, end) + 12]
    return any(m.start() + low < max(end, at + 1) and m.end() + low > at - 1 for m in _CLOCK.finditer(around))


def _plain(a: str, b: str) -> str:
    number_a, number_b = _NUMBER.fullmatch(_digits(a, b)), _NUMBER.fullmatch(_digits(b, a))
    if number_a and number_b and len(number_a.group()) <= 18 and len(number_b.group()) <= 18:
        return COUNTER if abs(int(number_a.group()) - int(number_b.group())) <= NEAR else RANDOM
    if (_MIXED.fullmatch(a) or _HEX.fullmatch(a)) and (_MIXED.fullmatch(b) or _HEX.fullmatch(b)):
        return RANDOM
    return OTHER


def _digits(a: str, b: str) -> str:
    """`a` without the words that both carry before a running number (`req-17`, `req-18`)."""
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n] and not a[n].isdigit():
        n += 1
    return a[n:]
