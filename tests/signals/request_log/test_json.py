import json
from zoneinfo import ZoneInfo

import pytest

from tests.signals.reading import tables_of
from tests.signals.request_log.compose import EPOCH, aborted, bare, finished, meta, meta_59, prefixed, received

FULL_ROW = {
    "source": 7,
    "line": 1,
    "kind": "request-log",
    "event": "finished",
    "rid": "c1d2",
    "probe": False,
    "stream": True,
    "n": 1,
    "prompt_tokens": 211,
    "prompt_chars": 30,
    "max_new_tokens": 64,
    "params_logged": True,
    "ignore_eos": False,
    "temperature": 0.7,
    "stop_set": False,
    "regex_set": False,
    "schema_set": False,
    "logprobs": False,
    "reasoning": False,
    "modality": "text",
    "dp_rank": 3,
    "state": "finished",
    "finish_reason": "length",
    "completion_tokens": 64,
    "reasoning_tokens": 5,
    "cached_tokens": 128,
    "cached_device_tokens": 96,
    "cached_host_tokens": 32,
    "retractions": 2,
    "received_ts": EPOCH,
    "received_mono": 1663.25,
    "dispatched_ts": EPOCH + 0.0625,
    "scheduled_ts": EPOCH + 1.5,
    "prefill_done_ts": EPOCH + 2.0,
    "first_token_ts": EPOCH + 2.125,
    "finished_ts": EPOCH + 4.5,
    "response_sent_ts": EPOCH + 2.25,
    "logged_ts": EPOCH + 4.75,
    "queue_s": 1.375,
    "ttft_s": 2.125,
    "tpot_s": 1 / 26.5,
    "e2e_s": 4.5,
    "storage_wait_s": 0.75,
    "clock": "wall",
}


@pytest.mark.parametrize("form", [bare, prefixed])
def test_every_column_of_a_finished_record(form) -> None:  # type: ignore[no-untyped-def]
    reading, tables = tables_of(form(finished("c1d2", meta("c1d2"))))
    assert tables["records"] == [FULL_ROW]
    assert (reading.kind, reading.lines, reading.understood, reading.unparsed) == ("request-log", 1, 1, 0)
    assert (reading.from_ts, reading.to_ts) == (EPOCH, EPOCH + 4.75)


def test_names_of_0_5_9_and_its_throughput_over_all_tokens() -> None:
    _, tables = tables_of(bare(finished("a", meta_59("a"), received_time=EPOCH, received_time_perf=6442.9)))
    (row,) = tables["records"]
    assert row["retractions"] == 1
    assert row["dispatched_ts"] == EPOCH + 0.125
    assert row["prefill_done_ts"] == EPOCH + 0.75
    assert row["finished_ts"] == EPOCH + 3.0
    assert row["inference_s"] == 2.25
    assert row["tpot_s"] == pytest.approx(11 / 4.0 / 10)
    assert row["received_mono"] == 6442.9
    assert row["finish_reason"] == "stop"
    assert "scheduled_ts" not in row
    assert "ttft_s" not in row


@pytest.mark.parametrize(
    ("message", "status", "state"),
    [
        ("The request queue is full.", 503, "rejected"),
        ("The request is aborted by a higher priority request.", 503, "aborted"),
        ("Abort in waiting queue", None, "aborted"),
        ("The input is longer than the context", 400, "rejected"),
        ("Prefill transfer failed for request", 500, "error"),
    ],
)
def test_aborts_by_their_words_and_status(message: str, status: int | None, state: str) -> None:
    _, tables = tables_of(prefixed(finished("q", aborted("q", message, status))))
    (row,) = tables["records"]
    assert (row["state"], row["finish_reason"], row["abort_message"]) == (state, "abort", message)
    assert row.get("status_code") == status
    assert not {"prompt_tokens", "queue_s", "received_ts", "finished_ts"} & row.keys()


def test_level_0_and_1_say_whether_parameters_were_visible() -> None:
    hidden = received("a")
    for name in ("text", "input_ids", "sampling_params", "lora_path", "image_data", "video_data", "audio_data"):
        del hidden["obj"][name]
    shown = received("b", sampling_params={"max_new_tokens": None, "temperature": 1.0})
    _, tables = tables_of(bare(hidden, shown))
    first, second = tables["records"]
    assert first["params_logged"] is False
    assert not {"max_new_tokens", "stop_set", "schema_set", "modality", "prompt_chars"} & first.keys()
    assert second["params_logged"] is True
    assert "max_new_tokens" not in second
    assert (first["event"], first["state"]) == ("received", "received")


