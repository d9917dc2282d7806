"""Saved answers and API errors."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.signals.reading import tables_of

MESSAGE = (
    "Decode transfer failed for request rank=0 decode_req.req.bootstrap_room=7789842509238457791 with exception "
    "KVTransferError(bootstrap_room=7789842509238457791): Failed to get kvcache from prefill instance, it might be dead"
)
ABORTED = {
    "text": "",
    "meta_info": {
        "id": "ab12", "finish_reason": {"type": "abort", "message": MESSAGE, "status_code": 500, "err_type": None},
        "prompt_tokens": 11, "completion_tokens": 0, "cached_tokens": 0, "e2e_latency": 0.094,
    },
}  # fmt: skip


def test_abort_inside_a_good_answer() -> None:
    reading, tables = tables_of(json.dumps(ABORTED))
    assert (reading.kind, reading.understood, reading.unparsed) == ("answer", 1, 0)
    (event,) = tables["events"]
    assert (event["kind"], event["rid"], event["room"]) == ("transfer-failed", "ab12", 7789842509238457791)
    assert json.loads(event["attrs"]) == {"status": 500, "side": "decode"}
    (record,) = tables["records"]
    assert (record["state"], record["status_code"], record["e2e_s"], record["completion_tokens"]) == (
        "aborted",
        500,
        0.094,
        0,
    )


def test_text_behind_the_json_is_read_as_a_log() -> None:
    text = json.dumps(ABORTED) + "root@host:/# tail -f log\n[2026-11-30 03:36:40] Cache flushed successfully!\n"
    reading, tables = tables_of(text)
    assert "cache-flushed" in [event["kind"] for event in tables["events"]]
    assert next(e for e in tables["events"] if e["kind"] == "cache-flushed")["line"] == 2
    assert reading.lines == 2


@pytest.mark.parametrize(
    ("answer", "kind", "status"),
    [
        ({"object": "error", "message": "The request queue is full.", "type": "x", "code": 503}, "queue-full", 503),
        ({"error": {"message": "Input is longer than the context length", "code": 400}}, "request-too-large", 400),
        ({"error": {"message": "no such field", "code": 400}}, "request-invalid", 400),
        ({"error": {"message": "boom", "code": "internal"}}, "request-error", None),
        ({"error": {"message": "Disaggregated request received without bootstrap room id", "code": 400}},
         "transfer-config", 400),
    ],
)  # fmt: skip
def test_api_errors(answer: dict, kind: str, status: int | None) -> None:
    reading, tables = tables_of(json.dumps(answer))
    assert reading.kind == "answer"
    (event,) = tables["events"]
    assert (event["kind"], json.loads(event["attrs"])["status"]) == (kind, status)


def test_a_good_answer_is_no_event() -> None:
    good = {
        "text": "hi",
        "meta_info": {"id": "a", "finish_reason": {"type": "stop"}, "prompt_tokens": 3, "e2e_latency": 0.5},
    }
    reading, tables = tables_of(json.dumps(good))
    assert not tables["events"]
    assert (tables["records"][0]["state"], reading.unparsed) == ("finished", 0)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, len(json.dumps(ABORTED))), st.binary(max_size=40))
def test_damage_is_survived(at: int, more: bytes) -> None:
    _, tables = tables_of(json.dumps(ABORTED)[:at].encode() + more)
    assert all(record.get("status_code", 500) == 500 for record in tables["records"] if record.get("kind") == "answer")


@pytest.mark.shared
def test_case_017(shared_dir: Path) -> None:
    (path,) = (shared_dir / "cases").glob("017-*/response.json")
    reading, tables = tables_of(path.read_bytes())
    assert reading.kind == "answer"
    record = tables["records"][0]
    assert (round(record["e2e_s"], 3), record["status_code"], record["completion_tokens"]) == (0.094, 500, 0)
    assert tables["events"][0]["kind"] == "transfer-failed"
