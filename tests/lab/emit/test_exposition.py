"""Metric pages: names and labels of each release, histograms cumulative, one value per series (§1, §15.1)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.registry import Collector

from ridgeline.lab.emit import buckets
from ridgeline.lab.emit.exposition import Family, Histogram, Scrape, page, scrape
from ridgeline.lab.emit.model import VERSIONS
from ridgeline.lab.emit.sglang_metrics import Counted, bounds_of, families
from ridgeline.lab.emit.vllm_metrics import families as vllm_families
from tests.lab.emit.made import server

SAMPLE = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{((?:[\w]+="[^"]*",?)*)\})? (-?[\d.]+(?:e[-+]?\d+)?|NaN|\+Inf)$')


def counted(version: str) -> Counted:
    queue = bounds_of(server(version), "queue")
    ttft = bounds_of(server(version), "ttft")
    one = Histogram((0, 1, *([0] * (len(queue) - 1))), 0.05)
    stream = (("is_streaming", "true"),)
    plain = (("is_streaming", "false"),)
    return Counted(
        ({"running": 3.0, "waiting": 0.0, "usage": 0.41, "used_tokens": 9.0, "hit_rate": 0.0, "bootstrap": 2.0},),
        {("prompt_tokens", None, stream): 10.0, ("prompt_tokens", None, plain): 5.0,
         ("cached_tokens", None, (("cache_source", "device"),)): 4.0, ("retracted", 0, ()): 1.0},
        {("queue", 0, ()): one, ("ttft", None, stream): Histogram((1, *([0] * len(ttft))), 0.1)},
    )  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_names_of_a_release(version: str) -> None:
    text = page(families(server(version), counted(version)))
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(SAMPLE.match(line) for line in lines)
    assert len(lines) == len({line.rsplit(" ", 1)[0] for line in lines})
    assert ("sglang:num_prefill_bootstrap_queue_reqs" in text) == (version == "0.5.23")
    assert ("sglang:num_prefill_prealloc_queue_reqs" in text) == (version != "0.5.23")
    assert ("sglang:num_retracted_requests_total" in text) == (version != "0.5.3")
    assert "sglang:num_retracted_reqs{" in text
    assert 'pid="' in next(line for line in lines if line.startswith("sglang:num_retracted_reqs"))
    running = next(line for line in lines if line.startswith("sglang:num_running_reqs{"))
    expected = 'engine_type="unified",model_name="llama-3.1-8b-instruct",'
    expected += "" if version == "0.5.3" else 'moe_ep_rank="0",'
    assert running == f'sglang:num_running_reqs{{{expected}pp_rank="0",tp_rank="0"}} 3.0'


def test_a_release_without_the_label_sums_over_it() -> None:
    assert 'sglang:prompt_tokens_total{model_name="llama-3.1-8b-instruct"} 15.0' in page(
        families(server("0.5.9"), counted("0.5.9"))
    )
    new = page(families(server(), counted("0.5.23")))
    assert (
        'sglang:prompt_tokens_total{engine_type="unified",is_streaming="false",model_name="llama-3.1-8b-instruct"} 5.0'
        in new
    )
    assert 'sglang:cached_tokens_total{cache_source="total",model_name=' in page(
        families(server("0.5.9"), counted("0.5.9"))
    )


def test_bounds_are_the_releases_own() -> None:
    assert 0.001 in bounds_of(server(), "queue")
    assert 0.001 not in bounds_of(server("0.5.9"), "queue")
    assert len(buckets.STAGE) == 30
    assert buckets.STAGE[1] == pytest.approx(0.00162)
    assert buckets.TTFT[0] == 0.1


@given(st.lists(st.integers(0, 50), min_size=4, max_size=4), st.floats(0, 1e6))
def test_histograms_are_cumulative_and_end_at_their_count(counts: list[int], total: float) -> None:
    text = page(
        [Family("x_seconds", "histogram", "x", (((("a", "b"),), Histogram(tuple(counts), total)),), (0.1, 1.0, 10.0))]
    )
    values = [float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if "_bucket" in line]
    assert values == sorted(values)
    assert values[-1] == sum(counts)
    assert f'x_seconds_count{{a="b"}} {float(sum(counts))!r}' in text
    assert 'le="+Inf"' in text


def test_vllm_page() -> None:
    s = server(engine="vllm", version="0.32.0", page_size=16)
    found = Counted(
        ({"running": 12.0, "waiting": 3.0, "usage": 0.88},), {("ended", 0, (("finished_reason", "stop"),)): 4.0}, {}
    )
    text = page(vllm_families(s, found))
    assert 'vllm:num_requests_waiting{engine="0",model_name="llama-3.1-8b-instruct"} 3.0' in text
    assert (
        'vllm:request_success_total{engine="0",finished_reason="stop",model_name="llama-3.1-8b-instruct"} 4.0' in text
    )
    assert (
        'vllm:request_success_total{engine="0",finished_reason="error",model_name="llama-3.1-8b-instruct"} 0.0' in text
    )


def test_a_scrape_says_when_and_what() -> None:
    assert scrape(1796011162.13944, 0.0293, 200, "http://h:1/metrics", "x 1.0\n").startswith(
        "#### scrape ts=1796011162.139440 took=0.0293 status=200 url=http://h:1/metrics\n"
    )


def test_both_are_written_by_prometheus_clients_own_collector() -> None:
    found = families(server(), counted("0.5.23"))
    collector: Collector = Scrape(found)
    assert page(found) == generate_latest(collector).decode()
    # as a server prints them: large figures in Go's way, quotes in a label escaped
    odd = page([Family("x", "gauge", "x", (((("key", 'a"b\n'),), 1234567.0),))])
    assert odd.splitlines()[-1] == 'x{key="a\\"b\\n"} 1.234567e+06'
