"""A slow rank in a short window, and what is none: a rank with more to do, every rank slower, one long pause."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.bundle.view import View
from ridgeline.model.diagnosis import Window
from tests.causes.rows import T0, Tables, decode, requests
from tests.facts.test_measures import value, view

THEN, NOW = Window(T0, T0 + 99), Window(T0 + 100, T0 + 120)


def lines(step_s: tuple[float, ...], start: float, n: int, running: tuple[int, ...] | None = None) -> list[Any]:
    """Reports of each rank whose step lasts so long; a slower rank reports more seldom."""
    rows: list[Any] = []
    for rank, step in enumerate(step_s):
        busy = running[rank] if running else 4
        count = max(int(n * min(step_s) / step), 3)
        rows += decode(count, start + 0.1 * rank, 20 / count, int(10 * start) + 200 * rank + 1, dp_rank=rank,
                       running=busy, gen_tps=busy / step)  # fmt: skip
    return rows


def answers(tpot_s: tuple[float, ...], start: float, n: int) -> list[Any]:
    """`n` requests of each rank, twenty seconds long."""
    made = []
    for rank, tpot in enumerate(tpot_s):
        first = int(10 * start) + 200 * rank
        made += requests(n, start + 0.2, 15 / n, first, dp_rank=rank, tpot_s=tpot, finished_ts=T0 + start + 18)
    return made


def ratio(*tables: Tables) -> Any:
    return value(view(*tables).window(NOW, THEN), "slow_rank_ratio")


EVEN = (0.02,) * 4
SLOW = (0.02, 0.02, 0.06, 0.02)
USUAL = lines(EVEN, 0, 20)


def test_three_reports_of_a_rank_are_enough_where_each_is_slow() -> None:
    now = lines(SLOW, 100, 8)
    assert ratio({"batches": USUAL + now}) == pytest.approx(3.0, rel=0.1)
    mixed = [row | {"gen_tps": 200.0} if row["dp_rank"] == 2 and row["line"] % 200 == 1 else row for row in now]
    assert ratio({"batches": USUAL + mixed}) < 1.3  # one of the three was as fast as ever


def test_the_tokens_of_its_requests_show_a_slow_rank_whose_reports_do_not() -> None:
    reports = {"batches": USUAL + lines(EVEN, 100, 8)}
    slow = {"requests": answers(EVEN, 0, 30) + answers(SLOW, 100, 6)}
    assert ratio(reports, slow) == pytest.approx(3.0, rel=0.1)
    few = {"requests": answers(EVEN, 0, 30) + answers(SLOW, 100, 3)}
    assert ratio(reports, few) < 1.3
    all_slow = {"requests": answers(EVEN, 0, 30) + answers((0.06,) * 4, 100, 6)}
    assert ratio(reports, all_slow) < 1.3


def test_a_rank_with_a_larger_batch_than_was_ever_seen_is_not_called_slow_by_its_requests() -> None:
    reports = {"batches": USUAL + lines(EVEN, 100, 8, running=(4, 4, 9, 4))}
    assert ratio(reports, {"requests": answers(EVEN, 0, 30) + answers(SLOW, 100, 6)}) < 1.3


def grown(prefill: float, step: float) -> View:
    """Prefill and decode steps so many times as dear in the second window, requests of equal batches."""
    rows: list[Any] = []
    for start, token_s, step_s in ((0, 2e-4, 0.02), (100, 2e-4 * prefill, 0.02 * step)):
        line = 100 * start + 1
        for i in range(40):
            new = (0, 1, 0, 2)[i % 4]
            for _ in range(new):
                rows.append({"source": 1, "line": line, "kind": "prefill", "ts": T0 + start + i, "running": 8,
                             "waiting": 0, "new_seq": 1, "new_tokens": 500, "cached_tokens": 0})  # fmt: skip
                line += 1
            taken = 40 * step_s + new * 500 * token_s
            rows += decode(1, start + i + 0.5, 1, line, running=8, gen_tps=40 * 8 / taken)
            line += 1
    return view({"batches": rows}).window(Window(T0 + 100, T0 + 200), THEN)


def test_prefill_that_grew_as_every_step_did_is_told_from_prefill_alone() -> None:
    assert value(grown(3.0, 1.0), "prefill_over_step") == pytest.approx(3.0, rel=0.05)
    assert value(grown(3.0, 3.0), "prefill_over_step") == pytest.approx(1.0, rel=0.05)
    assert value(view({"batches": USUAL}), "prefill_over_step") is None
