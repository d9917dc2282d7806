import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals.detect import detect
from tests.signals.reading import tables_of

T0 = 1_796_000_000_000_000  # microseconds


def one(
    ident: str, parent: str, name: str, start_ms: int, took_ms: int, after: str = "", **tags: Any
) -> dict[str, Any]:
    references = [{"refType": "CHILD_OF", "traceID": "ab12", "spanID": parent}] if parent else []
    if after:
        references.append({"refType": "FOLLOWS_FROM", "traceID": "ab12", "spanID": after})
    return {
        "traceID": "ab12",
        "spanID": ident,
        "operationName": name,
        "references": references,
        "startTime": T0 + 1000 * start_ms,
        "duration": 1000 * took_ms,
        "tags": [{"key": key.replace("__", "."), "type": "string", "value": value} for key, value in tags.items()],
        "logs": [{"timestamp": T0, "fields": [{"key": "event", "value": "retract"}]}] if name == "Sched" else [],
        "processID": "p1",
    }


SPANS = [
    one("a4", "a2", "prefill_forward", 30, 10, after="a3"),
    one("a3", "a2", "prefill_waiting", 5, 25),
    one("a2", "a1", "Sched", 2, 90, thread_label="Scheduler", tp_rank="0"),
    one(
        "a1",
        "",
        "decode Req r1",
        0,
        100,
        rid="r1",
        module="sglang::request",
        bootstrap_room="0x10",
        gen_ai__latency__e2e="0.1",
        gen_ai__usage__prompt_tokens=7,
    ),
]
DOCUMENT = {"data": [{"traceID": "ab12", "spans": SPANS, "processes": {"p1": {"serviceName": "sgl-decode"}}}]}


def test_a_trace_gives_spans_stages_and_a_record() -> None:
    reading, tables = tables_of(json.dumps(DOCUMENT))
    assert (reading.kind, reading.understood, reading.role) == ("jaeger", 4, "decode")
    (record,) = tables["records"]
    assert (record["rid"], record["room"], record["role"], record["e2e_s"]) == ("r1", 16, "decode", 0.1)
    assert (record["prompt_tokens"], record["retractions"]) == (7, 1)
    stages = {row["stage"]: row for row in tables["stages"]}
    assert stages["prefill_waiting"]["duration_s"] == pytest.approx(0.025)
    assert stages["prefill_waiting"]["rid"] == "r1"
    spans = {row["name"]: row for row in tables["spans"]}
    assert spans["prefill_forward"]["links"] == ["a3"]
    assert spans["prefill_forward"]["parent_id"] == "a2"
    assert {row["service"] for row in tables["spans"]} == {"sgl-decode"}


def test_the_kind_is_told_from_one_trace_too() -> None:
    assert detect(json.dumps(DOCUMENT).encode()) == "jaeger"
    assert detect(json.dumps(DOCUMENT["data"][0]).encode()) == "jaeger"


def test_a_cut_document_is_one_clear_note() -> None:
    reading, tables = tables_of(json.dumps(DOCUMENT)[:-40])
    assert reading.unparsed == 1
    assert "no complete Jaeger JSON" in reading.notes[0]
    assert len(tables["unread"]) == 1


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=4) | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["spans", "spanID", "references", "tags", "key", "value", "logs", "fields", "startTime", "duration"]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=25,
    )
)
def test_traces_of_any_shape_never_raise(value: Any) -> None:
    reading, _ = tables_of(json.dumps({"data": [{"traceID": "x", "spans": [value]}]}))
    assert reading.kind == "jaeger"
