"""Ladder C: each rung with the case that must go the other way (the worked examples of the memory guide)."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.bundle.view import view_of
from ridgeline.ladder.diagnose import diagnose
from ridgeline.model.diagnosis import Diagnosis
from ridgeline.report.contract import to_contract
from tests.causes.rows import Tables, decode, event, gauge, join, requests


def run(*tables: Tables, symptom: str = "memory") -> Diagnosis:
    return diagnose(view_of(join(*tables)), symptom)


def rung(d: Diagnosis, name: str) -> Any:
    return next(a for a in d.ladder if a.rung == name)


FULL = decode(12, running=30, usage=0.97, tokens=97_000, waiting=6)


def outputs(**values: Any) -> Tables:
    return {"batches": FULL, "requests": requests(40, finish_reason="length", **values)}


def test_length_without_a_limit_is_the_clients_and_identical_lengths_are_a_limit() -> None:
    lengths = [4000 + 37 * i for i in range(40)]
    unlimited = run(outputs(max_new_tokens=None, completion_tokens=lengths))
    limited = run(outputs(max_new_tokens=None, completion_tokens=4096))
    unlogged = run(outputs(max_new_tokens=None, completion_tokens=lengths, params_logged=False))
    assert unlimited.findings[0].cause == "memory.no-token-limit"
    assert rung(unlimited, "C3").answer.key == "c3.unlimited"
    assert "memory.no-token-limit" not in {f.cause for f in limited.findings}
    assert rung(limited, "C3").answer.key == "c3.limit"
    assert "memory.no-token-limit" in {cause for cause, _ in limited.ruled_out}
    assert "memory.no-token-limit" not in {f.cause for f in unlogged.findings if f.confidence != "low"}
    asked = rung(unlogged, "C3")
    assert asked.state == "cannot-tell"
    assert any("--log-requests-level 1" in m.how for m in asked.missing)


def test_cache_is_kept_on_purpose_only_where_evictable_tokens_are_shown() -> None:
    hits = {"batches": decode(12, usage=0.2), "requests": requests(40, prompt_tokens=500, cached_tokens=450)}
    pool = (
        gauge(1, "kv_evictable_tokens", [80_000.0] * 6),
        gauge(2, "kv_available_tokens", [5_000.0] * 6),
        gauge(3, "kv_used_tokens", [15_000.0] * 6),
    )
    kept, locked = run(hits, *pool), run(hits)
    assert kept.findings[0].cause == "memory.retained-cache"
    assert rung(kept, "C4").answer.key == "c4.kept"
    assert "memory.retained-cache" not in {f.cause for f in locked.findings if f.confidence != "low"}
    assert rung(locked, "C4").answer.key == "c4.locked"
    cold = {"batches": decode(12, usage=0.2), "requests": requests(40, prompt_tokens=500, cached_tokens=50)}
    assert rung(run(cold, *pool), "C4").answer.key == "c4.cold"


@pytest.mark.parametrize(
    ("events", "key"),
    [
        (event("cuda-oom", text="CUDA out of memory"), "c0.cuda-oom"),
        (event("slots-exhausted", text="no free slots"), "c0.slots-exhausted"),
        (event("host-oom", text="oom-kill") + event("crash", first_line=5100), "c0.host-oom"),
        (event("retraction", 3, count=2), "c0.retraction"),
        (event("request-too-large", text="exceeds"), "c0.request-too-large"),
        (event("pool-full", value=2048, attrs={"available": 300, "evictable": 0}), "c0.pool-full"),
        (event("pool-full", value=2048, attrs={"available": 4096, "evictable": 0}), "c0.pages"),
        ([], "c0.none"),
    ],
)
def test_which_shortage_it_is(events: list[dict[str, Any]], key: str) -> None:
    d = run({"batches": decode(12), "events": events, "servers": [{"page_size": 64}]})
    assert rung(d, "C0").answer.key == key


def test_a_leak_is_what_stays_when_nothing_runs() -> None:
    load = [8.0] * 6 + [0.0] * 14
    gauges = (gauge(1, "num_running_reqs", load), gauge(2, "num_queue_reqs", [0.0] * 20))
    stays = run(*gauges, gauge(3, "token_usage", [0.6] * 6 + [0.4] * 14))
    falls = run(*gauges, gauge(3, "token_usage", [0.6] * 6 + [0.0] * 14))
    assert rung(stays, "C5").answer.key == "c5.idle"
    assert rung(falls, "C5").answer.key == "c5.none"


def test_the_ladder_is_climbed_for_memory_only_and_every_answer_is_a_sentence() -> None:
    d = run({"batches": FULL, "requests": requests(40)})
    assert [a.rung for a in d.ladder if a.rung.startswith("C")] == [f"C{i}" for i in range(6)]
    assert all(r["answer"] and "{" not in r["answer"] for r in to_contract(d, "en")["ladder"])
    assert not [a for a in run({"batches": decode(12)}, symptom="slow").ladder if a.rung.startswith("C")]
