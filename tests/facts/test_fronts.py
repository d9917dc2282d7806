"""Fronts and ways back: loops that stand still, parsers, tokenizers, and what releases without stamps still tell."""

from __future__ import annotations

from typing import Any

from ridgeline.model.diagnosis import Window
from tests.causes.rows import T0, event, requests
from tests.facts.test_measures import value, view

THEN, NOW = Window(T0, T0 + 99), Window(T0 + 100, T0 + 200)


def ended(*moments: float) -> list[dict[str, Any]]:
    """One request each, received two seconds before it ends."""
    return [
        row
        for i, at in enumerate(moments)
        for row in requests(1, at - 2, first=i, e2e_s=2.0, finished_ts=T0 + at, pre_queue_s=None)
    ]


def test_answers_that_end_at_one_moment_after_a_silence_are_a_loop_that_stood_still() -> None:
    spread = [3 + 0.9 * i for i in range(60)]
    stalled = [at if at % 12 > 4 else at - at % 12 + 4 for at in spread]
    assert [value(view({"requests": ended(*m)}), "loop_blocked") for m in (spread, stalled)] == [None, True]
    known = [{**row, "pre_queue_s": 0.01} for row in ended(*spread)]
    assert value(view({"requests": known}), "loop_blocked") is False
    # Steps that end in crowds all the time are full batches, without a silence before them.
    crowds = [at - at % 0.6 for at in spread]
    assert value(view({"requests": ended(*crowds)}), "ends_together") == 0.0


def test_a_parser_holds_up_its_own_answers_and_a_detokenizer_everybody() -> None:
    def late(own: float, others: float, share: int = 4) -> Any:
        parsed = [True] + [False] * (share - 1)
        back = [own] + [others] * (share - 1)
        return value(
            view({"requests": requests(60, schema_set=parsed, return_s=back)}),
            "group_ratio", attribute="parsed", what="return",
        )  # fmt: skip

    assert late(2.0, 0.01) == 40.0  # the usual counts as 50 ms at least
    assert late(2.0, 2.0) == 1.0
    assert late(0.04, 0.005) < 1.0
    assert late(2.0, 2.0, share=1) is None  # every answer is parsed: nobody to compare with
    nobody = view({"requests": requests(60, schema_set=False, return_s=2.0)})
    assert value(nobody, "group_ratio", attribute="parsed", what="return") == 1.0


def test_a_slow_tokenizer_is_slow_for_every_endpoint() -> None:
    one = requests(60, endpoint=["/a", "/b"], tokenize_s=[3.0, 0.002])
    all_of_them = requests(60, endpoint=["/a", "/b"], tokenize_s=[3.0, 0.6])
    assert [value(view({"requests": rows}), "tokenize_s") for rows in (one, all_of_them)] == [0.002, 0.6]


def test_the_way_back_is_what_the_schedulers_times_leave_of_the_answer() -> None:
    def back(**values: Any) -> Any:
        rows = requests(30, queue_s=0.5, e2e_s=4.0, return_s=None, forward_s=1.5, **values)
        stamped = [{**row, "queued_ts": row["received_ts"] + 0.2} for row in rows]
        return value(view({"requests": stamped}), "seconds", what="return_s")

    assert round(back(), 3) == 1.8
    assert back(state="aborted", finish_reason="abort") is None


def test_a_client_parts_what_a_release_without_stamps_cannot() -> None:
    def parted(seen_s: float, outside: float) -> tuple[Any, Any]:
        bare = {"pre_queue_s": None, "return_s": None, "ttft_s": None, "prefill_done_ts": None, "prefill_s": None}
        late = [0.01, outside]  # every second request is late
        own = requests(40, role="unified", queue_s=0.1, unaccounted_s=late, **bare)
        seen = requests(40, first=100, role="client", ttft_s=[0.3, seen_s])
        rows = own + [{**row, "rid": f"r{i}", "source": 3} for i, row in enumerate(seen)]
        shown = view({"requests": rows})
        return tuple(value(shown, "seconds", what=w, q=0.9) for w in ("pre_queue_s", "return_s"))  # type: ignore[return-value]

    before, after = parted(2.3, 2.0)
    assert (round(before, 2), round(after, 2)) == (2.0, 0.01)
    before, after = parted(0.3, 2.0)
    assert (round(before, 2), round(after, 2)) == (0.0, 2.0)


