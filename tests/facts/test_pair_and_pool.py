"""A queue that comes and goes on one rank, a link told by its stage, a side that strains, a pool full at times."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.bundle.view import View, view_of
from ridgeline.facts import ask
from ridgeline.model.diagnosis import Window
from tests.causes.rows import T0, Tables, decode, gauge, join, prefill, requests

INCIDENT, BASELINE = Window(T0 + 100, T0 + 201), Window(T0, T0 + 99.99)


def compared(*tables: Tables) -> View:
    return view_of(join(*tables)).window(INCIDENT, BASELINE)


def value(view: View, measure: str, /, **args: Any) -> Any:
    return ask(view, measure, tuple(sorted(args.items()))).value


@pytest.mark.parametrize(
    ("waiting", "free"),
    [
        ([20] * 10, 0.5),  # stands
        ([0] * 8 + [8, 8], 0.5),  # comes and goes: 1.6 on average, eight a fifth of the time
        ([0] * 19 + [8], 0.0),  # a blip
        ([1] * 10, 0.0),  # one waits for the next batch
    ],
)
def test_one_rank_queues_while_the_other_does_not(waiting: list[int], free: float) -> None:
    lines = decode(20, dp_rank=0, waiting=waiting) + decode(20, 0.5, dp_rank=1, waiting=0, first_line=200)
    assert value(view_of(join({"batches": lines})), "free_places") == free


def moved(then_s: float, now_s: float) -> Tables:
    """The stage's histogram: twenty transfers between each two scrapes, of so many seconds each."""
    rows: list[dict[str, Any]] = []
    total, count = 0.0, 0
    for i in range(40):
        rows.append({
            "series": 9, "ts": T0 + 5.0 * i + 0.5, "le": [1.0, 10.0, float("inf")],
            "cumulative": [0.0, float(count), float(count)],
            "sum": total, "count": float(count), "scrape": i, "source": 3, "line": i,
        })  # fmt: skip
        total, count = total + 20 * (then_s if i < 20 else now_s), count + 20
    head = {"series": 9, "name": "per_stage_req_latency_seconds", "stage": "prefill_transfer_kv_cache",
            "labels": '{"stage": "prefill_transfer_kv_cache"}', "source": 3}  # fmt: skip
    return {"series": [head], "histograms": rows}


def test_a_link_without_speeds_is_told_by_its_stage_at_prompts_of_equal_length() -> None:
    asked = {"requests": requests(40, 0, 2.5) + requests(40, 100, 2.5, first=1000)}
    assert value(compared(moved(1.1, 4.4), asked), "transfer_slowed") == pytest.approx(0.25, rel=0.05)
    assert value(compared(moved(1.1, 1.1), asked), "transfer_slowed") == pytest.approx(1.0)
    longer = {"requests": requests(40, 0, 2.5) + requests(40, 100, 2.5, first=1000, prompt_tokens=2000)}
    assert value(compared(moved(1.1, 4.4), longer), "transfer_slowed") == pytest.approx(1.0, rel=0.05)


def test_more_requests_at_once_share_a_link_that_is_as_fast_as_before() -> None:
    speeds = ({"transfer_gb_s": 10.0}, {"transfer_gb_s": 2.0})
    same = {"requests": requests(40, 0, 2.5, **speeds[0]) + requests(40, 100, 2.5, first=1000, **speeds[1])}
    more = {"requests": requests(40, 0, 2.5, **speeds[0]) + requests(100, 100, 1, first=1000, **speeds[1])}
    assert value(compared(same), "transfer_slowed") == pytest.approx(0.2)
    assert value(compared(more), "transfer_slowed") is None


@pytest.mark.parametrize(
    ("n", "ttft_s", "usage", "side"),
    [(100, 0.4, 0.1, "prefill"), (40, 0.4, 0.1, "neither"), (100, 0.12, 0.1, "neither"), (100, 0.4, 0.7, "neither")],
)
def test_prefill_strains_where_more_comes_in_and_first_tokens_come_later(
    n: int, ttft_s: float, usage: float, side: str
) -> None:
    asked = requests(40, 0, 2.5) + requests(n, 100, 100 / n, first=1000, ttft_s=ttft_s)
    lines = prefill(50, 0, 4, role="prefill", waiting=0, running=0, bootstrap=0, inflight=1)
    lines += decode(50, 0, 4, role="decode", prealloc=0, transfer=1, usage=usage, waiting=0)
    assert value(compared({"requests": asked, "batches": lines}), "sides") == side


@pytest.mark.parametrize(
    ("then", "now", "spread"),
    [("cache_aware", "random", True), ("random", "cache_aware", False), ("cache_aware", "cache_aware", None)],
)
def test_the_gateways_rule_says_whether_a_prefix_is_kept_in_one_place(then: str, now: str, spread: bool | None) -> None:
    picked = [
        gauge(10 * k + w, "worker_selection", [float(i + 1) for i in range(20)], start=100.0 * k, policy=policy,
              worker=f"http://w{w}")
        for k, policy in enumerate((then, now)) for w in (1, 2)
    ]  # fmt: skip
    asked = {"requests": requests(40, 0, 2.5, server=["a", "b"]) + requests(40, 100, 2.5, first=99, server=["a", "b"])}
    view = compared(*picked, asked)
    assert value(view, "policy_spread") is spread
    assert value(view, "scattered") is spread


@pytest.mark.parametrize(("usage", "wait", "held"), [(0.93, 2.0, True), (0.93, 0.05, False), (0.5, 2.0, False)])
def test_a_pool_that_is_full_at_times_holds_up_those_that_come_then(usage: float, wait: float, held: bool) -> None:
    waiting = [0] * 9 + [4]
    lines = decode(60, waiting=waiting, running=30, usage=[0.6] * 9 + [usage])
    share = [0.01] * 9 + [wait]
    asked = requests(100, queue_s=share, ttft_s=[0.4] * 9 + [wait + 0.2])
    view = view_of(join({"batches": lines, "requests": asked}))
    assert value(view, "queued") is False
    assert value(view, "pool_queue") is held


def test_where_no_request_carries_a_key_none_can_split_prompts() -> None:
    unhit = requests(40, 0, 2.5, cached_tokens=None) + requests(40, 100, 2.5, first=1000, cached_tokens=None)
    assert value(compared({"requests": unhit}), "keys_split") is False
    keyed = [{**row, "extra_key": f"k{i}"} if i >= 40 else row for i, row in enumerate(unhit)]
    assert value(compared({"requests": keyed}), "keys_split") is None
