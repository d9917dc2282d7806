import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ridgeline.signals.read import read
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob
from tests.signals.reading import tables_of

AT = 1796011165.25


def record(**more: Any) -> dict[str, Any]:
    return {
        "client_rid": "mine-1",
        "endpoint": "/generate",
        "stream": True,
        "max_tokens": 16,
        "n": 1,
        "prompt_chars": 474,
        "tenant": "north",
        "planned_ts": AT,
        "send_ts": AT + 0.125,
        "status": 200,
        "end_ts": AT + 3.125,
        "first_chunk_ts": AT + 1.125,
        "last_chunk_ts": AT + 3.0,
        "chunks": 4,
        "server_ids": ["c1d2"],
        "usage": {
            "prompt_tokens": 219,
            "completion_tokens": 16,
            "prompt_tokens_details": {"cached_tokens": 3},
        },
        "finish_reason": "length",
        "itl_ms": [500.0, 1250.0, 125.0],
        **more,
    }


def one(**more: Any) -> dict[str, Any]:
    _, tables = tables_of(json.dumps(record(**more)) + "\n")
    (row,) = tables["records"]
    return row


def test_every_column_of_a_streamed_request() -> None:
    reading, tables = tables_of(json.dumps(record()) + "\n")
    assert tables["records"] == [
        {
            "source": 7,
            "line": 1,
            "kind": "client",
            "event": "finished",
            "role": "client",
            "rid": "c1d2",
            "client_rid": "mine-1",
            "endpoint": "/generate",
            "stream": True,
            "n": 1,
            "prompt_tokens": 219,
            "prompt_chars": 474,
            "max_new_tokens": 16,
            "params_logged": True,
            "state": "finished",
            "finish_reason": "length",
            "status_code": 200,
            "completion_tokens": 16,
            "cached_tokens": 3,
            "received_ts": AT + 0.125,
            "first_token_ts": AT + 1.125,
            "last_token_ts": AT + 3.0,
            "finished_ts": AT + 3.125,
            "ttft_s": 1.0,
            "e2e_s": 3.0,
            "tpot_s": 0.125,
            "itl_max_s": 1.25,
            "itl_p50_s": 0.5,
            "chunks": 4,
            "clock": "wall",
        }
    ]
    attrs = {a["name"]: a.get("value", a.get("number")) for a in tables["request_attrs"]}
    assert attrs == {"tenant": "north", "send_lag_s": 0.125}
    assert (reading.kind, reading.understood) == ("client", 1)


@pytest.mark.parametrize(
    ("more", "state", "message"),
    [
        ({"error": "cancelled"}, "aborted", "cancelled"),
        ({"client_aborted": True}, "aborted", None),
        ({"status": None, "error": "ServerDisconnectedError('gone')"}, "error", "ServerDisconnectedError('gone')"),
        (
            {"stream_error": "{'message': 'The request queue is full.', 'code': 503}"},
            "rejected",
            "{'message': 'The request queue is full.', 'code': 503}",
        ),
        (
            {"status": 503, "error_body": '{"message": "The request queue is full."}'},
            "rejected",
            "The request queue is full.",
        ),
        ({"status": 400, "error_body": '{"error": {"message": "too long"}}'}, "rejected", "too long"),
        ({"status": 502}, "error", None),
        ({"end_ts": None, "finish_reason": None}, "unfinished", None),
        (
            {"finish_reason": None, "meta_info": {"finish_reason": {"type": "abort", "message": "stopped"}}},
            "aborted",
            "stopped",
        ),
    ],
)
def test_how_a_request_ended(more: dict[str, Any], state: str, message: str | None) -> None:
    row = one(**more)
    assert (row["state"], row.get("abort_message")) == (state, message)


def test_gaps_that_were_not_all_kept_say_nothing_of_the_longest() -> None:
    reading, tables = tables_of(json.dumps(record(chunks=900)) + "\n")
    assert "itl_max_s" not in tables["records"][0]
    assert any("longest gap" in note for note in reading.notes)
    assert one(chunks=900, max_gap_ms=2000.0)["itl_max_s"] == 2.0


