"""Words of the page from the one catalogue: sentences with formatted figures, labels, headings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ridgeline.model.fact import Statement
from ridgeline.report.escape import plain
from ridgeline.report.page.units import shown
from ridgeline.words.catalogue import name_in, say

# The unit of a picture's figures by their name; others are words or plain numbers.
UNIT_OF: Final = {
    **dict.fromkeys(("p50", "p99", "p50_before", "p99_before", "threshold", "slowest", "seconds", "twin_s", "e2e",
                     "best", "baseline"), "s"),
    **dict.fromkeys(("share", "usual", "hit", "lost", "usage"), "share"),
}  # fmt: skip
NAMES: Final = (
    "side",
    "lot",
    "part",
    "queue",
    "reason",
    "stage",
    "setting",
    "figure",
    "span",
    "why",
    "rank",
)  # figures that are themselves labels


def sentence(key: str, figures: Iterable[tuple[str, Any]], lang: str) -> str:
    """The catalogue's sentence, its figures with units, as plain text (not yet escaped for HTML)."""
    told = {
        name: None
        if value is None
        else named(str(value), lang)
        if name in NAMES
        else shown(value, UNIT_OF.get(name, ""))
        for name, value in figures
    }
    return capital(plain(say(key, told, lang), 2000))


def capital(words: str) -> str:
    """The sentence with a capital; one that begins with an identifier (`dp_rank=1`, `c62a`) keeps it as it is."""
    first = words.split(" ", 1)[0].rstrip(",.:;")
    return words[:1].upper() + words[1:] if first.isalpha() and first.isascii() and first.islower() else words


def said(statement: Statement, lang: str) -> str:
    """A statement of the diagnosis as plain text."""
    return capital(plain(say(statement.key, dict(statement.figures), lang), 2000))


def named(name: str, lang: str) -> str:
    """The label of a series, stage or side; its own name where the catalogue has none."""
    return name_in(name, lang)
