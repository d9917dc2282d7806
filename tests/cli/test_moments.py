"""What people write for times and windows: each mistake is one line that names the option."""

from pathlib import Path

import pytest

from tests.cli.test_sources import LOG, run

BATCH = (
    "[2026-11-30 03:{minute:02d}:00 TP0] Decode batch, #running-req: 4, #token: 90, token usage: 0.10, "
    "cuda graph: True, gen throughput (token/s): 100.00, #queue-req: 0\n"
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_text("".join(BATCH.format(minute=n) for n in range(40)))
    return path


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--from", "03:30", "--to", "03:10"), "--from 03:30 --to 03:10: ends before it begins"),
        (("--to", "03:00"), "--to 03:00: ends before it begins; the evidence goes from 2026-11-30T03:00:00Z"),
        (("--from", "2026-11-29T03:00", "--to", "2026-11-29T04:00"), "nothing of the evidence is from that time"),
        (("--from", "yesterday"), "--from yesterday: is no moment"),
        (("--from", "0001-01-01T00:00:00+23:00"), "--from 0001-01-01T00:00:00+23:00: is no moment"),
        (("--to", "99:99"), "--to 99:99: is no moment"),
        (("--baseline", "garbage"), "--baseline garbage: is no window"),
        (("--baseline", "03:10.."), "--baseline 03:10..: is no window"),
        (("--baseline", "03:10..noon"), "--baseline noon: is no moment"),
        (("--baseline", "03:20..03:10"), "--baseline 03:20..03:10: ends before it begins"),
        (("--from", "03:10", "--tz", "Mars/Base"), "--tz Mars/Base: is no zone known here"),
        (("--year", "99999"), "--year 99999: is no year of a log"),
        (("--year", "-1"), "--year -1: is no year of a log"),
    ],
)
def test_a_mistake_in_a_time_is_one_line(
    log: Path, given: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("diagnose", log, *given) == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_time_of_day_needs_a_day(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"model_path": "m", "tokenizer_path": "m", "version": "0.5.9"}')
    assert run("diagnose", path, "--from", "03:10", "--to", "03:20") == 1
    assert "--from 03:10: names no day, and this evidence has no times; give a date too" in capsys.readouterr().err
    assert run("diagnose", path, "--from", "2026-11-30T03:10:00") == 1
    assert "this evidence has no times, so give both --from and --to" in capsys.readouterr().err


def test_other_numbers_and_words_that_mean_nothing(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_text(LOG)
    for given, said in [
        (("show", "E1", log, "--lines", "-3"), "--lines -3: is below zero"),
        (("request", "", log), "the id is empty"),
        (("request", " ", log), "the id is empty"),
        (("sources", log, "--year", "99999"), "--year 99999: is no year of a log"),
        (("ingest", log, "-o", log.parent / "b", "--year", "0"), "--year 0: is no year of a log"),
    ]:
        assert run(*given) == 1
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1