def test_units_of_time_and_times_of_another_clock() -> None:
    for scale in (1e3, 1e6, 1e9):
        row = one(send_ts=round(AT * scale), first_chunk_ts=round((AT + 1) * scale), end_ts=round((AT + 2) * scale))
        assert row["received_ts"] == pytest.approx(AT, abs=1e-5)
        assert row["ttft_s"] == pytest.approx(1.0, abs=1e-5)
    row = one(send_ts=100.0, first_chunk_ts=101.0, last_chunk_ts=102.0, end_ts=103.0)
    assert (row["ttft_s"], row["e2e_s"], row["clock"]) == (1.0, 3.0, "monotonic")
    assert not {"received_ts", "finished_ts"} & row.keys()
    zoned = one(send_ts="2026-11-30T03:59:25+00:00", first_chunk_ts=None, last_chunk_ts=None, end_ts=None)
    assert zoned["received_ts"] == 1796011165.0
    backwards = one(first_chunk_ts=AT, end_ts=AT - 5)
    assert not {"ttft_s", "e2e_s"} & backwards.keys()


def test_a_plan_in_seconds_from_the_start_is_compared_with_the_promptest_request() -> None:
    rows = [record(client_rid=f"r{i}", server_ids=[], planned_ts=None, planned_at=i * 1.0) for i in range(3)]
    for i, row in enumerate(rows):
        row["send_ts"] = AT + i + (0.5 if i == 2 else 0.0)
    _, tables = tables_of("".join(json.dumps(row) + "\n" for row in rows))
    lags = {a["rid"]: a["number"] for a in tables["request_attrs"] if a["name"] == "send_lag_s"}
    assert lags == {"r0": 0.0, "r1": 0.0, "r2": 0.5}


def test_stated_durations_lists_and_damage() -> None:
    lines = [
        json.dumps(
            {"request_id": 5, "ttft_ms": 250, "latency": 2.5, "input_len": 10, "output_len": 4, "success": True}
        ),
        "{broken",
        json.dumps({"unrelated": 1}),
        json.dumps(record(status="odd", send_ts="never", chunks=-1, itl_ms="x", usage=[])),
        "",
    ]
    reading, tables = tables_of("\n".join(lines) + "\n")
    first, last = tables["records"]
    assert (first["rid"], first["ttft_s"], first["e2e_s"], first["state"]) == ("5", 0.25, 2.5, "finished")
    assert not {"chunks", "status_code", "received_ts"} & last.keys()
    assert [u["line"] for u in tables["unread"]] == [2, 3]
    assert (reading.lines, reading.blank, reading.understood, reading.unparsed) == (5, 1, 2, 2)
    _, listed = tables_of(json.dumps([record(), record(client_rid="mine-2")], indent=1))
    assert [r["line"] for r in listed["records"]] == [1, 2]


@pytest.mark.shared
def test_recorded_runs(shared_dir: Path) -> None:
    for path in sorted((shared_dir / "real").glob("**/client*.jsonl")):
        raw = [json.loads(line) for line in path.read_text().splitlines()]
        reading = Reading(1, str(path))
        rows = [
            row
            for got in read(Blob(str(path), path), reading)
            if got.table == "records"
            for row in got.data.to_pylist()
        ]
        assert (reading.kind, len(rows), reading.unparsed) == ("client", len(raw), 0)
        for row, d in zip(rows, raw, strict=True):
            sent = d.get("send_ts", d.get("prefill_send_ts"))
            end, first = d.get("end_ts", d.get("decode_end_ts")), d.get("first_chunk_ts", d.get("decode_first_ts"))
            assert row["received_ts"] == sent
            assert row["e2e_s"] == end - sent
            assert row["ttft_s"] == (first - sent if first else None)
            tokens = (d.get("usage") or d.get("decode_usage") or d.get("decode_meta") or d.get("meta_info") or {}).get(
                "completion_tokens"
            )
            assert row["completion_tokens"] == tokens
            kept = d.get("itl_ms")
            if kept and len(kept) == d["chunks"] - 1:
                assert row["itl_max_s"] == pytest.approx(max(kept) / 1000)
            if "max_gap_ms" in d:
                assert row["itl_max_s"] == pytest.approx(d["max_gap_ms"] / 1000)


@pytest.mark.shared
def test_refusals_of_single_full(shared_dir: Path) -> None:
    path = shared_dir / "real" / "sglang_0.5.23" / "single_full" / "client.jsonl"
    states = Counter(
        row["state"]
        for got in read(Blob("c", path), Reading(1, "c"))
        if got.table == "records"
        for row in got.data.to_pylist()
    )
    text = path.read_text().splitlines()
    full = sum("queue is full" in line for line in text)
    bad = sum(json.loads(line)["status"] == 400 for line in text)
    assert states["rejected"] == full + bad == 103
