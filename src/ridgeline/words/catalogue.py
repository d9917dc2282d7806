"""Statements in words: a key of the catalogue and named figures give a sentence. One file per language.

Templates are `str.format` templates with two additions. `[[…]]` is said only where every figure in it is known: a
sentence that lacks a figure leaves its part out. `{n:#request}` counts: "1 request", "2 requests" (a word with a
plural of its own is given as `{n:#batch|batches}`). `{what:word}` says an identifier such as `ttft_s` in words, and a
comma-separated list of them; `{q:quantile}` says 0.5 as "median"; `{ids:each guard.*}` says the entry of each id
of a list `a|b`; `{how:phrase}` says a text that is itself written in English in this language. A figure may be a
statement itself, a text in several languages (`{"en": …, "zh": …}`), or a tuple of statements and texts, which
`{risks:join; }` says one after the other with that between them. A separator that stands first in its clause, because
what came before it was left out, goes too.

An entry that a language lacks is said in English; `in_english` tells which, so that a program can say so once.
"""

import re
from collections.abc import Mapping
from string import Formatter
from typing import Any, Final, Protocol, runtime_checkable

from ridgeline.words.messages_en import MESSAGES as EN
from ridgeline.words.messages_words_en import WORDS as EN_WORDS
from ridgeline.words.messages_words_zh import WORDS as ZH_WORDS
from ridgeline.words.messages_zh import MESSAGES as ZH
from ridgeline.words.phrases import known, phrase

CATALOGUES: Final[dict[str, Mapping[str, str]]] = {"en": EN, "zh": ZH}
WORDS: Final[dict[str, Mapping[str, str]]] = {"en": EN_WORDS, "zh": ZH_WORDS}
NOT_MEASURED: Final = {"en": "not measured", "zh": "未测量"}
YES_NO: Final = {"en": ("yes", "no"), "zh": ("是", "否")}
COMMA: Final = {"en": ", ", "zh": "、"}
OR: Final = {"en": " or ", "zh": "或"}
SEMICOLON: Final = {"en": "; ", "zh": "；"}
MEDIAN: Final = {"en": "median", "zh": "中位数"}
QUANTILE: Final = {"en": "{:.3g} % quantile", "zh": "{:.3g} % 分位数"}
_ENGLISH: Final[dict[str, set[str]]] = {}  # language → entries and texts it lacked so far, in this process
OPTIONAL: Final = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
LEADING: Final = re.compile(r"(^|[(:：（])[;,；，](?:\s+|(?<=[；，]))")
EMPTY: Final = re.compile(r"; of (?:TTFT|E2E):(?=[;)])")
LONG: Final = 10_000  # from here on digits are set in groups of three


@runtime_checkable
class Stated(Protocol):
    """A key of the catalogue and its figures: what `model` calls a Statement."""

    @property
    def key(self) -> str:
        """Of the catalogue."""
        ...

    @property
    def figures(self) -> tuple[tuple[str, Any], ...]:
        """By name."""
        ...


class _Absent:
    """A figure that was not measured: prints as words whatever the template's format asks for."""

    def __init__(self, words: str) -> None:
        self.words = words

    def __format__(self, spec: str) -> str:
        return self.words


class _Number:
    """A figure as people write it: no exponents, digits in groups, no 0 % for what is above 0."""

    def __init__(self, value: float, lang: str) -> None:
        self.value, self.lang = value, lang

    def __format__(self, spec: str) -> str:
        v = self.value
        if spec in ("word", "phrase"):
            return _plain(v)
        if spec == "quantile":
            return MEDIAN[self.lang] if v == 0.5 else QUANTILE[self.lang].format(100 * v)
        if spec.startswith("#"):
            one, _, many = spec[1:].partition("|")
            return f"{_plain(v)} {one if v == 1 else many or one + 's'}"
        if spec == ".0%" and (0 < v < 0.005 or 0.995 < v < 1):
            return "<1%" if v < 0.5 else ">99%"
        if spec.endswith("g"):
            return _plain(v, int(spec[1:-1]) if spec[1:-1].isdigit() else 4)
        return format(v, spec) if spec else _plain(v)


class _Text:
    """A figure that is text: as it is, or an identifier (a list of them) in words."""

    def __init__(self, value: str, lang: str) -> None:
        self.value, self.lang = value, lang

    def __format__(self, spec: str) -> str:
        if spec.startswith("each "):
            keys = {name: spec[5:].replace("*", name) for name in self.value.split("|")}
            said = [entry(key, self.lang) if key in EN else name for name, key in keys.items()]
            return SEMICOLON[self.lang].join(said)
        if spec == "phrase":
            return phrase(self.value, self.lang)
        if spec != "word":
            return format(self.value, spec)
        known = WORDS[self.lang]
        said = [known.get(name.strip(), name.strip().replace("_", " ")) for name in self.value.split(",")]
        return said[0] if len(said) == 1 else COMMA[self.lang].join(said[:-1]) + OR[self.lang] + said[-1]


