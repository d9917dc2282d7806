"""Texts that come as they are, not as a key: what to do, what to switch on, what is next; in another language.

Causes, remedies and next steps are written where they are decided, in English. Their translations are found by that
English text; one that holds named figures (`{action} (set to {now} today)`) fits every text it can have become.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from ridgeline.words.messages_words_zh import WORDS as ZH_WORDS
from ridgeline.words.phrases_zh import PHRASES as ZH

PHRASES: Final[dict[str, Mapping[str, str]]] = {"zh": ZH}
NAMES: Final[dict[str, Mapping[str, str]]] = {"zh": ZH_WORDS}
FIGURE: Final = re.compile(r"\{([a-z][a-z_-]*)\}")
PARTS: Final = {"url": r"\S+", "n": r"[\d.,]+"}  # what stands for a figure; anything where it is not named here
DEEPEST: Final = 4
LITERAL: Final = re.compile(r"ridgeline |--|GET |POST |SGLANG_|VLLM_")  # commands and switches: typed as they are
LONGEST: Final = 2000  # a longer text is a line of a log, never one of ours


def phrase(text: str, lang: str) -> str:
    """The text in that language; as it is where the language has none for it."""
    return text if lang not in PHRASES or text.startswith("ridgeline ") else _put(text, lang, DEEPEST) or text


def known(text: str, lang: str) -> bool:
    """Whether the language has this text, or the text is nothing but names (flags, paths, identifiers)."""
    plain = " " not in text.strip() or LITERAL.match(text) is not None
    return lang not in PHRASES or plain or _put(text, lang, DEEPEST) is not None


def _put(text: str, lang: str, depth: int) -> str | None:
    exact = PHRASES[lang].get(text) or NAMES[lang].get(text)
    if exact is not None:
        return exact
    if depth == 0 or not text or len(text) > LONGEST:
        return None
    for pattern, other in _patterns(lang):
        if fitting := pattern.fullmatch(text):
            told = {name.removeprefix("f_").replace("__", "-"): part for name, part in fitting.groupdict().items()}
            return FIGURE.sub(lambda m: _put(told[m[1]], lang, depth - 1) or told[m[1]], other)  # noqa: B023
    if "; " in text:
        parts = [_put(part, lang, depth - 1) for part in text.split("; ")]
        if all(parts):
            return "；".join(part for part in parts if part)
    return None


@cache
def _patterns(lang: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Texts with figures as patterns, the one with most words of its own first."""
    made = [
        (text, other) for text, other in PHRASES[lang].items() if FIGURE.search(text) and FIGURE.sub("", text).strip()
    ]
    made.sort(key=lambda pair: (-len(FIGURE.sub("", pair[0])), pair[0]))
    return tuple((re.compile(_pattern(text), re.DOTALL), other) for text, other in made)


def _pattern(text: str) -> str:
    out, at = "", 0
    for figure in FIGURE.finditer(text):
        name = figure[1]
        group = f"f_{name.replace('-', '__')}"
        what = PARTS.get(name, ".+?")
        seen = f"(?P<{group}>" in out
        out += re.escape(text[at : figure.start()]) + (f"(?P={group})" if seen else f"(?P<{group}>{what})")
        at = figure.end()
    return out + re.escape(text[at:])
