"""Verdicts on traffic whose truth is known."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from ridgeline.model.comparison import Comparison
from ridgeline.verdict.compare import of_evidence
from ridgeline.verdict.requests import Requests
from tests.verdict.made import evidence, traffic

LONG = 900.0


def judged(*sides: Requests, slo: dict[str, float] | None = None, **more: object) -> Comparison:
    names = ("INCIDENT", "AFTER", "BASELINE")
    given = [evidence(name, side) for name, side in zip(names, sides, strict=False)]
    return of_evidence(given, slo=slo, **more)  # type: ignore[arg-type]


SLOW, GOOD, AGAIN = (traffic(LONG, seed, faster=f) for seed, f in ((1, 1.0), (2, 3.0), (3, 3.0)))


def test_a_fix_that_worked() -> None:
    assert judged(SLOW, GOOD).verdict == "improved"
    assert judged(SLOW, GOOD, AGAIN).verdict == "recovered"
    assert judged(SLOW, GOOD, slo={"ttft_p90": 0.5}).verdict == "recovered"


def test_a_fix_that_made_it_worse() -> None:
    assert judged(GOOD, SLOW).verdict == "worse"
    assert judged(traffic(LONG, 4, faster=1.5), SLOW, AGAIN).verdict == "worse"
    assert judged(traffic(LONG, 4, faster=1.5), SLOW, slo={"ttft_p90": 0.15}).verdict == "worse"


def test_a_fix_that_did_not_do() -> None:
    half = traffic(LONG, 5, faster=1.3)
    assert judged(SLOW, half, AGAIN).verdict == "not-recovered"
    assert judged(SLOW, half, slo={"tpot_mean": 0.010}).verdict == "not-recovered"


def test_what_was_good_cannot_recover() -> None:
    found = judged(GOOD, AGAIN, slo={"ttft_p90": 2.0})
    assert found.verdict == "inconclusive" and "meets the SLO already" in found.summary
    assert judged(GOOD, AGAIN, traffic(LONG, 6, faster=3.0)).verdict == "inconclusive"


def test_little_evidence_says_how_much_more() -> None:
    a, b = traffic(60, 7, faster=1.0), traffic(60, 8, faster=1.15)
    found = judged(a, b)
    assert found.verdict == "inconclusive"
    assert found.needs is not None and found.needs.statement


def test_the_same_again_is_no_change() -> None:
    """A service that hardly queues: its figures are steady enough to say that nothing changed."""
    found = judged(*(traffic(2400, seed, rate=2.0, faster=2.0, slots=16) for seed in (9, 10)))
    assert found.verdict == "no-change", found.summary


def test_errors_can_be_what_got_worse() -> None:
    bad = (np.random.default_rng(1).random(GOOD.n) < 0.2).astype(float)
    failing = replace(AGAIN, columns={**AGAIN.columns, "bad": bad})
    assert judged(GOOD, failing).verdict == "worse"


def test_less_load_explains_an_improvement_away_but_not_a_deterioration() -> None:
    half = traffic(LONG, 4, faster=1.5)
    light = traffic(LONG, 11, rate=1.5, faster=3.0)
    found = judged(half, light)
    assert found.verdict == "inconclusive" and "requests per second" in found.summary
    assert judged(light, half).verdict == "inconclusive"
    # Under less load and still slower: nothing explains that away.
    assert judged(GOOD, traffic(LONG, 11, rate=1.5, faster=1.0)).verdict == "worse"


def test_another_model_or_stream_share_is_not_compared() -> None:
    other = evidence("AFTER", GOOD, identity={"model": "n", "version": "0.5.9", "engine": "sglang"})
    found = of_evidence([evidence("INCIDENT", SLOW), other])
    assert found.verdict == "inconclusive" and "model went from m to n" in found.summary
    single = replace(GOOD, columns={**GOOD.columns, "stream": np.zeros(GOOD.n)})
    assert judged(SLOW, single).verdict == "inconclusive"


def test_longer_prompts_do_not_hide_behind_the_fix() -> None:
    short = replace(GOOD, columns={**GOOD.columns, "prompt_tokens": GOOD.columns["prompt_tokens"] / 20})
    found = judged(SLOW, short)
    assert found.verdict == "inconclusive" and "prompt lengths" in found.summary


def test_the_argument_under_test_must_be_the_only_one_where_it_is_named() -> None:
    config = {"server_args": {"max_running_requests": "4", "chunked_prefill_size": "4096", "port": "1"}}
    after = {"server_args": {"max_running_requests": "12", "chunked_prefill_size": "8192", "port": "2"}}
    sides = [evidence("INCIDENT", SLOW, config=config), evidence("AFTER", GOOD, config=after)]
    plain = of_evidence(sides)
    assert plain.verdict == "improved"
    assert [s.key for s in plain.settings] == ["chunked_prefill_size", "max_running_requests"]
    assert of_evidence(sides, change=["--max-running-requests"]).verdict == "inconclusive"
    assert of_evidence(sides, change=["max_running_requests", "chunked_prefill_size"]).verdict == "improved"


def test_one_request_held_against_itself_needs_less_time() -> None:
    """The same bursty traffic on a service that is a fifth faster: paired it is told, unpaired it is not."""
    a, b = (traffic(240, 12, faster=f) for f in (1.0, 1.2))
    rids = np.array([f"r{i}" for i in range(a.n)], object)
    paired = judged(replace(a, rids=rids), replace(b, rids=rids))
    assert any("each is held against itself" in note for note in paired.notes)
    ttft = {c: next(f for f in found.figures if f.name == "ttft_mean").contrast for c, found in
            (("paired", paired), ("apart", judged(a, b)))}  # fmt: skip
    assert ttft["paired"].p_value is not None and ttft["apart"].p_value is not None
    assert ttft["paired"].p_value < ttft["apart"].p_value


def test_a_class_is_reported() -> None:
    key = np.array(["hot" if i % 3 else "cold" for i in range(SLOW.n)], object)
    half = traffic(LONG, 4, faster=1.5)
    sides = [replace(s, labels={**s.labels, "routing_key": key[: s.n]}) for s in (half, GOOD)]
    rows = [row for row in judged(*sides).classes if row.attribute == "routing_key"]
    assert {(row.value, row.change) for row in rows if row.figure == "ttft_mean"} == {
        ("hot", "better"),
        ("cold", "better"),
    }


@pytest.mark.parametrize("reference", ["none", "slo", "baseline"])
def test_afters_drawn_from_the_incident_are_no_recovery(reference: str) -> None:
    """The smaller sister of bench/compare.py: 100 pairs of windows of one process that queues heavily."""
    run, calm = traffic(30_000, 13, faster=1.05), traffic(6_000, 14, faster=2.5)
    rng = np.random.default_rng(15)
    slo = {"ttft_p90": float(np.quantile(run.columns["ttft_s"], 0.9)) * 0.95} if reference == "slo" else {}
    found: Counter[str] = Counter()

    def window(source: Requests) -> Requests:
        start = rng.uniform(0, source.at[-1] - 300)
        a, b = np.searchsorted(source.at, [start, start + 300])
        none = np.full(b - a, None, object)
        return replace(source, at=source.at[a:b], columns={k: v[a:b] for k, v in source.columns.items()},
                       labels=dict.fromkeys(source.labels, none), rids=none)  # fmt: skip

    for _ in range(100):
        sides = [window(run), window(run), *([window(calm)] if reference == "baseline" else [])]
        found[judged(*sides, slo=slo).verdict] += 1
    assert found["recovered"] + found["improved"] <= 5, found
    assert found["worse"] <= 5, found


def test_a_trade_is_decided_by_the_whole_request_or_by_the_user() -> None:
    """TTFT far better and TPOT worse: improved where E2E is better beyond chance, else the user must say."""
    half = traffic(LONG, 4, faster=1.5)
    slower = {**GOOD.columns, "tpot_s": half.columns["tpot_s"][: GOOD.n].mean() * 1.5 * np.ones(GOOD.n)}
    found = judged(half, replace(GOOD, columns=slower))
    assert found.verdict == "improved" and "E2E" in found.summary
    same = {**slower, "e2e_s": np.resize(half.columns["e2e_s"], GOOD.n)}
    open_ = judged(half, replace(GOOD, columns=same))
    assert open_.verdict == "inconclusive" and "--slo" in open_.summary


def waiting(work: float, slots: int = 4, seed: int = 4, seconds: float = 3000.0) -> Requests:
    """One service near its limit, carrying so much of its usual work; each request takes as long as ever."""
    return traffic(seconds, seed, rate=4.0 * work, slots=slots, tokens=43.0)


def test_a_few_per_cent_of_work_can_be_the_whole_of_a_change_in_waiting() -> None:
    """Nothing was mended: AFTER carried a seventh less, and near the limit that empties the queue."""
    found = judged(waiting(1.0), waiting(0.85, seed=5))
    running = next(c for c in found.checks if c.name == "running")
    assert (running.state, running.eases) == ("differs", "easier")
    assert found.verdict == "inconclusive" and "only the wait changed" in found.summary
    back = judged(waiting(0.85, seed=5), waiting(1.0))
    assert back.verdict == "inconclusive" and "it would be worse" in back.summary


def test_more_room_is_told_from_less_work() -> None:
    """As little less work, and half as many slots again: that AFTER served more at once is not the work's doing."""
    found = judged(waiting(1.0), waiting(0.85, slots=6, seed=5))
    assert next(c for c in found.checks if c.name == "running").eases == "none"
    assert found.verdict == "improved", found.summary


def test_paired_sides_show_what_each_carried() -> None:
    """The same requests sent twice as fast: aligned they share a clock, but the load is each side's own."""
    run = traffic(300, 6, slots=16)
    rids = np.array([f"r{i}" for i in range(run.n)], object)
    fast = replace(run, at=run.at / 2, rids=rids)
    found = judged(replace(run, rids=rids), fast)
    load = next(c for c in found.checks if c.name == "load")
    assert load.state == "differs" and load.incident != load.after
    assert [c.name for c in found.checks][3:5] == ["load", "running"]
