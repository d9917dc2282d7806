"""A page as one HTML text: Jinja with escaping on, style inside, a policy that lets nothing be loaded or run."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib import resources
from typing import Any, Final

from ridgeline import __version__
from ridgeline.model.chart import Picture
from ridgeline.model.errors import Unsupported
from ridgeline.model.fact import Fact
from ridgeline.report.escape import plain
from ridgeline.report.page import units
from ridgeline.report.page.content import Page, by_rung, told
from ridgeline.report.page.draw import HOW, PALETTE, Theme, svg
from ridgeline.report.page.words import capital, named, said, sentence
from ridgeline.report.terminal import cap_in_words, value_of
from ridgeline.words.catalogue import SEMICOLON, say, text_in

TEMPLATES: Final = "ridgeline.report.page"


def render(page: Page) -> str:
    """The whole file. Raises Unsupported without jinja2."""
    return _render("page.html", page, live=False, policy=_policy(style()))


def part(page: Page, name: str) -> str:
    """One part of the live page: `story` (everything that the diagnosis tells)."""
    return _render(f"{name}.html", page, live=True, policy="")


def shell(lang: str, script: str) -> str:
    """The live page before anything is computed."""
    text: str = (
        _environment().get_template("live.html").render(lang=lang, css=style(live=True), js=script, h=_helpers(lang))
    )
    return text


def fragment(name: str, lang: str, *given: Any) -> str:
    """One of the small parts of the live page: requests, request, lines, rungs."""
    macro = getattr(_environment().get_template("parts.html").module, name)
    return str(macro(*given, _helpers(lang)))


def figure(picture: Picture, lang: str) -> str:
    """One picture with its sentence and its table."""
    return str(_environment().get_template("figure.html").module.figure(picture, _helpers(lang), 3))


def _render(template: str, page: Page, **more: Any) -> str:
    d = page.diagnosis
    tell = set(told(d))
    text: str = _environment().get_template(template).render(
        page=page, d=d, lang=page.lang, css=style(), version=__version__, h=_helpers(page.lang),
        rung_pictures=by_rung(d, page.pictures), facts=dict(d.evidence),
        told=[(n, f) for n, f in d.evidence if n in tell], untold=[(n, f) for n, f in d.evidence if n not in tell],
        **more,
    )  # fmt: skip
    return text


class _Helpers:
    """What the templates call; every text they get is plain and is escaped by Jinja on its way out."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.plain, self.shown, self.day, self.moment = plain, units.shown, units.day_and_time, units.moment
        self.capital, self.semicolon = capital, SEMICOLON[lang]

    def t(self, key: str, **figures: Any) -> str:
        """A heading or a short text of the page."""
        return plain(say(f"page.{key}", figures, self.lang), 400)

    def r(self, key: str) -> str:
        """A word that the terminal's report has too."""
        return plain(say(f"report.{key}", {}, self.lang), 120)

    def text(self, words: str) -> str:
        """What to do, to switch on or to do next, in the page's language."""
        return plain(text_in(words, self.lang), 2000)

    def note(self, note: str, source: str) -> str:
        """What a reader noted of a source, whose name stands beside it."""
        return plain(text_in(note.removeprefix(f"{source}: "), self.lang), 300)

    def cap(self, cap: str) -> str:
        """Why a finding is not surer."""
        return plain(cap_in_words(cap, self.lang), 300)

    def value_of(self, fact: Fact) -> str:
        """A figure with its unit."""
        return value_of(fact, self.lang)

    def said(self, statement: Any) -> str:
        """A statement of the diagnosis."""
        return said(statement, self.lang)

    def named(self, name: str) -> str:
        """A label."""
        return plain(named(name, self.lang), 120)

    def title(self, picture: Picture) -> str:
        """The picture's title."""
        return sentence(f"picture.{picture.name}.title", (), self.lang)

    def caption(self, picture: Picture) -> str:
        """The picture's sentence; what is missing where it is not drawn."""
        if picture.missing:
            m = picture.missing[0]
            return self.t("not-drawn", signal=self.text(m.signal), how=self.text(m.how))
        return sentence(picture.says or f"picture.{picture.name}", picture.figures, self.lang)

    def svg(self, picture: Picture) -> Any:
        """The drawing, which escapes its own texts."""
        from markupsafe import Markup

        return Markup(svg(picture, self.lang))

    def cell(self, column: str, value: Any) -> str:
        """A value of a row, by the unit that its column's name carries."""
        unit = "time" if column.endswith("ts") else "s" if column.endswith("_s") else ""
        told = units.shown(value, unit)
        return named(told, self.lang) if isinstance(value, bool) else told

    def raw(self, value: Any) -> str | None:
        """A number as data, to be read back by programs; None for words."""
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            return None
        return f"{value:.12g}"


@lru_cache(maxsize=2)
def _helpers(lang: str) -> _Helpers:
    return _Helpers(lang)


@lru_cache(maxsize=1)
def _environment() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as e:
        raise Unsupported(f"the page {HOW}") from e
    return Environment(
        loader=PackageLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip


@lru_cache(maxsize=2)
def style(live: bool = False) -> str:
    """The style sheet: colours of both themes as variables, then the page's and the pictures' rules."""

    def variables(theme: Theme) -> str:
        return "".join(f"--{name}:{value};" for name, value in PALETTE[theme].items())

    here = resources.files(TEMPLATES).joinpath("templates")
    rules = "".join(
        here.joinpath(name).read_text("utf-8") for name in ("page.css", "picture.css", *(["live.css"] if live else []))
    )
    return (
        f":root{{color-scheme:light dark;{variables('light')}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{variables('dark')}}}}}\n{rules}"
        f"@media print{{:root:root{{color-scheme:light;{variables('light')}}}}}\n"
    )


def _policy(css: str) -> str:
    """Nothing may be loaded, run, framed or sent; only this very style sheet applies."""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
