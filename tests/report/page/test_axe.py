"""axe-core on the report and on the live page, in both themes and both languages: no serious and no critical fault."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.bundle.view import View
from ridgeline.cli.report import drawings, gathered, html
from ridgeline.ladder.diagnose import diagnose
from ridgeline.model.chart import Picture
from ridgeline.model.diagnosis import Diagnosis
from tests.report.page.browser import chromium, opened

INCIDENT: Final = str(Path(__file__).resolve().parents[3] / "examples" / "incident")
# The tables of all pictures, a few pieces of evidence with their rows, and the queries: thousands of alike cells are
# not asked about one by one.
OPEN: Final = """document.querySelectorAll('#answered details, #evidence > details:nth-of-type(-n+3), .more')
    .forEach((e) => (e.open = true))"""
GRAVE: Final = ("serious", "critical")
Told = tuple[View, Diagnosis, list[Picture]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def told() -> Told:
    view = open_sources([INCIDENT])
    d = diagnose(view, sources=(INCIDENT,))
    return view, d, drawings(view, d)


def _axe() -> Any:
    return pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs axe-playwright-python (dev)"
    ).Axe()


def faults(page: Any) -> list[str]:
    """What axe-core calls serious or critical, each with the first three places where it stands."""
    found = _axe().run(page, options={"resultTypes": ["violations"]}).response
    assert len(found["passes"]) > 15  # it did look
    return [
        f"{v['impact']} {v['id']}: {[node['html'][:160] for node in v['nodes'][:3]]}"
        for v in found["violations"]
        if v["impact"] in GRAVE
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_report(told: Told, browser: Any, tmp_path: Path, lang: str, scheme: str) -> None:
    view, d, shown = told
    (tmp_path / "r.html").write_bytes(html(gathered(view, d, shown, lang)))
    with opened(browser, (tmp_path / "r.html").as_uri(), scheme) as (page, heard):
        assert page.evaluate("document.documentElement.lang") == {"en": "en", "zh": "zh-CN"}[lang]
        page.evaluate(OPEN)
        assert faults(page) == []
    assert (heard.console, heard.asked) == ([], [])


def test_axe_does_find_faults(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.html").write_text(
        "<!doctype html><p style='color:#eee;background:#fff'>pale</p><img src='data:,'>"
    )
    with opened(browser, (tmp_path / "bad.html").as_uri()) as (page, _):
        page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p>x</p>'.repeat(20))")
        found = [v["id"] for v in _axe().run(page).response["violations"] if v["impact"] in GRAVE]
        assert {"color-contrast", "html-has-lang", "image-alt"} <= set(found)


@pytest.fixture(scope="module", params=["en", "zh"])
def address(request: Any) -> Iterator[str]:
    command = [sys.executable, "-m", "ridgeline", "open", INCIDENT, "--no-browser", "--lang", request.param]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        yield child.stdout.readline().strip()
        child.send_signal(signal.SIGINT)
        child.wait(timeout=30)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_live_page(address: str, browser: Any, scheme: str) -> None:
    own = address.partition("?")[0]
    with opened(browser, address, scheme, own) as (page, heard):
        page.wait_for_selector("body[data-turn='1']", timeout=120_000)
        page.wait_for_selector("body[data-story='ready']", timeout=120_000)
        page.locator("#slot-heat rect.c").last.click()
        page.locator("#request-rows [data-rid]").first.click()
        page.locator("#request [data-cite]").first.click()
        page.wait_for_selector("pre.lines")
        page.select_option("#rank", "1")
        page.wait_for_selector("body[data-turn='2']", timeout=120_000)
        page.wait_for_selector("#slot-slices:not(.busy) svg", timeout=120_000)
        page.click("#differs")
        page.wait_for_selector("#picture-differs", timeout=120_000)
        assert page.locator("#picture-differs table, #picture-differs figcaption p").count() > 0
        page.click("#rungs")
        page.wait_for_selector("#answer .ladder", timeout=120_000)
        assert faults(page) == []
    assert (heard.console, heard.asked) == ([], [])
