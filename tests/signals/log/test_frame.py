# ruff: noqa: E501 (lines as logs have them)
"""Framing: prefixes of many kinds, wrappers, escapes, zones, clocks."""

import gzip
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals.lines import LogLines
from ridgeline.signals.log.clock import Clock
from ridgeline.signals.log.frame import frame
from ridgeline.signals.rows import Reading
from tests.signals.log.given import log

BODY = "Decode batch. #running-req: 8, #token: 1834, token usage: 0.01, cuda graph: True, gen throughput (token/s): 810.55, #queue-req: 3, "
AT = datetime(2026, 11, 30, 3, 37, 55, tzinfo=UTC).timestamp()


def framed(text: str, **given: object) -> LogLines:
    reading = Reading(0, "x", **given)  # type: ignore[arg-type]
    return frame(text.encode(), 1, Clock(reading, None))[0]


PREFIXES = [
    ("[2026-11-30 03:37:55] ", AT, (-1, -1, -1), None, None),
    ("[2026-11-30 03:37:55 TP0] ", AT, (-1, 0, -1), None, None),
    ("[2026-11-30 03:37:55 DP1 PP0 TP3 EP3] ", AT, (1, 3, 0), None, None),
    ("[2026-11-30 03:37:55 DP12 TP12 EP12 PP1] ", AT, (12, 12, 1), None, None),
    ("[2026-11-30 03:37:55 DP0 PP1 ATTN_CP2 MOE_DP3 TP4 EP5] ", AT, (0, 4, 1), None, None),
    ("[2026-11-30 03:37:55.250 DP0 TP0] ", AT + 0.25, (0, 0, -1), None, None),
    ("[2026-11-30 03:37:55][scheduler_metrics_mixin.py:431][INFO]: ", AT, (-1, -1, -1), "info", "scheduler_metrics_mixin.py:431"),
    ("2026-11-30 03:37:55 TP0] ", AT, (-1, 0, -1), None, None),
    ("(SchedulerActor pid=123, ip=10.0.0.4) [2026-11-30 03:37:55 TP1] ", AT, (-1, 1, -1), None, "SchedulerActor pid=123, ip=10.0.0.4"),
    ("2026-11-30T03:37:55.123456789Z [2026-11-30 03:37:55 TP0] ", AT, (-1, 0, -1), None, None),
    ("2026-11-30T03:37:55.123456789Z stdout F [2026-11-30 03:37:55 TP0] ", AT, (-1, 0, -1), None, None),
    ("[pod/sglang-0/server] [2026-11-30 03:37:55 TP0] ", AT, (-1, 0, -1), None, "pod/sglang-0/server".removeprefix("pod/")),
    ("sglang-1  | [2026-11-30 03:37:55 TP0] ", AT, (-1, 0, -1), None, "sglang-1"),
    ("Nov 30 03:37:55 node7 sglang[812]: [2026-11-30 03:37:55 TP0] ", AT, (-1, 0, -1), None, "node7 sglang[812]"),
    ("[TP5] ", None, (-1, 5, -1), None, None),
    ("[03:37:55 TP2] ", 3 * 3600 + 37 * 60 + 55.0, (-1, 2, -1), None, None),
    ("[INFO] ", None, (-1, -1, -1), "info", None),
    ("(APIServer pid=812) INFO 11-30 03:37:55 [loggers.py:336] ", datetime(2000, 11, 30, 3, 37, 55, tzinfo=UTC).timestamp(), (-1, -1, -1), "info", "APIServer pid=812 loggers.py:336"),
    ("INFO 11-30 03:37:55 llm_engine.py:921] ", datetime(2000, 11, 30, 3, 37, 55, tzinfo=UTC).timestamp(), (-1, -1, -1), "info", "llm_engine.py:921"),
    ("E1130 03:37:55.500000 9184 transfer_engine.cpp:454] ", datetime(2000, 11, 30, 3, 37, 55, 500000, tzinfo=UTC).timestamp(), (-1, -1, -1), "error", "transfer_engine.cpp:454"),
    ("2026-11-30T03:37:55.000000Z  WARN router::policy: ", AT, (-1, -1, -1), "warning", "router::policy"),
    ("2026-11-30 03:37:55 INFO 151972 [scheduler_metrics_mixin.py:287] ", AT, (-1, -1, -1), "info", "scheduler_metrics_mixin.py:287"),
    ("2026-11-30 03:37:55.250 | INFO     | sglang.srt.managers:log:28 - ", AT + 0.25, (-1, -1, -1), "info", "sglang.srt.managers:log:28"),
    ("2026-11-30 03:37:55,000 - sglang.srt.x - ERROR - ", AT, (-1, -1, -1), "error", "sglang.srt.x"),
]  # fmt: skip


