"""What evidence says plainly: one scrape's gauges and counters, a pair's own words, the log's own account of a pool."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.bundle.view import View, view_of
from ridgeline.facts import ask
from ridgeline.facts.events import event_count
from ridgeline.facts.leak import leaked
from tests.causes.cases import events
from tests.causes.rows import Tables, decode, event, gauge, join


def value(view: View, measure: str, /, **args: Any) -> Any:
    return ask(view, measure, tuple(sorted(args.items()))).value


def told(view: View, measure: str, /, **args: Any) -> dict[str, Any]:
    return dict(ask(view, measure, tuple(sorted(args.items()))).statement.figures)


def scrape(**gauges: float) -> Tables:
    return join(*(gauge(i, name, [level]) for i, (name, level) in enumerate(gauges.items(), 1)))


def test_one_scrape_says_who_waits_for_a_grammar_and_who_for_an_adapter() -> None:
    view = view_of(scrape(num_running_reqs=2, num_queue_reqs=0, num_grammar_queue_reqs=37))
    assert value(view, "grammar_queue") == 37
    slots = {"lora_pool_slots_used": 4.0, "lora_pool_slots_total": 4.0}
    assert value(view_of(scrape(num_running_reqs=4, num_queue_reqs=26, **slots)), "adapters_full") is True
    assert value(view_of(scrape(num_running_reqs=4, num_queue_reqs=1, **slots)), "adapters_full") is False
    assert value(view_of(scrape(num_running_reqs=4, num_queue_reqs=26)), "adapters_full") is None


def test_tiers_that_keep_or_give_back_little_are_told_by_their_counters() -> None:
    little = scrape(storage_prefetch_hit_tokens=1e6, storage_prefetch_unfulfilled_tokens=4e6)
    assert value(view_of(little), "tier_short") == pytest.approx(0.8)
    dropped = scrape(hicache_dropped_tokens=9e6, hicache_backup_tokens=1e6)
    assert value(view_of(dropped), "tier_short") == pytest.approx(0.9)
    assert value(view_of(scrape(num_running_reqs=1)), "tier_short") is None


@pytest.mark.parametrize(
    ("waiting", "running", "share"),
    [(2, 15, 1.0), (0, 15, 0.0), ([0, 2] * 5, 15, 0.0), (2, [5, 9, 14, 20, 25] * 2, 0.0)],
)
def test_a_queue_stands_where_somebody_always_waits_and_running_does_not_move(
    waiting: Any, running: Any, share: float
) -> None:
    lines = decode(10, dp_rank=0, waiting=waiting, running=running)
    assert value(view_of({"batches": lines}), "standing_queue") == share


def test_kv_that_nobody_fetched_proves_no_setting_wrong() -> None:
    expired = [event("kv-released", rid=[f"r{i}"], value=120.0) for i in range(3)]
    assert value(view_of(events(*expired)), "settings_clash") is None
    read_late = event("kv-released", 2, 0, 20, rid=["r9", "r9"], value=[15.0, None])
    assert value(view_of(events(read_late)), "settings_clash") is True


def test_a_handshake_without_anybody_to_answer_is_stuck() -> None:
    mute = event("peer-unreachable", 3, text="Could not fetch prefill parallel info from http://10.0.0.5:8998")
    assert value(view_of(events(mute)), "handshake_stuck") is False
    failed = event("handshake-failed", first_line=40, rid=["r1"])
    assert value(view_of(events(mute, failed)), "handshake_stuck") is True


def test_one_failed_request_is_one_failure_however_many_lines_tell_of_it() -> None:
    slices = event("session-failed", 3)
    request = event("transfer-failed", 2, first_line=30, room=[8812, 8812])
    assert value(view_of(events(slices)), "transfer_failures") == 3
    assert value(view_of(events(slices, request)), "transfer_failures") == 1


def test_on_a_decode_server_those_before_their_transfer_wait_for_the_pool() -> None:
    full = decode(10, role="decode", waiting=0, running=50, usage=0.99, prealloc=40, transfer=12, retracted=3)
    view = view_of({"batches": full})
    assert value(view, "pool_queue") is True and value(view, "pool_full") is True
    assert told(view, "pool_queue")["waiting"] == 40
    roomy = decode(10, role="decode", waiting=0, running=50, usage=0.3, prealloc=40, transfer=12, retracted=0)
    assert value(view_of({"batches": roomy}), "pool_queue") is False


def test_of_several_pools_the_fullest_is_named_and_tokens_are_held_against_their_own() -> None:
    lines = decode(10, waiting=9, running=60, tokens=24_000, usage=None, full_usage=0.24, mamba_usage=0.99)
    view = view_of({"batches": lines})
    assert told(view, "usage_when_queued")["which"] == "mamba usage"
    assert value(view, "pool_tokens") == pytest.approx(100_000)


def test_a_pool_is_not_derived_from_a_usage_of_one_hundredth() -> None:
    assert value(view_of({"batches": decode(10, tokens=1912, usage=0.01)}), "pool_tokens") is None


def test_the_idle_check_is_told_in_tokens_missing_or_counted_twice() -> None:
    def told_by(missing: str) -> dict[str, Any]:
        check = event("pool-leak-check", text="memory leak detected!", attrs={"missing": missing, "total": "900"})
        return dict(leaked(view_of(events(check))).statement.figures)

    assert (told_by("55")["missing"], told_by("55")["surplus"], told_by("55")["total"]) == (55, None, 900)
    assert (told_by("-64")["missing"], told_by("-64")["surplus"]) == (None, 64)


def test_a_bare_exception_is_told_with_its_place() -> None:
    crash = event("crash", first_line=100, text="Scheduler hit an exception: Traceback (most recent call last):")
    attrs = {"exception": "AssertionError", "frame": "/srv/lora/manager.py:27 in fetch"}
    trace = event("traceback", first_line=120, text="AssertionError", attrs=attrs)
    figures = dict(event_count(view_of(events(crash, trace)), "crash").statement.figures)
    assert figures["text"] == "Scheduler hit an exception: AssertionError at manager.py:27 in fetch"


def test_a_quoted_line_is_cut_between_words() -> None:
    text = "RuntimeError: " + "not enough memory " * 12 + "fraction=0.875"
    shown = dict(event_count(view_of(events(event("crash", text=text))), "crash").statement.figures)["text"]
    assert shown.endswith(" …") and "0.8" not in shown and text.startswith(shown.removesuffix(" …"))


@pytest.mark.parametrize(
    ("transfer", "running", "frozen"),
    [(31, [1, 2] * 6, True), (31, 20, False), ([30, 31] * 6, 1, False), (3, 2, False)],
)
def test_a_transfer_queue_stands_where_next_to_nothing_comes_out_of_it(
    transfer: Any, running: Any, frozen: bool
) -> None:
    lines = decode(12, every=30.0, role="decode", transfer=transfer, running=running, waiting=0, usage=0.04)
    assert value(view_of({"batches": lines}), "pd_queue_frozen", queue="transfer") is frozen


@pytest.mark.parametrize(("beyond_tps", "share"), [(1_000.0, 0.5), (3_400.0, 0.0)])
def test_batches_beyond_the_captured_ones_count_where_they_halve_the_speed(beyond_tps: float, share: float) -> None:
    lines = decode(6, running=[27, 28, 29, 30, 31, 32], gen_tps=3600.0, graph=True)
    lines += decode(6, 20.0, first_line=50, running=[33, 36, 38, 40, 42, 44], gen_tps=beyond_tps, graph=False)
    assert value(view_of({"batches": lines}), "graph_lost") == share


@pytest.mark.parametrize(("split", "share"), [("true", 1.0), ("false", 0.0)])
def test_a_limit_that_was_asked_for_is_divided_among_ranks_that_split_attention(split: str, share: float) -> None:
    asked = {"max_running_requests": "64", "dp_size": "4", "enable_dp_attention": split}
    config = [
        {"server": "a", "key": key, "value": text, "origin": "launch", "source": 1, "line": 1}
        for key, text in asked.items()
    ]
    lines = [row for rank in range(4) for row in decode(6, dp_rank=rank, server="a", waiting=1, running=15)]
    assert value(view_of({"batches": lines, "config": config}), "at_cap_share") == share
