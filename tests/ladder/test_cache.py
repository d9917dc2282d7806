"""Ladder D: a hit ratio that falls from 0.7 to 0.3 is walked through flush, ids, eviction, pages and placement."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.bundle.view import view_of
from ridgeline.facts.prefix import prefix_loss
from ridgeline.ladder.diagnose import diagnose
from ridgeline.model.diagnosis import Diagnosis, Window
from tests.causes.rows import T0, Tables, decode, event, gauge, join, requests
from tests.prefix.compose import Ask, view_with

INCIDENT, BASELINE = Window(T0 + 100, T0 + 201), Window(T0, T0 + 99.99)
BEFORE, AFTER = {"cached_tokens": 350}, {"cached_tokens": 150}  # of 500
FLUSHES = event("cache-flushed", 5, start=101, every=20, text="Cache flushed successfully!")


def run(
    *more: Tables, usage: float = 0.3, before: dict[str, Any] = BEFORE, after: dict[str, Any] = AFTER, rank: Any = 0
) -> Diagnosis:
    placed = {"dp_rank": 0, "server": "a", "routing_key": ["a", "b"]}
    asked = requests(40, 0, 2.5, **placed, **before)
    asked += requests(40, 100, 2.5, first=1000, **{**placed, **after, "dp_rank": rank})
    batches = decode(50, 0, 4, usage=usage)
    tables = join({"requests": asked, "batches": batches, "servers": [{"server": "a", "page_size": 1}]}, *more)
    return diagnose(view_of(tables), "cache", incident=INCIDENT, baseline=BASELINE)


def walked(d: Diagnosis) -> list[tuple[str, str, str]]:
    return [(a.rung, a.state, a.answer.key) for a in d.ladder if a.rung.startswith("D")]


def test_the_walk_is_in_this_order_and_rules_out_as_it_goes() -> None:
    d = run(gauge(1, "evicted_tokens", [0.0] * 40))
    keys = [key for _, _, key in walked(d)]
    assert [rung for rung, _, _ in walked(d)] == ["D0", "D1", "D2", "D3", "D4"]
    assert keys == ["d0.neither", "d1.drift", "d2.room", "d3.little", "d4.one"]
    ruled = [set(a.ruled_out) for a in d.ladder if a.rung.startswith("D")]
    assert ruled[0] >= {"cache.flushed"} and ruled[2] == {"cache.eviction"}
    assert ruled[3] == {"cache.page-misaligned"} and ruled[4] == {"cache.scattered-routing"}
    assert d.findings[0].cause == "cache.prompt-drift" and d.findings[0].confidence != "high"


def test_a_flush_without_hits_around_it_is_said_and_explains_nothing_yet() -> None:
    d = diagnose(view_of(join({"batches": decode(6, 0, 4)}, {"events": FLUSHES})), "cache")
    assert walked(d)[0][2] == "d0.emptied" and all(f.cause != "cache.flushed" for f in d.findings)


@pytest.mark.parametrize(
    ("rung", "key", "cause", "d"),
    [
        ("D0", "d0.flushed", "cache.flushed", lambda: run({"events": FLUSHES})),
        (
            "D1",
            "d1.keys",
            "cache.key-split",
            lambda: run(
                before={"cached_tokens": 350, "extra_key": None},
                after={"cached_tokens": [350, 0, 0, 0], "extra_key": [None, "k1", "k2", "k3", None, "k4", "k5", "k6"]},
            ),
        ),
        (
            "D2",
            "d2.full",
            "cache.eviction",
            lambda: run(gauge(1, "evicted_tokens", [1000.0 * i for i in range(40)]), usage=0.95),
        ),
        (
            "D3",
            "d3.bites",
            "cache.page-misaligned",
            lambda: run(
                {
                    "config": [
                        {"server": "a", "key": "page_size", "value": v, "ts": T0 + at, "source": 1, "line": 1 + int(at)}
                        for at, v in ((-5.0, "1"), (99.0, "256"))
                    ]
                }
            ),
        ),
        ("D4", "d4.spread", "cache.scattered-routing", lambda: run(rank=[0, 0, 1, 1, 2, 2, 3, 3])),
    ],
)
def test_each_reason_is_found_on_its_rung(rung: str, key: str, cause: str, d: Any) -> None:
    told = d()
    answer = next(a for a in told.ladder if a.rung == rung)
    assert (answer.state, answer.answer.key) == ("answered", key)
    assert told.findings[0].cause == cause
    assert cause not in {c for a in told.ladder for c in a.ruled_out}


def test_a_loss_beside_longer_prompts_is_no_change_of_content() -> None:
    d = run(before={"cached_tokens": 350, "prompt_tokens": 500}, after={"cached_tokens": 350, "prompt_tokens": 1170})
    assert next(key for rung, _, key in walked(d) if rung == "D1") == "d1.grew"
    assert "cache.prompt-drift" not in [f.cause for f in d.findings]


@pytest.mark.parametrize(("page", "reusable"), [(16, 16), (1, 20)])
def test_a_common_prefix_of_twenty_is_reused_by_whole_pages(page: int, reusable: int) -> None:
    head = tuple(range(20))
    view = view_with([Ask((*head, *range(100, 120))), Ask((*head, *range(200, 220)))], page=page)
    lost = prefix_loss(view, "page_misaligned")
    told = dict(lost.statement.figures)
    assert told["hit"] == pytest.approx(reusable / 80, abs=1e-3)
    assert told["lost"] == 20 - reusable


def test_one_callers_prompts_change_and_the_others_find_theirs() -> None:
    callers = {"client": ["a", "b", "b", "b", "b"]}
    d = run(before={"cached_tokens": 350, **callers}, after={"cached_tokens": [0, 350, 350, 350, 350], **callers})
    assert d.findings[0].cause == "cache.prompt-drift"
    assert dict(d.findings[0].scope)["client"] == ("a",)
    new = run(
        before={"cached_tokens": 350, "client": "b"}, after={"cached_tokens": [0, 350, 350, 350, 350], **callers}
    )  # one that nobody saw before has prompts of its own
    assert "cache.prompt-drift" not in [f.cause for f in new.findings if f.confidence != "low"]


def test_a_pool_that_is_not_full_of_running_requests_rules_no_eviction_out_without_the_counter() -> None:
    assert "cache.eviction" not in {c for a in run().ladder for c in a.ruled_out}
