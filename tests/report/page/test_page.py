"""The report in a real browser: right numbers, nothing loaded, hostile text stays text, readable by everyone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.bundle.view import View, view_of
from ridgeline.cli.report import MOST_BYTES, drawings, gathered, html
from ridgeline.ladder.diagnose import diagnose
from ridgeline.model.chart import Heat, Picture
from ridgeline.model.diagnosis import Diagnosis
from ridgeline.report.contract import to_contract
from ridgeline.report.page.draw import PALETTE, alone, png
from tests.causes.cases import CASES
from tests.report.page.browser import FAULTS, chromium, opened

INCIDENT: Final = str(Path(__file__).resolve().parents[3] / "examples" / "incident")
HOSTILE: Final = (
    "<script>alert(1)</script>\"'><img src=http://192.0.2.1/x onerror=alert(2)>\x1b[31mred\x1b]0;t\x07\u202e"
)


def made(view: View, sources: tuple[str, ...] = ("x",), lang: str = "en") -> tuple[Diagnosis, list[Picture], bytes]:
    d = diagnose(view, sources=sources)
    shown = drawings(view, d)
    return d, shown, html(gathered(view, d, shown, lang))


@pytest.fixture(scope="module")
def incident() -> tuple[Diagnosis, list[Picture], bytes]:
    return made(open_sources([INCIDENT]), (INCIDENT,))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


def hostile() -> View:
    tables = {name: [dict(row) for row in rows] for name, rows in CASES["routing.hot-key"].tables.items()}
    for row in tables["requests"]:
        row["routing_key"] = HOSTILE if row["routing_key"] == "hot" else row["routing_key"]
        row["rid"] = f"{row['rid']}{HOSTILE}"
        row["received_ts"] += 0.0
    for row in tables["sources"]:
        row["path"] = f"{HOSTILE}.log"
        row["notes"] = [HOSTILE]
    return view_of(tables)


def test_same_input_same_bytes(incident: tuple[Diagnosis, list[Picture], bytes]) -> None:
    assert made(open_sources([INCIDENT]), (INCIDENT,))[2] == incident[2]
    assert len(incident[2]) < MOST_BYTES


def test_nothing_is_loaded_and_nothing_can_run(incident: tuple[Diagnosis, list[Picture], bytes]) -> None:
    text = incident[2].decode()
    assert "<script" not in text and " src=" not in text and "@import" not in text and "url(" not in text
    assert not re.search(r"\son\w+=", text) and " style=" not in text
    links = re.findall(r'href="([^"]*)"', text)
    assert links and all(link.startswith("#") for link in links)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy and policy[1].startswith("default-src &#39;none&#39;")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_reads_back_what_was_computed(
    incident: tuple[Diagnosis, list[Picture], bytes], browser: Any, tmp_path: Path, scheme: str
) -> None:
    d, shown, data = incident
    (tmp_path / "r.html").write_bytes(data)
    with opened(browser, (tmp_path / "r.html").as_uri(), scheme) as (page, heard):
        assert d.findings[0].cause in page.inner_text("#summary") + page.title()
        if scheme == "light":
            _pictures(page, [p for p in shown if p.drawing is not None])
            _evidence(page, to_contract(d)["evidence"])
        page.evaluate("document.querySelectorAll('#answered details').forEach((e) => (e.open = true))")
        assert page.evaluate(FAULTS) == []
        page.click('a[href="#E1"] >> nth=0')  # a cited figure opens what is behind it
        assert page.evaluate("document.getElementById('E1').closest('details').open")
        assert page.locator("#E1 table tbody tr").count() == 50
    assert (heard.console, heard.asked, heard.dialogs) == ([], [], [])


def _pictures(page: Any, drawn: list[Picture]) -> None:
    """Every picture is there, and its table holds its numbers."""
    assert len(drawn) >= 6
    for p in drawn:
        at = f"#picture-{p.name}"
        assert page.locator(f"{at} svg").bounding_box()["height"] > 60, p.name
        told = page.evaluate(f"[...document.querySelectorAll('{at} td data')].map((e) => Number(e.value))")
        numbers = [v for row in p.rows for v in row if isinstance(v, int | float)]
        assert told == pytest.approx(numbers, rel=1e-11), p.name
        if isinstance(p.drawing, Heat):
            cells = page.evaluate(
                f"[...document.querySelectorAll('{at} rect.c')].map((e) => [e.dataset.x, e.dataset.y, e.dataset.n])"
            )
            there = {(x, y): n for y, row in enumerate(p.drawing.counts) for x, n in enumerate(row) if n}
            assert {(int(x), int(y)): int(n) for x, y, n in cells} == there


def _evidence(page: Any, evidence: dict[str, Any]) -> None:
    values = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.proof')].map((e) => "
        "[e.querySelector('.id').textContent, e.querySelector('.value data')?.value ?? null]))"
    )
    assert set(values) == set(evidence)
    for name, fact in evidence.items():
        if isinstance(fact["value"], int | float) and not isinstance(fact["value"], bool):
            assert float(values[name]) == pytest.approx(fact["value"], rel=1e-11), name


def test_hostile_text_stays_text(browser: Any, tmp_path: Path) -> None:
    d, shown, data = made(hostile(), (HOSTILE,))
    assert d.findings[0].cause == "routing.hot-key"
    text = data.decode()
    assert "\x1b" not in text and "\u202e" not in text and "\x07" not in text and "<script" not in text
    (tmp_path / "h.html").write_bytes(data)
    with opened(browser, (tmp_path / "h.html").as_uri()) as (page, heard):
        assert "<script>alert(1)</script>" in page.inner_text("#summary")
        assert page.locator("script, img").count() == 0
    assert (heard.console, heard.asked, heard.dialogs) == ([], [], [])
    for p in shown:
        if p.drawing is not None:
            assert "<script" not in alone(p) and "\x1b" not in alone(p)


@pytest.mark.parametrize("name", ["healthy", "inconclusive"])
def test_a_page_without_a_finding(name: str) -> None:
    from tests.causes.rows import decode, join, requests

    view = view_of(join({"batches": decode(60), "requests": requests(100)}) if name == "healthy" else {})
    d, _, data = made(view)
    assert d.verdict == name
    assert f'class="verdict {name}"' in data.decode()


def test_each_picture_is_a_file_of_its_own(incident: tuple[Diagnosis, list[Picture], bytes]) -> None:
    import xml.etree.ElementTree as ET

    for p in incident[1]:
        if p.drawing is None:
            continue
        for theme in ("light", "dark"):
            root = ET.fromstring(alone(p, theme))  # type: ignore[arg-type]
            assert root.tag.endswith("svg") and "var(" not in alone(p, theme)  # type: ignore[arg-type]
    heat = next(p for p in incident[1] if p.name == "heat")
    assert png(heat, scale=1.0).startswith(b"\x89PNG")


def test_colours_can_be_read_and_told_apart() -> None:
    """Text inside coloured parts: 4.5 to 1 at least, in both themes."""

    def light(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
        return sum(v * w for v, w in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))

    for theme, colours in PALETTE.items():
        inside = light(colours["inside"])
        for part in ("queue", "prefill", "decode", "return", "before", "transfer", "unaccounted"):
            low, high = sorted((inside, light(colours[part])))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (theme, part)
        shades = [light(colours[f"h{k}"]) for k in range(1, 8)]
        assert shades == sorted(shades, reverse=theme == "light"), theme


def test_on_paper_it_is_dark_on_white(
    incident: tuple[Diagnosis, list[Picture], bytes], browser: Any, tmp_path: Path
) -> None:
    (tmp_path / "p.html").write_bytes(incident[2])
    with opened(browser, (tmp_path / "p.html").as_uri(), "dark") as (page, _):
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 27)"
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.locator("nav").is_hidden()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_is_missing_is_asked_for_in_the_engine_s_own_flags() -> None:
    view = view_of({"servers": [{"server": "s", "engine": "vllm", "version": "0.32.0"}]})
    asks = {p.name: p.missing[0].how for p in drawings(view, diagnose(view))}
    assert set(asks) >= {"heat", "latency", "ranks", "slices", "waterfall", "pair", "prefix"}
    assert not any("--enable-metrics" in how or "--log-requests-level" in how for how in asks.values()), asks
    assert "/metrics" in asks["ranks"]
