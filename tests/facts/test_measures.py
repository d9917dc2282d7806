"""Measures: nothing is made up of nothing, figures equal a count by hand, and windows cut what they say."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.bundle.view import View, view_of
from ridgeline.facts import MEASURES, ask
from ridgeline.model.diagnosis import Window
from ridgeline.words.catalogue import say
from tests.causes.rows import T0, Tables, decode, event, gauge, join, prefill, requests

NEEDS: dict[str, dict[str, Any]] = {
    "seconds": {"what": "ttft_s"}, "slice_share": {"part": "queue"}, "outcome_share": {"what": "error"},
    "event_count": {"kinds": "watchdog"}, "group_ratio": {"attribute": "lora"}, "pd_queue": {"queue": "bootstrap"},
    "pd_queue_frozen": {"queue": "transfer"}, "kvpoll_timeouts": {"state": "Bootstrapping"}, "change": {"of": "usage"},
    "prefix_loss": {"reason": "eviction"}, "setting_changed": {"setting": "page_size"},
    "switched_on": {"setting": "enable_lora"}, "affected": {"who": "ttft_s"}, "trend": {"of": "hit_ratio"},
    "answered_share": {"what": "error"},
}  # fmt: skip
# What counts lines of trouble is 0 where there is no line: "evidence of nothing" is another measure's business.
COUNTS = {"error_lines", "bad_events"}


def view(*tables: Tables) -> View:
    return view_of(join(*tables))


def value(view: View, measure: str, /, **args: Any) -> Any:
    return ask(view, measure, tuple(sorted(args.items()))).value


@pytest.mark.parametrize("measure", sorted(set(MEASURES) - COUNTS))
def test_of_nothing_each_measure_says_what_it_lacks(measure: str) -> None:
    fact = ask(view_of({}), measure, tuple(sorted(NEEDS.get(measure, {}).items())))
    assert fact.value is None and fact.missing
    assert all(m.signal and m.how for m in fact.missing)
    assert say(fact.statement.key, dict(fact.statement.figures)).endswith(")")


@pytest.mark.parametrize(
    ("waiting", "motion"),
    [
        ([0] * 9, "none"), ([264] * 9, "flat"), ([4, 8, 12, 16, 20, 24], "growing"), ([82, 72, 62, 52, 42], "draining"),
        ([0, 0, 9, 20, 9, 3, 0, 0], "drained"), ([77, 75, 72, 70, 65, 63], "draining"),
    ],
)  # fmt: skip
def test_motion_of_a_queue(waiting: list[int], motion: str) -> None:
    assert value(view({"batches": decode(len(waiting), waiting=waiting)}), "queue_motion") == motion


def test_the_limit_is_stated_or_inferred_or_unknown() -> None:
    queued = {"waiting": 20, "usage": 0.3}
    stated = view({"batches": decode(8, running=12, **queued), "servers": [{"max_running": 12}]})
    far = view({"batches": decode(8, running=12, **queued), "servers": [{"max_running": 2048}]})
    pinned = view({"batches": decode(8, running=48, **queued)})
    rising = view({"batches": decode(8, running=[11, 21, 31, 41, 51, 61, 71, 81], **queued)})
    few = view({"batches": decode(3, running=7, **queued)})
    assert [value(v, "at_cap_share") for v in (stated, far, pinned, rising, few)] == [1.0, 0.0, 1.0, 0.0, None]
    assert "inferred" in dict(ask(pinned, "at_cap_share").statement.figures)["basis"]


def test_on_a_prefill_line_the_batch_itself_holds_slots_too() -> None:
    lines = prefill(6, waiting=70, running=[46, 45, 46, 43, 46, 44], new_seq=[2, 3, 2, 5, 2, 4])
    assert value(view({"batches": lines}), "at_cap_share") == 1.0


def test_the_fullest_pool_is_the_usage() -> None:
    hybrid = decode(4, usage=None, full_usage=1.0, swa_usage=0.05, waiting=4)
    assert value(view({"batches": hybrid}), "usage_when_queued") == 1.0


def test_one_request_seen_by_client_and_server_is_one() -> None:
    both = [*requests(20, role="unified"), *requests(20, first=100, role="client")]
    assert ask(view({"requests": both}), "seconds", (("what", "ttft_s"),)).n == 20
    assert ask(view({"requests": both[20:]}), "seconds", (("what", "ttft_s"),)).n == 20


def test_worked_example_of_limits() -> None:
    """Many `length` and no max_new_tokens is no limit; identical lengths are a limit; unlogged is unknown."""
    cut = {"finish_reason": "length", "completion_tokens": [900, 1200, 700, 1500], "max_new_tokens": None}
    assert value(view({"requests": requests(20, **cut)}), "unlimited_outputs") == 1.0
    same = {**cut, "completion_tokens": 512}
    assert value(view({"requests": requests(20, **same)}), "unlimited_outputs") == 0.0
    assert value(view({"requests": requests(20, **{**cut, "params_logged": None})}), "unlimited_outputs") is None


@pytest.mark.parametrize(("page", "usable"), [(16, 16), (1, 19)])
def test_worked_example_of_pages(page: int, usable: int) -> None:
    v = view({"requests": requests(10, prompt_tokens=20), "servers": [{"page_size": page}]})
    assert dict(ask(v, "page_loss").statement.figures)["usable"] == usable


def test_page_arithmetic_of_a_failed_allocation() -> None:
    failed = event("pool-full", value=173, attrs={"available": 2560, "evictable": 0})
    fact = ask(view({"events": failed, "servers": [{"page_size": 64}]}), "allocation_failures")
    told = dict(fact.statement.figures)
    assert (told["asked"], told["free"], told["free_pages"]) == (173, 2560, 40)


def test_usage_at_idle_needs_an_idle_stretch() -> None:
    def idle(n: int) -> Tables:
        return join(
            gauge(1, "num_running_reqs", [4.0] * 3 + [0.0] * n), gauge(2, "num_queue_reqs", [0.0] * (3 + n)),
            gauge(3, "token_usage", [0.6] * 3 + [0.4] * n),
        )  # fmt: skip

    assert value(view(idle(2)), "idle_usage") is None
    assert value(view(idle(12)), "idle_usage") == 0.4


def test_windows_cut_and_changes_compare() -> None:
    tables = join({"requests": [*requests(50, 0, 2, ttft_s=0.5), *requests(50, 100, 1, first=100, ttft_s=1.5)]})
    v = view_of(tables).window(Window(T0 + 100, T0 + 150), Window(T0, T0 + 99))
    assert value(v, "seconds", what="ttft_s") == 1.5
    assert value(v, "change", of="seconds", what="ttft_s") == 3.0
    assert value(v, "change", of="arrival_rate") == pytest.approx(2.0, rel=0.05)
    assert value(view_of(tables), "change", of="arrival_rate") is None


def test_rank_copies_do_not_multiply_events() -> None:
    v = view({"events": event("retraction", 2, every=9, copies=7, count=1)})
    assert value(v, "retractions") == 2
    assert dict(ask(v, "retractions").statement.figures)["requests"] == 2


def test_a_told_abort_is_no_failed_transfer() -> None:
    told = event("transfer-failed", text="Decode transfer failed: Aborted by AbortReq.", rid="a")
    v = view({"events": told})
    assert (value(v, "transfer_failures"), value(v, "told_aborts")) == (0, 1)


def test_citations_name_file_and_lines() -> None:
    v = view({"batches": decode(9, waiting=3, first_line=41)})
    assert ask(v, "queue_pressure").sources == ("log.1:41-49",)
    assert ask(v, "queue_pressure").kinds == ("log",)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 40), st.floats(0, 1, allow_nan=False)), min_size=1, max_size=30
    )
)
def test_shares_equal_a_count_by_hand(points: list[tuple[int, int, float]]) -> None:
    rows = [
        row for i, (w, r, u) in enumerate(points) for row in decode(1, i, first_line=i, waiting=w, running=r, usage=u)
    ]
    v = view({"batches": rows, "servers": [{"max_running": 30}]})
    queued = [p for p in points if p[0] > 0]
    if len(points) >= 3:
        assert value(v, "waiting_share") == pytest.approx(len(queued) / len(points))
        slack = [p for p in queued if p[2] < 0.7 and p[1] < 30]
        expected = len(slack) / len(queued) if queued else None
        assert value(v, "slack_share", usage_below=0.7) == (expected if expected is None else pytest.approx(expected))
