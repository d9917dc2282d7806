"""Servers that stopped serving: what their lines leave open is not claimed, and what they show comes first."""

from collections.abc import Iterator
from pathlib import Path

from ridgeline.bundle.open import open_sources
from ridgeline.ladder.diagnose import diagnose

HEAD = "(APIServer pid=1) INFO 06-12 {clock} [loggers.py:271] Engine 000: "
OLD_HEAD = "INFO 06-12 {clock} llm_engine.py:921] "
V1 = "Avg prompt throughput: {prompt:.1f} tokens/s, Avg generation throughput: {made:.1f} tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, GPU KV cache usage: {usage:.1f}%, Prefix cache hit rate: 41.0%"  # fmt: skip # noqa: E501
V0 = "Avg prompt throughput: {prompt:.1f} tokens/s, Avg generation throughput: {made:.1f} tokens/s, Running: {running} reqs, Swapped: 0 reqs, Pending: {waiting} reqs, GPU KV cache usage: {usage:.1f}%, CPU KV cache usage: 0.0%"  # fmt: skip # noqa: E501


def clocks(n: int, every: int = 10) -> Iterator[str]:
    for i in range(n):
        at = 36_000 + every * i
        yield f"{at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}"


def test_statistics_from_the_front_end_do_not_deny_a_hang(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    with log.open("w") as out:
        for i, clock in enumerate(clocks(64)):
            good = i < 10
            figures = {"prompt": 900.0 * good, "made": 120.0 * good, "running": 4 * good, "usage": 31.0 * good}
            waiting = 0 if good else 5 + i // 30
            out.write(HEAD.format(clock=clock) + V1.format(waiting=waiting, **figures) + "\n")
    out = diagnose(open_sources([str(log)]), "slow")
    (finding,) = out.findings
    assert (finding.cause, finding.confidence) == ("queue.never-fits", "low")
    assert any("fault.hang" in cap for cap in finding.caps)
    assert "fault.hang" not in dict(out.ruled_out)


def test_a_batch_without_tokens_comes_before_the_full_pool_it_leaves(tmp_path: Path) -> None:
    log = tmp_path / "old.log"
    with log.open("w") as out:
        for i, clock in enumerate(clocks(50, every=5)):
            good = i < 10
            figures = {"prompt": 382.6 * good, "made": 118.5 * good, "running": 35, "usage": 99.0, "waiting": 100 + i}
            out.write(OLD_HEAD.format(clock=clock) + V0.format(**figures) + "\n")
    out = diagnose(open_sources([str(log)]), "slow")
    assert out.findings[0].cause == "decode.token-stall"
