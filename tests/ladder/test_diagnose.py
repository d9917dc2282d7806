"""Verdicts without a cause, windows, onset, symptoms, and that nothing is claimed of nothing."""

from typing import Any

import pytest

from ridgeline.bundle.view import view_of
from ridgeline.ladder.diagnose import diagnose
from ridgeline.ladder.frame import frame
from ridgeline.ladder.symptom import asked
from ridgeline.ladder.varying import balances
from ridgeline.model.diagnosis import Window
from ridgeline.words.catalogue import say
from tests.causes.rows import T0, Tables, decode, event, gauge, join, prefill, requests


def run(tables: Tables, symptom: str = "slow", **more: Any) -> Any:
    return diagnose(view_of(join(tables)), symptom, **more)


@pytest.mark.parametrize("symptom", ["slow", "hang", "memory", "stream"])
def test_a_calm_log_is_healthy(symptom: str) -> None:
    d = run({"batches": decode(12)}, symptom)
    assert (d.verdict, d.findings) == ("healthy", ())


@pytest.mark.parametrize("symptom", ["auto", "errors", "wrong-output", "disagg", "cache"])
def test_not_where_the_symptom_could_not_have_shown(symptom: str) -> None:
    assert run({"batches": decode(12)}, symptom).verdict == "inconclusive"


@pytest.mark.parametrize(
    "tables",
    [
        {},
        {"batches": decode(4)},
        {"batches": decode(12, gen_tps=None)},
        {"batches": decode(12, waiting=None)},
        {"batches": decode(12), "unread": [{"source": 1, "line": 99, "text": "boom", "severity": "error"}]},
        {"batches": decode(12), "events": event("other-error", text="boom")},
        {"batches": decode(12), "events": event("retraction")},
        {"batches": decode(12, usage=0.99)},
        {"requests": requests(40)},
    ],
)
def test_not_healthy_without_its_required_list(tables: Tables) -> None:
    d = run(tables)
    assert d.verdict == "inconclusive"
    assert [(f.cause, f.confidence) for f in d.findings] == [("unknown", "low")]


def test_a_start_slower_than_an_empty_cache_explains_is_no_clean_bill() -> None:
    later = requests(60, 20, first=100, ttft_s=0.2, queue_s=0.0, cached_tokens=400)

    def started(ttft_s: float) -> str:
        first = requests(5, 5, 3, ttft_s=ttft_s, queue_s=0.0, cached_tokens=0)
        return str(run({"batches": decode(40), "requests": first + later, "events": event("ready", start=0)}).verdict)

    assert [started(ttft_s) for ttft_s in (1.0, 2.4)] == ["healthy", "inconclusive"]


@pytest.mark.parametrize(
    "symptom", ["memory leak", "the server hangs", "cache hit rate fell", "garbled output", "out of memory"]
)
def test_a_symptom_is_never_evidence(symptom: str) -> None:
    d = run({"batches": decode(12)}, symptom)
    assert not [f for f in d.findings if f.confidence != "low"]


def test_a_steady_decline_of_a_hundredth_is_nothing() -> None:
    falling = decode(
        9, running=10, gen_tps=[205.8 - 0.2 * i for i in range(9)], tokens=[72310 + 400 * i for i in range(9)]
    )
    assert run({"batches": falling}).verdict == "healthy"


def test_the_end_of_a_closed_benchmark_is_nothing() -> None:
    running = [52, 41, 30, 25, 21, 16, 13, 10]
    ending = decode(8, running=running, gen_tps=[30.0 * r for r in running], graph=[False, False, *[True] * 6])
    assert run({"batches": ending}).verdict == "healthy"


def test_the_onset_of_a_watchdog_is_the_last_progress() -> None:
    d = run({"events": event("watchdog", start=400, value=300)}, "hang")
    assert (d.findings[0].cause, d.findings[0].onset_ts) == ("fault.hang", T0 + 100)


def test_a_change_is_found_and_splits_the_evidence() -> None:
    calm, queued = decode(60, 0, 2), decode(60, 120, 2, first_line=200, waiting=30, running=32)
    f = frame(view_of(join({"batches": [*calm, *queued]})), None, None)
    assert (f.how, f.signal) == ("change-point", "waiting")
    assert f.view.incident is not None and f.view.baseline is not None
    assert abs(f.view.incident.from_ts - (T0 + 120)) <= 2
    assert f.view.baseline.to_ts < f.view.incident.from_ts


@pytest.mark.parametrize("n", [10, 200])
def test_no_change_no_windows(n: int) -> None:
    f = frame(view_of(join({"batches": decode(n, waiting=[0, 1, 0, 2])})), None, None)
    assert (f.how, f.view.incident, f.view.baseline) == ("none", None, None)


