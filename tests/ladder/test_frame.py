"""The frame of an incident that hits a few: failures, lost prefixes and starts with other settings divide it."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.bundle.view import View, view_of
from ridgeline.ladder.frame import Frame, frame
from tests.causes.rows import T0, Tables, join, requests

AT = 300  # of 600 requests, one a second


def framed(asked: Tables, *more: Tables) -> Frame:
    view: View = view_of(join(asked, *more))
    return frame(view, None, None)


def told(slower: float, **values: Any) -> Tables:
    """600 requests of varied times; from the 300th on one in six takes so many times as long."""
    ttft = [(0.1 + 0.01 * (i % 7)) * (slower if i >= AT and i % 6 == 0 else 1.0) for i in range(2 * AT)]
    return {"requests": requests(2 * AT, ttft_s=ttft, **values)}


def test_failures_that_begin_are_an_onset() -> None:
    failed = [i >= AT and i % 10 == 0 for i in range(2 * AT)]
    f = framed(
        told(
            1.0, state=["aborted" if bad else "finished" for bad in failed],
            status_code=[500 if bad else None for bad in failed],
            finish_reason=["abort" if bad else "stop" for bad in failed],
        )
    )  # fmt: skip
    assert f.signal == "failed"
    assert f.onset_ts == pytest.approx(T0 + AT, abs=20)


@pytest.mark.parametrize(("slower", "signal"), [(1.0, None), (2.0, "missed")])
def test_a_tenth_that_finds_no_prefix_frames_where_users_fare_worse(slower: float, signal: str | None) -> None:
    found: list[object] = [0 if i >= AT and i % 10 == 3 else 400 + i % 5 for i in range(2 * AT)]
    f = framed(told(slower, cached_tokens=found))
    assert f.signal == signal


@pytest.mark.parametrize(("slower", "now", "how"), [
    (1.0, "15000", "none"), (2.0, "120000", "none"), (2.0, "15000", "change-point"),
])  # fmt: skip
def test_a_start_with_another_pool_frames_where_users_fare_worse(slower: float, now: str, how: str) -> None:
    starts = [
        {"server": "s", "key": "max_total_tokens", "value": value, "ts": T0 + at, "source": 1, "line": line}
        for line, (value, at) in enumerate((("120000", -20), (now, AT)))
    ]
    assert framed(told(slower), {"config": starts}).how == how
