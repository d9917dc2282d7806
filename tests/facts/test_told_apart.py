"""Measures that tell neighbours apart, each with the case in which it must not say yes."""

from __future__ import annotations

import pytest

from ridgeline.model.diagnosis import Window
from tests.causes.rows import T0, decode, event, gauge, prefill, requests
from tests.facts.test_measures import value, view

THEN, NOW = Window(T0, T0 + 99), Window(T0 + 100, T0 + 200)


def polled(running: list[float], waiting: list[float], usage: list[float]) -> tuple[dict[str, list[dict]], ...]:  # type: ignore[type-arg]
    return (
        gauge(1, "num_running_reqs", running),
        gauge(2, "num_queue_reqs", waiting),
        gauge(3, "token_usage", usage),
    )


def test_a_head_that_never_fits_is_told_from_a_hang_and_from_a_full_pool() -> None:
    growing = [4.0 * i for i in range(12)]
    blocked = view(*polled([0.0] * 12, growing, [0.0] * 12))
    still = view(*polled([0.0] * 12, [8.0] * 12, [0.0] * 12))
    full = view(*polled([0.0] * 12, growing, [0.95] * 12))
    assert [value(v, "head_blocked") for v in (blocked, still, full)] == [50.0, 0.0, 0.0]
    assert [value(v, "unfittable") for v in (blocked, still, full)] == [True, False, False]


def test_arrivals_after_the_last_line_are_a_hang_only_where_the_queue_is_no_longer_counted() -> None:
    lines = {"batches": decode(20), "requests": requests(9, 60, 10, state="received", finish_reason=None)}
    counted = polled([8.0] * 8 + [0.0] * 12, [0.0] * 8 + [3.0 * i for i in range(12)], [0.3] * 8 + [0.0] * 12)
    assert value(view(lines), "stands_still") is True
    assert value(view(lines, *counted), "stands_still") is False


def test_answers_that_stop_at_once_are_wrong_only_where_they_did_not_before() -> None:
    usual = requests(40, 0, 2, lora=["a", None])
    broken = requests(40, 100, 2, first=100, lora=["a", None], completion_tokens=[1, 100])
    always = requests(40, 0, 2, completion_tokens=[1, 100])
    fell = view({"requests": usual + broken}).window(NOW, THEN)
    same = view({"requests": always + broken}).window(NOW, THEN)
    assert [value(v, "wrong_outputs") for v in (fell, same)] == [True, False]
    assert value(view({"requests": broken}), "wrong_outputs") is None  # a classifier answers so on purpose
    limit = requests(40, 100, 2, completion_tokens=1, max_new_tokens=1, finish_reason="length")
    assert value(view({"requests": limit}), "wrong_outputs") is False


def test_a_worker_is_out_when_the_gateway_says_so_or_it_stands_empty_beside_loaded_ones() -> None:
    health = gauge(1, "worker_health", [1.0] * 4 + [0.0] * 8, worker="http://w1")
    once = gauge(1, "worker_health", [1.0] * 4 + [0.0] + [1.0] * 7, worker="http://w1")
    assert [value(view(v), "missing_workers") for v in (health, once)] == [1, None]
    left = (
        gauge(1, "num_running_reqs", [5.0] * 3 + [0.0] * 9, dp_rank="0"),
        gauge(2, "num_running_reqs", [5.0] * 12, dp_rank="1"),
        gauge(3, "num_queue_reqs", [0.0] * 12, dp_rank="0"),
        gauge(4, "num_queue_reqs", [2.0] * 12, dp_rank="1"),
    )
    idle = (*left[:1], gauge(2, "num_running_reqs", [5.0] * 3 + [0.0] * 9, dp_rank="1"), left[2],
            gauge(4, "num_queue_reqs", [0.0] * 12, dp_rank="1"))  # fmt: skip
    few = (left[0], gauge(2, "num_running_reqs", [1.0] * 12, dp_rank="1"), left[2],
           gauge(4, "num_queue_reqs", [0.0] * 12, dp_rank="1"))  # fmt: skip
    assert [value(view(*v), "missing_workers") for v in (left, idle, few)] == [1, 0, 0]


def test_arrivals_are_counted_at_the_rank_that_queues_with_what_piled_up_there() -> None:
    lines = decode(20, dp_rank=0, waiting=list(range(0, 80, 4)), running=12) + decode(
        20, dp_rank=1, waiting=0, running=4, first_line=101
    )
    for row in lines:
        row["server"] = "s"
    # As many have ended on either rank: the rest of what the first one got still waits there.
    served = requests(40, 0, 1, dp_rank=[0, 1], server="s")
    assert value(view({"batches": lines, "requests": served}), "arrival_skew", by="requests") > 1.5
    even = [{**row, "waiting": 0} for row in lines]
    assert value(view({"batches": even, "requests": served}), "arrival_skew", by="requests") == 1.0


