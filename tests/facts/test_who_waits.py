"""Who waits because of what prompts bring, of giants whose own wait nobody knows, and of a grammar queue."""

from __future__ import annotations

from ridgeline.model.diagnosis import Window
from tests.causes.rows import T0, decode, gauge, requests
from tests.facts.test_measures import value, view

THEN, NOW = Window(T0, T0 + 99), Window(T0 + 100, T0 + 200)


def test_a_queue_is_the_prompts_only_where_they_bring_more_to_compute() -> None:
    def seen(prompt: int, waiting: int) -> object:
        asked = [*requests(90, 0, 1), *requests(90, 101, 1, first=200, prompt_tokens=prompt)]
        lines = [*decode(50, 0), *decode(50, 101, first_line=500, waiting=waiting)]
        return value(view({"requests": asked, "batches": lines}).window(NOW, THEN), "prompts_queue")

    assert [seen(1500, 20), seen(500, 20), seen(1500, 0)] == [True, False, False]


def test_a_queue_of_more_work_is_not_told_without_a_time_before() -> None:
    lines = {"requests": requests(90, 0, 1), "batches": decode(50, 0, waiting=20)}
    assert value(view(lines), "prompts_queue") is None


def test_a_giant_whose_own_wait_is_unknown_still_stands_before_others() -> None:
    quick = requests(60, 0, 1.5, queue_s=0.01)
    held = {"queue_s": [4.0] * 24 + [None], "prompt_tokens": [500] * 24 + [30_000], "ttft_s": 4.2}
    rows = requests(100, 100, 1, first=200, prefill_s=None, prefill_done_ts=None, **held)
    assert value(view({"requests": quick + rows}).window(NOW, THEN), "waits_behind_giants") > 0.1
    usual = requests(100, 100, 1, first=200, **{**held, "prompt_tokens": 500})
    assert value(view({"requests": quick + usual}).window(NOW, THEN), "waits_behind_giants") == 0.0


def test_a_grammar_queue_that_one_of_two_sources_counts_is_one() -> None:
    def seen(queue: float, answered: int) -> object:
        scraped = (gauge(1, "num_grammar_queue_reqs", [queue] * 20), gauge(2, "num_queue_reqs", [0.0] * 20))
        loads = [
            {"source": 4, "line": i, "ts": T0 + 5.0 * i, "running": 4, "queue_waiting": 0, "queue_grammar": answered}
            for i in range(40)
        ]
        return value(view(*scraped, {"loads": loads}), "grammar_wait")

    assert [seen(5.0, 0), seen(0.0, 5), seen(0.0, 0)] == [True, True, False]
