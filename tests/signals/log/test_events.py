# ruff: noqa: E501 (lines as logs have them)
"""Events: memory, requests, the life of a server, disaggregation; what a cut or hostile line must not become."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.words.events import EVENTS
from tests.signals.log.given import log

T = "[2026-11-30 03:37:55 DP1 TP0] "
PD = "req.rid='r1' decode_req.req.bootstrap_room=8812"
LINES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    # memory
    ("Decode out of memory happened. #retracted_reqs: 1, #new_token_ratio: 0.1612 -> 0.2037", "retraction", {"count": 1}, {"ratio_before": "0.1612", "ratio_after": "0.2037"}),
    ("KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_token_ratio: 0.1612 -> 0.2037", "retraction", {"count": 3}, {}),
    ("KV cache pool is full. Retract requests. #retracted_reqs: 3, #aborted_retracted_reqs: 1, #new_token_ratio: 0.1612 -> 0.2037", "retraction", {"count": 3}, {"aborted": "1"}),
    ("KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_tokens_gained: 8192, #new_token_ratio: 0.2210 -> 0.6432", "retraction", {"count": 2, "severity": "warning"}, {"gained_tokens": "8192"}),
    ("KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_tokens_gained: 8192, #mamba_num_gained: 4, #new_token_ratio: 0.2210 -> 0.6432", "retraction", {"count": 2}, {"gained_mamba": "4"}),
    ("Testing retraction. #retracted_reqs: 2, #new_tokens_gained: 8192, #new_token_ratio: 0.2210 -> 0.6432", "retraction", {"count": 2, "severity": "info"}, {"test": True}),
    ("retract_decode: aborted last request abc-1 due to OOM", "request-too-large", {"rid": "abc-1"}, {}),
    ("Request r9 exceeds the maximum number of tokens: 9000 > 4096", "request-too-large", {"rid": "r9", "value": 9000.0}, {"limit_tokens": "4096"}),
    ("token_to_kv_pool_allocator memory leak detected! available_size=1, ", "pool-leak-check", {}, {}),
    ("alloc_req_slots runs out of memory. Please set a smaller number for `--max-running-requests`. x", "slots-exhausted", {"severity": "fatal"}, {}),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.50 GiB is free.", "cuda-oom", {"severity": "fatal"}, {"tried_bytes": 2 << 30, "free_bytes": 3 << 29}),
    ("RuntimeError: Decode out of memory. Try to lower your batch size.", "pool-full", {}, {"phase": "decode"}),
    ("OSError: [Errno 28] No space left on device", "disk-full", {}, {}),
    # requests
    ("Abort queued request. req.rid='r2'", "abort", {"rid": "r2"}, {"where": "queued"}),
    ("The request queue is full.", "queue-full", {}, {}),
    ("Request waiting timeout reached.", "request-timeout", {}, {"what": "waiting"}),
    ("Received output for rid='abc' but the state was deleted in TokenizerManager.", "tokenizer", {"rid": "abc"}, {}),
    ("Streaming backlog: rid=q1, coalescing 12 queued chunks into one. The client is slow", "streaming-backlog", {"rid": "q1", "count": 12}, {}),
    ("Decode status not found for request q1. It may be due to the request being evicted", "detokenizer", {"rid": "q1"}, {}),
    ("Hit invalid json_schema: x, e", "grammar", {}, {"type": "json_schema"}),
    ("Grammar accept_token failed for req q1 with token 12", "grammar", {"rid": "q1"}, {}),
    ("Start load Lora adapter. Lora name=fin-1", "lora", {}, {"lora": "fin-1"}),
    # the server
    ("The server is fired up and ready to roll!", "ready", {"severity": "info"}, {}),
    ("Watchdog timeout (self.watchdog_timeout=300)", "watchdog", {"value": 300.0}, {}),
    ("Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)", "watchdog", {"value": 300.0}, {"name": "Scheduler", "soft": "False"}),
    ("Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. tic start time: 10:00:00. last_heartbeat time: 09:59:30", "health-fail", {"value": 20.0}, {"heartbeat": "09:59:30"}),
    ("SIGQUIT received. signum=None, frame=None. It usually means one child failed.", "crash", {}, {}),
    ("Subprocess scheduler_0 (pid=23237) crashed with exit code -9. Triggering SIGQUIT for cleanup...", "crash", {}, {"exit_code": "-9", "process": "scheduler_0"}),
    ("Scheduler or DataParallelController 812 terminated with -11", "crash", {}, {"exit_code": "-11"}),
    ("SIGTERM received. signum=None frame=None. Draining requests and shutting down...", "shutdown", {}, {}),
    ("Gracefully exiting... Remaining number of requests 4. Remaining requests remaining_rids=[].", "shutdown", {"count": 4}, {}),
    ("Dumped 176 finished and 13 unfinished requests before crash to /x/y.pkl", "crash-dump", {}, {"finished": "176", "unfinished": "13"}),
    ("Cache flushed successfully!", "cache-flushed", {}, {}),
    ("Update engine weights online from disk begin. avail mem=1.00 GB", "weights-updated", {}, {}),
    ("Config logging: obj=ConfigureLoggingReq(log_requests=True)", "config-changed", {}, {}),
    ("[full] total=2203648, available=512, evictable=2199040, protected=0, session_held=0, uncached=0", "pool-status", {}, {"pool": "full", "available": "512", "evictable": "2199040"}),
    ("self.cur_batch.batch_size()=96, self.cur_batch.reqs=[Req(rid=2016, input_ids=[1, 1, 6", "scheduler-status", {"count": 96}, {}),
    # start-up
    ("KV Cache is allocated. #tokens: 4096, K size: 0.50 GB, V size: 0.50 GB", "startup", {}, {"pool_tokens": "4096"}),
    ("Capture decode CUDA graph end. elapsed=12.50 s, mem usage=1.00 GB, avail mem=3.00 GB", "warmup", {"value": 12.5}, {"step": "end"}),
    # disaggregation
    (f"Decode transfer failed for request rank=11 decode_{PD} with exception KVTransferError(bootstrap_room=8812): Request 8812 timed out after 600.0s in KVPoll.WaitingForInput", "kvpoll-timeout", {"rid": "r1", "room": 8812, "value": 600.0, "severity": "error"}, {"state": "WaitingForInput", "side": "decode"}),
    ("Prefill bootstrap failed for request rank=5 req.rid='r1' req.bootstrap_room=8812 with exception KVTransferError(bootstrap_room=8812): Request 8812 timed out after 300.0s in KVPoll.Bootstrapping", "kvpoll-timeout", {"room": 8812, "value": 300.0}, {"state": "Bootstrapping", "side": "prefill"}),
    ("Prefill bootstrap failed for request rank=5 req.rid='r1' req.bootstrap_room=8812", "bootstrap-failed", {"rid": "r1", "room": 8812}, {"side": "prefill"}),
    ("Prefill bootstrap failed for request rank=5 req.rid='r1' req.bootstrap_room=8812 with exception KVTransferError(bootstrap_room=8812): follow_bootstrap_room conflict: x", "room-mismatch", {"room": 8812}, {"side": "prefill"}),
    ("Prefill transfer failed for request rank=5 req.rid='r1' req.bootstrap_room=8812 with exception x", "transfer-failed", {"room": 8812}, {"side": "prefill"}),
    (f"Decode handshake failed for request decode_{PD}", "handshake-failed", {"rid": "r1", "room": 8812}, {"side": "decode"}),
    (f"Decode transfer failed for request rank=0 decode_{PD} with exception KVTransferError(bootstrap_room=8812): Aborted by AbortReq.", "abort", {"room": 8812, "severity": "info"}, {"by": "client", "side": "decode"}),
    (f"Decode transfer failed for request rank=0 decode_{PD} with exception KVTransferError(bootstrap_room=8812): Prefill server with bootstrap_addr: 10.0.0.1:8998 is healthy before, but now it is down. x", "transfer-failed", {"peer": "10.0.0.1:8998"}, {"peer_lost": True}),
    ("Lost connection with prefill instance (bootstrap_addr: 10.0.0.1:8998), 7 requests affected", "peer-lost", {"peer": "10.0.0.1:8998", "count": 7}, {"side": "decode"}),
    ("Could not fetch prefill parallel info from 10.0.0.1:8998 after 5 attempts", "peer-unreachable", {"peer": "10.0.0.1:8998"}, {"attempts": "5"}),
    ("Session 10.0.0.9:1234 failed.", "session-failed", {"peer": "10.0.0.9:1234"}, {}),
    ("Transfer thread failed because of E. Prefill instance with bootstrap_port=8998 is dead.", "peer-lost", {}, {"port": "8998"}),
    ("NIXL transport error for room 77: boom", "transfer-failed", {"room": 77}, {"backend": "nixl"}),
    ("Context corruption detected: Request r1 (bootstrap_room=1) received metadata from bootstrap_room=2. x", "room-mismatch", {}, {}),
    ("Deferred KV release for room 5 timed out after 30.0s x", "kv-released", {"room": 5, "value": 30.0}, {}),
    ("[STAGING_REQ] alloc failed room=5 chunk=2 (need 900 bytes, buffer total=100 bytes)", "staging", {"room": 5}, {"need_bytes": "900", "total_bytes": "100"}),
    ("[STAGING] room=5 not complete 30.0s after all-ranks Success x", "staging", {"room": 5, "value": 30.0}, {}),
    ("Prefill staging too small (x), falling back", "staging", {}, {"side": "Prefill"}),
    ("Page size mismatch: prefill server has page_size=64, but decode server has page_size=1. x", "config-mismatch", {}, {"prefill": "64", "decode": "1"}),
    ("[Metrics] Transfer Engine Throughput: 4.71 MB/s (over last 5s)", "transfer-rate", {"value": 4.71}, {"over_s": "5"}),
]  # fmt: skip


def events(text: str) -> list[dict[str, Any]]:
    return log(text)[1]["events"]


@pytest.mark.parametrize(
    ("line", "kind", "columns", "attrs"), LINES, ids=[f"{k}-{i}" for i, (_, k, _, _) in enumerate(LINES)]
)
def test_each_wording_is_its_kind(line: str, kind: str, columns: dict[str, Any], attrs: dict[str, Any]) -> None:
    (row,) = events(f"{T}{line}\n")
    assert row["kind"] == kind and kind in EVENTS
    assert (row["dp_rank"], row["tp_rank"], row["line"]) == (1, 0, 1)
    assert row["text"] == line[:500]
    for name, value in columns.items():
        assert row[name] == value, name
    found = json.loads(row.get("attrs", "{}"))
    for name, value in attrs.items():
        assert str(found[name]) == str(value), name


def test_a_retraction_seen_by_several_ranks_is_one_happening() -> None:
    text = "".join(
        f"[2025-03-15 06:17:{s:02d} TP{tp}] Decode out of memory happened. #retracted_reqs: 1, #new_token_ratio: {r} -> 0.2037\n"
        for s, r in ((8, "0.1612"), (17, "0.0980"))
        for tp in (14, 11, 9)
    )
    assert [(row["count"], row["copies"]) for row in events(text)] == [(1, 3), (1, 3)]


def test_two_requests_of_one_rank_are_two_failures() -> None:
    text = "".join(
        f"[2025-10-22 07:48:12 DP11 TP11] Decode transfer failed for request rank=11 decode_req.req.rid='{rid}' decode_req.req.bootstrap_room={room}\n"
        for rid, room in (("a", 5708279180924515753), ("b", 5708279180924515754))
    )
    assert [(row["rid"], row["room"]) for row in events(text)] == [
        ("a", 5708279180924515753),
        ("b", 5708279180924515754),
    ]


def test_a_pool_that_is_full_is_one_event_with_its_figures() -> None:
    reading, tables = log(
        "RuntimeError: Decode out of memory. Try to lower your batch size.\nTry to allocate 173 tokens.\nAvaliable tokens: 2560\n"
        "self.token_to_kv_pool_allocator.available_size()=2560\nself.tree_cache.evictable_size()=7\n"
    )
    (row,) = tables["events"]
    assert (row["kind"], row["value"]) == ("pool-full", 173.0)
    assert json.loads(row["attrs"]) == {"available": 2560, "evictable": 7, "phase": "decode"}
    assert reading.understood == 5


def test_the_last_figure_of_a_cut_file_does_not_count() -> None:
    (row,) = events(
        "RuntimeError: Decode out of memory. Try to lower your batch size.\nTry to allocate 173 tokens.\nAvaliable tokens: 25"
    )
    assert row["value"] == 173.0
    assert "available" not in json.loads(row["attrs"])


def test_a_crash_with_its_trace() -> None:
    reading, tables = log(
        f"{T}Scheduler hit an exception: Traceback (most recent call last):\n"
        '  File "/a/scheduler.py", line 12, in run\n    self.step()\n    ^^^^^^^^^^^\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB.\n\n"
        "[2026-11-30 03:37:56] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n"
    )
    kinds = [row["kind"] for row in tables["events"]]
    assert kinds.count("traceback") == 1 and kinds.count("cuda-oom") == 1 and kinds.count("crash") == 2
    trace = next(row for row in tables["events"] if row["kind"] == "traceback")
    assert trace["text"].startswith("torch.OutOfMemoryError")
    assert reading.unparsed == 0


def test_source_text_in_a_trace_is_no_event() -> None:
    found = events(
        'Traceback (most recent call last):\n  File "/a/b.py", line 1, in f\n    raise ValueError("The request queue is full. CUDA out of memory")\n'
        "ValueError: something else\n"
    )
    assert [row["kind"] for row in found] == ["traceback"]


def test_a_native_crash_names_its_functions() -> None:
    reading, tables = log(
        "[node:9184:1:9733] Caught signal 11 (Segmentation fault: address not mapped)\n==== backtrace (tid:   9733) ====\n"
        " 0  /opt/libucs.so.0(ucs_handle_error+0x2a1) [0x7ec208114ba1]\n 4  /opt/libuct.so.0(uct_tcp_ep_am_bcopy+0x91) [0x7ec200631091]\n"
    )
    (row,) = tables["events"]
    assert row["kind"] == "crash"
    assert json.loads(row["attrs"])["functions"] == ["ucs_handle_error", "uct_tcp_ep_am_bcopy"]
    assert reading.unparsed == 0


@pytest.mark.parametrize(
    "text", ["Killed\n", "Memory cgroup out of memory: Killed process 12 (python)\n", "State: OOMKilled\n"]
)
def test_the_kernel_killed_it(text: str) -> None:
    assert [row["kind"] for row in events(f"{T}hello\n" + text)][-1:] == ["host-oom"]


def test_what_dies_after_sigterm_was_stopped() -> None:
    died = f"{T}Subprocess scheduler_0 (pid=1) crashed with exit code -15. Triggering SIGQUIT for cleanup...\n"
    assert [row["kind"] for row in events(died)] == ["crash"]
    stopped = events(f"{T}SIGTERM received. signum=None frame=None. Draining requests and shutting down...\n{died}")
    assert [row["kind"] for row in stopped] == ["shutdown", "shutdown"]
    assert json.loads(stopped[1]["attrs"])["was"] == "crash"
    later = died.replace("03:37:55", "05:37:55")
    assert "crash" in [row["kind"] for row in events(f"{T}SIGTERM received. signum=None frame=None. x\n{later}")]


def test_a_second_start_is_a_restart() -> None:
    start = "[2026-11-30 03:3{}:55] server_args=ServerArgs(model_path='m', tp_size=2, disaggregation_mode='null')\n"
    found = events(start.format(1) + f"{T}The server is fired up and ready to roll!\n" + start.format(9))
    assert [(row["kind"], row["line"]) for row in found] == [("ready", 2), ("restart", 3)]


@pytest.mark.parametrize(
    "wrap",
    [
        '{{"timestamp": "2026-11-30T03:41:02.1", "event": "request.received", "rid": "a", "obj": {{"text": "{}',
        "Receive: obj=GenerateReqInput(rid='a', text='{}",
        "Finish: obj=GenerateReqInput(rid='a', text='{}', out={{",
    ],
)
def test_a_request_s_own_words_are_no_events(wrap: str) -> None:
    words = [wrap.format(line.replace("'", "").replace('"', "")) for line, _, _, _ in LINES]
    assert events("".join(f"[2026-11-30 03:37:55] {body}\n" for body in words)) == []


@given(st.sampled_from([line for line, _, _, _ in LINES]), st.data())
@settings(max_examples=60, deadline=None)
def test_a_cut_event_never_gets_a_wrong_figure(line: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(line)))
    inside = line[max(at - 1, 0) : at + 1].isdigit() and 0 < at < len(line)
    newline = not inside and data.draw(st.booleans())  # a newline inside a number hides the cut
    (whole,) = events(f"{T}{line}\n")
    before = json.loads(whole.get("attrs", "{}"))
    for row in events(f"{T}{line[:at]}" + ("\n" if newline else "")):
        if row["kind"] != whole["kind"]:
            continue  # less of a line may say less
        for name in ("count", "value", "room"):
            if name in row and not _default_count(name, row):
                assert row[name] == whole.get(name), name
        for name, value in json.loads(row.get("attrs", "{}")).items():
            if name not in ("what", "by", "side", "test", "what_for") and str(value).lstrip("-").isdigit():
                assert str(value) == str(before.get(name)), name


def _default_count(name: str, row: dict[str, Any]) -> bool:
    return name == "count" and row[name] == 1


@given(st.lists(st.sampled_from([line for line, _, _, _ in LINES]), min_size=2, max_size=6), st.data())
@settings(max_examples=30, deadline=None)
def test_mixed_and_mangled_lines_never_crash(parts: list[str], data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(["", " ", "\n", "\n" + T, "\x1b[0m"])).join(parts)
    at = data.draw(st.integers(0, len(text)))
    log(T + text[at:] + text[:at])


def test_the_sum_and_its_parts_keep_their_names() -> None:
    (row,) = events(
        "RuntimeError: Out of memory. Try to lower your batch size.\nTry to allocate 512 tokens.\n"
        "Available full tokens: 2560 (full_available_size=2000 + full_evictable_size=560)\n"
    )
    assert row["value"] == 512.0
    assert json.loads(row["attrs"]) == {"full_available": 2000, "full_evictable": 560, "full_free_or_evictable": 2560}


def test_a_soft_watchdog_only_warns() -> None:
    text = "Scheduler watchdog timeout (self.watchdog_timeout=60, self.soft={})\n"
    assert [events(T + text.format(soft))[0]["severity"] for soft in (True, False)] == ["warning", "fatal"]


@pytest.mark.parametrize(
    "line",
    [
        "Please set --max-total-tokens to avoid CUDA out of memory.",
        "A larger chunk may run out of memory.",
        "If the process is Killed or OOMKilled, lower the memory fraction",
        "This could cause a Segmentation fault",
    ],
)
def test_what_may_happen_has_not_happened(line: str) -> None:
    assert not {row["kind"] for row in events(f"{T}{line}\n")} & {"cuda-oom", "pool-full", "host-oom", "crash"}


def test_an_exception_that_says_could_not_has_happened() -> None:
    assert [row["kind"] for row in events(f"{T}RuntimeError: could not allocate: CUDA out of memory\n")] == ["cuda-oom"]
