from math import floor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.bundle.clocks import interval, span
from tests.bundle.made import assembled, requests, source

T = 1796011165.0


@given(
    st.floats(1e6, 2e9),
    st.lists(st.tuples(st.floats(0, 5000), st.floats(0, 0.4)), min_size=1, max_size=40),
)
def test_the_interval_of_log_lines_holds_the_true_offset(offset: float, ends: list[tuple[float, float]]) -> None:
    # each line is written up to 0.4 s after the end it reports, with its second cut off
    apart = [floor(end + offset + late) - end for end, late in ends]
    found, error = interval(apart)
    assert abs(found - offset) <= error + 0.5 + 1e-6


def test_exact_lines_give_a_tight_interval() -> None:
    found, error = interval([floor(1000.0 + e) - e for e in (0.05, 1.35, 2.65, 3.95)])
    assert error <= 0.1
    assert abs(found - 1000.0) <= error


def test_monotonic_queue_entries_become_wall_time_through_the_log_lines() -> None:
    records = [
        {
            "kind": "time-stats", "event": "finished", "rid": f"r{i}", "source": 1, "line": i + 1,
            "queued_mono": 8000.0 + i * 1.37, "queue_s": 0.2, "forward_s": 1.0,
            "logged_ts": float(floor(T + i * 1.37 + 1.2)),
        }
        for i in range(20)
    ]  # fmt: skip
    view = assembled({"records": records})
    ((offset, error, basis),) = view.query("SELECT offset_s, error_s, basis FROM clocks WHERE clock LIKE 'monotonic%'")
    assert abs(offset - (T - 8000.0)) <= error <= 0.5
    assert "20 log lines" in basis
    for i, (queued_ts,) in enumerate(requests(view, "queued_ts")):
        assert queued_ts == pytest.approx(T + i * 1.37, abs=error + 1e-6)


def test_an_arrival_on_both_clocks_is_a_better_anchor_than_lines() -> None:
    records = [
        {"kind": "request-log", "event": "finished", "rid": "a", "source": 1, "line": 1, "received_ts": T,
         "received_mono": 500.0, "logged_ts": T + 9},
        {"kind": "time-stats", "event": "finished", "rid": "a", "source": 1, "line": 2, "queued_mono": 500.25,
         "queue_s": 0.1, "forward_s": 1.0, "logged_ts": T + 1},
    ]  # fmt: skip
    view = assembled({"records": records})
    assert requests(view, "queued_ts", "pre_queue_s") == [(T + 0.25, 0.25)]


def test_without_an_anchor_a_monotonic_time_stays_away_from_wall_times() -> None:
    records = [{"kind": "time-stats", "event": "finished", "rid": "a", "source": 1, "line": 1, "queued_mono": 500.25}]
    assert requests(assembled({"records": records}), "queued_ts", "received_ts") == [(None, None)]


def client_view(shift_s: float) -> Any:
    records: list[dict[str, Any]] = []
    for i in range(5):
        at = T + i + 0.25
        records.append(
            {"kind": "request-log", "event": "finished", "rid": f"r{i}", "source": 1, "line": i, "state": "finished",
             "received_ts": at + 0.003 + shift_s, "finished_ts": at + 0.9 + shift_s}
        )  # fmt: skip
        records.append(
            {"kind": "client", "event": "finished", "role": "client", "rid": f"r{i}", "source": 2, "line": i,
             "state": "finished", "received_ts": at, "finished_ts": at + 0.904}
        )  # fmt: skip
    view = assembled({"records": records}, [source(1, "s.log"), source(2, "c.jsonl", "client")])
    return view.query("SELECT offset_s, error_s FROM clocks WHERE clock = 'client'")


def test_a_clients_clock_is_found_equal_within_what_the_requests_allow() -> None:
    ((offset, error),) = client_view(0.0)
    assert offset == 0.0
    assert error < 0.01


def test_a_clients_skew_is_stated_with_its_error() -> None:
    ((offset, error),) = client_view(37.5)
    assert offset == pytest.approx(37.5, abs=error + 1e-6)
    assert error < 0.01


def test_shifts_read_as_people_say_them() -> None:
    assert [span(s) for s in (28800.0, -19800.0, 820454400.0)] == ["+8 h", "-5.5 h", "+9496 days"]
