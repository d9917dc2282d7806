"""`ridgeline compare` reads what other verbs and other benchmarks leave: simulations, replays, bench files."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ridgeline.cli import main
from tests.replay.conftest import many as many
from tests.replay.conftest import serve as serve
from tests.replay.dumps import finished, request, write_dump
from tests.verdict.made import traffic


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """One command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as left:
        main([str(a) for a in arguments])
    return int(str(left.value.code)), out.getvalue(), err.getvalue()


def told(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    status, out, err = run("compare", *arguments, "--format", "json")
    assert out, err
    found: dict[str, Any] = json.loads(out)
    return status, found


def test_two_simulations_request_by_request(tmp_path: Path) -> None:
    """The same scenario under two caps: the rids pair up, and the cap is the argument that differs."""
    scenario = tmp_path / "s"
    assert run("scenario", "poisson", "--rate", "40", "--requests", "1200", "--output", "20:60", "-o", scenario)[0] == 0
    for cap in ("4", "64"):
        status, _, err = run("simulate", scenario, "--set", f"max_running_requests={cap}", "-o", tmp_path / cap)
        assert status in (0, 3), err
    status, found = told(tmp_path / "4", tmp_path / "64", "--change", "--max-running-requests")
    assert (status, found["verdict"]) == (0, "improved"), found["summary"]
    assert any("held against itself" in note for note in found["notes"])
    assert next(f for f in found["figures"] if f["name"] == "ttft_mean")["basis"] == "requests"


def test_two_replays(serve: Any, tmp_path: Path) -> None:
    """A dump replayed twice to one server: the same requests, nothing beyond chance in favour of either."""
    entries = [
        (request(f"r{i:03d}", f"prompt {i}", sampling={"temperature": 0.0, "max_new_tokens": 4}),
         finished(f"r{i:03d}", 2, list(range(4)), " w", "length"), i * 0.02)
        for i in range(60)
    ]  # fmt: skip
    dump, server = write_dump(tmp_path / "dump.pkl", entries), serve()
    for name in ("a", "b"):
        status, _, err = run("replay", dump, "--to", server.url, "-o", tmp_path / name)
        assert status == 0, err
    _, found = told(tmp_path / "a", tmp_path / "b")
    assert found["verdict"] in ("no-change", "inconclusive", "improved", "worse")
    ttft = next(f for f in found["figures"] if f["name"] == "ttft_mean")
    assert ttft["basis"] == "requests" and ttft["incident"]["n"] == ttft["after"]["n"] == 60
    assert any("held against itself" in note for note in found["notes"])


def bench(path: Path, *, faster: float, seed: int, details: bool) -> Path:
    """What SGLang's bench_serving appends: one JSON line per run; with --output-details the requests as lists."""
    r = traffic(300, seed, faster=faster)
    c = r.columns
    gaps = [[float(t)] * int(n - 1) for t, n in zip(c["tpot_s"], c["completion_tokens"], strict=True)]
    n, ttft, e2e = r.n, c["ttft_s"], c["e2e_s"]
    line: dict[str, Any] = {
        "backend": "sglang", "dataset_name": "random", "request_rate": 4.0, "max_concurrency": None,
        "duration": float(r.at[-1]), "completed": n, "total_input_tokens": int(c["prompt_tokens"].sum()),
        "total_output_tokens": int(c["completion_tokens"].sum()), "request_throughput": n / float(r.at[-1]),
        "mean_ttft_ms": 1e3 * float(ttft.mean()), "p99_ttft_ms": 1e3 * float(np.quantile(ttft, 0.99)),
        "mean_e2e_latency_ms": 1e3 * float(e2e.mean()),
    }  # fmt: skip
    if details:
        asked, said = (c[name].astype(int).tolist() for name in ("prompt_tokens", "completion_tokens"))
        line |= {"input_lens": asked, "output_lens": said, "ttfts": ttft.tolist(), "itls": gaps, "errors": [""] * n}
    path.write_text(json.dumps(line) + "\n")
    return path


def test_bench_files_with_and_without_their_requests(tmp_path: Path) -> None:
    """With the requests there is a verdict; the printed summary alone has no interval, so there is none."""
    slow, good = (bench(tmp_path / f"{name}.jsonl", faster=f, seed=k, details=True)
                  for k, (name, f) in enumerate((("slow", 1.3), ("good", 3.0))))  # fmt: skip
    status, found = told(slow, good)
    assert (status, found["verdict"]) == (0, "improved"), found["summary"]
    assert next(f for f in found["figures"] if f["name"] == "ttft_mean")["basis"] == "requests"
    short = [bench(tmp_path / f"{name}-short.jsonl", faster=f, seed=k, details=False)
             for k, (name, f) in enumerate((("slow", 1.3), ("good", 3.0)))]  # fmt: skip
    status, found = told(*short)
    assert (status, found["verdict"]) == (3, "inconclusive")
    assert next(f for f in found["figures"] if f["name"] == "ttft_mean")["basis"] == "summary"
