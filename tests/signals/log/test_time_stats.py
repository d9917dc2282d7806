import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals.read import read
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob
from tests.signals.reading import tables_of

AT = "[2026-11-30 03:40:00 DP2 TP0] "
MS = 0.001


def one(body: str) -> tuple[dict[str, Any], dict[str, float]]:
    """(the record, stage → duration) of one line."""
    _, tables = tables_of(AT + body + "\n")
    (row,) = tables["records"]
    stages = {s["stage"]: s["duration_s"] for s in tables["stages"]}
    assert all(s["basis"] == "duration-only" and s["line"] == 1 for s in tables["stages"])
    return row, stages


def test_unified_of_0_4_6_has_a_wall_start() -> None:
    row, stages = one(
        "Req Time Stats(rid=ab12, input len=6, output len=8, type=unified): queue_duration=0.75ms, "
        "forward_duration=96.00ms, start_time=1747735200.11"
    )
    assert (row["kind"], row["event"], row["role"], row["clock"]) == ("time-stats", "finished", "unified", "wall")
    assert (row["prompt_tokens"], row["completion_tokens"], row["dp_rank"]) == (6, 8, 2)
    assert (row["queue_s"], row["forward_s"], row["queued_ts"]) == (0.00075, 0.096, 1747735200.11)
    assert stages == {"prefill_waiting": 0.00075}


def test_a_monotonic_start_is_no_time_of_day() -> None:
    row, _ = one(
        "Req Time Stats(rid=ab12, input len=6, output len=8, type=unified): queue_duration=0.75ms, "
        "forward_duration=96.00ms, start_time=7284.122"
    )
    assert row["clock"] == "monotonic"
    assert not {"queued_ts", "received_ts"} & row.keys()


@pytest.mark.parametrize(
    ("body", "columns", "stages"),
    [
        (
            "Req Time Stats(rid=a, bootstrap_room=88, input len=20, output len=1, type=prefill): "
            "bootstrap_duration=12.00ms, queue_duration=2.00ms, forward_duration=80.00ms, start_time=8123.456",
            {"bootstrap_s": 0.012, "queue_s": 0.002, "forward_s": 0.08, "room": 88},
            {"prefill_bootstrap": 0.012, "prefill_waiting": 0.002},
        ),
        (
            "Req Time Stats(rid=a, bootstrap_room=88, input len=20, output len=9, type=decode): "
            "prealloc_duration=5.00ms, transfer_duration=40.00ms, queue_duration=1.00ms, forward_duration=800.00ms, "
            "start_time=8123.4",
            {"prealloc_s": 0.005, "transfer_s": 0.04, "queue_s": 0.001},
            {"decode_bootstrap": 0.005, "decode_transferred": 0.04, "decode_waiting": 0.001},
        ),
        (
            "Req Time Stats(rid=a, bootstrap_room=88, input len=20, output len=1, type=prefill): "
            "bootstrap_queue_duration(12.00ms) = alloc_wait(1.00ms) + bootstrap(10.00ms) + other(1.00ms); "
            "queue_duration=2.00ms, forward_duration=80.00ms, start=8123.456, transfer_speed=11.20GB/s, "
            "transfer_total=512.00MB, #retries=3",
            {
                "bootstrap_s": 0.01,
                "alloc_wait_s": 0.001,
                "transfer_gb_s": 11.2,
                "transfer_mb": 512.0,
                "attempts": 3,
            },
            {"prefill_bootstrap": 0.012, "prefill_waiting": 0.002},
        ),
        (
            "ReqTimeStats(rid=a, bootstrap_room=88, input_len=20, cached_input_len=4, output_len=9, attempts=1, "
            "type=decode): bootstrap_duration=3.00ms, alloc_wait_duration=220.00ms, transfer_duration=41.00ms, "
            "queue_duration=1.00ms, forward_duration=2310.00ms, entry_time=1796009998.125",
            {"bootstrap_s": 0.003, "alloc_wait_s": 0.22, "attempts": 1, "cached_tokens": 4, "transfer_s": 0.041},
            {"decode_bootstrap": 0.223, "decode_transferred": 0.041, "decode_waiting": 0.001},
        ),
        (
            "ReqTimeStats(rid=a, bootstrap_room=88, input_len=20, cached_input_len=4, output_len=1, attempts=0, "
            "type=prefill): bootstrap_duration=26.00ms, queue_duration=1.00ms, forward_duration=25.00ms, "
            "entry_time=1796012298.832, transfer_speed=0.03 GB/s, transfer_total=0.19 MB",
            {"bootstrap_s": 0.026, "transfer_gb_s": 0.03, "transfer_mb": 0.19},
            {"prefill_bootstrap": 0.026, "prefill_waiting": 0.001},
        ),
    ],
)
def test_disaggregated_sides(body: str, columns: dict[str, Any], stages: dict[str, float]) -> None:
    row, found = one(body)
    assert {name: row.get(name) for name in columns} == columns
    assert found == pytest.approx(stages)


