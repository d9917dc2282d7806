"""`ridgeline request`: each row says who saw it, and what is missing is asked for in the engine's own flags."""

import json
from pathlib import Path

import pytest

from ridgeline.cli import main
from ridgeline.cli.request import label_of
from ridgeline.facts.timeline import timeline

T = 1796011165.0


def row(**fields: object) -> dict[str, object]:
    from ridgeline.model.tables import TABLES

    return {**dict.fromkeys(TABLES["requests"]), "path": "server.log", "line": 7, **fields}


def test_two_rows_of_one_id_are_told_apart_by_who_saw_them() -> None:
    seen = label_of(row(rid="r-1", role="unified"), "r-1")
    asked = label_of(row(rid="r-1", client_rid="c-1", role="client", path="client.jsonl"), "c-1")
    begun = label_of(row(rid="r-12", role="decode"), "r-1")
    assert seen == "this request, as the server saw it (server.log:7)"
    assert asked == "this request by the client's id, as the client saw it (client.jsonl:7)"
    assert begun == "a request whose id begins so, as the decode server saw it (server.log:7)"


def test_what_is_missing_names_the_engine_s_own_flag() -> None:
    (sglang,) = timeline(row(rid="r", received_ts=1.0, finished_ts=2.0)).missing
    (vllm,) = timeline(row(rid="r", received_ts=1.0, finished_ts=2.0), vllm=True).missing
    (client,) = timeline(row(rid="r", role="client", received_ts=1.0, finished_ts=2.0), vllm=True).missing
    assert "--enable-metrics" in sglang and "--otlp-traces-endpoint" in vllm and "--" not in client


def test_a_real_request_of_both_views(shared_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(shared_dir / "real/vllm_0.32.0/run1")
    with pytest.raises(SystemExit) as end:
        main(["request", "cmpl-req-1-0243", folder, "--quiet", "--format", "json"])
    assert not end.value.code
    shown = json.loads(capsys.readouterr().out)["requests"]
    labels = [r["label"] for r in shown if r["rid"].startswith("cmpl-req-1-0243")]
    assert len(labels) == len(set(labels)) == 2
    assert any("the server" in label for label in labels) and any("the client" in label for label in labels)
    assert "--enable-metrics" not in json.dumps(shown)


def test_a_bundle_of_hashed_ids_takes_the_id_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "bench.jsonl"
    rows = [
        {"rid": f"r-{n}", "prompt_tokens": 40, "output_tokens": 9, "start_ts": T + n, "end_ts": T + n + 2}
        for n in range(3)
    ]
    log.write_text("".join(json.dumps(r) + "\n" for r in rows))
    folder = tmp_path / "bundle"
    for arguments, status in (
        (["ingest", str(log), "-o", str(folder), "--quiet"], 0),
        (["request", "r-1", str(folder), "--quiet", "--format", "json"], 0),
        (["request", "r-9", str(folder), "--quiet"], 1),
    ):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert (end.value.code or 0) == status, arguments
    said = capsys.readouterr()
    (shown, *_) = json.loads(said.out[said.out.index("{") :])["requests"]
    assert shown["rid"].startswith("h:") and "h:" in said.err and "RIDGELINE_KEY_FILE" in said.err
