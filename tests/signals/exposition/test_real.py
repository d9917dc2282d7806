"""On recorded scrapes: every sample of prometheus_client's own parse is kept, equal, and nothing else."""

import gzip
from pathlib import Path

import pytest

from tests.signals.exposition.flat import by_library, flat, of_file

pytestmark = pytest.mark.shared

FOLDERS = (
    "sglang_0.5.3/mix_base",
    "sglang_0.5.6/mix_base",
    "sglang_0.5.9/mix_base",
    "sglang_0.5.23/dp2_round_robin",
    "sglang_0.5.23/pd_mooncake_tcp/decode",
    "sglang_0.5.23/pd_mooncake_tcp/prefill",
    "sglang_0.5.23/single_full",
    "vllm_0.32.0/run1",
)


def text_of(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_sample_of_many_scrapes(shared_dir: Path, folder: str) -> None:
    path = shared_dir / "real" / folder / "metrics.scrapes.txt.gz"
    tables, reading = of_file(path)
    text = text_of(path)
    # The whole file is compared in the benchmark; here the first, a middle and the last scrapes, to stay quick.
    starts = _starts(text)
    chosen = [starts[0], starts[len(starts) // 2], starts[-1]]
    ends = dict(zip(starts, [*starts[1:], len(text)], strict=True))
    expected = by_library("".join(text[at : ends[at]] for at in chosen))
    times = {key[0] for key in expected}
    got = flat(tables)
    assert {key: n for key, n in got.items() if key[0] in times} == dict(expected)
    assert len(tables["scrapes"]) == len(starts)
    assert all(row["ok"] and row["status"] == 200 and row["endpoint"] == "/metrics" for row in tables["scrapes"])
    samples = sum(1 for line in text.splitlines() if line.strip() and not line.startswith("#"))
    assert (reading.understood, reading.unparsed) == (samples, 0)
    assert reading.understood + reading.blank == reading.lines == len(text.splitlines())
    assert sum(got.values()) == samples


@pytest.mark.parametrize("name", ["metrics.first.prom", "metrics.mid.prom", "metrics.last.prom"])
@pytest.mark.parametrize("folder", ["sglang_0.5.23/dp2_round_robin", "sglang_0.5.23/single_full", "vllm_0.32.0/run1"])
def test_single_scrapes(shared_dir: Path, folder: str, name: str) -> None:
    path = shared_dir / "real" / folder / name
    tables, reading = of_file(path)
    assert flat(tables) == by_library(path.read_text())
    assert reading.unparsed == 0


@pytest.mark.parametrize("case", ["038", "039", "076a"])
def test_cases(shared_dir: Path, case: str) -> None:
    (path,) = (shared_dir / "cases").glob(f"{case}-*/metrics.prom")
    tables, reading = of_file(path)
    assert flat(tables) == by_library(path.read_text())
    assert reading.unparsed == 0
    assert [row["ts"] for row in tables["scrapes"]] == [None]


def test_counts_that_are_known(shared_dir: Path) -> None:
    tables, reading = of_file(shared_dir / "real/sglang_0.5.23/single_full/metrics.scrapes.txt.gz")
    names = {row["series"]: row for row in tables["series"]}
    last = max(row["scrape"] for row in tables["samples"])
    figures = {
        (names[row["series"]]["name"], names[row["series"]]["labels"]): row["value"]
        for row in tables["samples"]
        if row["scrape"] == last
    }
    retracted = [value for (name, _), value in figures.items() if name == "num_retracted_requests"]
    aborted = [value for (name, _), value in figures.items() if name == "num_aborted_requests"]
    text = text_of(shared_dir / "real/sglang_0.5.23/single_full/metrics.scrapes.txt.gz").splitlines()
    assert retracted == [
        float([t for t in text if t.startswith("sglang:num_retracted_requests_total")][-1].split()[-1])
    ]
    assert aborted == [float([t for t in text if t.startswith("sglang:num_aborted_requests_total")][-1].split()[-1])]
    assert reading.role == "unified"
    # Per-process gauges keep their pid.
    pids = [row for row in tables["series"] if row["name"] == "num_retracted_reqs"]
    assert pids and all('"pid"' in row["labels"] for row in pids)


def _starts(text: str) -> list[int]:
    out, at = [], text.find("#### scrape")
    while at >= 0:
        out.append(at)
        at = text.find("#### scrape", at + 1)
    return out