def test_the_modality_is_known_although_the_data_is_never_logged() -> None:
    rows = [received("a", modalities=["image"]), received("b", modalities=[]), received("c", modalities="video")]
    for row in rows:
        for name in ("text", "input_ids", "image_data", "video_data", "audio_data"):
            del row["obj"][name]
    _, tables = tables_of(bare(*rows))
    assert [row.get("modality") for row in tables["records"]] == ["image", None, None]


def test_lengths_of_truncated_inputs_are_not_known() -> None:
    _, tables = tables_of(
        bare(
            received("a", text=None, input_ids=[4] * 300),
            received("b", text=None, input_ids=[*[4] * 1024, "...", *[4] * 1024]),
            received("c", text="x" * 1024 + "..." + "y" * 1024),
        )
    )
    whole, cut_ids, cut_text = tables["records"]
    assert whole["prompt_tokens"] == 300
    assert "prompt_tokens" not in cut_ids
    assert "prompt_chars" not in cut_text


def test_constraints_placement_and_attributes() -> None:
    record = received(
        "a",
        sampling_params={"max_new_tokens": 9, "json_schema": '{"type": "object"}', "stop": ["###"]},
        lora_path="adapters/legal",
        routed_dp_rank=2,
        bootstrap_room=8812,
        bootstrap_host="10.0.0.4",
        priority=5,
        image_data=["<image>"],
        session_params={"id": "s-9"},
        custom_labels={"tenant": "north", "weight": 2},
    )
    record["headers"] = {"x-smg-routing-key": "team-a", "x-other": "1"}
    _, tables = tables_of(bare(record))
    (row,) = tables["records"]
    wanted = {
        "schema_set": True,
        "stop_set": True,
        "regex_set": False,
        "lora": "adapters/legal",
        "dp_rank_asked": 2,
        "room": 8812,
        "priority": 5,
        "modality": "image",
        "session_id": "s-9",
        "routing_key": "team-a",
    }
    assert {name: row.get(name) for name in wanted} == wanted
    assert len(row["schema_hash"]) == 16
    attrs = {(a["name"], a.get("value"), a.get("number")) for a in tables["request_attrs"]}
    assert attrs == {
        ("bootstrap_host", "10.0.0.4", None),
        ("header.x-other", "1", None),
        ("header.x-smg-routing-key", "team-a", None),
        ("label.tenant", "north", None),
        ("label.weight", None, 2.0),
    }
    assert all(a["rid"] == "a" and a["line"] == 1 for a in tables["request_attrs"])


def test_openai_payload_scheduler_status_and_probes() -> None:
    openai = {
        "timestamp": "2026-11-30T03:40:00.000000",
        "event": "request.received.openai",
        "obj": {"messages": [{"role": "user", "content": "hi"}], "model": "m", "max_tokens": 7, "tools": [{}]},
    }
    status = {
        "timestamp": "2026-11-30T03:40:01.000000",
        "event": "scheduler.status",
        "rank": 1,
        "running_rids": ["a", "b"],
        "queued_rids": ["c"],
    }
    probe = received("HEALTH_CHECK_17", bootstrap_room=0)
    reading, tables = tables_of(bare(openai, status, probe))
    first, second = tables["records"]
    assert (first["event"], first["endpoint"], first["max_new_tokens"]) == (
        "received-openai",
        "/v1/chat/completions",
        7,
    )
    assert first["tools_set"] is True
    assert "rid" not in first
    assert second["probe"] is True
    assert "room" not in second
    (event,) = tables["events"]
    assert (event["kind"], event["count"], event["value"], event["line"]) == ("scheduler-status", 2, 1.0, 2)
    assert json.loads(event["attrs"]) == {"queued": ["c"], "rank": 1, "running": ["a", "b"]}
    assert reading.understood == 3