def test_given_windows_stand() -> None:
    f = frame(view_of(join({"batches": decode(60)})), Window(T0 + 50, T0 + 60), Window(T0, T0 + 40))
    assert (f.how, f.view.incident, f.onset_ts) == ("given", Window(T0 + 50, T0 + 60), T0 + 50)


def test_more_arrivals_are_overload_where_no_limit_holds_the_queue() -> None:
    tables = join(
        {"batches": [*decode(50, 0, 2), *decode(50, 100, 2, first_line=90, running=[16, 22, 18, 25], waiting=30)]},
        {"requests": [*requests(50, 0, 2), *requests(200, 100, 0.5, first=500, queue_s=9.0, ttft_s=9.2)]},
        {"servers": [{"source": 1, "line": 1, "max_running": 256, "pool_tokens": 200_000}]},
    )
    d = run(tables, incident=Window(T0 + 100, T0 + 201), baseline=Window(T0, T0 + 99))
    assert d.findings[0].cause == "queue.arrival-overload"


def test_without_times_the_ladder_still_answers() -> None:
    batches = [
        {k: v for k, v in row.items() if k != "ts"} for row in decode(8, waiting=4, running=5, usage=1.0, tokens=80000)
    ]
    d = run({"batches": batches}, "memory")
    assert d.findings[0].cause == "memory.saturation"
    assert [a.rung for a in d.ladder if a.rung[0] == "A"] == ["A0", "A1", "A1b", "A2", "A2b", "A3", "A4", "A5"]
    assert d.ladder[2].state == "answered" and d.ladder[3].state == "cannot-tell" and d.ladder[3].missing


def test_next_is_a_literal_command_with_a_setting_of_that_engine() -> None:
    queued = {"batches": decode(20, waiting=20, running=12, usage=0.5), "requests": requests(4)}
    server = {"source": 1, "line": 1, "engine": "sglang", "max_running": 12}
    sglang = run({**queued, "servers": [server]}, sources=("my log.txt",))
    vllm = run({**queued, "servers": [{**server, "engine": "vllm"}]}, sources=("server.log",))
    assert sglang.next[0].startswith("ridgeline sample 'my log.txt' -o incident.scenario && ridgeline simulate ")
    assert "--vary max_running_requests=12,18,24" in sglang.next[0]
    assert "--vary max_num_seqs=12,18,24" in vllm.next[0]


def test_without_single_requests_there_is_nothing_to_sample() -> None:
    d = run({"batches": decode(20, waiting=20, running=12, usage=0.5)}, sources=("server.log",))
    assert d.findings[0].route == "simulate"
    assert "ridgeline sample" not in d.next[0] and "--log-requests" in d.next[0]


def test_balancing_methods_are_those_of_the_version() -> None:
    assert balances("0.5.23") == "round_robin,total_requests,total_tokens"
    assert balances("0.5.3.post1") == "round_robin,shortest_queue"
    assert balances("0.4.10") is None
    assert balances(None) == balances("0.5.9")


def test_representatives_stand_beside_a_twin_of_their_shape() -> None:
    slow = {"prompt_tokens": 4000, "ttft_s": 9.0}
    tables = {"requests": [*requests(40, prompt_tokens=[500, 4000]), *requests(4, 50, first=90, **slow)]}
    d = run(tables)
    rid, twin = d.representatives[0]
    shape = {r["rid"]: r["prompt_tokens"] for r in tables["requests"]}
    assert shape[rid] == 4000 and twin is not None and shape[twin] == 4000 and twin != rid


def test_a_hot_rank_is_local_and_named() -> None:
    hot = [*decode(20, dp_rank=0, waiting=20, running=12), *decode(20, 0.5, dp_rank=1, running=2, first_line=100)]
    d = run({"batches": hot})
    assert d.findings[0].cause == "routing.hot-key"
    assert d.findings[0].scope == (("dp_rank", ("0",)),)
    assert say(d.ladder[1].answer.key, dict(d.ladder[1].answer.figures)).startswith("local: DP0")


def test_scrapes_alone_carry_the_same_regime() -> None:
    d = run(
        join(
            gauge(1, "num_running_reqs", [12.0] * 20), gauge(2, "num_queue_reqs", [30.0] * 20),
            gauge(3, "token_usage", [0.5] * 20), {"servers": [{"source": 3, "line": 1, "max_running": 12}]},
        )
    )  # fmt: skip
    assert d.findings[0].cause == "queue.running-cap"


def test_many_prefills_into_an_empty_server_pause_nobody() -> None:
    burst = prefill(
        9, every=0.3, running=[7 * i for i in range(9)], waiting=[101 - 7 * i for i in range(9)], new_tokens=8192
    )
    d = run({"batches": burst}, "memory leak")
    assert d.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("text", "ladder"),
    [("", "auto"), ("auto", "auto"), ("memory", "memory"), ("TTFT is slow", "slow"), ("expected to hit", "cache")],
)
def test_symptoms(text: str, ladder: str) -> None:
    assert asked(text).ladder == ladder
