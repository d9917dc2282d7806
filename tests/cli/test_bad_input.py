"""Every bad input gets a clear line, the rest is still diagnosed, and exit 1 only where nothing was read."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

GOOD: Final = "\n".join(
    f"[2026-11-30 03:40:{s:02d} TP0] Decode batch, #running-req: 8, #token: 1800, token usage: 0.01, "
    f"cuda graph: True, gen throughput (token/s): 810.55, #queue-req: 0"
    for s in range(40)
)

LONG: Final = tuple(
    f"[2026-11-30 03:{s // 60:02d}:{s % 60:02d} TP0] Decode batch, #running-req: {s % 9}, #token: {s * 7919 % 4000}, "
    f"token usage: 0.01, cuda graph: True, gen throughput (token/s): {s * 104729 % 90000 / 100}, #queue-req: 0\n"
    for s in range(2000)
)


def run(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "ridgeline", *arguments], input=stdin, capture_output=True, timeout=120, check=False
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def diagnose(*paths: Path) -> dict[str, Any]:
    status, out, err = run("diagnose", *map(str, paths), "--format", "json")
    assert status in (0, 2, 3), err
    assert "Traceback" not in err
    answer: dict[str, Any] = json.loads(out)
    return answer


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.log"
    path.write_text(GOOD + "\n")
    return path


def notes_of(answer: dict[str, Any], name: str) -> str:
    (entry,) = [c for c in answer["coverage"] if c["source"].endswith(name)]
    return " ".join(entry.get("notes", []))


def rows_of(answer: dict[str, Any], name: str) -> int:
    return next(int(c["rows"]) for c in answer["coverage"] if c["source"].endswith(name))


BAD: Final[dict[str, bytes]] = {
    "empty.log": b"",
    "binary.log": bytes(range(256)) * 64,
    "half.json": b'{"timestamp": "2026-11-30T03:40:00+00:00", "version": "0.5.23", "loads": [{"dp_rank": 0, "num_run',
    "noise.txt": b"it was slow and then it was fast again\n",
    "cut.log.gz": gzip.compress("".join(LONG).encode(), mtime=0)[:6000],
    "letters.log": GOOD.encode() + b"\n[2026-11-30 03:41:00] caf\xe9 d\xe9j\xe0 vu \x93quoted\x94\n",
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_the_rest_is_still_diagnosed(name: str, good: Path, tmp_path: Path) -> None:
    bad = tmp_path / name
    bad.write_bytes(BAD[name])
    answer = diagnose(good, bad)
    assert rows_of(answer, "good.log") == 40
    said = notes_of(answer, name)
    if name != "noise.txt":  # free text is a kind of its own: listed, its line unread
        assert said, f"{name}: nothing was said about it"
    if name == "cut.log.gz":
        assert 0 < rows_of(answer, name) < 2000
        assert "ends early" in said
    if name == "letters.log":
        assert rows_of(answer, name) >= 40


def test_nothing_read_is_exit_1_and_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty.log").write_bytes(b"")
    for arguments in ([str(tmp_path / "absent.log")], [str(tmp_path / "empty.log")], [str(tmp_path / "*.nothing")]):
        status, out, err = run("diagnose", *arguments, "--format", "json")
        assert status == 1, (arguments, out, err)
        assert "Traceback" not in err
        assert arguments[0].rsplit("/", 1)[-1].split("*")[-1] in err


def test_a_path_that_cannot_be_read_costs_one_line(good: Path, tmp_path: Path) -> None:
    (tmp_path / "dangling.log").symlink_to(tmp_path / "nowhere.log")
    status, out, err = run("sources", str(good), str(tmp_path / "dangling.log"))
    assert status == 0
    assert "dangling.log" in out + err


def test_a_line_of_100_megabytes(good: Path, tmp_path: Path) -> None:
    long = tmp_path / "long.log"
    with long.open("wb") as f:
        f.write(GOOD.encode() + b"\n")
        for _ in range(100):
            f.write(b"x" * (1 << 20))
        f.write(b"\n" + GOOD.encode() + b"\n")
    answer = diagnose(long)
    assert rows_of(answer, "long.log") == 80
    assert "long" in notes_of(answer, "long.log") or "cut" in notes_of(answer, "long.log")


def test_a_clock_that_goes_back_and_mixed_zones_are_said(tmp_path: Path) -> None:
    back = tmp_path / "back.log"
    back.write_text(GOOD + "\n" + GOOD.replace("03:40", "02:10") + "\n")
    assert "back" in notes_of(diagnose(back), "back.log")


def test_the_same_file_twice_is_read_once(good: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.log"
    copy.write_bytes(good.read_bytes())
    answer = diagnose(good, copy)
    assert sum(c["rows"] for c in answer["coverage"]) == 40


def test_standard_input_and_compressed_by_content(tmp_path: Path) -> None:
    status, out, _ = run("sources", "-", "--format", "json", stdin=gzip.compress(GOOD.encode()))
    assert status == 0
    assert json.loads(out)["sources"][0]["rows"] == 40


def test_terminal_escapes_in_a_log_stay_text(tmp_path: Path) -> None:
    evil = tmp_path / "evil.log"
    evil.write_bytes(
        GOOD.encode() + b"\n[2026-11-30 03:41:00] \x1b]0;owned\x07 what is this \x1b[2J <script>alert(1)</script>\n"
    )
    for arguments in (
        ["sources", str(evil), "--unread"],
        ["diagnose", str(evil)],
        ["diagnose", str(evil), "--format", "md"],
    ):
        _, out, err = run(*arguments)
        assert "\x1b]" not in out + err
        assert "\x1b[2J" not in out + err
        assert "<script>" not in out or arguments[-1] != "md"


def test_a_mistyped_option_is_no_finding(good: Path) -> None:
    for arguments in (["diagnose", str(good), "--for"], ["classes", "--tz"], ["diagnose", "--no-such", str(good)]):
        status, _, err = run(*arguments)
        assert status == 1, arguments
        assert "Traceback" not in err


def test_infinite_counters_and_impossible_dates_are_survived(tmp_path: Path) -> None:
    scrape = '# TYPE sglang:num_retracted_requests counter\nsglang:num_retracted_requests_total{tp_rank="0"} %s\n'
    text = "".join(
        f"#### scrape ts={ts} took=0.01 status=200 url=http://h/metrics\n{scrape % value}"
        for ts, value in (("1796000000.0", "1"), ("1796000005.0", "+Inf"), ("1e300", "NaN"))
    )
    path = tmp_path / "m.txt"
    path.write_text(text)
    for verb in ("sources", "diagnose"):
        status, _, err = run(verb, str(path))
        assert status in (0, 2, 3), err
        assert "Traceback" not in err


def test_a_bundle_with_flipped_bits_is_one_line(good: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    assert run("ingest", str(good), "-o", str(bundle), "--quiet")[0] == 0
    table = bundle / "tables" / "batches.parquet"
    data = bytearray(table.read_bytes())
    for at in range(8, len(data) // 2, 3):
        data[at] ^= 0xFF
    table.write_bytes(bytes(data))
    status, out, err = run("diagnose", str(bundle), "--format", "json")
    assert (status, err) == (3, "")
    lost = [row for row in json.loads(out)["coverage"] if row["kind"] == "lost table"]
    assert [(row["source"], row["rows"], row["unparsed"]) for row in lost] == [("tables/batches.parquet", 0, 1)]
    table.write_bytes(b"")
    (bundle / "manifest.json").write_text("{")
    status, _, err = run("diagnose", str(bundle))
    assert status == 1
    assert "damaged manifest.json of a bundle" in err
    assert "ingest the sources again" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nosuchverb",), "Unknown command"),
        (("capture", "http://127.0.0.1:1", "--for", "-3s"), "requires an argument"),
        (("dump", "--nosuch"), "Unknown command"),
        (("ingest",), "--output"),
        (("scenario", "poisson", "--requests", "100000000000", "-o", "DIR/s"), "want at most"),
        (("scenario", "poisson", "--requests", "3", "-o", "/nonexistent/s"), "cannot be written"),
        (("simulate", "DIR/s", "--time-model", "DIR/deep.json"), "nested too deep"),
        (("simulate", "DIR/s", "--time-model", "DIR/list.json"), "is no JSON object"),
        (("capture", "--otlp", "99999", "--for", "1s", "-o", "DIR/c"), "is no port"),
        (("sources", "DIR/fifo"), "nobody writes"),
        (("lab", "score", "--jobs", "0", "--seeds", "0:1", "--results", "DIR/r"), "want at least 1"),
        (("mcp", "DIR/nothing"), "is no folder"),
        (("replay", "DIR/s", "--to", "http://127.0.0.1:1", "-o", "DIR/r", "--speed", "nan"), "want a speed above 0"),
    ],
)
def test_one_line_says_what_is_wrong(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 200_000)
    (tmp_path / "list.json").write_text("[1]")
    os.mkfifo(tmp_path / "fifo")
    if "DIR/s" in arguments and arguments[0] == "simulate":
        assert run("scenario", "poisson", "--requests", "3", "-o", str(tmp_path / "s"))[0] == 0
    status, out, err = run(*(a.replace("DIR", str(tmp_path)) for a in arguments))
    assert (status, out) == (1, "")
    lines = [line for line in err.splitlines() if not line.startswith("compiling")]
    assert len(lines) == 1, err
    assert lines[0].startswith("ridgeline: ")
    assert said in lines[0]


def test_a_name_that_is_no_text_is_shown_and_its_file_read(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/n\xff\xfeame.log"
    with open(path, "wb") as f:  # noqa: PTH123 - a name that no str holds
        f.write(GOOD.encode())
    for verb in ("sources", "diagnose"):
        status, out, err = run(verb, str(tmp_path), "--format", "json")
        assert status in (0, 2, 3), err
        assert "Traceback" not in err
        assert "n\\\\xff\\\\xfeame.log" in out
    status, _, err = run("ingest", str(tmp_path), "-o", str(tmp_path / "b"))
    assert (status, "Traceback" in err) == (0, False)
