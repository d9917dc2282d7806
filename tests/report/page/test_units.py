"""Numbers and axes: never a wrong zero, ticks inside their range, words of both languages alike."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.report.page import units
from ridgeline.report.page.svg import Scale, path, short
from ridgeline.report.page.words import capital
from ridgeline.words.messages_page_en import PAGE as EN
from ridgeline.words.messages_page_zh import PAGE as ZH

FINITE = st.floats(1e-5, 1e7, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0 s"), (1e-9, "< 1 µs"), (0.000012, "12.0 µs"), (0.4082, "408 ms"), (27.29, "27.3 s"), (312.0, "5.20 min"),
     (7300.0, "2.03 h")],
)  # fmt: skip
def test_seconds(value: float, words: str) -> None:
    assert units.seconds(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0 %"), (0.0001, "< 0.1 %"), (0.9999, "> 99.9 %"), (1.0, "100 %"), (0.056, "5.6 %"), (-0.92, "−92 %")],
)
def test_a_share_that_is_neither_never_reads_as_none_or_all(value: float, words: str) -> None:
    assert units.share(value) == words


def test_what_is_missing_is_a_dash() -> None:
    assert units.shown(None, "s") == units.NONE == units.shown(math.nan, "s")
    assert units.shown(1e30, "time") == "no date"
    assert units.shown("\x1b[31m", "") == "\\x1b[31m"


@given(FINITE, FINITE)
def test_ticks_are_round_and_inside(a: float, b: float) -> None:
    low, high = sorted((a, b))
    for ticks in (units.ticks(low, high), units.log_ticks(low, high)):
        assert len(ticks) <= 30
        assert all(low * 0.98 - 1e-9 <= t <= high * 1.02 + 1e-9 for t in ticks)
        assert ticks == sorted(set(ticks))


@given(st.floats(1.7e9, 1.8e9), st.floats(0.001, 3e6))
def test_moments_of_an_axis(start: float, span: float) -> None:
    ticks = units.time_ticks(start, start + span)
    assert len(ticks) <= 7 and all(start <= t <= start + span for t in ticks)


@given(FINITE, FINITE, FINITE, st.booleans())
def test_a_scale_stays_within_its_ends(low: float, high: float, value: float, log: bool) -> None:
    assert 0 <= Scale(low, max(high, low * 1.001), 0, 100, log)(value) <= 100


def test_gaps_break_a_line_and_a_lone_point_is_seen() -> None:
    assert path([(0, 0), (1, 1), None, (3, 3), None]) == "M0 0L1 1M3 3h2"
    assert short(-0.04) == "0" and short(2.0) == "2"


@pytest.mark.parametrize(
    ("words", "shown"),
    [("running stands", "Running stands"), ("dp_rank=1 marks", "dp_rank=1 marks"), ("c62ac6 spent", "c62ac6 spent"),
     ("", ""), ("local: DP1", "Local: DP1")],
)  # fmt: skip
def test_identifiers_keep_their_letters(words: str, shown: str) -> None:
    assert capital(words) == shown


def test_both_languages_say_the_same_things() -> None:
    assert list(EN) == list(ZH) or set(EN) == set(ZH)
    for key, words in EN.items():
        assert set(re.findall(r"\{(\w+)", words)) == set(re.findall(r"\{(\w+)", ZH[key])), key
