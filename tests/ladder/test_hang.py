"""A server that stands still is never called well, and a figure nobody measured never decides."""

from typing import Any

from ridgeline.bundle.view import view_of
from ridgeline.facts import ask
from ridgeline.ladder.diagnose import diagnose
from ridgeline.report.contract import to_contract
from ridgeline.report.md import render
from tests.causes.rows import decode, event, join, requests

T = 1_800_000_000.0


def loads(*, step_s: float = 0.0, running: int = 2, n: int = 8) -> list[dict[str, Any]]:
    return [
        {"source": 1, "line": i + 1, "ts": T + i, "snapshot_ts": T - 60 + i * step_s, "running": running, "waiting": 0,
         "queue_waiting": 0, "usage": 0.001, "gen_tps": 400.0 + i * step_s, "max_running": 256}
        for i in range(n)
    ]  # fmt: skip


def health(*answers: bool) -> list[dict[str, Any]]:
    return [
        {"source": 2, "line": i + 1, "ts": T + i, "endpoint": "/health", "ok": ok, "took_s": 3.0}
        for i, ok in enumerate(answers)
    ]


def tables(**parts: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    kinds = [{"source": 1, "path": "loads.txt", "kind": "loads"}, {"source": 2, "path": "health.txt", "kind": "health"}]
    return {"sources": kinds, **parts}


def test_a_health_without_an_answer_beside_figures_that_stand_is_a_hang() -> None:
    d = diagnose(view_of(tables(loads=loads(), scrapes=health(False, False))))
    assert d.findings[0].cause == "fault.hang" and d.findings[0].confidence in ("low", "medium")
    assert "/health does not answer" in str(to_contract(d)) and "py-spy" in render(d)


def test_one_of_the_two_leaves_it_open_and_names_no_routing() -> None:
    for parts in ({"loads": loads()}, {"loads": loads(step_s=1.0), "scrapes": health(True, False, False)}):
        d = diagnose(view_of(tables(**parts)))
        assert d.verdict == "inconclusive" and d.findings[0].layer == "fault"
        assert "fault.hang" not in dict(d.ruled_out)
        assert "py-spy dump" in render(d)


def test_a_server_that_answers_again_or_looks_afresh_does_not_hang() -> None:
    view = view_of(tables(loads=loads(step_s=1.0), scrapes=health(False, True)))
    assert ask(view, "unanswered", ()).value == 0 and ask(view, "snapshot_held_s", ()).value == 0
    assert ask(view_of(tables(loads=loads(running=0))), "snapshot_held_s", ()).value == 0


def test_a_pool_gauge_that_says_nothing_is_missing() -> None:
    batches = decode(30, waiting=100, running=128, usage=0.0)
    stated = [{"source": 1, "line": 1, "engine": "sglang", "max_running": 128}]
    d = diagnose(view_of(join({"batches": batches, "requests": requests(5), "servers": stated})))
    first = d.findings[0]
    assert first.cause == "queue.running-cap" and first.confidence != "high"
    assert any("memory.saturation" in cap for cap in first.caps)
    assert "memory.saturation" not in dict(d.ruled_out)
    assert not any("while the pool has room" in r.action for r in first.remedies)


def test_a_kill_from_outside_is_read_first_and_asks_who_sent_it() -> None:
    death = event("crash", text="Subprocess scheduler_0 crashed with exit code -9.")
    stated = [{"source": 1, "line": 1, "engine": "sglang", "max_running": 12}]
    queued = decode(30, waiting=20, running=12, usage=0.5)
    d = diagnose(view_of(join({"batches": queued, "requests": requests(5), "events": death, "servers": stated})))
    first = next(line for line in render(d).splitlines() if line.startswith("- "))
    assert first.startswith("- `fault.crash`")
    assert "minimise" not in render(d) and "dmesg" in render(d) and "dmesg" in d.next[0]
