import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.signals.reading import tables_of

HEAD = "(EngineCore_DP2 pid=9) {level} 11-30 03:41:{s:02d} [core.py:133] "


def line(text: str, level: str = "ERROR", s: int = 0) -> str:
    return HEAD.format(level=level, s=s) + text


@pytest.mark.parametrize(
    ("text", "kind", "more"),
    [
        ("EngineCore encountered a fatal error.", "crash", {}),
        ("Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.", "crash", {}),
        ("Worker proc VllmWorker-1 died unexpectedly, shutting down executor.", "crash", {}),
        ("RPC call to execute_model timed out.", "watchdog", {}),
        ("No available shared memory broadcast block found in 60 second(s).", "watchdog", {"value": 60.0}),
        (
            "Sequence group cmpl-7-0 is preempted by PreemptionMode.RECOMPUTE mode because KV space is short.",
            "preemption",
            {"rid": "cmpl-7-0", "count": 1},
        ),
        ("Preempted request cmpl-7-0 has been resumed!", "preemption", {"rid": "cmpl-7-0"}),
        (
            "Releasing expired KV blocks for request cmpl-7-0 which were retrieved by 0 decode worker(s) "
            "within 30 seconds.",
            "kv-released",
            {"rid": "cmpl-7-0", "value": 30.0},
        ),
        (
            "Potentially invalid KV blocks for unrecognized request cmpl-7-0 were retrieved by a decode worker. "
            "They may have expired.",
            "kv-released",
            {"rid": "cmpl-7-0"},
        ),
        ("Mooncake transfer failed for request cmpl-7-0", "transfer-failed", {"rid": "cmpl-7-0"}),
        (
            "pulling kv_caches for ['cmpl-7-0'] failed: Timeout waiting for P side ready.",
            "transfer-failed",
            {"rid": "cmpl-7-0"},
        ),
        (
            "Failed to transfer KV cache for request cmpl-7-0: Mooncake transfer failed, ret: -1",
            "transfer-failed",
            {"rid": "cmpl-7-0"},
        ),
        (
            "NIXL transfer failure: transfer_failed | Context: {'failure_type': 'x', 'request_id': 'cmpl-7-0'}",
            "transfer-failed",
            {"rid": "cmpl-7-0"},
        ),
        (
            "NIXL transfer failure: handshake_setup_failed | Context: {'request_id': None, 'engine_id': 'x'}",
            "handshake-failed",
            {},
        ),
        ("cmpl-7-0 is still in WAITING_FOR_REMOTE_KVS state.", "scheduler-status", {"rid": "cmpl-7-0"}),
        ("Successfully reset prefix cache", "cache-flushed", {}),
    ],
)
def test_wording_to_kind(text: str, kind: str, more: dict[str, object]) -> None:
    reading, tables = tables_of(line(text) + "\n")
    (event,) = tables["events"]
    assert (event["kind"], event["dp_rank"]) == (kind, 2)
    assert {key: event[key] for key in more} == more
    assert (reading.understood, reading.unparsed) == (1, 0)


def test_ranks_that_print_the_same_failure_are_counted_once() -> None:
    text = "(Worker_DP0_TP{t}_EP{t} pid={p}) ERROR 11-30 03:41:00 [c.py:5] Mooncake transfer failed for request r1"
    _, tables = tables_of("\n".join([text.format(p=1, t=1), text.format(p=2, t=0), ""]))
    assert [(e["rid"], e["copies"]) for e in tables["events"]] == [("r1", 2)]


def test_look_ups_in_an_external_store_are_no_cached_tokens() -> None:
    text = (
        "(EngineCore_0 pid=5) [2026-08-29 13:52:31,418] LMCache INFO: Reqid: cmpl-7-0, Total tokens 9377, LMCache hit "
        "tokens: 9216, need to load: 9216 (a.py:1050:x.y)"
    )
    _, tables = tables_of(text + "\n")
    assert {(row["rid"], row["name"], row["number"]) for row in tables["request_attrs"]} == {
        ("cmpl-7-0", "external_lookup_tokens", 9377.0),
        ("cmpl-7-0", "external_hit_tokens", 9216.0),
        ("cmpl-7-0", "external_load_tokens", 9216.0),
    }
    assert "records" not in tables


