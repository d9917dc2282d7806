"""Tokens at the client beside those of the engine: a printed benchmark next to a server log."""

from pathlib import Path

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.facts.way_back import itl_over_step
from ridgeline.ladder.diagnose import diagnose

BENCH = """============ Serving Benchmark Result ============
Successful requests:                     4096
Benchmark duration (s):                  212.40
Median TTFT (ms):                        1601.77
Median ITL (ms):                         {itl_ms:.2f}
==================================================
"""
LINE = (
    "[2026-11-30 03:4{m}:{s:02d} TP0] Decode batch, #running-req: 128, #token: 300000, token usage: 0.42, "
    "cuda graph: True, gen throughput (token/s): 3200.00, #queue-req: 0"
)


def told(folder: Path, itl_ms: float) -> list[str]:
    log, bench = folder / "server.log", folder / "bench.txt"
    log.write_text("".join(LINE.format(m=i // 30, s=i * 2 % 60) + "\n" for i in range(60)))
    bench.write_text(BENCH.format(itl_ms=itl_ms))
    return [str(log), str(bench)]


@pytest.mark.parametrize(("itl_ms", "verdict"), [(180.0, "inconclusive"), (44.0, "healthy")])
def test_a_client_that_sees_tokens_late_is_no_clean_bill(tmp_path: Path, itl_ms: float, verdict: str) -> None:
    view = open_sources(told(tmp_path, itl_ms))
    assert itl_over_step(view).value == pytest.approx(itl_ms / 40)  # 128 requests at 3,200 tokens a second
    out = diagnose(view, "throughput is low")
    assert out.verdict == verdict
    if verdict == "inconclusive":
        assert out.findings[0].layer == "frontend"


def test_one_side_alone_says_nothing(tmp_path: Path) -> None:
    log, bench = told(tmp_path, 180.0)
    assert itl_over_step(open_sources([log])).value is None
    assert itl_over_step(open_sources([bench])).value is None
