"""Messages of errors without what they quote: clauses of the engines' own words stay, the rest becomes a keyed hash.

An engine's message may hold a caller's words (a JSON schema that does not fit, an option that is none). A clause stays
where each of its words is one that engines use themselves (`words.errortext`), with its figures. All that lies between
the first clause that does not and the last is hidden: its length and hash stay, so that equal messages are equal still,
and the phrases that causes look for.
"""

import re
from collections.abc import Callable
from typing import Final

from ridgeline.words.errortext import PHRASES, WORDS

CLAUSE: Final = re.compile(r"""((?:[.:;,!?][\s"']+|[\n"'`{}\[\]()])+)""")
# Hashes made before, addresses in memory, what was hidden before: no words.
MADE: Final = re.compile(r"\bh:[0-9a-f]{8,}|\b0x[0-9a-fA-F]+\b|<(?:secret|token ids|\d+ characters)>")
LETTERS: Final = re.compile(r"[^\W\d_]+")
PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
DIGITS: Final = re.compile(r"\d[\d \-./]{8,}\d")  # a number this long is a person's rather than an engine's
ROOM: Final = re.compile(r"(?i)room[ =:]*\d{1,20}|\d+\.\d+")
# Four words and more in quotes; an HTTP request line is none.
QUOTED: Final = re.compile(
    r"""(?<!\w)(["'`])(?!GET |POST |PUT |DELETE |HEAD |OPTIONS )((?:\\.|(?!\1)[^\\\n])*?)\1(?!\w)"""
)
FEW: Final = 3


def own_words(text: str) -> bool:
    """Whether a text holds nothing but words of the engines' messages, and figures."""
    text = MADE.sub(" ", text)
    if not all(_known(word) for word in LETTERS.findall(text)):
        return False
    return not DIGITS.search(ROOM.sub(" ", text))


def _known(word: str) -> bool:
    return word.lower() in WORDS or (
        word.isascii() and all(part.lower() in WORDS for part in PART.findall(word)) and not word.islower()
    )


def quiet(text: str, hashed: Callable[[str], str]) -> str:
    """A message without its foreign clauses; `hashed` names what was hidden."""
    parts = CLAUSE.split(text)
    foreign = [i for i in range(0, len(parts), 2) if not own_words(parts[i])]
    if not foreign:
        return text
    first, last = foreign[0], foreign[-1]
    hidden = "".join(parts[first : last + 1])
    low = hidden.lower()
    said = [phrase for phrase in PHRASES if phrase.lower() in low]
    said = [phrase for phrase in said if not any(phrase != other and phrase in other for other in said)]
    more = "".join(f"; {phrase}" for phrase in said)
    return f"{''.join(parts[:first])}<{len(hidden)} characters {hashed(hidden)}{more}>{''.join(parts[last + 1 :])}"


def without_quotes(text: str) -> str:
    """A line whose quoted sentences are cut to their length, unless they are the engine's own."""

    def shortened(match: re.Match[str]) -> str:
        words = match.group(2)
        if len(words.split()) <= FEW or own_words(words):
            return match.group(0)
        return f"{match.group(1)}<{len(words)} characters>{match.group(1)}"

    return QUOTED.sub(shortened, text)
