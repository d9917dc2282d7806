"""A real headless Chromium, and what is asked of every page in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

ARGS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
# Serious faults that can be told without a library: a page's language and title, one h1, no heading level left out,
# names of controls and pictures, unique ids, and text whose contrast with its ground is below WCAG AA.
FAULTS: Final = """() => {
  const out = [];
  const shown = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== 'hidden';
  if (!document.documentElement.lang) out.push('no language');
  if (!document.title.trim()) out.push('no title');
  if (document.querySelectorAll('h1').length !== 1) out.push('h1: ' + document.querySelectorAll('h1').length);
  let level = 1;
  for (const h of document.querySelectorAll('h1,h2,h3,h4,h5,h6')) {
    const n = Number(h.tagName[1]);
    if (n > level + 1) out.push(`heading ${h.textContent.trim().slice(0, 40)}: h${level} to h${n}`);
    level = n;
  }
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  for (const id of new Set(ids)) if (ids.filter((i) => i === id).length > 1) out.push('id twice: ' + id);
  for (const e of document.querySelectorAll('svg[role=img]')) {
    const names = (e.getAttribute('aria-labelledby') || '').split(' ').map((i) => document.getElementById(i));
    if (!names.length || names.some((n) => !n || !n.textContent.trim())) out.push('picture without a name');
  }
  for (const e of document.querySelectorAll('svg:not([role=img])'))
    if (e.getAttribute('aria-hidden') !== 'true') out.push('svg neither named nor hidden');
  for (const e of document.querySelectorAll('select,input,button,textarea'))
    if (!(e.labels?.length || e.textContent.trim() || e.getAttribute('aria-label')))
      out.push('control without a name: ' + e.id);
  for (const e of document.querySelectorAll('a[href^="#"]'))
    if (!document.getElementById(decodeURIComponent(e.hash.slice(1)))) out.push('link to nothing: ' + e.hash);
  for (const e of document.querySelectorAll('th')) if (!e.scope) out.push('th without scope');
  const rgb = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255, v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((s, v, k) => s + v * [0.2126, 0.7152, 0.0722][k], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length && (c.length < 4 || c[3] === 1)) return c;
    }
    return [255, 255, 255];
  };
  for (const e of document.querySelectorAll('body *')) {
    if (!shown(e) || e.closest('.sr,.skip') || e.classList.contains('in')) continue;
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    if (['STYLE', 'SCRIPT', 'title', 'desc', 'OPTION'].includes(e.tagName)) continue;
    const style = getComputedStyle(e), svg = e instanceof SVGElement;
    const [a, b] = [light(rgb(svg ? style.fill : style.color)), light(ground(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const px = parseFloat(style.fontSize), big = px >= 24 || (px >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (big ? 3 : 4.5))
      out.push(`contrast ${ratio.toFixed(2)}: ${e.tagName} ${e.textContent.trim().slice(0, 40)}`);
  }
  return out;
}"""


@dataclass
class Heard:
    """What a page did besides showing itself."""

    console: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser; the test is skipped, saying so, where none is installed."""
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright (the dev extra)")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("needs a Chromium: apt-get install chromium")
    with sync.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=path, args=list(ARGS))
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, url: str, scheme: str = "light", own: str = "") -> Iterator[tuple[Any, Heard]]:
    """A page at `url`; every request that is neither the file itself nor begins with `own` is noted and stopped."""
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1240, "height": 1400})
    page, heard = context.new_page(), Heard()
    page.on("console", lambda m: heard.console.append(f"{m.type}: {m.text}"))
    page.on("pageerror", lambda e: heard.console.append(f"error: {e}"))
    page.on("dialog", lambda d: (heard.dialogs.append(d.message), d.dismiss()))

    def route(route: Any) -> None:
        asked = route.request.url
        if asked == url or (own and asked.startswith(own)) or asked.startswith("data:"):
            route.continue_()
        else:
            heard.asked.append(asked)
            route.abort()

    page.route("**/*", route)
    page.goto(url)
    yield page, heard
    context.close()
