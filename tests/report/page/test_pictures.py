"""Every picture a page can hold, in a real browser: its numbers are read back and are those it was drawn from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.bundle.view import View, view_of
from ridgeline.cli.report import drawings, gathered, html
from ridgeline.facts.pictures.times import Side, latency, sides
from ridgeline.ladder.diagnose import diagnose
from ridgeline.model.chart import Bars, Heat, Panels, Picture, Ranges, Stacks
from ridgeline.model.diagnosis import Diagnosis
from ridgeline.report.contract import to_contract
from ridgeline.report.page.content import RUNG_OF
from tests.causes.cases import CASES
from tests.prefix.compose import Ask, view_with
from tests.report.page.browser import chromium, opened

INCIDENT: Final = str(Path(__file__).resolve().parents[3] / "examples" / "incident")
HEAD: Final = tuple(range(1, 21))
GAIN: Final = {"before": 20.0, "after": 0.4, "delta": -19.6, "low": -25.0, "high": -3.0, "relative": -0.98}
ONE: Final = {"observed": 2.0, "predicted": 2.2, "error": 0.1, "low": 1.8, "high": 2.6}
DECISION: Final = {
    "schema": "ridgeline.decision/1", "cause": "routing.hot-key", "verdict": "change", "worth_touching": True,
    "sentence": "Spread the key.", "change": {"settings": {"workers": 2}, "unpin": False, "flag": None},
    "gain": {"figure": "TTFT p90", **GAIN}, "risk": [], "base": None, "notes": [],
    "fidelity": {"trust": True, "why": [], "requests": 445, "metrics": {"ttft_s": {"p90": ONE}}},
    "tried": [{"settings": {"workers": 2}, "unpin": False, "gain": GAIN}],
}  # fmt: skip
Told = tuple[View, Diagnosis, list[Picture]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def told() -> dict[str, Told]:
    """Three evidences that between them draw every picture: one with a decision and an after, a pair, prompts."""
    view = open_sources([INCIDENT])
    d = diagnose(view, sources=(INCIDENT,))
    then: Side = ("after", "after", view, None)
    before = sides(view.window(d.incident, d.baseline))[::-1]
    after = Picture(**{**vars(latency(view, [*before, then])), "name": "before-after"})
    pair, prompts = view_of(CASES["disagg.ratio"].tables), view_with([Ask(HEAD, space=None, rank=None)] * 3)
    return {
        "incident": (view, d, [*drawings(view, d, ("decision.json", DECISION)), after]),
        "pair": (pair, e := diagnose(pair, "disagg"), drawings(pair, e)),
        "prompts": (prompts, p := diagnose(prompts, "cache"), drawings(prompts, p)),
    }


def test_between_them_they_draw_every_picture(told: dict[str, Told]) -> None:
    drawn = {p.name for _, _, shown in told.values() for p in shown if p.drawing is not None}
    assert drawn == set(RUNG_OF)


@pytest.mark.parametrize(
    ("name", "lang"), [("incident", "en"), ("incident", "zh"), ("pair", "en"), ("pair", "zh"), ("prompts", "en")]
)
def test_numbers_are_read_back(told: dict[str, Told], browser: Any, tmp_path: Path, name: str, lang: str) -> None:
    view, d, shown = told[name]
    (tmp_path / "p.html").write_bytes(html(gathered(view, d, shown, lang)))
    with opened(browser, (tmp_path / "p.html").as_uri()) as (page, heard):
        drawn = [p for p in shown if p.drawing is not None]
        for p in drawn:
            at = f"#picture-{p.name}"
            assert page.locator(f"{at} svg").bounding_box()["height"] > 60, p.name
            read = page.evaluate(f"[...document.querySelectorAll('{at} td data')].map((e) => Number(e.value))")
            numbers = [v for row in p.rows[:400] for v in row if isinstance(v, int | float)]
            assert read == pytest.approx(numbers, rel=1e-11) and numbers, p.name
            _marks(page, at, p)
        values = page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('.proof')].map((e) => "
            "[e.querySelector('.id').textContent, e.querySelector('.value data')?.value ?? null]))"
        )
        for key, fact in to_contract(d)["evidence"].items():
            if isinstance(fact["value"], int | float) and not isinstance(fact["value"], bool):
                assert float(values[key]) == pytest.approx(fact["value"], rel=1e-11), key
    assert (heard.console, heard.asked, heard.dialogs) == ([], [], [])


def _marks(page: Any, at: str, p: Picture) -> None:
    """What is drawn: cells with their counts, bars as long as their parts, a line for each curve, a dot a row."""
    match p.drawing:
        case Heat(counts=counts):
            cells = page.evaluate(f"[...document.querySelectorAll('{at} rect.c')].map((e) => "
                                  "[e.dataset.x, e.dataset.y, e.dataset.n].map(Number))")  # fmt: skip
            assert {(x, y): n for x, y, n in cells} == {
                (x, y): n for y, row in enumerate(counts) for x, n in enumerate(row) if n
            }
        case Stacks(bars=bars):
            found = f"[...document.querySelectorAll('{at} rect.part:has(title)')]"
            widths = page.evaluate(f"{found}.map((e) => Number(e.getAttribute('width')) + 1)")
            parts = [value for bar in bars for _, _, value in bar.parts]
            assert len(widths) == len(parts), p.name
            scale = max(widths) / max(parts)
            for width, part in zip(widths, parts, strict=True):
                assert width == pytest.approx(max(1.5, part * scale), abs=1.1), p.name
        case Panels(panels=panels):
            lines = page.evaluate(
                f"[...document.querySelectorAll('{at} path.line')].map((e) => e.querySelector('title').textContent)"
            )
            assert len(lines) == sum(len(panel.curves) for panel in panels), p.name
        case Ranges(rows=rows):
            assert page.locator(f"{at} circle.dot").count() == len(rows), p.name
        case Bars(timelines=timelines):
            told = page.text_content(f"{at} svg") or ""
            assert all(t.rid[:8] in told for t in timelines), p.name