def test_a_few_requests_of_one_first_batch_are_no_cold_start_of_many() -> None:
    ready = event("ready", start=0)
    late = requests(1200, 100, 0.2, first=200, ttft_s=0.2, queue_s=0.0)
    # A few; many that came one by one; as many at once, computed as fast as later ones, each waiting for the others.
    for slow, every, wanted in ((6, 0.1, 1.0), (40, 1.0, 10.0), (40, 0.1, 1.0)):
        start = requests(slow, 1, every, ttft_s=2.0, queue_s=0.0, cached_tokens=100)
        calm = requests(60 - slow, 45, 0.5, first=100, ttft_s=0.2, queue_s=0.0)
        assert value(view({"requests": start + calm + late, "events": ready}), "cold_start_ratio") == wanted


def test_a_rush_does_not_explain_tokens_that_crawl() -> None:
    ready = event("ready", start=0)
    for tpot_s, wanted in ((0.04, True), (0.6, False)):
        rush = requests(40, 1, 0.1, ttft_s=5.0, queue_s=0.0, tpot_s=tpot_s)
        calm = requests(60, 100, 2, first=100, ttft_s=0.2, queue_s=0.0)
        assert value(view({"requests": rush + calm, "events": ready}), "rush_explains") is wanted


def test_a_cold_start_shows_from_token_to_token_and_wears_off() -> None:
    ready = event("ready", start=0)
    bare = {"ttft_s": None, "prefill_done_ts": None}

    def cold(first: float, later: float) -> Any:
        rows = requests(12, 2, tpot_s=first, **bare) + requests(60, 95, first=100, tpot_s=later, **bare)
        return value(view({"requests": rows, "events": ready}), "cold_start_ratio")

    assert cold(0.3, 0.03) == 10.0
    assert cold(0.3, 0.3) is None  # slow ever since is no cold start, and of first tokens nothing is known
    assert cold(0.09, 0.01) is None  # a young batch varies that much


def test_a_rush_is_felt_by_those_who_came_in_it() -> None:
    calm = requests(60, 0, 2, ttft_s=0.2)
    rush = requests(40, 60, 0.2, first=200, ttft_s=3.0)
    unhurt = requests(40, 60, 0.2, first=200, ttft_s=0.3)
    assert [value(view({"requests": calm + more}), "rush_felt") for more in (rush, unhurt, [])] == [True, False, False]


def test_everyone_may_wait_behind_giants_and_a_class_of_long_prompts_is_none() -> None:
    quick = requests(60, 0, 1.5, queue_s=0.01)
    behind = requests(
        100, 100, 1, first=200, queue_s=[4.0] * 24 + [0.1], prompt_tokens=[500] * 24 + [30_000], ttft_s=4.2
    )
    often = requests(100, 100, 1, first=200, queue_s=[4.0] * 4 + [0.1], prompt_tokens=[500] * 4 + [30_000], ttft_s=4.2)
    assert value(view({"requests": quick + behind}).window(NOW, THEN), "waits_behind_giants") > 0.2
    assert value(view({"requests": quick + often}).window(NOW, THEN), "waits_behind_giants") == 0.0


def test_without_hits_of_requests_the_counters_tell_what_prompts_cost() -> None:
    from tests.causes.rows import gauge, join

    def excess(factor: float, tokens: int) -> Any:
        then = requests(40, 0, 2, cached_tokens=None, prompt_tokens=[400, 800], prefill_s=[0.1, 0.2])
        now = requests(
            40, 100, 2, first=100, cached_tokens=None, prompt_tokens=[tokens, 2 * tokens],
            prefill_s=[factor * tokens / 4000, factor * tokens / 2000],
        )  # fmt: skip
        counters = join(
            gauge(1, "prefix_cache_hits", [50.0 * i for i in range(101)]),
            gauge(2, "prefix_cache_queries", [100.0 * i for i in range(101)]),
        )
        return value(view(join({"requests": then + now}, counters)).window(NOW, THEN), "prefill_excess")

    assert round(excess(1.0, 1200), 2) == 1.0
    assert round(excess(2.0, 400), 2) == 2.0
