import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ridgeline.cli import main
from ridgeline.cli.sources import zone_of
from ridgeline.model.errors import InputError

LOG = (
    "[2026-11-30 03:59:25] Decode batch, #running-req: 3, #token: 512, token usage: 0.12, cuda graph: False, "
    "gen throughput (token/s): 81.20, #queue-req: 4\n"
    "[2026-11-30 03:59:26] \x1b[31msomething | nobody <b>knows\x1b]0;x\x07 `of`\n"
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_text(LOG)
    return path


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as end:
        main([str(a) for a in arguments])
    return int(end.value.code or 0)


def test_the_table_says_what_was_read_as_what(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sources", log) == 0
    out = capsys.readouterr().out
    head, row, *notes = out.splitlines()
    assert head.split() == ["source", "read", "as", "server", "rows", "unparsed", "from", "to", "clock"]
    assert row.startswith("server.log  log")
    assert "2026-11-30 03:59:25  2026-11-30 03:59:26" in row
    assert any("times carry no zone" in note for note in notes)


def test_unread_lines_are_listed_and_cannot_reach_the_terminal(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sources", log, "--unread") == 0
    out = capsys.readouterr().out
    assert out.startswith("server.log:2: ")
    assert "nobody" in out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_markdown_is_escaped_and_json_is_whole(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sources", log, "--unread", "--format", "md") == 0
    assert r"\<b\>knows" in capsys.readouterr().out
    assert run("sources", log, "--format", "md") == 0
    assert capsys.readouterr().out.startswith("| source | read as |")
    assert run("sources", log, "--format", "json") == 0
    (source,) = json.loads(capsys.readouterr().out)["sources"]
    assert (source["path"], source["kind"], source["rows"], source["unparsed"]) == ("server.log", "log", 1, 1)
    assert source["from"] == "2026-11-30T03:59:25.000+00:00"
    assert run("sources", log, "--unread", "--format", "json") == 0
    (line,) = json.loads(capsys.readouterr().out)["unread"]
    assert line["line"] == 2


def test_equal_unread_lines_are_one_entry_with_their_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "x.log"
    log.write_text("[2026-11-30 03:40:00] frobnicate\n" * 3000 + "[2026-11-30 03:40:00] frobnicate twice\n")
    assert run("sources", log, "--unread") == 0
    assert capsys.readouterr().out.splitlines() == [
        "x.log:1 (and 2,999 like it, to line 3000): frobnicate",
        "x.log:3001: frobnicate twice",
    ]
    assert run("sources", log, "--unread", "--format", "json") == 0
    first = json.loads(capsys.readouterr().out)["unread"][0]
    assert (first["line"], first["last_line"], first["lines"]) == (1, 3000, 3000)


def test_the_zone_given_is_the_zone_used(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sources", log, "--tz", "+08:00", "--format", "json") == 0
    (source,) = json.loads(capsys.readouterr().out)["sources"]
    assert source["from"] == "2026-11-29T19:59:25.000+00:00"


def test_what_was_left_out_is_a_note(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sources", log, log.parent / "gone.log") == 0
    assert "gone.log: cannot be read (No such file or directory)" in capsys.readouterr().out


def test_nothing_to_read_is_one_line_and_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sources", tmp_path / "gone.log") == 1
    err = capsys.readouterr().err
    assert err.startswith("ridgeline: ")
    assert err.count("\n") == 1


def test_zones_are_names_or_offsets() -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    said = {text: zone_of(text) for text in ("Asia/Shanghai", "+08:00", "UTC+8", "-0530", None)}
    offsets = {text: zone and now.astimezone(zone).utcoffset() for text, zone in said.items()}
    eight = timedelta(hours=8)
    assert offsets == {
        "Asia/Shanghai": eight, "+08:00": eight, "UTC+8": eight, "-0530": -timedelta(hours=5, minutes=30), None: None
    }  # fmt: skip
    for bad in ("Mars/Base", "+99:00", "../etc/passwd", ""):
        with pytest.raises(InputError, match="no zone known"):
            zone_of(bad)
