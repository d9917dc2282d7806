"""`ridgeline fidelity` on recorded servers, and on bad input."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def ask() -> Ask:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "ridgeline", "fidelity", *arguments], capture_output=True, text=True, check=False
        )

    return run


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def within(told: dict[str, Any], metric: str, bars: tuple[float | None, ...]) -> None:
    for statistic, bar in zip(("mean", "p50", "p90", "p99"), bars, strict=True):
        figure = told["metrics"][metric][statistic]
        if bar is not None and not (
            metric in ("queue_s", "ttft_s") and abs(figure["predicted"] - figure["observed"]) <= 0.05
        ):
            assert abs(figure["error"]) <= bar / 100, (metric, statistic, figure)


@pytest.mark.shared
def test_sglang_on_cpu(ask: Ask, shared_dir: Path) -> None:
    told = answer(ask(str(shared_dir / "real/sglang_0.5.23/single_full"), "--format", "json"))
    within(told, "queue_s", (30, None, 20, 30))
    within(told, "e2e_s", (30, None, 20, 30))
    assert told["trust"] is False
    assert any("turned away" in reason for reason in told["why"])


BARS: dict[str, dict[str, tuple[float | None, ...]]] = {
    "traces/real_vllm_gpu/RTXPRO6000_Qwen3-32B": {
        "queue_s": (3, 3, 3, 5), "ttft_s": (3, 3, 3, 5), "tpot_s": (5, 3, 3, 5), "e2e_s": (3, 3, 8, 10),
    },
    "traces/real_vllm_gpu/RTX4090_Llama-3.1-8B": {
        "queue_s": (5, 5, 12, 5), "ttft_s": (5, 5, 12, 5), "tpot_s": (3, 3, 6, 10), "e2e_s": (3, 3, 4, 5),
    },
    "real/vllm_0.32.0/run1": {
        "queue_s": (12, 12, 15, 15), "ttft_s": (12, 12, 15, 15), "e2e_s": (12, 12, 15, 15),
    },
}  # fmt: skip


@pytest.mark.shared
@pytest.mark.parametrize("name", sorted(BARS))
def test_vllm_within_its_bars(ask: Ask, shared_dir: Path, name: str) -> None:
    told = answer(ask(str(shared_dir / name), "--format", "json"))
    for metric, bars in BARS[name].items():
        within(told, metric, bars)


@pytest.mark.shared
def test_client_times_alone_of_a_sglang_run_give_figures(ask: Ask, shared_dir: Path) -> None:
    folder = shared_dir / "real/pairs/sglang_0.5.23/over_base_1"
    told = answer(ask(str(folder / "client.jsonl"), str(folder / "server_info.json.gz"), "--format", "json"))
    assert told["metrics"]["queue_s"]["mean"]["observed"] is None
    assert told["metrics"]["ttft_s"]["mean"]["predicted"] > 0
    assert told["time_model"]["evidence"] == "arrival to first and last token"


def test_bad_input_is_one_clear_line(ask: Ask, tmp_path: Path) -> None:
    empty = tmp_path / "note.txt"
    empty.write_text("nothing of use\n")
    for arguments in (
        [str(empty)],
        [str(empty), "--split", "0"],
        [str(empty), "--split", "nan"],
        ["http://127.0.0.1:9"],
    ):
        done = ask(*arguments)
        assert done.returncode == 1
        assert done.stderr.strip().splitlines()[-1].startswith("ridgeline: ")
        assert "Traceback" not in done.stderr
