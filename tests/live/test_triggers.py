"""Triggers on composed scrapes: each goes off for what it is for, and for nothing else."""

import random

import pytest

from ridgeline.live.figures import Scraped, scraped
from ridgeline.live.triggers import Alarm, Watcher, alarm_in
from tests.live.serving import Engine


def at(ts: float, *, running: float = 4.0, waiting: float = 0.0, usage: float = 0.3, tps: float = 500.0,
       finished: float | None = None, ttft: float = 0.15, retracted: float = 0.0) -> Scraped:  # fmt: skip
    done = 20.0 * ts if finished is None else finished
    buckets = {
        0.1: 0.0,
        0.2: done if ttft <= 0.2 else 0.0,
        2.0: done if ttft <= 2 else 0.0,
        20.0: done,
        float("inf"): done,
    }
    return Scraped(
        ts, {"0": {"running": running, "waiting": waiting, "usage": usage, "gen_tps": tps}},
        {"finished": done, "generated": 100 * done, "retracted": retracted}, {"ttft": buckets},
        {"ttft": done * ttft}, {"ttft": done},
    )  # fmt: skip


def kinds(alarms: list[Alarm]) -> set[str]:
    return {alarm.kind for alarm in alarms}


def calm(watcher: Watcher, seconds: int = 40) -> None:
    rng = random.Random(1)
    for k in range(1, seconds):
        found = watcher.seen(at(float(k), waiting=rng.choice([0.0, 1.0, 3.0]), tps=500 + rng.uniform(-80, 80)))
        assert not found, found


def test_a_scrape_is_read() -> None:
    engine = Engine(ranks=3, running=7, waiting=2, labels=',pod="a"', padding=5000)
    found = scraped(1.0, engine.metrics().encode())
    assert sorted(found.ranks) == ["0", "1", "2"]
    assert found.total("running") == 21 and found.total("waiting") == 6
    assert found.counters["retracted"] == 0 and "ttft" in found.counts


@pytest.mark.parametrize("body", [b"", b"\x00\xff", b"sglang:num_running_reqs{", b"sglang:num_running_reqs{} 1e9e9\n",
                                  b"sglang:num_running_reqs NaN\n"])  # fmt: skip
def test_what_is_no_exposition_gives_nothing(body: bytes) -> None:
    assert scraped(1.0, body).total("running") is None