def test_a_transfer_that_took_a_time_is_a_record_of_its_request() -> None:
    _, tables = tables_of("08:15:13 D1/rank0: KV cache transfer for request r-7 took 802.5 ms ... session=P0:1\n")
    (row,) = tables["records"]
    assert (row["rid"], row["transfer_s"], row["role"]) == ("r-7", pytest.approx(0.8025), "decode")


def test_failures_behind_an_orderly_shutdown_are_part_of_it() -> None:
    stop = line("[shutdown] EngineCore: trigger received signal=SIGTERM", "INFO")
    dead = [
        line("AsyncLLM output_handler failed.", s=1),
        line("Traceback (most recent call last):", s=1),
        line('  File "/x/core_client.py", line 12, in get', s=1),
        line("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.", s=1),
    ]
    _, tables = tables_of("\n".join([stop, *dead, ""]))
    assert {event["kind"] for event in tables["events"]} == {"shutdown"}
    _, tables = tables_of("\n".join([*dead, stop, ""]))
    assert {event["kind"] for event in tables["events"]} == {"crash", "traceback", "shutdown"}
    boot = line("non-default args: {'model': 'm'}", "INFO", 1)
    _, tables = tables_of("\n".join([stop, boot, *dead, ""]))
    assert {event["kind"] for event in tables["events"]} == {"crash", "traceback", "shutdown"}


def test_chatter_is_quiet_but_never_a_line_with_an_error_word() -> None:
    head = "(APIServer pid=8) INFO 11-30 03:41:00 [launcher.py:195] "
    reading, tables = tables_of(f"{head}Route: /x, Methods: GET\n{head}Warm-up failed for lane 7\n")
    assert (reading.understood, reading.unparsed) == (1, 1)
    assert tables["unread"][0]["text"] == "Warm-up failed for lane 7"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_mutated_lines_never_raise_and_every_line_is_counted(data: st.DataObject) -> None:
    texts = [
        line("Mooncake transfer failed for request cmpl-7-0"),
        line("GPU KV cache size: 176,240 tokens", "INFO"),
        line("Engine 000: Avg prompt throughput: 2.7 tokens/s, Running: 0 reqs, Waiting: 1 reqs", "INFO"),
        line("Received request a: params: SamplingParams(n=1, max_tokens=5), lora_request: None.", "INFO"),
        line("non-default args: {'model': 'm', 'x': [1, {'y': 2}]}", "INFO"),
    ]
    raw = bytearray("\n".join(data.draw(st.permutations(texts))).encode())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=9))
    reading, tables = tables_of(bytes(raw) or b"x")
    if reading.kind == "log":
        assert reading.lines == reading.blank + reading.understood + reading.unparsed
    for row in tables["events"]:
        assert row["source"] == 7
        json.loads(row.get("attrs", "{}"))


@pytest.mark.shared
@pytest.mark.parametrize(
    "run", ["vllm_0.32.0/run1", *(f"pairs/vllm_0.32.0/{name}" for name in ("mix_base_1", "mix_base_2", "mix_maxseqs4"))]
)
def test_recorded_logs_are_read(shared_dir: Path, run: str) -> None:
    reading, tables = tables_of((shared_dir / "real" / run / "server.log.gz").read_bytes(), year=2026)
    assert reading.lines == reading.blank + reading.understood + reading.unparsed
    assert reading.unparsed < 0.02 * (reading.understood + reading.unparsed)
    assert reading.unparsed_errors == 0
    kinds = {event["kind"] for event in tables["events"]}
    assert kinds <= {"http", "abort", "startup", "shutdown", "ready", "request-invalid"}
    assert tables["servers"][0]["pool_tokens"] == (4096 if run.endswith("run1") else 5120)