@pytest.mark.parametrize(("prefix", "ts", "ranks", "severity", "logger"), PREFIXES, ids=[p[0] for p in PREFIXES])
def test_each_prefix_is_taken_off_and_understood(
    prefix: str, ts: float | None, ranks: tuple[int, int, int], severity: str | None, logger: str | None
) -> None:
    lines = framed(f"{prefix}{BODY}\n")
    assert lines.body[0].as_py().rstrip() == BODY.rstrip()
    assert (int(lines.dp_rank[0]), int(lines.tp_rank[0]), int(lines.pp_rank[0])) == ranks
    assert (None if lines.ts[0] != lines.ts[0] else float(lines.ts[0])) == ts
    assert lines.severity[0].as_py() == severity
    assert lines.logger[0].as_py() == logger
    assert lines.prefixed[0]


@pytest.mark.parametrize("prefix", [p[0] for p in PREFIXES])
def test_a_prefix_between_common_lines_changes_nothing_of_theirs(prefix: str) -> None:
    common = f"[2026-11-30 03:37:55 DP3 TP1] {BODY}\n"
    lines = framed(common + f"{prefix}{BODY}\n" + common)
    assert lines.dp_rank.tolist()[::2] == [3, 3]
    assert lines.ts.tolist()[::2] == [AT, AT]
    assert [text.as_py() for text in lines.body][::2] == [BODY, BODY]


def test_escapes_colours_and_carriage_returns_go() -> None:
    _, tables = log(f"\x1b[32m[2026-11-30 03:37:55 TP0]\x1b[0m \x1b[1m{BODY}\x1b[0m\r\n")
    assert tables["batches"][0]["tokens"] == 1834


def test_a_box_drawn_by_a_terminal_goes() -> None:
    lines = framed("│ 2026-03-07T06:20:44.102318Z  INFO a::b: Selected worker: id=5        │\n")
    assert lines.body[0].as_py() == "Selected worker: id=5"


def test_naive_times_are_utc_and_that_is_said() -> None:
    reading, _ = log(f"[2026-11-30 03:37:55] {BODY}\n")
    assert reading.clock == "naive"
    assert "read as UTC" in reading.notes[0]


@pytest.mark.parametrize(
    ("tz", "hours"), [(timezone(timedelta(hours=8)), 8), (ZoneInfo("America/New_York"), -5), (UTC, 0)]
)
def test_a_given_zone_is_used(tz: object, hours: int) -> None:
    reading, tables = log(f"[2026-11-30 03:37:55] {BODY}\n", tz=tz)
    assert tables["batches"][0]["ts"] == AT - 3600 * hours
    assert reading.clock == "wall"
    assert reading.notes == [n for n in reading.notes if "UTC" not in n]


def test_a_container_s_utc_time_gives_the_zone_of_the_record() -> None:
    text = "".join(
        f"2026-11-30T03:37:{s:02d}.500000000Z [2026-11-30 11:37:{s:02d} TP0] {BODY}\n" for s in range(50, 55)
    )
    reading, tables = log(text)
    assert tables["batches"][0]["ts"] == AT - 5
    assert any("UTC+08:00" in note for note in reading.notes)


def test_an_export_s_local_times_are_moved_to_the_records_clock() -> None:
    text = (
        'Jun 03, 2026 @ 17:19:06.114    INFO:     10.0.0.1:45970 - "POST /v1/chat/completions HTTP/1.1" 200 OK    \n'
        f"Jun 03, 2026 @ 17:19:07.402    [2026-06-03 09:19:07 DP5 TP5] {BODY}   \n"
    )
    reading, tables = log(text)
    assert tables["batches"][0]["ts"] - tables["events"][0]["ts"] == pytest.approx(0.886, abs=0.01)
    assert any("+08:00" in note for note in reading.notes)
    assert not any("goes back" in note for note in reading.notes)


