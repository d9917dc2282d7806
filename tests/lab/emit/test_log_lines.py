"""Server log lines against shapes written from the format reference (§2.4, §6.1-§6.8)."""

import re

import pytest

from ridgeline.lab.emit import disagg, life
from ridgeline.lab.emit.batches import batch_line, retraction_line
from ridgeline.lab.emit.model import VERSIONS, Retraction
from ridgeline.lab.emit.startup import startup_lines
from ridgeline.lab.emit.time_stats import time_stats_line
from tests.lab.emit.made import T, apart, decode, prefill, request, server

PREFIX = r"^\[(?P<ts>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?P<ranks>(?: (?:DP|PP|ATTN_CP|MOE_DP|TP|EP)\d+)*)\] "
PREFILL = PREFIX + (
    r"Prefill batch(?:\.|,) #new-seq: (?P<new_seq>\d+), #new-token: (?P<new_tok>\d+), #cached-token: (?P<cached>\d+), "
    r"(?P<rest>.*)$"
)
DECODE = PREFIX + r"Decode batch(?:\.|,) #running-req: (?P<run>\d+), (?P<rest>.*)$"
ITEM = r"(#?[A-Za-z][A-Za-z0-9 +./()-]*?): (-?[\d.]+%?|True|False|nan)(?:,|\s|$)"
STATS = PREFIX + (
    r"(?:ReqTimeStats|Req Time Stats)\(rid=(?P<rid>[^,]+)(?:, bootstrap_room=(?P<room>\d+|None))?, "
    r"input[_ ]len=(?P<inp>\d+)"
    r"(?:, cached_input_len=(?P<cached>\d+))?, output[_ ]len=(?P<out>\d+)(?:, attempts=(?P<att>\d+))?, "
    r"type=(?P<type>\w+)\): "
    r"(?P<rest>.*)$"
)
RETRACT = PREFIX + (
    r"KV cache pool is full\. Retract requests\. #retracted_reqs: (?P<n>\d+)(?:, #aborted_retracted_reqs: (?P<ab>\d+))?"
    r"(?:, #new_tokens_gained: (?P<g>-?\d+))?, #new_token_ratio: (?P<a>[\d.]+) -> (?P<b>[\d.]+)$"
)
MAXTOK = (
    r"max_total_num_tokens=(\d+), chunked_prefill_size=(-?\d+|None), max_prefill_tokens=(\d+), "
    r"max_running_requests=(\d+), "
    r"context_len=(\d+), available_gpu_mem=([\d.]+) GB"
)


def keys(rest: str) -> list[str]:
    return [k for k, _ in re.findall(ITEM, rest)]


PREFILL_KEYS = {
    ("0.5.3", "unified"): ["token usage", "#running-req", "#queue-req"],
    ("0.5.3", "prefill"): ["token usage", "#running-req", "#queue-req", "#prealloc-req", "#inflight-req"],
    ("0.5.9", "unified"): ["token usage", "#running-req", "#queue-req", "input throughput (token/s)", "cuda graph"],
    ("0.5.9", "prefill"): [
        "token usage",
        "#running-req",
        "#queue-req",
        "#prealloc-req",
        "#inflight-req",
        "input throughput (token/s)",
        "cuda graph",
    ],
    ("0.5.23", "unified"): [
        "token usage",
        "#running-req",
        "#queue-req",
        "#pending-token",
        "cuda graph",
        "input throughput (token/s)",
    ],
    ("0.5.23", "prefill"): [
        "token usage",
        "#running-req",
        "#queue-req",
        "#pending-token",
        "#bootstrap-req",
        "#inflight-req",
        "#optimistic-req",
        "cuda graph",
        "input throughput (token/s)",
    ],
}


