import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals.log.generic_rules import RULES
from ridgeline.signals.log.vllm_rules import RULES as VLLM_RULES
from ridgeline.words.events import EVENTS
from tests.signals.reading import tables_of

GLOG = "E1130 18:33:02.507118 90471 client_service.cpp:1126] "


@pytest.mark.parametrize("rule", [*RULES, *VLLM_RULES], ids=lambda rule: f"{rule.kind}:{rule.needle[:30]}")
def test_every_rule_names_a_known_kind_and_its_pattern_holds_its_needle(rule) -> None:  # type: ignore[no-untyped-def]
    assert rule.kind in EVENTS or rule.kind == ""
    assert rule.needle


@pytest.mark.parametrize(
    ("text", "kind", "more"),
    [
        (
            "I1130 14:12:40.161203 641187 transfer_engine_py.cpp:454] "
            "Sync batch data transfer timeout after 32087514402ns",
            "transfer-failed",
            {"value": pytest.approx(32.0875, abs=1e-3), "severity": "warning"},
        ),
        (GLOG + "Operation for key a/b@1 failed: TRANSFER_FAIL (x)", "storage", {}),
        (GLOG + "Failed to put key ['a/b@1'],res:[-800]", "storage", {}),
        (
            "2026-03-07T06:20:44.102318Z  INFO dynamo_llm::kv_router::scheduler: Selected worker: "
            "worker_id=519 dp_rank=0, logit: 12.016, cached blocks: 3, tree size: 0",
            "routing",
            {"peer": "519", "value": 12.016},
        ),
        (
            "08:14:51.208 PROXY_REQUEST request_id=r1 ... prefiller=P0:7300 prefill_http_s=5.917 ... decoder=D1:7402",
            "routing",
            {"rid": "r1", "value": 5.917},
        ),
        (
            "2026-03-07 06:20:44 WARN smg::health: Health check for http://10.0.0.7:30000 failed: timeout",
            "health-fail",
            {},
        ),
        (
            "E1130 03:24:54.778028 2548307 ascend_direct_transport.cpp:820] Failed to connect to target: "
            "10.0.0.7:25389, status: 103900",
            "peer-unreachable",
            {"peer": "10.0.0.7:25389"},
        ),
        (
            "2026-03-07 06:20:44 DEBUG sglang_router_rs::core::worker_manager: src/core/worker_manager.rs:1031: Worker "
            "grpc://localhost:20000 health check failed: transport error",
            "health-fail",
            {"peer": "grpc://localhost:20000"},
        ),
        ("2026-03-07 06:20:44 WARN smg::registry: Removed worker: http://10.0.0.7:30000", "worker-out", {}),
    ],
)
def test_wording_to_kind(text: str, kind: str, more: dict[str, object]) -> None:
    reading, tables = tables_of("2026-03-07 06:20:00 INFO a: first\n" + text + "\n")
    (event,) = tables["events"]
    assert event["kind"] == kind
    assert {key: event[key] for key in more} == more
    assert reading.understood == 1


def test_slices_belong_to_the_store_only_where_it_names_a_key_then() -> None:
    piece = "E1130 18:33:02.507118 90471 ascend_direct_transport.cpp:836] Transfer slice failed with status: 503900"
    key = GLOG.replace("507118", "507190") + "Transfer failed for key k@1: TRANSFER_FAIL (x)"
    later = key.replace("18:33:02", "18:33:09")
    _, near = tables_of(f"{piece}\n{key}\n")
    assert [event["kind"] for event in near["events"]].count("storage") == 2
    _, far = tables_of(f"{piece}\n{later}\n")
    assert sorted(event["kind"] for event in far["events"]) == ["session-failed", "storage"]
    assert json.loads(next(e for e in far["events"] if e["kind"] == "session-failed")["attrs"]) == {"status": "503900"}


def test_what_is_not_known_stays_unread_with_its_severity() -> None:
    text = (
        "2026-03-07T06:20:44.102318Z ERROR gw::proxy: quota table is out of step with shard 7\n"
        "2026-03-07T06:20:45.102318Z  INFO gw::proxy: rotated 7 keys\n"
    )
    reading, tables = tables_of(text)
    assert "events" not in tables
    assert (reading.unparsed, reading.unparsed_errors) == (2, 1)
    assert [row.get("severity") for row in tables["unread"]] == ["error", "info"]
    assert all("7" not in row["template"] for row in tables["unread"])


def test_library_chatter_counts_as_known() -> None:
    text = (
        '2026-09-05T14:02:18.730116Z  INFO a::b: request completed request_id=r-1 component="backend"\n'
        "node-1:112:112 [0] NCCL INFO AllReduce: opCount 1b sendbuff 0x7e count 4096\n"
    )
    reading, tables = tables_of(text)
    assert (reading.understood, reading.unparsed) == (2, 0)
    assert tables["records"][0]["rid"] == "r-1"


@settings(max_examples=80, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=80), max_size=8))
def test_any_text_in_a_log_is_counted(texts: list[str]) -> None:
    first = "2026-03-07 06:20:44 INFO a: start"
    reading, _ = tables_of("\n".join([first, first, first, *texts, ""]).encode("utf-8"))
    assert reading.lines == reading.blank + reading.understood + reading.unparsed


@pytest.mark.shared
@pytest.mark.parametrize(
    ("case", "kinds"),
    [
        ("022-waits-half-a-minute-then-fails/vllm.log", {"transfer-failed"}),
        ("023-debug-lines-repeat/vllm.log", {"scheduler-status"}),
        ("024-blocks-released-before-read/vllm.log", {"kv-released"}),
        ("066-hit-rate-of-98-percent/vllm.log", {"preemption"}),
        ("069-transfer-failed-in-the-store/vllm.log", {"storage"}),
        ("070-running-but-silent/trace.log", {"routing"}),
        ("072-all-picks-one-worker/frontend.log", {"routing"}),
        ("073-prompt-hangs-a-day-later/worker.log", set()),
    ],
)
def test_development_cases(shared_dir: Path, case: str, kinds: set[str]) -> None:
    reading, tables = tables_of((shared_dir / "cases" / case).read_bytes())
    assert {event["kind"] for event in tables["events"] if event["kind"] != "http"} == kinds
    assert reading.unparsed == 0


@pytest.mark.parametrize(("code", "kind"), [(79, "crash"), (48, "crash"), (63, "other-error"), (31, "other-error")])
def test_a_gpu_lost_is_told_from_one_that_only_complains(code: int, kind: str) -> None:
    line = f"Apr  2 09:00:01 gpu7 kernel: [8822.12] NVRM: Xid (PCI:0000:17:00): {code}, pid=4411, name=python\n"
    _, tables = tables_of(line * 3)
    assert {event["kind"] for event in tables["events"]} == {kind}
