"""A picture as SVG: inside the page (colours from its style sheet), on its own, or as PNG."""

from __future__ import annotations

from importlib import resources
from typing import Final, Literal

from ridgeline.model.chart import Bars, Heat, Panels, Picture, Ranges, Stacks
from ridgeline.model.errors import Unsupported
from ridgeline.report.page import bars, heat, lines
from ridgeline.report.page.svg import WIDTH, document, tag
from ridgeline.report.page.words import named, sentence

Theme = Literal["light", "dark"]
HOW: Final = "needs the page extra: pip install 'ridgeline[page]'"


def svg(picture: Picture, lang: str = "en") -> str:
    """The drawing as an `svg` element; empty where there is nothing to draw."""
    drawing = picture.drawing

    def say(name: str) -> str:
        return named(name, lang)

    match drawing:
        case None:
            return ""
        case Panels():
            height, body = lines.draw(drawing, say)
        case Heat():
            height, body = heat.draw(drawing, say)
        case Stacks():
            height, body = bars.stacks(drawing, say)
        case Ranges():
            height, body = bars.ranges(drawing, say)
        case Bars():
            height, body = bars.waterfall(drawing, say)
    title = sentence(f"picture.{picture.name}.title", (), lang)
    said = sentence(picture.says or f"picture.{picture.name}", picture.figures, lang)
    return document(height, body, f"p-{picture.name}", title, said)


def alone(picture: Picture, theme: Theme = "light", lang: str = "en") -> str:
    """An SVG file: its own colours, a ground, no variables (few programs outside browsers know them)."""
    inner = svg(picture, lang)
    head, rest = inner.split(">", 1)
    view_box = head.split('viewBox="')[1].split('"')[0]
    width, height = (float(v) for v in view_box.split(" ")[2:])
    head = head.replace(f'viewBox="{view_box}"', f'viewBox="-16 -16 {width + 32:g} {height + 32:g}"')
    ground = tag("rect", class_="paper", x=-16, y=-16, width=width + 32, height=height + 32)
    return f'{head} width="{width + 32:g}" height="{height + 32:g}">{tag("style", colours(theme))}{ground}{rest}\n'


def png(picture: Picture, theme: Theme = "light", lang: str = "en", scale: float = 2.0) -> bytes:
    """The same as PNG. Raises Unsupported without vl-convert."""
    try:
        import vl_convert
    except ImportError as e:
        raise Unsupported(f"a PNG {HOW} (or ask for .svg)") from e
    drawn: bytes = vl_convert.svg_to_png(alone(picture, theme, lang), scale=scale)
    return drawn


def colours(theme: Theme) -> str:
    """The style of pictures with literal colours."""
    css = resources.files("ridgeline.report.page").joinpath("templates", "picture.css").read_text("utf-8")
    for name, value in PALETTE[theme].items():
        css = css.replace(f"var(--{name})", value)
    return css


# Okabe-Ito hues (told apart by all common kinds of colour blindness), lightened on dark ground.
PALETTE: Final[dict[Theme, dict[str, str]]] = {
    "light": {
        "paper": "#ffffff", "ink": "#1b1f24", "soft": "#59636e", "grid": "#e6e9ed", "ground": "#f6f8fa",
        "accent": "#c2410c", "wash": "#fdf1ea", "calm": "#6e7b8a", "calmer": "#b3bcc6", "after": "#0072b2",
        "queue": "#c2410c", "prefill": "#0072b2", "decode": "#00815d", "return": "#a8528a", "before": "#8a6100",
        "transfer": "#5a3d9a", "unaccounted": "#6e7781", "inside": "#ffffff",
        "h1": "#fbe3d6", "h2": "#f6c5ac", "h3": "#eea27e", "h4": "#e27f53",
        "h5": "#d05c2c", "h6": "#aa410f", "h7": "#7a2c07",
    },
    "dark": {
        "paper": "#12161b", "ink": "#e8ecf1", "soft": "#9aa6b2", "grid": "#28303a", "ground": "#1a2027",
        "accent": "#ff8a4c", "wash": "#2c1e15", "calm": "#8b98a6", "calmer": "#4d5865", "after": "#56b4e9",
        "queue": "#ff8a4c", "prefill": "#56b4e9", "decode": "#34c796", "return": "#e39bc9", "before": "#e6b73c",
        "transfer": "#b8a1ff", "unaccounted": "#9aa6b2", "inside": "#12161b",
        "h1": "#3a2417", "h2": "#5b311a", "h3": "#84431d", "h4": "#b05722",
        "h5": "#dc7131", "h6": "#ff9a5f", "h7": "#ffd0b3",
    },
}  # fmt: skip


__all__ = ["PALETTE", "WIDTH", "Theme", "alone", "colours", "png", "svg"]