@pytest.mark.parametrize(("version", "role"), sorted(PREFILL_KEYS))
def test_prefill_lines_have_the_keys_of_their_release_in_order(version: str, role: str) -> None:
    text = batch_line(server(version, role), prefill()).text
    found = re.match(PREFILL, text)
    assert found is not None
    assert (found["new_seq"], found["new_tok"], found["cached"]) == ("3", "4096", "1024")
    assert keys(found["rest"]) == PREFILL_KEYS[(version, role)]
    assert text.startswith("[2026-11-30 03:59:22] Prefill batch" + ("." if version == "0.5.3" else ","))
    assert text.endswith(", ") == (version == "0.5.3")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("role", ["unified", "decode"])
def test_decode_lines_have_the_keys_of_their_release_in_order(version: str, role: str) -> None:
    text = batch_line(server(version, role), decode()).text
    found = re.match(DECODE, text)
    assert found is not None
    extra = ["pre-allocated usage", "#prealloc-req", "#transfer-req", "#retracted-req"] if role == "decode" else []
    assert found["run"] == "64"
    assert keys(found["rest"]) == [
        "#token",
        "token usage",
        *extra,
        "cuda graph",
        "gen throughput (token/s)",
        "#queue-req",
    ]
    assert text.endswith(", ") == (version == "0.5.3")
    assert "token usage: 0.85" in text


def test_speculation_adds_length_and_rate() -> None:
    batch = decode(accept_length=2.5, draft_tokens=4)
    assert "accept len: 2.50, accept rate: 0.50, " in batch_line(server("0.5.9"), batch).text
    assert "accept rate" not in batch_line(server("0.5.3"), batch).text


def test_rank_tokens_only_for_active_dimensions() -> None:
    assert batch_line(server(dp_size=4, tp_size=2), decode(rank=3)).text.startswith("[2026-11-30 03:59:22 DP3 TP0] ")
    assert batch_line(server(tp_size=2), decode()).text.startswith("[2026-11-30 03:59:22 TP0] ")


BODIES = {
    ("0.5.3", "unified"): r"queue_duration=[\d.]+ms, forward_duration=[\d.]+ms, start_time=[\d.]+",
    (
        "0.5.3",
        "prefill",
    ): r"bootstrap_duration=[\d.]+ms, queue_duration=[\d.]+ms, forward_duration=[\d.]+ms, start_time=[\d.]+",
    ("0.5.3", "decode"): r"prealloc_duration=[\d.]+ms, transfer_duration=[\d.]+ms, queue_duration=[\d.]+ms, "
    r"forward_duration=[\d.]+ms, start_time=[\d.]+",
    ("0.5.9", "unified"): r"queue_duration=[\d.]+ms, forward_duration=[\d.]+ms, start_time=[\d.]+",
    ("0.5.9", "prefill"): r"bootstrap_queue_duration\([\d.]+ms\) = alloc_wait\([\d.]+ms\) \+ bootstrap\([\d.]+ms\) \+ "
    r"other\([\d.]+ms\); queue_duration=[\d.]+ms, forward_duration=[\d.]+ms, start=[\d.]+, transfer_speed=[\d.]+GB/s, "
    r"transfer_total=[\d.]+MB, #retries=\d+",
    ("0.5.9", "decode"): r"prealloc_queue_duration\([\d.]+ms\) = alloc_wait\([\d.]+ms\) \+ bootstrap\([\d.]+ms\) \+ "
    r"other\([\d.]+ms\); transfer_duration=[\d.]+ms; queue_duration=[\d.]+ms, forward_duration=[\d.]+ms, start=[\d.]+",
    ("0.5.23", "unified"): r"queue_duration=[\d.]+ms, forward_duration=[\d.]+ms, entry_time=\d+\.\d{3}",
    ("0.5.23", "prefill"): r"bootstrap_duration=[\d.]+ms, queue_duration=[\d.]+ms, forward_duration=[\d.]+ms, "
    r"entry_time=\d+\.\d{3}, transfer_speed=[\d.]+ GB/s, transfer_total=[\d.]+ MB",
    ("0.5.23", "decode"): r"bootstrap_duration=[\d.]+ms, alloc_wait_duration=[\d.]+ms, transfer_duration=[\d.]+ms, "
    r"queue_duration=[\d.]+ms, forward_duration=[\d.]+ms, entry_time=\d+\.\d{3}",
}


