"""Statements in words: a key of the catalogue and named figures give a sentence. One file per language."""

from collections.abc import Mapping
from typing import Any, Final

from ridgeline.words.messages_en import MESSAGES as EN

CATALOGUES: Final[dict[str, Mapping[str, str]]] = {"en": EN}
NOT_MEASURED: Final = {"en": "not measured"}


class _Figure:
    """A figure that was not measured: prints as words whatever the template's format asks for."""

    def __init__(self, words: str) -> None:
        self.words = words

    def __format__(self, spec: str) -> str:
        return self.words


def say(key: str, figures: Mapping[str, Any], lang: str = "en") -> str:
    """The sentence of a catalogue entry; a figure that is None is printed as "not measured".

    Raises KeyError for a key or a figure the catalogue does not know: a mistake of ours that the tests look for.
    """
    words = NOT_MEASURED[lang]
    shown = {name: _Figure(words) if value is None else value for name, value in figures.items()}
    return CATALOGUES[lang][key].format_map(shown)
