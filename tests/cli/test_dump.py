"""`ridgeline dump`: what is listed, shown and written; a refused file is one line and the others still count."""

import gzip
import json
import os
import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ridgeline.cli import main
from ridgeline.lab.emit.pickles import Instance, dumps
from tests.signals.dump.compose import T, asked, dump, entry, hostile, opened


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as end:
        main(["dump", *(str(a) for a in arguments)])
    return int(end.value.code or 0)


@pytest.fixture
def crash(tmp_path: Path) -> Path:
    """Three kinds of request, of which the two long ones with a schema were open when the server died."""
    schema = {"max_new_tokens": 512, "temperature": 0.7, "json_schema": '{"type": "object", "title": "Ward 9"}'}
    long = {"input_ids": list(range(5000)), "sampling_params": schema, "text": None}
    late: list[Any] = [(asked(f"late-{i}", **long), {}, T + 7 + i, T + 9) for i in range(2)]
    path = tmp_path / "crash.pkl"
    path.write_bytes(dump([entry("a"), entry("b", 1.0), entry("c", 2.0, stream=False), *late], crash=True))
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.pkl"
    path.write_bytes(hostile(str(tmp_path / "canary"))["os.system by stack_global"])
    return path


def test_ls_as_json(crash: Path, bad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = tmp_path / "request.pkl.gz"
    packed.write_bytes(gzip.compress(dump([entry("x")], "0.4.6")))
    assert run("ls", crash, bad, packed, tmp_path / "absent.pkl", "--format", "json") == 1
    said = json.loads(capsys.readouterr().out)
    assert said["schema"] == "ridgeline.dump/1"
    first, second, third, fourth = said["files"]
    assert first == {
        "file": str(crash), "kind": "crash-dump", "version": "0.5.23", "requests": 5, "finished": 3, "unfinished": 2,
        "refused": None,
    }  # fmt: skip
    assert (second["kind"], second["requests"]) == (None, 0)
    assert "posix" not in second["refused"]
    assert "os.system" in second["refused"]
    assert (third["kind"], third["version"], third["requests"], third["refused"]) == ("request-dump", "0.4.6", 1, None)
    assert "cannot be read" in fourth["refused"]
    assert not (tmp_path / "canary").exists()


def test_ls_as_text(crash: Path, bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ls", bad, crash) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["file", "kind", "version", "requests", "finished", "unfinished", "from", "to"]
    assert out[1].split()[:6] == [str(crash), "crash-dump", "0.5.23", "5", "3", "2"]
    assert out[2].startswith(f"{bad}: refused: was not read: it names os.system")
    assert len(out) == 3
    assert run("ls", crash) == 0


def test_folders_and_globs_list_dumps_only(crash: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (crash.parent / "server.log").write_text("[2026-11-30 04:00:00] hello\n")
    assert run("ls", crash.parent) == 0
    assert "server.log" not in capsys.readouterr().out
    assert run("ls", str(crash.parent / "*")) == 0
    assert "server.log" not in capsys.readouterr().out
    assert run("ls", crash.parent / "server.log") == 1
    assert "is no pickle" in capsys.readouterr().out


def test_a_folder_without_dumps_and_no_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.log").write_text("x\n")
    assert run("ls", tmp_path) == 1
    assert "holds no dump" in capsys.readouterr().err
    assert run("ls") == 1
    assert "no dump was given" in capsys.readouterr().err


def test_a_pipe_is_read_once(crash: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fifo = crash.parent / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_bytes(crash.read_bytes()))
    writer.start()
    assert run("ls", fifo) == 0
    writer.join()
    assert "crash-dump" in capsys.readouterr().out


def test_show_wants_one_dump(crash: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (crash.parent / "other.pkl").write_bytes(crash.read_bytes())
    assert run("show", crash.parent) == 1
    assert "holds 2 dumps" in capsys.readouterr().err


def test_names_and_ids_are_safe_to_print(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "evil\x1b[31m.pkl"
    path.write_bytes(dump([entry("rid\x1b]0;x\x07")]))
    assert run("ls", path) == 0
    assert run("show", path) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_show_groups_what_was_open(crash: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", crash, "--limit", "3") == 0
    out = capsys.readouterr().out
    assert f"{crash}: crash-dump 0.5.23, 5 requests, 2 unfinished, crash at 2026-11-30 03:59:34" in out
    listed = out.split("last requests")[1].split("by shape")[0]
    assert [line.split()[1] for line in listed.splitlines()[2:-1]] == ["c", "late-0", "late-1"]
    first = out.split("by shape")[1].splitlines()[2].split()
    assert first[:6] == ["2", "0", "0", "1.000", "s", "before"]
    assert " ".join(first[6:]) == "4097-16384 257-1024 temperature 0.7 json schema"
    assert "Ward 9" not in out


def test_show_as_json_has_no_content(crash: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", crash, "--format", "json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["unfinished"], said["crash_ts"], len(said["last"])) == (2, T + 9, 5)
    assert said["groups"][0]["shape"]["features"] == ["json schema"]
    assert said["groups"][0]["numbers"] == [4, 5]
    assert "one two" not in json.dumps(said)


def test_one_request(crash: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", crash, "--rid", "late-1") == 0
    out = capsys.readouterr().out
    assert {"finished False", "input_tokens 5000", "rid late-1"} <= {
        " ".join(line.split()) for line in out.splitlines()
    }
    assert run("show", crash, "--rid", "nobody") == 1
    assert "holds no request nobody" in capsys.readouterr().err
    assert run("show", crash, "--limit", "0") == 1


def test_show_of_a_refused_and_of_a_cut_file(crash: Path, bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", bad) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    crash.write_bytes(crash.read_bytes()[:-400])
    assert run("show", crash) == 1
    said = capsys.readouterr()
    assert "is cut" in said.err
    assert "last requests" in said.out


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_convert_hides_by_default(
    crash: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RIDGELINE_KEY_FILE", str(tmp_path / "key"))
    lines, table = tmp_path / "out.jsonl", tmp_path / "out.parquet"
    assert run("convert", crash, "-o", lines) == 0
    assert run("convert", crash, "-o", table) == 0
    assert "5 requests, inputs and names hashed" in capsys.readouterr().out
    raw = lines.read_bytes() + json.dumps(pq.read_table(table).to_pylist()).encode()
    for secret in (b"one two", b"late-1", b"Ward 9", b"70000", b'"out"'):
        assert secret not in raw
    a, *_, last = rows(lines)
    assert a["rid"].startswith("h:")
    assert a["text"] is None
    assert a["input_ids"] is None
    assert (a["prompt_tokens"], a["prompt_chars"], a["finished"], a["arrival_ts"]) == (4, 7, True, T)
    assert (last["finished"], last["max_new_tokens"], last["sampling"]["temperature"]) == (False, 512, 0.7)
    assert last["sampling"]["json_schema"].startswith("h:")
    assert a["input_hash"] == rows(lines)[1]["input_hash"] != last["input_hash"]
    assert [{k: v for k, v in r.items() if k != "sampling"} for r in pq.read_table(table).to_pylist()] == [
        {k: v for k, v in r.items() if k != "sampling"} for r in rows(lines)
    ]


def test_convert_keeps_text_when_asked(
    crash: Path, bad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    assert run("convert", bad, crash, "-o", out, "--keep-text") == 1
    assert capsys.readouterr().err.count("\n") == 1
    a, *_ = rows(out)
    assert (a["rid"], a["text"], a["input_ids"], a["output_ids"]) == ("a", "one two", [1, 300, 70000, 2], [5, 6, 7])
    assert a["text_hash"] is None
    table = tmp_path / "out.parquet"
    assert run("convert", crash, "-o", table, "--keep-text", "--quiet") == 0
    assert pq.read_table(table).to_pylist()[0]["input_ids"] == [1, 300, 70000, 2]


def test_convert_says_what_it_cannot_do(
    crash: Path, bad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("convert", crash, "-o", tmp_path / "out.csv") == 1
    assert "ends in .jsonl or .parquet" in capsys.readouterr().err
    assert run("convert", bad, "-o", tmp_path / "out.jsonl") == 1
    assert not (tmp_path / "out.jsonl").exists()
    assert run("convert", crash, "-o", tmp_path / "no" / "folder.jsonl", "--keep-text") == 1
    assert "cannot be written" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.part"))


def test_half_surrogates_and_null_bytes_survive(tmp_path: Path) -> None:
    path = tmp_path / "odd.pkl"
    path.write_bytes(dump([entry("a", text="x\x00y"), opened("b")], crash=True))
    for ending in ("jsonl", "parquet"):
        assert run("convert", path, "-o", tmp_path / f"o.{ending}", "--keep-text", "--quiet") == 0
    assert rows(tmp_path / "o.jsonl")[0]["text"] == "x\x00y"


def test_numbers_that_json_does_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nan.pkl"
    params = {"temperature": float("nan"), "top_p": float("inf")}
    path.write_bytes(dump([entry("a", sampling_params=params), (asked("b"), {}, T, 1e300)]))
    assert run("show", path) == 0
    capsys.readouterr()
    assert run("show", path, "--format", "json") == 0
    assert "NaN" not in capsys.readouterr().out
    assert run("convert", path, "-o", tmp_path / "o.jsonl", "--keep-text") == 0
    assert "NaN" not in (tmp_path / "o.jsonl").read_text()


def test_the_real_crash(shared_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ls", shared_dir / "real" / "sglang_0.5.23" / "single_full" / "crash", "--format", "json") == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert (file["kind"], file["requests"], file["finished"], file["unfinished"]) == ("crash-dump", 189, 176, 13)


def test_an_error_that_quotes_a_key_is_shown_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RIDGELINE_KEY_FILE", str(tmp_path / "key"))
    said = "prompt: 'one of the words of a user' key sk-live-a9x8y7z6w5v4u3t2s for user gertrude.b"
    meta = {"id": "r", "finish_reason": {"type": "abort", "message": said}, "prompt_tokens": 6}
    one = Instance("sglang.srt.managers.io_struct", "GenerateReqInput", (("rid", "r"), ("text", "x")))
    path = tmp_path / "d.pkl"
    args = {"model_path": "m"}
    path.write_bytes(
        dumps(
            {
                "server_args": Instance("sglang.srt.server_args", "ServerArgs", tuple(args.items())),
                "config_updates": [],
                "resolved_config": args,
                "launch_command": "x",
                "requests": [(one, {"text": "", "meta_info": meta}, T, T + 1)],
            }
        )
    )
    assert run("show", path, "--format", "json") == 0
    assert run("convert", path, "-o", tmp_path / "keep.jsonl", "--keep-text") == 0
    assert run("convert", path, "-o", tmp_path / "o.jsonl") == 0
    told = capsys.readouterr().out + (tmp_path / "keep.jsonl").read_text() + (tmp_path / "o.jsonl").read_text()
    assert "sk-live" not in told
    hidden = (tmp_path / "o.jsonl").read_text()
    assert "words of a user" not in hidden
    assert "gertrude" not in hidden
