"""Prompts beside each other: which a key keeps apart from what they share."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.bundle.view import View, view_of
from ridgeline.facts import ask
from ridgeline.model.diagnosis import Window
from tests.causes.rows import T0, requests

INCIDENT, BASELINE = Window(T0 + 100, T0 + 201), Window(T0, T0 + 99.99)


def value(view: View, measure: str) -> Any:
    return ask(view, measure).value


def keyed(apart_after: int, each: int = 1, *, hit: int = 10) -> View:
    """80 requests, 40 before: from number `apart_after` on every `each`th has a key of its own and finds `hit`."""
    asked = requests(40, 0, 2.5, rid=[f"r{i}" for i in range(40)], cached_tokens=900)
    asked += requests(40, 100, 2.5, rid=[f"r{i}" for i in range(40, 80)], first=99, cached_tokens=900)
    prompts: list[dict[str, Any]] = []
    for i, row in enumerate(asked):
        apart = i >= apart_after and i % each == 0
        row["cached_tokens"] = hit if apart else 900
        shown = {"rid": row["rid"], "unit": "tokens", "tokens": 1000, "seen_tokens": 1000, "common_tokens": 950}
        near = {"namespace": f"extra=u{i}" if apart else "", "neighbour": f"r{max(i - 1, 0)}", "source": 7}
        prompts += [{**shown, **near, "line": i}, {**shown, **near, "line": 500 + i}]  # received, and finished
    return view_of({"requests": asked, "prompts": prompts}).window(INCIDENT, BASELINE)


def test_keys_that_keep_prompts_apart_are_counted_within_the_window_once_for_each_request() -> None:
    told = ask(keyed(60), "split_by_key")
    assert (told.value, told.n) == (0.5, 40)


def test_prompts_that_find_what_they_share_are_not_kept_apart_by_their_keys() -> None:
    assert value(keyed(40, hit=900), "split_by_key") == 0
    assert value(keyed(40, hit=900), "keys_split") is False


@pytest.mark.parametrize(("apart_after", "split"), [(40, True), (0, False), (80, False)])
def test_a_tenth_of_the_prompts_counts_where_none_was_apart_before(apart_after: int, split: bool) -> None:
    assert value(keyed(apart_after, each=10), "keys_split") is split
