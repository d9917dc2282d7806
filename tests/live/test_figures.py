"""The live figures of both engines' expositions."""

import gzip
import re
from itertools import pairwise
from pathlib import Path

import pytest

from ridgeline.live.figures import Scraped, least_quantile, scraped, speed_between
from ridgeline.live.triggers import Watcher

VLLM = """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="0",model_name="m"}} {running}
vllm:num_requests_waiting{{engine="0",model_name="m"}} 0.0
vllm:kv_cache_usage_perc{{engine="0",model_name="m"}} 0.4
vllm:generation_tokens_total{{engine="0",model_name="m"}} {tokens}
vllm:request_success_total{{engine="0",finished_reason="stop",model_name="m"}} {done}
vllm:request_success_total{{engine="0",finished_reason="abort",model_name="m"}} {gone}
vllm:admission_rejections_total{{model_name="m",reason="max_num_queued_reqs"}} {refused}
vllm:request_time_per_output_token_seconds_bucket{{engine="0",le="0.05",model_name="m"}} {done}
vllm:request_time_per_output_token_seconds_bucket{{engine="0",le="+Inf",model_name="m"}} {done}
vllm:request_time_per_output_token_seconds_count{{engine="0",model_name="m"}} {done}
vllm:inter_token_latency_seconds_bucket{{engine="0",le="0.01",model_name="m"}} {fast}
vllm:inter_token_latency_seconds_bucket{{engine="0",le="0.5",model_name="m"}} {tokens}
vllm:inter_token_latency_seconds_bucket{{engine="0",le="+Inf",model_name="m"}} {tokens}
vllm:inter_token_latency_seconds_count{{engine="0",model_name="m"}} {tokens}
"""


def look(ts: float, *, running: float = 3, tokens: float = 0, done: float = 0, gone: float = 0, refused: float = 0,
         fast: float | None = None) -> Scraped:  # fmt: skip
    given = {"running": running, "tokens": tokens, "done": done, "gone": gone, "refused": refused,
             "fast": tokens if fast is None else fast}  # fmt: skip
    return scraped(ts, VLLM.format(**given).encode())


def test_vllm_says_the_same_in_other_words() -> None:
    before, after = look(10.0, tokens=1000, done=10), look(12.0, tokens=1800, done=14, gone=2, refused=3)
    assert after.total("running") == 3 and after.total("usage") == 0.4
    assert after.counters["finished"] == 16 and after.counters["aborted"] == 5
    assert speed_between(before, after) == 400.0


def test_gaps_of_tokens_and_times_per_request_are_kept_apart() -> None:
    """Both histograms have a word of their own: buckets of the one do not enter quantiles of the other."""
    before, after = look(1.0), look(2.0, tokens=1000, done=10, fast=500)
    assert least_quantile(before, after, "tpot", 0.9) == (0.0, 10.0)
    assert least_quantile(before, after, "gap", 0.9) == (0.01, 1000.0)


def test_vllm_throughput_that_falls_and_requests_that_are_turned_away_are_seen() -> None:
    slow, turned = Watcher("v"), Watcher("v")
    tokens, kinds = 0.0, set()
    for k in range(1, 60):
        tokens += 500 if k < 45 else 60
        kinds |= {alarm.kind for alarm in slow.seen(look(float(k), tokens=tokens, done=10.0 * k))}
        if k == 44:
            assert not kinds
    assert kinds == {"jump"}
    found = [alarm for k in range(1, 30) for alarm in
             turned.seen(look(float(k), tokens=500.0 * k, done=10.0 * k, refused=3.0 * max(0, k - 20)))]  # fmt: skip
    assert {alarm.kind for alarm in found} == {"aborts"}


@pytest.mark.shared
def test_a_real_vllm(shared_dir: Path) -> None:
    path = shared_dir / "real" / "vllm_0.32.0" / "run1" / "metrics.scrapes.txt.gz"
    pages = re.split(rb"^#### scrape ts=([\d.]+) [^\n]*\n", gzip.decompress(path.read_bytes()), flags=re.MULTILINE)[1:]
    looks = [scraped(float(ts), body) for ts, body in zip(pages[::2], pages[1::2], strict=True)]
    assert len(looks) > 20 and looks[-1].counters["finished"] > looks[0].counters["finished"]
    speeds = [v for a, b in pairwise(looks) if (v := speed_between(a, b)) is not None]
    assert max(speeds) > 10
    assert looks[-1].counts["gap"] > looks[-1].counts["tpot"] > 0