def test_an_ordinary_hour_raises_nothing() -> None:
    rng = random.Random(2)
    watcher, done = Watcher("s", {"ttft_p90": 5.0}), 0.0
    for k in range(1, 3600):
        done += rng.randint(10, 30)
        level = 3 + 3 * ((k // 300) % 2)
        found = watcher.seen(
            at(float(k), waiting=float(rng.randint(0, level)), tps=rng.uniform(300, 700), finished=done)
        )
        assert not found, (k, found)


def test_a_jump_of_the_queue_within_seconds() -> None:
    watcher = Watcher("s")
    calm(watcher)
    for k in range(40, 50):
        found = watcher.seen(at(float(k), waiting=60.0))
        if found:
            break
    assert kinds(found) == {"jump"} and found[0].ts - 40.0 <= 5.0 and found[0].since_ts == 40.0


def test_throughput_that_falls() -> None:
    watcher = Watcher("s")
    calm(watcher)
    found = [alarm for k in range(40, 46) for alarm in watcher.seen(at(float(k), tps=90.0))]
    assert kinds(found) == {"jump"} and "throughput fell" in found[0].detail


def test_an_slo_that_the_buckets_prove_missed() -> None:
    watcher = Watcher("s", {"ttft_p90": 1.0})
    calm(watcher, 15)
    found = [
        alarm
        for k in range(15, 30)
        for alarm in watcher.seen(at(float(k), ttft=5.0, finished=20.0 * 14 + 20 * (k - 14)))
    ]
    assert "slo" in kinds(found)
    # A quantile inside a bucket around the bound proves nothing.
    quiet = Watcher("s", {"ttft_p90": 0.15})
    calm(quiet, 30)


def test_frozen_counters_with_requests_inside() -> None:
    watcher = Watcher("s")
    calm(watcher)
    still = at(40.0, running=8.0, finished=800.0)
    found: list[Alarm] = []
    for k in range(40, 56):
        still = Scraped(float(k), still.ranks, still.counters, still.latency, still.sums, still.counts)
        found = watcher.seen(still)
        if found:
            break
    assert kinds(found) == {"frozen"} and 10 <= found[0].ts - 40.0 <= 12 and found[0].since_ts == 40.0
    idle = Watcher("s")
    for k in range(1, 60):
        assert not idle.seen(at(float(k), running=0.0, tps=0.0, finished=800.0)), "an idle server stands still"


def test_retractions_and_silence_and_a_restart() -> None:
    watcher = Watcher("s")
    calm(watcher)
    assert kinds(watcher.seen(at(40.0, retracted=12.0))) == {"retractions"}
    again = Watcher("s")
    calm(again)
    assert not again.seen(at(41.0, finished=3.0)), "counters that begin anew are no standstill and no jump"
    silent = Watcher("s")
    calm(silent)
    found = [alarm for k in range(3) for alarm in silent.missed(40.0 + k, "refused")]
    assert kinds(found) == {"silent"} and found[0].since_ts == 40.0
    assert not [a for k in range(9) for a in Watcher("s").missed(float(k), "")], "never seen: not gone"


def test_aborts_and_queues_of_disaggregation() -> None:
    watcher = Watcher("s")
    for k in range(1, 46):
        scrape = at(float(k))
        scrape.counters["aborted"] = 20.0 if k >= 40 else 0.0
        scrape.ranks["0"]["transfer"] = 60.0 if k >= 40 else 3.0
        found = watcher.seen(scrape)
        assert bool(found) == (k >= 40), (k, found)
        assert k != 44 or kinds(found) == {"aborts", "jump"}


def test_a_stepped_clock_raises_nothing() -> None:
    watcher = Watcher("s")
    calm(watcher)
    for k in range(40):
        assert not watcher.seen(at(1000.0 + k, finished=900.0 + 20 * k))
    for k in range(1, 40):
        assert not watcher.seen(at(500.0 + k, finished=2000.0 + 20 * k))


def test_lines_that_matter() -> None:
    line = b"[2026-11-30 03:40:01 TP0] Scheduler watchdog timeout (self.watchdog_timeout=300)\n"
    data = b"[2026-11-30 03:40:00] fine\n" + line
    found = alarm_in("server.log", data, 7.0)
    assert found is not None and found.kind == "line" and found.detail.startswith("[2026-11-30 03:40:01 TP0]")
    assert alarm_in("server.log", b"watchdog_timeout=300, enable_metrics=True\n", 7.0) is None


def page(finished: int, arrived: int, errors: int = 0) -> bytes:
    """Gauges that stand at nothing, and the counters of the HTTP server."""
    path = 'endpoint="/v1/completions",method="POST"'
    return (
        "sglang:num_running_reqs 0.0\nsglang:num_queue_reqs 0.0\nsglang:gen_throughput 0.0\n"
        f"sglang:num_requests_total {finished}\nsglang:http_requests_total{{{path}}} {arrived}\n"
        f'sglang:http_requests_total{{endpoint="/health",method="GET"}} {arrived * 7}\n'
        f'sglang:http_responses_total{{{path},status_code="400"}} {errors}\n'
    ).encode()


def test_requests_that_arrive_at_gauges_of_nothing_and_never_end() -> None:
    watcher = Watcher("s")
    for k in range(1, 30):
        assert not watcher.seen(scraped(float(k), page(3 * k, 3 * k)))
    found: list[Alarm] = []
    for k in range(30, 45):
        found = watcher.seen(scraped(float(k), page(87, 3 * k)))
        if found:
            break
    assert kinds(found) == {"frozen"} and found[0].since_ts == 30.0 and found[0].ts == 40.0
    refused, idle, cold = Watcher("s"), Watcher("s"), Watcher("s")
    for k in range(1, 60):
        assert not refused.seen(scraped(float(k), page(9, 9 + k, errors=k))), "what is turned away is not inside"
        assert not idle.seen(scraped(float(k), page(9, 9))), "health probes are no requests"
        assert not cold.seen(scraped(float(k), page(0, k))), "the first request of all may take its time"


def test_a_health_probe_that_fails_while_metrics_answer() -> None:
    watcher = Watcher("s")
    assert not watcher.health(0.5, 200, "")
    calm(watcher)
    for k in range(40, 46):
        assert not watcher.seen(at(float(k), finished=800.0, tps=500.0)) or k > 40
    found = watcher.health(45.0, 0, "no whole answer within 10 s")
    assert kinds(found) == {"unwell"} and found[0].since_ts == 40.0 and "within 10 s" in found[0].detail
    assert not watcher.health(75.0, 503, "HTTP 503"), "once"
    assert not watcher.health(76.0, 200, "") and kinds(watcher.health(77.0, 503, "HTTP 503")) == {"unwell"}


def test_a_server_that_starts_or_is_gone_is_not_unwell() -> None:
    starting = Watcher("s")
    calm(starting)
    found = [starting.health(40.0 + 30 * k, 503, "HTTP 503") for k in range(4)]
    assert [bool(alarms) for alarms in found] == [False, False, True, False], "for minutes it is no longer a start"
    gone = Watcher("s")
    assert not gone.health(0.5, 200, "")
    calm(gone)
    gone.missed(40.0, "refused")
    assert not gone.health(41.0, 0, "refused"), "that is `silent`"
    other = Watcher("s")
    assert not other.health(0.5, 200, "") and not other.health(1.0, 401, "") and other.unwell == 0