@pytest.mark.parametrize(("version", "role"), sorted(BODIES))
def test_timing_lines_by_release_and_role(version: str, role: str) -> None:
    r = request() if role == "unified" else apart(role)
    found = re.match(STATS, time_stats_line(server(version, role), r).text)
    assert found is not None
    assert (found["inp"], found["out"], found["type"]) == ("2048", "128", role)
    assert found["cached"] == ("512" if version == "0.5.23" else None)
    assert found["room"] == ("8812" if role != "unified" else None)
    assert re.fullmatch(BODIES[(version, role)], found["rest"])


def test_timing_figures_are_the_stamps() -> None:
    text = time_stats_line(server("0.5.23", "decode"), apart("decode")).text
    assert "bootstrap_duration=3.00ms, alloc_wait_duration=193.00ms, transfer_duration=200.00ms" in text
    assert "entry_time=1796011162.254" in text
    assert "start_time=4011162.254" in time_stats_line(server("0.5.9"), request()).text  # the host's own clock


@pytest.mark.parametrize("version", VERSIONS)
def test_retractions(version: str) -> None:
    found = re.match(RETRACT, retraction_line(server(version), Retraction(T, 0, 2, 8192, 0.2210, 0.6432)).text)
    assert found is not None
    assert (found["n"], found["a"], found["b"]) == ("2", "0.2210", "0.6432")
    assert (found["g"], found["ab"]) == ((None, "0") if version == "0.5.3" else ("8192", None))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_start_names_its_sizes_on_every_rank(version: str) -> None:
    lines = startup_lines(server(version, dp_size=2))
    pools = [line for line in lines if re.search(MAXTOK, line.text)]
    assert [re.search(r" (DP\d)\] ", line.text)[1] for line in pools] == ["DP0", "DP1"]  # type: ignore[index]
    assert re.search(r"server_args=(?:ServerArgs\(model_path=|\{'model_path': )", lines[0].text)
    assert lines[-1].text.endswith("The server is fired up and ready to roll!")
    assert all(re.match(PREFIX, line.text) for line in lines)


def test_ends_and_failures() -> None:
    old, new = server("0.5.3"), server()
    assert life.watchdog(old, T, 0)[0].text.endswith("] Watchdog timeout (self.watchdog_timeout=300)")
    assert life.watchdog(new, T, 0)[0].text.endswith(
        "] Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)"
    )
    crash = life.cuda_oom(new, T, 0, 512.0, 100.0)[0].text
    assert re.search(r"Scheduler hit an exception: Traceback \(most recent call last\):\n  File ", crash)
    assert crash.splitlines()[-1].startswith(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB."
    )
    assert "terminated with -9" in life.killed(old, T, 0)[0].text
    assert re.search(r"Subprocess scheduler_0 \(pid=\d+\) crashed with exit code -9\.", life.killed(new, T, 0)[0].text)
    reason = disagg.timed_out(12, 300.0, "WaitingForInput")
    assert reason == "Request 12 timed out after 300.0s in KVPoll.WaitingForInput"
    failed = re.search(
        r"(?P<what>Prefill bootstrap|Prefill transfer|Decode handshake|Decode transfer) failed for request "
        r"(?:rank=(?P<rank>\d+) )?"
        r"\S*req\.rid='?(?P<rid>[^' ]+)'? \S*req\.bootstrap_room=(?P<room>\d+)(?: with exception (?P<exc>.*))?",
        disagg.failure(new, T, 0, "Decode transfer", "r1", 12, reason).text,
    )
    assert failed is not None
    assert (failed["rid"], failed["room"], failed["exc"]) == (
        "r1",
        "12",
        f"KVTransferError(bootstrap_room=12): {reason}",
    )
    assert re.search(
        r'INFO:     10\.9\.1\.2:40100 - "POST /generate HTTP/1\.1" 503 Service Unavailable$',
        life.access_line(new, T, "10.9.1.2:40100", "POST", "/generate", 503).text,
    )
