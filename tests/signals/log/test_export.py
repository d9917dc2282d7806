# ruff: noqa: E501 (lines as logs have them)
"""Logs inside JSON, CSV and Docker's json-file."""

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.signals.log.given import log

LINES = [
    "[2026-11-30 03:37:55 TP0] Decode batch, #running-req: 7, #token: 2176, token usage: 0.94, #queue-req: 4, ",
    '[2026-11-30 03:37:56] INFO:     127.0.0.1:52614 - "POST /generate HTTP/1.1" 200 OK',
    'a "quoted", text',
]
DAY = datetime(2026, 11, 30, tzinfo=UTC).timestamp()


def check(tables: dict[str, list[dict[str, Any]]], numbers: list[int]) -> None:
    assert [row["tokens"] for row in tables["batches"]] == [2176]
    assert [row["kind"] for row in tables["events"]] == ["http"]
    assert [row["text"] for row in tables["unread"]] == ['a "quoted", text']
    assert [tables[name][0]["line"] for name in ("batches", "events", "unread")] == numbers
    assert tables["batches"][0]["ts"] == DAY + 3 * 3600 + 37 * 60 + 55


def test_docker_json_lines() -> None:
    text = "".join(json.dumps({"log": line + "\n", "stream": "stderr", "time": f"2026-11-30T03:37:5{5 + i}.25Z"}) + "\n" for i, line in enumerate(LINES))  # fmt: skip
    reading, tables = log(text)
    check(tables, [1, 2, 3])
    assert any("an export" in note for note in reading.notes)


def test_docker_parts_of_one_message_are_joined() -> None:
    parts = [LINES[0][:60], LINES[0][60:] + "\n"]
    text = "".join(
        json.dumps({"log": part, "stream": "stderr", "time": "2026-11-30T03:37:55.25Z"}) + "\n" for part in parts
    )
    (row,) = log(text)[1]["batches"]
    assert (row["tokens"], row["line"]) == (2176, 1)


def test_json_lines_of_a_collector() -> None:
    check(
        log("".join(json.dumps({"@timestamp": "2026-11-30T03:37:57Z", "message": line}) + "\n" for line in LINES))[1],
        [1, 2, 3],
    )


def test_a_search_answer_of_a_log_store() -> None:
    document = {
        "hits": {"hits": [{"_source": {"@timestamp": "2026-11-30T03:37:57Z", "message": line}} for line in LINES]}
    }
    check(log(json.dumps(document, indent=1))[1], [1, 2, 3])


def test_csv() -> None:
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(["@timestamp", "host", "message"])
    for line in LINES:
        rows.writerow(["Nov 30, 2026 @ 03:37:57.114", "n1", line])
    reading, tables = log(out.getvalue())
    check(tables, [2, 3, 4])
    assert reading.lines == 4


@given(st.integers(0, 400))
@settings(max_examples=50, deadline=None)
def test_a_cut_export_is_survived(at: int) -> None:
    text = "".join(
        json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-11-30T03:37:55.25Z"}) + "\n" for line in LINES
    )
    log(text[:at])
    log("@timestamp,message\n" + text[:at])
