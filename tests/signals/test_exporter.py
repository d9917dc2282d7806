import json
from pathlib import Path
from typing import Any

import pytest

from ridgeline.signals.read import read
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob
from tests.signals.reading import tables_of
from tests.signals.request_log.compose import EPOCH, aborted, meta, obj


def line(rid: str, out: dict[str, Any], **more: Any) -> str:
    parameters = {name: value for name, value in obj(rid, **more).items() if value is not None}
    return json.dumps({"request_parameters": json.dumps(parameters), **out}) + "\n"


def test_request_and_result_from_json_inside_json() -> None:
    text = 'say "queue_time": 9, \\ and \n more'
    reading, tables = tables_of(line("a", meta("a"), text=text, custom_labels={"tenant": "north"}))
    (row,) = tables["records"]
    wanted = {
        "kind": "exporter",
        "event": "finished",
        "rid": "a",
        "stream": True,
        "max_new_tokens": 64,
        "params_logged": True,
        "prompt_chars": len(text),
        "prompt_tokens": 211,
        "queue_s": 1.375,
        "e2e_s": 4.5,
        "received_ts": EPOCH,
        "finished_ts": EPOCH + 4.5,
        "state": "finished",
        "clock": "wall",
    }
    assert {name: row.get(name) for name in wanted} == wanted
    assert "logged_ts" not in row
    assert [(a["name"], a["value"]) for a in tables["request_attrs"]] == [("label.tenant", "north")]
    assert (reading.kind, reading.understood, reading.clock) == ("exporter", 1, "wall")


def test_sides_of_a_pair_keep_what_they_lack_null() -> None:
    decode = meta("a")
    del decode["prefill_finished_time"]
    prefill = meta("a")
    del prefill["decode_throughput"]
    _, tables = tables_of(line("a", decode, bootstrap_room=5) + line("a", prefill, bootstrap_room=5))
    first, second = tables["records"]
    assert "prefill_done_ts" not in first
    assert "tpot_s" in first
    assert "tpot_s" not in second
    assert (first["room"], second["room"]) == (5, 5)


def test_aborts_and_damage() -> None:
    whole = line("b", meta("b"))
    cut = line("c", meta("c"))
    end = cut.index('"queue_time": ') + len('"queue_time": 1.3')
    odd = json.dumps({"request_parameters": "no json", "id": "d"}) + "\n"
    reading, tables = tables_of(
        line("a", aborted("a", "The request queue is full.", 503)) + whole + "\n" + cut[:end] + "\n" + odd
    )
    refused, fine, partial = tables["records"]
    assert (refused["state"], refused["status_code"]) == ("rejected", 503)
    assert fine["queue_s"] == 1.375
    assert (partial["rid"], partial["prompt_tokens"]) == ("c", 211)
    assert not {"queue_s", "e2e_s"} & partial.keys()
    assert [u["line"] for u in tables["unread"]] == [5]
    assert (reading.lines, reading.blank, reading.understood, reading.unparsed) == (5, 1, 3, 1)
    assert any("cut" in note for note in reading.notes)


@pytest.mark.shared
@pytest.mark.parametrize(
    "pattern",
    [
        "sglang_0.5.23/single_full/exporter/*_04.log",
        "sglang_0.5.23/dp2_round_robin/exporter/*.log",
        "sglang_0.5.23/pd_mooncake_tcp/decode/exporter/*.log",
        "sglang_0.5.23/pd_mooncake_tcp/prefill/exporter/*.log",
    ],
)
def test_recorded_runs(shared_dir: Path, pattern: str) -> None:
    (path,) = (shared_dir / "real").glob(pattern)
    raw = [json.loads(text) for text in path.read_text().splitlines()]
    found = [
        row
        for rows in read(Blob(path.name, path), Reading(1, path.name))
        if rows.table == "records"
        for row in rows.data.to_pylist()
    ]
    assert [r["rid"] for r in found] == [d["id"] for d in raw]
    for column, key in (
        ("completion_tokens", "completion_tokens"),
        ("cached_tokens", "cached_tokens"),
        ("retractions", "num_retractions"),
        ("queue_s", "queue_time"),
        ("e2e_s", "e2e_latency"),
        ("ttft_s", "first_token_latency"),
        ("dp_rank", "dp_rank"),
        ("prefill_done_ts", "prefill_finished_time"),
    ):
        assert [r.get(column) for r in found] == [d.get(key) for d in raw]
    limits = [json.loads(d["request_parameters"])["sampling_params"].get("max_new_tokens") for d in raw]
    assert [r["max_new_tokens"] for r in found] == limits
