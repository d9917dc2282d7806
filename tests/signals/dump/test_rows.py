"""Dumps as a source: rows cited by request number, equal to what the request log of the same run says."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ridgeline.bundle.cite import lines_of
from ridgeline.bundle.open import open_sources
from ridgeline.cli import main
from ridgeline.lab.emit.pickles import dumps
from ridgeline.model.errors import InputError
from ridgeline.signals.dump import read_dump
from ridgeline.signals.stream import Blob
from tests.signals.dump.compose import T, answered, asked, dump, entry, hostile, opened
from tests.signals.reading import tables_of


def test_rows_of_a_crash_dump() -> None:
    data = dump([entry("a"), entry("b", 1.0, lora_path="poet"), opened("c", 4.0)], crash=True)
    reading, tables = tables_of(data)
    assert (reading.kind, reading.version, reading.lines, reading.understood, reading.unparsed) == (
        "dump",
        "0.5.23",
        3,
        3,
        0,
    )
    assert (reading.from_ts, reading.to_ts, reading.clock) == (T, T + 9, "wall")
    a, b, c = tables["records"]
    assert (a["rid"], a["state"], a["event"], a["line"], a["kind"]) == ("a", "finished", "finished", 1, "dump")
    assert (a["received_ts"], a["finished_ts"], a["prompt_tokens"], a["max_new_tokens"]) == (T, T + 2, 4, 16)
    assert (a["params_logged"], a["temperature"], a["modality"], a["clock"]) == (True, 0.0, "text", "wall")
    assert b["lora"] == "poet"
    assert (c["rid"], c["state"], c["event"], c["received_ts"]) == ("c", "unfinished", "unfinished", T + 4)
    assert "finished_ts" not in c
    assert "finish_reason" not in c
    assert {(e["kind"], e["ts"], e["line"]) for e in tables["events"]} == {
        ("crash-dump", T + 9, 3),
        ("crash", T + 9, 3),
    }
    (server,) = tables["servers"]
    assert (server["engine"], server["version"], server["tp_size"], server["page_size"]) == ("sglang", "0.5.23", 2, 1)
    assert {row["key"] for row in tables["config"]} == {"model_path", "tp_size", "page_size"}
    assert [p["rid"] for p in tables["prompts"]] == ["a", "b", "c"]


def test_secrets_do_not_become_settings() -> None:
    _, tables = tables_of(dump([entry()], "0.5.9", crash=True))
    (key,) = [row for row in tables["config"] if row["key"] == "api_key"]
    assert key["value"] == "<secret>"
    assert "very-secret" not in json.dumps(tables)


def test_a_dump_with_nothing_open_is_no_crash() -> None:
    _, tables = tables_of(dump([entry()], "0.5.9", crash=True))
    assert [e["kind"] for e in tables["events"]] == ["crash-dump"]
    _, tables = tables_of(dump([entry()]))
    assert "events" not in tables


@pytest.mark.parametrize(("code", "told"), [(None, True), (500, False)])
def test_whose_abort_it_was(code: int | None, told: bool) -> None:
    reason = {"type": "abort", "message": "Aborted", "status_code": code, "err_type": None}
    _, tables = tables_of(dump([(asked("a"), answered("a", finish_reason=reason), T, T + 1)]))
    assert [(e["kind"], e["rid"]) for e in tables.get("events", [])] == ([("abort", "a")] if told else [])
    (row,) = tables["records"]
    assert row["finish_reason"] == "abort"
    assert ("abort_message" in row) != told


def test_a_cut_dump_keeps_its_requests_and_says_so() -> None:
    data = dump([entry("a"), entry("b", 1.0), opened("c", 2.0)], crash=True)
    reading, tables = tables_of(data[: len(data) * 2 // 3])
    assert [r["rid"] for r in tables["records"]][:1] == ["a"]
    assert (reading.unparsed, reading.unparsed_errors) == (1, 0)
    assert "is cut" in tables["unread"][0]["text"]
    assert any("is cut" in note for note in reading.notes)


def test_hostile_files_are_one_note_beside_the_others(tmp_path: Path) -> None:
    (tmp_path / "bad.pkl").write_bytes(hostile(str(tmp_path / "canary"))["os.system by global"])
    (tmp_path / "good.pkl").write_bytes(dump([entry("a"), opened("b")], crash=True))
    view = open_sources([str(tmp_path)])
    assert view.one("SELECT count(*) FROM requests") == (2,)
    ((notes,),) = view.query("SELECT notes FROM sources WHERE path = 'bad.pkl'")
    assert len(notes) == 1
    assert "os.system" in notes[0]
    assert not (tmp_path / "canary").exists()
    with pytest.raises(InputError, match=r"os\.system"):
        open_sources([str(tmp_path / "bad.pkl")])


def test_strange_times_are_left_out_and_said() -> None:
    reading, tables = tables_of(dumps([(asked("a"), answered("a"), 1650.5, 1652.5)]))
    (row,) = tables["records"]
    assert "received_ts" not in row
    assert "finished_ts" not in row
    assert any("no dates" in note for note in reading.notes)


def test_a_citation_is_the_request_and_not_what_lies_between_two_newlines(tmp_path: Path) -> None:
    path = tmp_path / "crash.pkl"
    path.write_bytes(dump([entry("a", text="secret\nprompt\n" * 9), opened("b", 4.0)], crash=True))
    found = lines_of(Blob("crash.pkl", path), [1, 2, 3])
    assert found.keys() == {1, 2}
    assert json.loads(found[2]).items() >= {"request": 2, "rid": "b", "finished": False, "prompt_tokens": 4}.items()
    assert "secret" not in found[1]


def test_a_bundle_of_a_dump_holds_no_prompt_no_id_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIDGELINE_KEY_FILE", str(tmp_path / "key"))
    path = tmp_path / "crash.pkl"
    path.write_bytes(dump([entry("rid-of-a-ward", text="prompt of a ward"), opened("rid-b")], "0.5.9", crash=True))
    with pytest.raises(SystemExit):
        main(["ingest", str(path), "-o", str(tmp_path / "bundle"), "--quiet"])
    tables = {p.stem: pq.read_table(p).to_pylist() for p in (tmp_path / "bundle" / "tables").glob("*.parquet")}
    assert len(tables["requests"]) == 2
    assert len(tables["prompts"]) == 2
    said = json.dumps(tables, default=str)
    for secret in ("rid-of-a-ward", "prompt of a ward", "very-secret", "one two"):
        assert secret not in said


def _log(folder: Path) -> tuple[dict[str, Any], set[str]]:
    """(rid → finish record, rids received) of a JSON request log."""
    finished: dict[str, Any] = {}
    received: set[str] = set()
    for path in sorted(folder.iterdir()):
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as f:
            for line in f:
                record = json.loads(line[line.index("{") :])
                if record["event"] == "request.finished":
                    finished[record["out"]["meta_info"]["id"]] = record
                elif record["event"] == "request.received":
                    received |= set(record["rid"]) if isinstance(record["rid"], list) else {record["rid"]}
    return finished, received


@pytest.mark.parametrize(
    ("run", "dumps", "requests"),
    [
        ("single_full", "request_dump", 150),
        ("single_full", "crash/vm", 189),
        ("pd_mooncake_tcp/decode", "request_dump", 120),
        ("pd_mooncake_tcp/prefill", "request_dump", 120),
    ],
)
def test_real_dumps_say_what_the_request_log_says(run: str, dumps: str, requests: int, shared_dir: Path) -> None:
    at = shared_dir / "real" / "sglang_0.5.23" / run
    finished, received = _log(at / "request_log")
    found = [r for path in sorted((at / dumps).iterdir()) for r in read_dump(path).requests]
    assert len(found) == requests
    compared = 0
    for r in found:
        assert r.rid is not None
        if r.finished and r.rid in finished:
            said = finished[r.rid]["out"]["meta_info"]
            meta = dict(r.meta)
            if meta.get("response_sent_to_client_ts") is None or "response_sent_to_client_ts" not in said:
                said, meta = ({k: v for k, v in m.items() if k != "response_sent_to_client_ts"} for m in (said, meta))
            assert meta == said
            obj = finished[r.rid]["obj"]
            assert r.sampling == obj["sampling_params"]
            assert (r.stream, r.room) == (obj["stream"], obj["bootstrap_room"])
            compared += 1
        elif r.finished:  # the client left: the log has its arrival only
            assert r.finish_reason == "abort"
            assert r.rid in received or r.n == 2  # its parts get new ids
        else:
            assert r.rid in received
            assert r.rid not in finished
    assert compared >= 0.9 * sum(r.finished is True for r in found)


def test_the_real_crash_dump_counts(shared_dir: Path) -> None:
    (path,) = (shared_dir / "real" / "sglang_0.5.23" / "single_full" / "crash" / "vm").iterdir()
    found = read_dump(path)
    assert (found.kind, found.version, found.finished, found.unfinished, found.refused) == (
        "crash-dump", "0.5.23", 176, 13, None,
    )  # fmt: skip
    assert all(isinstance(r.input_ids, tuple) for r in found.requests if r.text is None)


@pytest.mark.parametrize("version", ["0.5.3", "0.5.23"])
def test_recorded_dumps_agree_with_the_log_beside_them(version: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["lab", "record", "fault.crash", "--version", version, "-o", str(tmp_path / "x"), "--quiet"])
    (path,) = tmp_path.rglob("*.pkl")
    found = read_dump(path)
    assert (found.refused, found.kind) == (None, "crash-dump")
    assert found.unfinished > 0
    view = open_sources([str(tmp_path / "x")])
    rest = view.one("SELECT rows, unparsed FROM sources WHERE kind = 'dump'")
    assert rest == (len(found.requests), 0)
    log = dict(view.query("SELECT rid, finished_ts FROM records WHERE kind = 'request-log' AND event = 'finished'"))
    for r in found.requests:
        if r.finished:
            assert r.rid in log
        else:
            assert log.get(r.rid) is None or log[r.rid] >= found.crash_ts


def test_real_dumps_are_read_without_a_rest(shared_dir: Path) -> None:
    files = sorted(str(p) for p in (shared_dir / "real").rglob("*.pkl*"))
    rows = open_sources(files).query("SELECT kind, rows, unparsed, notes FROM sources")
    assert len(rows) == len(files)
    assert {(kind, unparsed, tuple(notes or ())) for kind, _, unparsed, notes in rows} == {("dump", 0, ())}
    assert sum(n for _, n, _, _ in rows) == 3 * 50 + 189 + 2 * 50 + 6 * 40 + 2 * 266