def test_a_missing_year_is_guessed_openly() -> None:
    text = "(APIServer pid=8) INFO 12-31 23:59:59 [a.py:1] one\n(APIServer pid=8) INFO 01-01 00:00:01 [a.py:1] two\n"
    guessed, _ = log(text)
    assert any("no year" in note and "--year" in note for note in guessed.notes)
    assert guessed.to_ts is not None and guessed.from_ts is not None
    assert guessed.to_ts - guessed.from_ts == 2
    told, _ = log(text, year=2025)
    assert told.from_ts == datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()
    assert not any("no year" in note for note in told.notes)


def test_undated_times_keep_their_gaps_and_say_so() -> None:
    reading, tables = log("[23:59:59 TP0] " + BODY + "\n[00:00:01 TP0] " + BODY + "\n")
    assert [row["ts"] for row in tables["batches"]] == [86399.0, 86401.0]
    assert reading.clock == "undated"
    assert any("no date" in note for note in reading.notes)


def test_a_clock_that_goes_back_is_noted_with_its_line() -> None:
    text = "".join(f"[2026-11-30 {h:02d}:00:00] {BODY}\n" for h in (3, 4, 1, 2))
    reading, _ = log(text)
    note = next(note for note in reading.notes if "goes back" in note)
    assert "server.log:3" in note and "10800 s" in note and "1 such" in note


def test_an_impossible_date_is_no_time() -> None:
    reading, tables = log(f"[2026-13-30 03:37:55] {BODY}\n[2026-11-30 03:37:61] {BODY}\n[2026-11-30 03:37:55] {BODY}\n")
    assert [row.get("ts") for row in tables["batches"] if "ts" in row] == [AT]
    assert any("impossible" in note for note in reading.notes)


def test_bytes_that_are_no_utf8_are_replaced_and_said_once() -> None:
    reading, tables = log(b"caf\xe9 closed\n" * 3 + f"[2026-11-30 03:37:55] {BODY}\n".encode())
    assert len(tables["batches"]) == 1
    assert sum("not UTF-8" in note for note in reading.notes) == 1


def test_utf16_from_a_shell_is_read() -> None:
    _, tables = log(f"[2026-11-30 03:37:55 TP0] {BODY}\r\n".encode("utf-16"))
    assert tables["batches"][0]["running"] == 8


def test_compressed_input_reads_the_same() -> None:
    text = f"[2026-11-30 03:37:55 TP0] {BODY}\n" * 30
    assert log(gzip.compress(text.encode()))[1] == log(text)[1]


@given(st.lists(st.text(st.characters(blacklist_categories=["Cs"]), max_size=60), max_size=8))
@settings(max_examples=50, deadline=None)
def test_any_text_is_framed_and_every_line_is_counted(parts: list[str]) -> None:
    text = "\n".join(parts)
    reading, _ = log(text)
    assert reading.lines == (text.count("\n") + (not text.endswith("\n")) if text else 0)


@given(st.binary(max_size=300))
@settings(max_examples=50, deadline=None)
def test_any_bytes_are_framed(data: bytes) -> None:
    log(data)


@given(st.sampled_from([p[0] for p in PREFIXES]), st.integers(0, 60), st.sampled_from(["", "\n", " ", "[", "9"]))
@settings(max_examples=50, deadline=None)
def test_a_cut_prefix_never_crashes(prefix: str, at: int, tail: str) -> None:
    log(prefix[:at] + tail + BODY + "\n" + prefix[at:])


def test_mixed_zones_are_each_read_and_said() -> None:
    text = (
        "2026-11-30T03:37:55.000000Z  WARN router::policy: one thing\n"
        "2026-11-30T11:37:55.000000+08:00  WARN router::policy: same time\n"
        f"[2026-11-30 03:37:55 TP0] {BODY}\n"
    )
    reading, tables = log(text)
    assert reading.from_ts == reading.to_ts == AT == tables["batches"][0]["ts"]
    assert any("some times carry a zone and some none" in note for note in reading.notes)
