"""`ridgeline prefix`: the split in three forms, the pair side by side, one line for what cannot be used."""

import json
from pathlib import Path

import pytest

from ridgeline.cli import main

INCIDENT = Path(__file__).resolve().parents[2] / "examples" / "incident"
REST = " Say which ward the visitor wants, and nothing about any patient. The lift on the left goes to the roof. " * 2


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as end:
        main([str(a) for a in arguments])
    return int(end.value.code or 0)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.jsonl"
    rows = ((0, 1100, [0, 1, 2]), (900, 1100, [0, 1, 5]), (2000, 400, [9]))
    path.write_text(
        "".join(
            json.dumps({"timestamp": t, "input_length": n, "output_length": 8, "hash_ids": ids}) + "\n"
            for t, n, ids in rows
        )
    )
    return path


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    path.write_text(
        "".join(
            json.dumps({"messages": [{"role": "system", "content": f"It is {clock}." + REST}]}) + "\n"
            for clock in ("09:14", "09:15", "09:16")
        )
    )
    return path


def test_a_trace_in_blocks(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("prefix", trace, "--quiet") == 0
    out = capsys.readouterr().out
    assert out.startswith("3 prompts, 2,600 tokens\n")
    assert "in blocks: 2 of 7 found (28.6%)" in out
    lines = {line.split()[0]: line for line in out.splitlines() if line.startswith("  ")}
    assert lines["hit"].split()[1] == "1,024"
    assert "cannot be told" in lines["eviction"] and "cannot be told" in lines["prompt-drift"]


def test_json_adds_up(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("prefix", trace, "--pool-tokens", 2048, "--format", "json", "--quiet") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "ridgeline.prefix/1"
    (split,) = told["splits"]
    total = split["total"]
    parts = ("hit", "eviction", "never_seen", "unseen", "computed")
    assert sum(total[name] for name in parts) == total["tokens"] == 2600
    assert total["page_misaligned"] is None
    assert split["assumed"]["pool_tokens"] == [2048] and split["assumed"]["pool_from"] == "given"


def test_the_pair_is_redacted_unless_told_otherwise(prompts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("prefix", prompts, "--quiet") == 0
    out = capsys.readouterr().out
    assert "clock or date: 2 prompts" in out
    assert "x x 99:99. x x x" in out and "ward" not in out
    assert run("prefix", prompts, "--keep-text", "--quiet") == 0
    lines = capsys.readouterr().out.splitlines()
    mark = next(n for n, line in enumerate(lines) if line.strip() == "^")
    a, b = lines[mark - 2 : mark]
    at = lines[mark].index("^")
    assert a[3:at].endswith("It is 09:1") and b[3:at].endswith("It is 09:1")
    assert (a[at], b[at]) == ("5", "4")


def test_markdown_is_one_block(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("prefix", trace, "--format", "md", "--quiet") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == out[-1] == "```"


def test_nothing_to_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "server.log"
    path.write_text(
        "[2026-11-30 03:59:25] Decode batch, #running-req: 3, #token: 512, token usage: 0.12, cuda graph: False, "
        "gen throughput (token/s): 81.20, #queue-req: 4\n"
    )
    assert run("prefix", path, "--quiet") == 3
    said = capsys.readouterr().out
    assert "nothing else says how many prompt tokens were cached" in said and "--log-requests-level 3" in said


def test_without_prompts_it_says_what_is_known_and_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("prefix", INCIDENT, "--quiet") == 0
    said = capsys.readouterr().out
    assert "prompt tokens were cached" in said and "no flush, restart or weight update" in said
    assert "what the prompts say" in said.partition("missing:")[2]
    assert run("prefix", INCIDENT, "--quiet", "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["splits"] == [] and told["missing"][0]["how"].startswith("--log-requests --log-requests-level 3")
    assert told["known"][0]["measure"] == "hit_ratio" and 0 < told["known"][0]["value"] < 1


@pytest.mark.parametrize("option", ["--page", "--pool-tokens"])
def test_sizes_above_zero(trace: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("prefix", trace, option, "0", "--quiet") == 1
    assert option in capsys.readouterr().err


@pytest.mark.shared
def test_the_case_with_a_clock_at_the_head(shared_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("prefix", shared_dir / "cases" / "065-cache-written-never-read" / "prompts.txt", "--quiet") == 0
    out = capsys.readouterr().out
    assert "clock or date: 1 prompts" in out
    assert "x: 99:99:99. x: 9999-99-99." in out
