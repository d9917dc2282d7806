from pathlib import Path

import pytest

from tests.cli.test_sources import LOG, run


@pytest.fixture(autouse=True)
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIDGELINE_KEY_FILE", str(tmp_path / "key"))


def test_sources_become_a_bundle_that_opens_like_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = tmp_path / "server.log", tmp_path / "bundle"
    log.write_text(LOG)
    assert run("ingest", log, "-o", out) == 0
    assert f"{out}: 1 sources, " in capsys.readouterr().out
    assert run("sources", log) == 0
    raw = capsys.readouterr().out
    assert run("sources", out) == 0
    assert capsys.readouterr().out == raw
    assert run("ingest", log, "-o", out, "--quiet", "--keep-text", "--embed") == 0
    assert capsys.readouterr().out == ""
    assert (out / "sources/001-server.log.gz").is_file()


def test_a_bundle_is_not_ingested_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = tmp_path / "server.log", tmp_path / "bundle"
    log.write_text(LOG)
    run("ingest", log, "-o", out)
    assert run("ingest", out, "-o", tmp_path / "other") == 1
    assert "is a bundle already" in capsys.readouterr().err


def test_replacing_a_bundle_is_said_and_losing_sources_needs_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, other, out = tmp_path / "server.log", tmp_path / "other.log", tmp_path / "bundle"
    log.write_text(LOG)
    other.write_text(LOG.replace("03:", "05:"))
    assert run("ingest", log, "-o", out) == 0
    assert "replaced" not in capsys.readouterr().out
    assert run("ingest", log, other, "-o", out) == 0
    assert "the bundle that was there was replaced" in capsys.readouterr().out
    assert run("ingest", other, "-o", out) == 1
    error = capsys.readouterr().err
    assert "1 of 2 sources that are not among these (server.log)" in error
    assert "--force" in error
    assert run("ingest", other, "-o", out, "--force") == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    assert run("ingest", log, "-o", tmp_path / "mine") == 1
    assert "holds something else than a bundle" in capsys.readouterr().err


def test_a_label_and_a_zone_are_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = tmp_path / "x.log", tmp_path / "bundle"
    log.write_text(LOG)
    assert run("ingest", log, "-o", out, "--label", f"decode:d-1={log}", "--tz", "+01:00") == 0
    row = capsys.readouterr().out.splitlines()[1]
    assert "d-1 decode" in row
    assert "02:59:25" in row
    assert run("ingest", log, "-o", out, "--label", "nonsense") == 1
    assert "expected ROLE=FILE" in capsys.readouterr().err
