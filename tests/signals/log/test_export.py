# ruff: noqa: E501 (lines as logs have them)
"""Logs inside JSON, CSV and Docker's json-file."""

import csv
import io
import itertools
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.signals.log.given import log

LINES = [
    "[2026-11-30 03:37:55 TP0] Decode batch, #running-req: 7, #token: 2176, token usage: 0.94, #queue-req: 4, ",
    '[2026-11-30 03:37:56] INFO:     127.0.0.1:52614 - "POST /generate HTTP/1.1" 200 OK',
    'a "quoted", text',
]
BATCH = "[2026-11-30 03:40:00 TP0] Decode batch, #running-req: 7, #token: 2176, token usage: 0.94, cuda graph: True, gen throughput (token/s): 810.55, #queue-req: 31"
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


def test_parts_of_two_streams_of_docker_are_not_mixed() -> None:
    records = [("stdout", BATCH[:40]), ("stderr", "[2026-11-30 03:40:01] INFO:     "), ("stdout", BATCH[40:] + "\n"),
               ("stderr", "Waiting for application startup.\n"), ("stdout", BATCH + "\n")]  # fmt: skip
    text = "".join(
        json.dumps({"log": said, "stream": stream, "time": "2026-11-30T03:40:00.123456789Z"}) + "\n"
        for stream, said in records
    )
    reading, tables = log(text)
    assert [(row["line"], row["waiting"]) for row in tables["batches"]] == [(1, 31), (5, 31)]
    assert reading.unparsed == 0


@pytest.mark.parametrize("cuts", [(40,), (40, 41), (1, 60, 120), (100,)])
def test_parts_of_a_line_that_kubernetes_cut(cuts: tuple[int, ...]) -> None:
    edges = [0, *cuts, len(BATCH)]
    parts = [BATCH[a:b] for a, b in itertools.pairwise(edges)]
    stamp = "2026-11-30T03:40:00.123456789Z"
    lines = []
    for n, part in enumerate(parts):
        lines.append(f"{stamp} stdout {'F' if n + 1 == len(parts) else 'P'} {part}")
        lines.append(f"{stamp} stderr F [2026-11-30 03:40:00] INFO:     Waiting for application startup.")
    reading, tables = log("\n".join(lines) + f"\n{stamp} stdout F {BATCH}\n")
    assert [row["line"] for row in tables["batches"]] == [1, len(lines) + 1]
    first, second = ({k: v for k, v in row.items() if k != "line"} for row in tables["batches"])
    assert first == second
    assert reading.unparsed == 0


def test_a_part_whose_end_never_came_gives_no_number() -> None:
    stamp = "2026-11-30T03:40:00.123456789Z"
    _, tables = log(f"{stamp} stdout F {BATCH}\n{stamp} stdout P {BATCH[: BATCH.index('#queue-req: ') + 13]}")
    assert [row.get("waiting") for row in tables["batches"]] == [31, None]