class _Several:
    """Statements and texts one after the other; the format says what stands between them."""

    def __init__(self, parts: tuple[Any, ...], lang: str) -> None:
        self.said = [said(part, lang) if isinstance(part, Stated) else phrase(str(part), lang) for part in parts]

    def __format__(self, spec: str) -> str:
        return spec.removeprefix("join").join(self.said)


def said(statement: Stated, lang: str = "en") -> str:
    """A statement in that language; errors as of `say`."""
    return say(statement.key, dict(statement.figures), lang)


def say(key: str, figures: Mapping[str, Any], lang: str = "en") -> str:
    """The sentence of a catalogue entry; a `[[part]]` without its figures is left out, else None is "not measured".

    Raises KeyError for a key or a figure the catalogue does not know: a mistake of ours that the tests look for.
    """
    template = OPTIONAL.sub(lambda part: part[1] if _known(part[1], figures) else "", _fitting(key, figures, lang))
    template = LEADING.sub(lambda m: f"{m[1]} " if m[1] == ":" else m[1], EMPTY.sub("", template))
    return template.format_map({name: _shown(value, lang) for name, value in figures.items()})


def entry(key: str, lang: str) -> str:
    """The template of a catalogue's entry, in English where the language lacks it. Raises KeyError for no such key."""
    template = CATALOGUES[lang].get(key)
    if template is None:
        template = EN[key]
        _ENGLISH.setdefault(lang, set()).add(key)
    return template


def _fitting(key: str, figures: Mapping[str, Any], lang: str) -> str:
    """The entry; in English where the language's asks for a figure that this statement does not carry."""
    template = entry(key, lang)
    if lang == "en" or names_of(template) <= figures.keys():
        return template
    _ENGLISH.setdefault(lang, set()).add(key)
    return EN[key]


def text_in(text: str, lang: str) -> str:
    """A text of a cause, a remedy or a next step in that language, in English where the language lacks it."""
    if not known(text, lang):
        _ENGLISH.setdefault(lang, set()).add(text)
    return phrase(text, lang)


def name_in(name: str, lang: str) -> str:
    """The label of a series, stage or side in that language; its own name where the catalogue has none."""
    known = CATALOGUES[lang].get(f"label.{name}")
    if known or lang == "en":
        return known or name
    if " … " in name:  # stages with no stamp between them
        return " … ".join(name_in(part, lang) for part in name.split(" … "))
    return WORDS[lang].get(name) or phrase(name, lang)


def in_english(lang: str) -> tuple[str, ...]:
    """Keys and texts said in English for want of this language since `forget_english` or the start, sorted."""
    return tuple(sorted(_ENGLISH.get(lang, ())))


def forget_english() -> None:
    """Start the account of `in_english` anew: a program may run several verbs, and each answers for its own."""
    _ENGLISH.clear()


def names_of(template: str) -> frozenset[str]:
    """The figures a template names."""
    return frozenset(name for _, name, _, _ in Formatter().parse(template) if name)


def _known(part: str, figures: Mapping[str, Any]) -> bool:
    return all(figures[name] not in (None, "", ()) for name in names_of(part))


def _shown(value: Any, lang: str) -> Any:
    if value is None:
        return _Absent(NOT_MEASURED[lang])
    if isinstance(value, bool):
        return _Text(YES_NO[lang][0 if value else 1], lang)
    if isinstance(value, int | float):
        return _Number(value, lang)
    if isinstance(value, Stated):
        return _Text(said(value, lang), lang)
    if isinstance(value, tuple):
        return _Several(value, lang)
    if isinstance(value, Mapping):
        return _Text(str(value.get(lang) or value["en"]), lang)
    return _Text(value, lang) if isinstance(value, str) else value


def _plain(value: float, digits: int = 4) -> str:
    """A number to so many significant digits, whole from 1,000 on, never with an exponent."""
    if isinstance(value, int) or value != value or abs(value) == float("inf"):
        return f"{value:,}" if isinstance(value, int) and abs(value) >= LONG else str(value)
    rounded = float(f"{value:.{digits}g}")
    if rounded.is_integer():
        return _plain(int(rounded))
    shown = f"{rounded:.12f}".rstrip("0")
    return shown if abs(rounded) >= 1e-6 else "0.000001" if rounded > 0 else shown
