"""Recorded runs: what the reader says equals a plain loop over the raw lines."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ridgeline.signals.read import read
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob

pytestmark = pytest.mark.shared
JSON_LOGS = (
    "sglang_0.5.23/single_full/request_log/vm_0.log.gz",
    "sglang_0.5.23/pd_mooncake_tcp/prefill/request_log/vm_0.log.gz",
    "sglang_0.5.23/pd_mooncake_tcp/decode/request_log/vm_0.log.gz",
    "sglang_0.5.9/mix_base/request_log/vm_0.log.gz",
    "sglang_0.5.9/mix_maxrun4/request_log/vm_0.log.gz",
    "pairs/sglang_0.5.23/mix_base_1/request_log/vm_0.log.gz",
)


def rows_of_file(path: Path) -> tuple[Reading, dict[str, list[dict[str, Any]]]]:
    reading = Reading(1, str(path))
    tables: dict[str, list[dict[str, Any]]] = {}
    for rows in read(Blob(str(path), path), reading):
        tables.setdefault(rows.table, []).extend(rows.data.to_pylist())
    return reading, tables


def raw_records(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") as lines:
        return [json.loads(line[line.index("{") :]) for line in lines]


@pytest.mark.parametrize("name", JSON_LOGS)
def test_json_logs(shared_dir: Path, name: str) -> None:
    path = shared_dir / "real" / name
    reading, tables = rows_of_file(path)
    raw = raw_records(path)
    assert (reading.lines, reading.understood, reading.unparsed) == (len(raw), len(raw), 0)
    ours = [r for r in tables["records"] if r["event"] == "finished"]
    theirs = [(n, d["out"]["meta_info"]) for n, d in enumerate(raw, 1) if d["event"] == "request.finished"]
    assert len(ours) == len(theirs)
    for row, (line, meta) in zip(ours, theirs, strict=True):
        assert (row["line"], row["rid"]) == (line, meta["id"])
        pairs = {
            "prompt_tokens": meta.get("prompt_tokens"),
            "completion_tokens": meta.get("completion_tokens"),
            "cached_tokens": meta.get("cached_tokens"),
            "retractions": meta.get("num_retractions", meta.get("total_retractions")),
            "queue_s": meta.get("queue_time"),
            "ttft_s": meta.get("first_token_latency"),
            "e2e_s": meta.get("e2e_latency"),
            "received_ts": meta.get("request_received_ts"),
            "finished_ts": meta.get("request_finished_ts", meta.get("decode_finished_ts")),
            "dp_rank": meta.get("dp_rank"),
            "finish_reason": meta["finish_reason"]["type"],
        }
        if pairs["prompt_tokens"] is None:
            del pairs["prompt_tokens"]  # refused before it was counted: the length of the input, where shown, stands
        assert {column: row.get(column) for column in pairs} == pairs
    assert Counter(r["event"] for r in tables["records"]) == Counter(
        {
            "finished": len(theirs),
            "received": sum(d["event"] == "request.received" for d in raw),
            "received-openai": sum(d["event"] == "request.received.openai" for d in raw),
        }
    )


def test_queue_full_aborts_of_single_full(shared_dir: Path) -> None:
    _, tables = rows_of_file(shared_dir / "real" / JSON_LOGS[0])
    rejected = [r for r in tables["records"] if r["state"] == "rejected"]
    assert len(rejected) == 101
    assert {(r["status_code"], r["abort_message"]) for r in rejected} == {(503, "The request queue is full.")}
    assert sum(bool(r["probe"]) for r in tables["records"]) == 2 * sum(
        bool(r["probe"]) for r in tables["records"] if r["event"] == "finished"
    )
    parts = Counter(r["parent_rid"] for r in tables["records"] if r["parent_rid"])
    assert set(parts.values()) <= {2, 3}
    assert len(parts) == 7


@pytest.mark.parametrize(
    ("name", "finished"),
    [
        ("sglang_0.5.23/dp2_round_robin/request_log/vm_0.log.gz", 107),
        ("sglang_0.5.6/mix_base/server.log.gz", 267),
        ("sglang_0.5.3/mix_base/server.log.gz", 267),
    ],
)
def test_text_logs(shared_dir: Path, name: str, finished: int) -> None:
    path = shared_dir / "real" / name
    _, tables = rows_of_file(path)
    ours = [r for r in tables["records"] if r["event"] == "finished" and r["kind"] == "request-log"]
    with gzip.open(path, "rt") as lines:
        ends = [line[line.rindex("'meta_info': {") :] for line in lines if "] Finish: obj=" in line[:40]]
    assert len(ours) == len(ends) == finished
    for row, end in zip(ours, ends, strict=True):
        for column, key in (
            ("prompt_tokens", "prompt_tokens"),
            ("completion_tokens", "completion_tokens"),
            ("cached_tokens", "cached_tokens"),
            ("e2e_s", "e2e_latency"),
            ("queue_s", "queue_time"),
        ):
            found = re.search(rf"'{key}': ([\d.e-]+)", end)
            assert row.get(column) == (float(found.group(1)) if found else None)


@pytest.mark.parametrize("run", ["sglang_0.5.23/single_full", "sglang_0.5.23/dp2_round_robin", "sglang_0.5.9/mix_base"])
def test_a_server_log_holds_the_same_records(shared_dir: Path, run: str) -> None:
    folder = shared_dir / "real" / run
    _, alone = rows_of_file(folder / "request_log" / "vm_0.log.gz")
    _, within = rows_of_file(folder / "server.log.gz")
    told = [
        sorted(
            (r["event"], r["rid"] or "", r["prompt_tokens"] or 0, r["e2e_s"] or 0.0, r["max_new_tokens"] or 0)
            for r in tables["records"]
            if r["kind"] == "request-log"
        )
        for tables in (alone, within)
    ]
    assert told[0] == told[1]
