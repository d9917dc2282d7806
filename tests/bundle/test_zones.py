from datetime import UTC, datetime
from typing import Any

import pytest

from ridgeline.bundle.zones import OTHER_YEARS, Zone, told
from tests.bundle.made import assembled, source

T = 1796011165.0
H8 = 8 * 3600.0
Y2000 = datetime.fromtimestamp(T, UTC).replace(year=2000).timestamp()  # as a line without a year is read


def naive(number: int, path: str, **said: Any) -> Any:
    return source(number, path, clock="naive", from_ts=T + H8, to_ts=T + H8 + 60, **said)


def lines(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"line": n, **row} for n, row in enumerate(rows, 1)]


def log(rid: str, at: float, **more: Any) -> dict[str, Any]:
    return {"kind": "time-stats", "event": "finished", "rid": rid, "source": 1, "logged_ts": float(int(at)), **more}


def test_lines_that_hold_both_times_tell_the_zone_of_the_whole_log() -> None:
    records = lines(*(log(f"r{i}", T + H8 + 2 + i, queued_ts=T + i, queue_s=0.5, forward_s=1.4) for i in range(4)))
    batches = [{"source": 1, "line": 9, "ts": T + H8, "running": 1}]
    events = [{"source": 1, "line": 8, "ts": T + H8, "kind": "ready"}]
    view = assembled({"records": records, "batches": batches, "events": events}, [naive(1, "server.log")])
    assert view.query("SELECT ts FROM batches") == [(T,)]
    assert view.query("SELECT ts FROM events") == [(T,)]
    assert view.query("SELECT min(logged_ts), min(queued_ts) FROM records") == [(T + 2, T)]
    ((from_ts, notes),) = view.query("SELECT from_ts, notes FROM sources")
    assert from_ts == T
    assert [note for note in notes if "zone" in note] == [
        "server.log: times carry no zone; taken as UTC+08:00 (its own records hold both times: 4 agree)"
    ]
    ((offset, error),) = view.query("SELECT offset_s, error_s FROM clocks WHERE clock = 'naive'")
    assert (offset, error) == (-H8, 1.0)


def test_shared_requests_tell_it_where_the_log_itself_cannot() -> None:
    records = lines(*(log(f"r{i}", T + H8 + 2 + i) for i in range(3)))
    records += lines(
        *(
            {"kind": "exporter", "rid": f"r{i}", "source": 2, "finished_ts": T + 2.3 + i, "clock": "wall"}
            for i in range(3)
        )
    )
    view = assembled({"records": records}, [naive(1, "server.log"), source(2, "exporter.log", "exporter")])
    assert view.query("SELECT min(logged_ts) FROM records") == [(T + 2,)]


def test_without_an_anchor_nothing_is_moved_and_that_is_said() -> None:
    records = lines(log("r0", T + H8), log("r1", T + H8 + 1))
    batches = [{"source": 1, "line": 9, "ts": T + H8}]
    view = assembled({"records": records, "batches": batches}, [naive(1, "server.log")])
    assert view.query("SELECT ts FROM batches") == [(T + H8,)]
    assert view.query("SELECT offset_s, basis FROM clocks") == [(None, "no zone given and no anchor: read as UTC")]


def test_anchors_that_disagree_move_nothing() -> None:
    records = lines(*(log(f"r{i}", T + 7000 * i, queued_ts=T, queue_s=0.0, forward_s=0.0) for i in range(6)))
    view = assembled({"records": records}, [naive(1, "server.log")])
    assert view.query("SELECT max(logged_ts) FROM records") == [(T + 35000,)]


def test_rows_that_their_reader_put_right_are_not_moved_again() -> None:
    records = lines(*(log(f"r{i}", T + H8 + 2 + i, queued_ts=T + i, queue_s=0.5, forward_s=1.4) for i in range(4)))
    records.append(
        {
            "kind": "request-log",
            "event": "finished",
            "rid": "z",
            "source": 1,
            "line": 7,
            "logged_ts": T + 3,
            "finished_ts": T + 3,
        }
    )
    view = assembled({"records": records}, [naive(1, "server.log")])
    assert view.query("SELECT logged_ts FROM records WHERE rid = 'z'") == [(T + 3,)]


YEAR_2000 = 975556518.0  # 2000-11-30T03:55:18
YEAR_2026 = 1796010918.0


@pytest.mark.parametrize("shared", [True, False])
def test_a_log_without_years_takes_its_year_from_shared_requests_or_the_other_sources(shared: bool) -> None:
    records = lines(
        *(
            {"kind": "vllm-log", "event": "finished", "rid": f"r{i}", "source": 1, "clock": "wall",
             "finished_ts": YEAR_2000 + i, "logged_ts": YEAR_2000 + i}
            for i in range(3)
        )
    )  # fmt: skip
    if shared:
        records += lines(
            *({"kind": "span", "rid": f"r{i}", "source": 2, "finished_ts": YEAR_2026 + i + 0.4} for i in range(3))
        )
    log_source = source(1, "vllm.log", clock="naive", from_ts=YEAR_2000, to_ts=YEAR_2000 + 9)
    other = source(2, "m.prom", "exposition", from_ts=YEAR_2026, to_ts=YEAR_2026 + 9)
    view = assembled({"records": records}, [log_source, other])
    assert view.query("SELECT min(finished_ts) FROM records WHERE source = 1") == [(YEAR_2026,)]
    ((path, from_ts),) = view.query("SELECT path, from_ts FROM sources WHERE source = 1")
    assert (path, from_ts) == ("vllm.log", YEAR_2026)


@pytest.mark.parametrize(
    ("zone", "read_ts", "said"),
    [
        (Zone(1, -H8, 5, "b"), T + H8, "times carry no zone; taken as UTC+08:00 (b: 5 agree)"),
        (Zone(1, 0.0, 5, "b"), T, "times carry no zone; taken as UTC (b: 5 agree)"),
        (
            Zone(1, T - Y2000 - H8, 9, "b"),
            Y2000 + H8,
            "times carry no year and no zone; taken as 2026, UTC+08:00 (b: 9 agree)",
        ),
        (
            Zone(1, T - Y2000, 1, OTHER_YEARS),
            Y2000,
            f"times carry no year and no zone; taken as 2026, UTC ({OTHER_YEARS})",
        ),
    ],
)
def test_what_is_known_of_the_times_is_one_sentence(zone: Zone, read_ts: float, said: str) -> None:
    assert told(zone, read_ts) == said