def test_an_invalid_body_keeps_the_lengths_and_no_time() -> None:
    row, stages = one(
        "Req Time Stats(rid=a, bootstrap_room=None, input len=6, output len=8, type=invalid): Invalid Time Stats"
    )
    assert (row["prompt_tokens"], row["completion_tokens"]) == (6, 8)
    assert not {"queue_s", "forward_s", "role", "room", "clock"} & row.keys()
    assert stages == {}


def test_a_rid_with_commas_and_a_false_header_in_it() -> None:
    rid = "a,b, input_len=9, output_len=9, attempts=1, type=unified): queue_duration=9.00ms"
    row, _ = one(
        f"ReqTimeStats(rid={rid}, bootstrap_room=5, input_len=7, cached_input_len=0, output_len=3, attempts=0, "
        "type=unified): queue_duration=1.00ms, forward_duration=2.00ms, entry_time=1796009998.125"
    )
    assert (row["rid"], row["room"], row["prompt_tokens"], row["queue_s"]) == (rid, 5, 7, 0.001)


def test_a_probe_s_room_joins_nothing() -> None:
    row, _ = one(
        "Req Time Stats(rid=HEALTH_CHECK_1.5, bootstrap_room=0, input len=1, output len=1, type=unified): "
        "queue_duration=4.30ms, forward_duration=9.80ms, start_time=7284.122"
    )
    assert row["probe"] is True
    assert "room" not in row


LINE = (
    "ReqTimeStats(rid=c1d2, input_len=2048, cached_input_len=512, output_len=128, attempts=4, type=unified): "
    "queue_duration=1375.25ms, forward_duration=2310.75ms, entry_time=1796009998.125"
)
TRUE = {
    "prompt_tokens": 2048,
    "cached_tokens": 512,
    "completion_tokens": 128,
    "attempts": 4,
    "queue_s": 1.37525,
    "forward_s": 2.31075,
    "queued_ts": 1796009998.125,
}


@given(st.integers(0, len(LINE)), st.booleans())
@settings(max_examples=40, deadline=None)
def test_cut_and_joined_lines_never_change_a_number(at: int, joined: bool) -> None:
    text = LINE[:at] + (LINE if joined else "")
    _, tables = tables_of(AT + text)
    for row in tables["records"]:
        assert all(row.get(name, value) == value for name, value in TRUE.items())


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    [
        "sglang_0.5.23/single_full/server.log.gz",
        "sglang_0.5.23/pd_mooncake_tcp/prefill.server.log.gz",
        "sglang_0.5.23/pd_mooncake_tcp/decode.server.log.gz",
        "sglang_0.5.9/mix_base/server.log.gz",
        "sglang_0.5.6/mix_base/server.log.gz",
        "sglang_0.5.3/mix_base/server.log.gz",
    ],
)
def test_recorded_runs(shared_dir: Path, name: str) -> None:
    path = shared_dir / "real" / name
    with gzip.open(path, "rt") as lines:
        wanted = [
            tuple(
                float(re.search(rf"{key}[= ]*(?:len=)?([\d.]+)", line).group(1))
                for key in ("input[_ ]len", "queue_duration")
            )  # type: ignore[union-attr]
            for line in lines
            if re.search(r"\] Req ?Time ?Stats\(", line[:80])
        ]
    found = [
        (float(row["prompt_tokens"]), row["queue_s"] / MS)
        for rows in read(Blob(name, path), Reading(1, name))
        if rows.table == "records"
        for row in rows.data.to_pylist()
        if row["kind"] == "time-stats"
    ]
    assert len(found) == len(wanted) > 50
    assert sum(a for a, _ in found) == sum(a for a, _ in wanted)
    assert sum(b for _, b in found) == pytest.approx(sum(b for _, b in wanted))


def test_the_monotonic_start_of_a_unified_server_is_its_entry_into_the_queue() -> None:
    text = (
        "[2026-11-30 03:40:00] Req Time Stats(rid=a, input len=6, output len=8, type=unified): queue_duration=0.75ms, "
        "forward_duration=96.10ms, start_time=8123.456\n"
        "[2026-11-30 03:40:00] Req Time Stats(rid=b, input len=6, output len=8, type=prefill): "
        "bootstrap_duration=1.00ms, queue_duration=0.75ms, forward_duration=96.10ms, start_time=8123.456\n"
        "[2026-11-30 03:40:00] Req Time Stats(rid=c, input len=6, output len=8, type=unified): queue_duration=0.75ms, "
        "forward_duration=96.10ms, start_time=0.0\n"
        "[2026-11-30 03:40:00] Req Time Stats(rid=d, input len=6, output len=8, type=unified): queue_duration=0.75ms, "
        "forward_duration=96.10ms, start_time=81"
    )
    _, tables = tables_of(text)
    said = {row["rid"]: (row.get("queued_mono"), row.get("queued_ts")) for row in tables["records"]}
    assert said == {"a": (8123.456, None), "b": (None, None), "c": (None, None), "d": (None, None)}