def test_what_a_tier_no_longer_gives_is_no_drift() -> None:
    tiers = {"cached_device_tokens": 200, "cached_host_tokens": 0}
    before = requests(40, 0, 2, cached_storage_tokens=150, cached_tokens=350, **tiers)
    gone = requests(40, 100, 2, first=100, cached_storage_tokens=0, cached_tokens=200, **tiers)
    both = {"cached_device_tokens": 50, "cached_host_tokens": 0, "cached_storage_tokens": 20, "cached_tokens": 70}
    drift = requests(40, 100, 2, first=100, **both)
    assert [value(view({"requests": before + now}).window(NOW, THEN), "tier_lost") for now in (gone, drift)] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("settings", "lost"),
    [
        ({"s": {"enable_hierarchical_cache": "false"}}, False),
        ({"s": {"enable_hierarchical_cache": "true"}}, None),
        ({"s": {"enable_hierarchical_cache": "false", "enable_lmcache": "true"}}, None),
        ({"s": {"page_size": "16"}}, None),
        ({"s": {"enable_hierarchical_cache": "false"}, "t": {}}, None),  # of the second nobody knows
    ],
)
def test_only_a_server_known_to_have_no_tier_is_told_to_lose_none(
    settings: dict[str, dict[str, str]], lost: bool | None
) -> None:
    asked = requests(40, 0, 2) + requests(40, 100, 2, first=100)
    servers = [{"source": 1, "line": 1, "server": name, "engine": "sglang"} for name in settings]
    config = [
        {"source": 1, "line": 1, "server": name, "key": key, "value": said}
        for name, of in settings.items()
        for key, said in of.items()
    ]
    seen = view({"requests": asked, "servers": servers, "config": config}).window(NOW, THEN)
    assert value(seen, "tier_lost") is lost


def test_a_server_that_is_asked_for_too_much_has_a_queue_nearly_always() -> None:
    usual, more = requests(50, 0, 2), requests(100, 100, 1, first=100)
    busy = decode(50, 0, 2) + decode(50, 100, 2, first_line=101, waiting=9, running=[5, 7, 9, 11])
    seldom = decode(50, 0, 2) + decode(50, 100, 2, first_line=101, waiting=[9, *[0] * 24], running=[5, 7, 9, 11])
    for lines, wanted in ((busy, True), (seldom, False)):
        assert value(view({"batches": lines, "requests": usual + more}).window(NOW, THEN), "overload") is wanted


def test_full_prefill_batches_make_prefill_the_busy_side() -> None:
    work = prefill(40, role="prefill", waiting=2, new_tokens=4096, bootstrap=0)
    idle = decode(40, role="decode", running=4, first_line=2001, prealloc=0)
    server = [{"server": "p", "chunked_prefill_size": 4096, "max_prefill_tokens": 16384}]
    assert value(view({"batches": work + idle, "servers": server}), "sides") == "prefill"
    small = [{**row, "new_tokens": 900} for row in work]
    assert value(view({"batches": small + idle, "servers": server}), "sides") == "neither"


def test_fuller_requests_are_no_leak_while_most_tokens_belong_to_answers_still_being_written() -> None:
    pool = {"servers": [{"source": 1, "line": 900, "pool_tokens": 100_000}]}
    lines = decode(40, 0, 2, running=8, tokens=8000, usage=0.08) + decode(
        40, 100, 2, first_line=400, running=8, tokens=32_000, usage=0.32
    )
    short = requests(40, 0, 2) + requests(40, 100, 2, first=100)  # 100 tokens each 2 s of the 400 made each second
    busy = requests(40, 0, 2) + requests(360, 100, 0.22, first=100)
    writing, ended = (
        view({"batches": lines, "requests": rows}, pool).window(NOW, THEN) for rows in (short, busy)
    )  # fmt: skip
    assert value(writing, "leaked") is None
    assert value(ended, "leaked") is True


def test_a_server_that_had_requests_before_and_none_since_is_out_of_rotation() -> None:
    before = requests(40, 0, 2, server=["a", "b"])
    gone = view({"requests": before + requests(40, 100, 2, first=100, server="a")}).window(NOW, THEN)
    both = view({"requests": before + requests(40, 100, 2, first=100, server=["a", "b"])}).window(NOW, THEN)
    assert value(gone, "missing_workers") == 1
    assert value(both, "missing_workers") is None


def test_adapters_that_nobody_names_are_not_known_to_be_within_their_limit() -> None:
    on = {"config": [{"source": 1, "line": 1, "key": "enable_lora", "value": "true"},
                     {"source": 1, "line": 1, "key": "max_loras_per_batch", "value": "4"}]}  # fmt: skip
    lines = {"batches": decode(20, running=12, waiting=3, usage=0.1)}
    named = {"requests": requests(40, 0, 1, lora="a")}
    assert value(view(on, lines), "adapters_limit") is None
    assert value(view(on, lines, named), "adapters_limit") is False
    assert value(view(on), "switched_on", setting="enable_lora") is True


def test_an_empty_prefix_cache_after_a_boot_is_no_cold_start() -> None:
    ready = event("ready", start=0)
    later = requests(30, 20, first=100, ttft_s=0.2, queue_s=0.0, cached_tokens=400)
    empty = requests(5, 5, ttft_s=0.9, queue_s=0.0, cached_tokens=0)  # 500 tokens to compute instead of 100
    slow = requests(5, 5, ttft_s=6.0, queue_s=0.0, cached_tokens=0)
    untold = [{**row, "cached_tokens": None} for row in slow + later]
    seen = [view({"requests": rows, "events": ready}) for rows in (empty + later, slow + later, untold)]
    assert [value(v, "cold_start_ratio") for v in seen] == [1.0, 6.0, None]
    compiling = {"requests": untold, "events": ready + event("compile", start=6)}
    assert value(view(compiling), "cold_start_ratio") == 30.0
