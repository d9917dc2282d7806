"""`ridgeline compare` on files in the real formats."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.verdict.made import client_file, metrics_file, traffic


def run(*arguments: str | Path) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-m", "ridgeline", "compare", *map(str, arguments)], capture_output=True,
                          text=True, timeout=120, check=False)  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("compare")
    slow, good, calm = traffic(600, 1, faster=1.3), traffic(600, 2, faster=3.0), traffic(600, 3, faster=3.0)
    return {
        "slow": client_file(home / "slow.jsonl", slow),
        "good": client_file(home / "good.jsonl", good),
        "calm": client_file(home / "calm.jsonl", calm),
        "slow-metrics": metrics_file(home / "slow.prom", slow),
        "good-metrics": metrics_file(home / "good.prom", good, restart_at=200.0),
    }


def test_a_client_file_tells(files: dict[str, Path]) -> None:
    status, out, err = run(files["slow"], files["good"], "--baseline", files["calm"], "--format", "json")
    assert status == 0, err
    found = json.loads(out)
    assert (found["schema"], found["verdict"], found["reference"]) == (
        "ridgeline.comparison/1",
        "recovered",
        "baseline",
    )
    ttft = next(f for f in found["figures"] if f["name"] == "ttft_mean")
    assert ttft["basis"] == "requests" and ttft["change"] == "better" and ttft["ratio"] < 0.5
    assert ttft["after"]["n_effective"] <= ttft["after"]["n"]
    assert found["classes"] and found["comparable"]["same"]


def test_histograms_alone_tell_and_survive_a_restart(files: dict[str, Path]) -> None:
    status, out, err = run(files["slow-metrics"], files["good-metrics"], "--slo", "ttft_p90=800ms", "--format", "json")
    assert status == 0, err + out
    found = json.loads(out)
    p90 = next(f for f in found["figures"] if f["name"] == "ttft_p90")
    assert p90["basis"] == "histograms" and p90["after"]["at_most"] <= 0.8
    assert p90["after"]["at_least"] < p90["after"]["at_most"]
    assert any("began anew" in note for note in found["notes"])


def test_the_other_way_round_is_worse(files: dict[str, Path]) -> None:
    status, out, _ = run(files["good"], files["slow"])
    assert status == 2 and out.startswith("worse")
    status, out, _ = run(files["good"], files["slow"], "--format", "md")
    assert status == 2 and out.startswith("**worse**") and out.count("\n") <= 26


def test_a_window_of_a_source(files: dict[str, Path]) -> None:
    status, out, err = run(files["slow"], files["good"], "--incident-window", "1796000000..1796000003",
                           "--format", "json")  # fmt: skip
    found: dict[str, Any] = json.loads(out)
    assert status == 3, err
    assert next(f for f in found["figures"] if f["name"] == "ttft_mean")["incident"]["n"] < 30


def test_bundles_are_read(files: dict[str, Path], tmp_path: Path) -> None:
    for name in ("slow", "good"):
        subprocess.run([sys.executable, "-m", "ridgeline", "ingest", files[name], "-o", tmp_path / name, "--quiet"],
                       check=True, timeout=60)  # fmt: skip
    assert run(tmp_path / "slow", tmp_path / "good", "--quiet")[:2] == (0, "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--slo", "ttft_p99=fast"), "--slo ttft_p99=fast: expected NAME=VALUE"),
        (("--slo", "errors=2s"), "a share"),
        (("--slo", "ttft_p99=2"), "a time needs"),
        (("--margin", "7"), "--margin 7"),
        (("--slo", "ttft_p99=2s", "--baseline", "x"), "give one of them"),
    ],
)
def test_bad_arguments_are_one_line(files: dict[str, Path], arguments: tuple[str, ...], says: str) -> None:
    status, _, err = run(files["slow"], files["good"], *arguments)
    assert status == 1 and says in err and err.count("\n") == 1


def test_nothing_in_common_is_inconclusive(files: dict[str, Path], tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("[2026-11-30 03:38:01 TP0] Decode batch, #running-req: 8, #token: 1834, token usage: 0.01, "
                   "cuda graph: True, gen throughput (token/s): 810.55, #queue-req: 0\n")  # fmt: skip
    status, out, err = run(log, files["good"])
    assert status == 3 and "share no figure" in out, err


def test_real_pairs(shared_dir: Path) -> None:
    """The same load twice on one setting is never a change; at most 4 running against 12 shows both sides of it."""
    pairs = shared_dir / "real" / "pairs" / "vllm_0.32.0"
    status, out, _ = run(pairs / "mix_base_1", pairs / "mix_base_2", "--format", "json")
    assert status in (2, 3) and json.loads(out)["verdict"] in ("no-change", "inconclusive")
    status, out, _ = run(pairs / "mix_maxseqs4", pairs / "mix_base_2", "--format", "json")
    found = json.loads(out)
    assert found["comparable"]["config"] == [{"key": "max_num_seqs", "incident": "4", "after": "12"}]
    changes = {f["name"]: f["change"] for f in found["figures"]}
    assert changes["ttft_mean"] == "better" and changes["tpot_mean"] == "worse"


def test_a_prometheus_range_is_compared_with_itself_by_windows(tmp_path: Path) -> None:
    """One query_range answer over bad and good: the windows say which part is which."""
    slow, good = traffic(600, 4, faster=1.3), traffic(600, 5, faster=3.0)
    base, values = 1796000000, dict[tuple[str, str], list[list[object]]]()
    ends = [s.at + s.columns["e2e_s"] for s in (slow, good)]
    for k in range(0, 1200, 15):
        done = [ends[0] <= k, ends[1] <= k - 600]
        seen = [float(t) for s, d in zip((slow, good), done, strict=True) for t in s.columns["ttft_s"][d]]
        for le in (0.1, 0.2, 0.4, 1.0, 2.0, 4.0, 10.0, 40.0):
            values.setdefault(("bucket", str(le)), []).append([base + k, str(sum(v <= le for v in seen))])
        values.setdefault(("bucket", "+Inf"), []).append([base + k, str(len(seen))])
        values.setdefault(("count", ""), []).append([base + k, str(len(seen))])
        values.setdefault(("sum", ""), []).append([base + k, str(sum(seen))])
    name = "sglang:time_to_first_token_seconds_"
    result = [
        {"metric": {"__name__": name + part, "instance": "a:1", **({"le": le} if le else {})}, "values": rows}
        for (part, le), rows in values.items()
    ]
    path = tmp_path / "range.json"
    path.write_text(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}))
    windows = ("--incident-window", f"{base}..{base + 590}", "--after-window", f"{base + 610}..{base + 1200}")
    status, out, err = run(path, path, *windows, "--format", "json")
    assert status == 0, err + out
    found = json.loads(out)
    ttft = next(f for f in found["figures"] if f["name"] == "ttft_mean")
    assert found["verdict"] == "improved" and ttft["basis"] == "histograms" and ttft["ratio"] < 0.6


def test_a_capture_counts_for_its_own_time_only(files: dict[str, Path], tmp_path: Path) -> None:
    """Its logs reach back into the incident; the verdict on AFTER must not."""
    for name in ("slow", "good"):
        subprocess.run([sys.executable, "-m", "ridgeline", "ingest", files[name], "-o", tmp_path / name, "--quiet"],
                       check=True, timeout=60)  # fmt: skip
    (tmp_path / "good" / ".capture.json").write_text('{"from_ts": 1796000300.0, "to_ts": 1796000500.0}')
    status, out, err = run(tmp_path / "slow", tmp_path / "good", "--format", "json")
    found = json.loads(out)
    assert status == 0, err
    assert 600 < next(f for f in found["figures"] if f["name"] == "ttft_mean")["after"]["n"] < 1000
    assert any("only the time of its capture" in note for note in found["notes"])


def test_each_side_has_its_own_time_and_the_rule_is_said(files: dict[str, Path], tmp_path: Path) -> None:
    """The same requests an hour later are paired by rid; their window is theirs."""
    later = client_file(tmp_path / "later.jsonl", traffic(600, 1, faster=1.3), base=1.796e9 + 3600)
    _, out, err = run(files["slow"], later)
    times = [line.split()[2] for line in out.splitlines() if line.startswith(("incident  20", "after     20"))]
    assert len(times) == 2 and times[0] != times[1], err + out
    assert "each is held against itself" in out.replace("\n", " ")
    assert "more than 10 % apart" in out and "after correcting for" in " ".join(out.split())


def test_held_against_itself_nothing_is_unclear(files: dict[str, Path]) -> None:
    status, out, _ = run(files["slow"], files["slow"], "--format", "json")
    found = json.loads(out)
    assert status == 2 and found["verdict"] == "no-change"
    assert found["classes"] and {row["change"] for row in found["classes"]} == {"same"}


def test_exit_statuses_are_in_the_help() -> None:
    _, out, _ = run("--help")
    assert "Exit status" in out and "no-change" in out
