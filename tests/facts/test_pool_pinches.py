"""A pool that is felt, and prompts that are said or only supposed to have changed."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.bundle.view import View, view_of
from ridgeline.facts import ask
from ridgeline.model.diagnosis import Window
from tests.causes.rows import T0, Tables, decode, join, requests

INCIDENT, BASELINE = Window(T0 + 100, T0 + 301), Window(T0, T0 + 99.99)


def value(view: View, measure: str) -> Any:
    return ask(view, measure).value


def compared(*tables: Tables) -> View:
    return view_of(join(*tables)).window(INCIDENT, BASELINE)


def asked(found: list[int]) -> Tables:
    """A hundred requests that find 400 of 500 tokens, and two hundred that find these."""
    return {"requests": requests(100, 0, 1, cached_tokens=400) + requests(200, 100, 1, first=100, cached_tokens=found)}


@pytest.mark.parametrize(
    ("pool", "found", "pinches"), [(15_000, [100], True), (15_000, [390], False), (120_000, [100], False)]
)
def test_a_smaller_pool_is_felt_where_it_no_longer_keeps_prefixes(pool: int, found: list[int], pinches: bool) -> None:
    starts = [
        {"source": 1, "line": line, "server": "s", "pool_tokens": tokens, "boot_ts": T0 + at}
        for line, tokens, at in ((900, 120_000, -50), (901, pool, 100))
    ]
    assert value(compared({"servers": starts, "batches": decode(150)}, asked(found)), "pool_pinches") is pinches


def test_a_pool_is_felt_where_requests_wait_beside_a_full_one() -> None:
    for usage, pinches in ((0.96, True), (0.5, False)):
        lines = {"batches": decode(150, waiting=9, running=9, usage=usage)}
        assert value(view_of(join(lines)), "pool_pinches") is pinches


@pytest.mark.parametrize(
    ("found", "changed", "told"),
    [([400], None, None), ([0] + [400] * 9, True, None), ([0], True, None)],
)
def test_prompts_that_are_only_what_is_left_are_not_told_to_have_changed(
    found: list[int], changed: bool | None, told: bool | None
) -> None:
    seen = compared({"batches": decode(150, usage=0.3)}, asked(found))
    assert value(seen, "content_changed") is changed
    assert value(seen, "content_told") is told