def test_parts_of_n_2_are_tied_to_the_arrival() -> None:
    params = {"max_new_tokens": 8, "n": 2}
    lines = prefixed(
        received(["p", "q"], sampling_params=[params, params], text=["t", "t"], stream=True),
        finished("fill", meta("fill", finish_reason={"type": "length", "length": 0}), sampling_params=params),
        finished("x", meta("x"), sampling_params=params),
        finished("y", meta("y"), sampling_params=params),
    )
    reading, tables = tables_of(lines)
    told = [(r["rid"], r.get("parent_rid"), r.get("choice"), r["n"], r["line"]) for r in tables["records"]]
    assert told == [("p", None, None, 2, 1), ("fill", "p", None, 2, 2), ("x", "p", 0, 2, 3), ("y", "p", 1, 2, 4)]
    assert reading.understood == 4


def test_a_batch_gives_one_record_per_request() -> None:
    lines = bare(
        received(["p", "q"], sampling_params=[{"max_new_tokens": 1}, {"max_new_tokens": 2}], text=["a", "bb"]),
        finished("q", meta("q"), sampling_params={"max_new_tokens": 2}),
    )
    _, tables = tables_of(lines)
    told = [(r["rid"], r.get("parent_rid"), r.get("choice"), r["max_new_tokens"]) for r in tables["records"]]
    assert told == [("p", "p", 0, 1), ("q", "p", 1, 2), ("q", "p", 1, 2)]
    assert [r["prompt_chars"] for r in tables["records"]][:2] == [1, 2]


def test_a_rid_that_looks_like_a_list_stays_one_rid() -> None:
    _, tables = tables_of(bare(finished('["a", "b"]', meta('["a", "b"]'))))
    assert [r["rid"] for r in tables["records"]] == ['["a", "b"]']


def test_the_zone_is_told_by_the_epoch_stamps() -> None:
    record = finished("a", meta("a"), "2026-11-30T11:40:02.750000")
    reading, tables = tables_of(bare(record))
    assert tables["records"][0]["logged_ts"] == EPOCH + 4.75
    assert any("UTC+08:00" in note for note in reading.notes)


def test_a_zone_without_stamps_is_assumed_or_given() -> None:
    record = received("a", "2026-07-01T12:00:00.000000")
    reading, tables = tables_of(bare(record))
    assert tables["records"][0]["clock"] == "naive"
    assert any("--tz" in note for note in reading.notes)
    _, given = tables_of(bare(record), tz=ZoneInfo("Europe/Berlin"))
    assert given["records"][0]["logged_ts"] == tables["records"][0]["logged_ts"] - 7200


def test_other_lines_go_to_the_log_parsers_and_nothing_is_lost() -> None:
    stats = (
        "[2026-11-30 03:40:02] ReqTimeStats(rid=c1d2, input_len=211, cached_input_len=128, output_len=64, attempts=0, "
        "type=unified): queue_duration=1375.00ms, forward_duration=3000.00ms, entry_time=1796009998.100\n"
    )
    lines = prefixed(received("c1d2")) + stats + "\n" + prefixed(finished("c1d2", meta("c1d2"))) + "{not a record}\n"
    reading, tables = tables_of(lines)
    assert sorted((r["line"], r["kind"]) for r in tables["records"]) == [
        (1, "request-log"),
        (2, "time-stats"),
        (4, "request-log"),
    ]
    assert [(u["line"], u["text"]) for u in tables["unread"]] == [(5, "{not a record}")]
    assert (reading.lines, reading.blank, reading.understood, reading.unparsed) == (5, 1, 3, 1)


def test_bytes_that_are_no_utf8_and_lone_surrogates_do_not_lose_the_record() -> None:
    line = bare(finished("a", meta("a"), text="SPOT")).encode()
    for spot in (b"caf\xe9", b"\\ud83d", b"na\\u0000n"):
        reading, tables = tables_of(line.replace(b"SPOT", spot))
        assert [(r["rid"], r["prompt_tokens"]) for r in tables["records"]] == [("a", 211)]
        assert reading.unparsed == 0


def test_prompts_do_not_leave() -> None:
    secret = "the-secret-words"
    record = finished("a", meta("a"), text=secret, input_ids=None)
    record["out"]["text"] = secret
    _, tables = tables_of(bare(record, received("b", text=secret)))
    assert secret not in repr(dict(tables))
