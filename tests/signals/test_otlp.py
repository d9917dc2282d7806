import base64
import gzip
import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals import otlp
from ridgeline.signals.detect import detect
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob
from tests.signals.reading import Tables, tables_of

T0 = 1_796_000_000_000_000_000
MS = 1_000_000


def b64(text: str) -> str:
    return base64.b64encode(bytes.fromhex(text)).decode()


def attribute(key: str, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"key": key, "value": {"stringValue": value}}
    if isinstance(value, float):
        return {"key": key, "value": {"doubleValue": value}}
    return {"key": key, "value": {"intValue": str(value)}}


def span(trace: str, ident: str, parent: str, name: str, start: float, end: float, **more: Any) -> dict[str, Any]:
    out: dict[str, Any] = {
        "traceId": trace,
        "spanId": ident,
        "name": name,
        "kind": "SPAN_KIND_INTERNAL",
        "startTimeUnixNano": str(T0 + round(start * MS)),
        "endTimeUnixNano": str(T0 + round(end * MS)),
        "status": {"code": "STATUS_CODE_ERROR"} if more.pop("error", False) else {},
    }
    if parent:
        out["parentSpanId"] = parent
    if "links" in more:
        out["links"] = [{"traceId": trace, "spanId": link} for link in more.pop("links")]
    if "events" in more:
        out["events"] = [{"timeUnixNano": str(T0), "name": name} for name in more.pop("events")]
    if more:
        out["attributes"] = [attribute(key.replace("__", "."), value) for key, value in more.items()]
    return out


def request(n: int, role: str = "", room: str | None = None) -> list[dict[str, Any]]:
    """The spans of one finished request: 5 ms tokenize, 20 ms waiting, 30 ms prefill, four decode steps."""
    trace, at = f"{n:032x}", 1000.0 * n
    ident = {
        name: f"{n:08x}{i:08x}"
        for i, name in enumerate(("root", "tok", "sch", "tokenize", "dispatch", "wait", "prefill", "decode"), 1)
    }
    loops = [
        span(trace, f"{n:08x}{20 + i:08x}", ident["decode"], "decode_loop", at + a, at + b, decode_ct=i)
        for i, (a, b) in enumerate([(60, 70), (70, 80), (80, 140), (140, 150)])
    ]
    more: dict[str, Any] = {"bootstrap_room": room} if room else {}
    root = span(
        trace,
        ident["root"],
        "",
        f"{role} Req r{n:07d}",
        at,
        at + 155,
        rid=f"r{n:07d}-long",
        module="sglang::request",
        gen_ai__request__id=f"r{n:07d}-long",
        gen_ai__usage__prompt_tokens=100,
        gen_ai__usage__completion_tokens=5,
        gen_ai__usage__cached_tokens=64,
        gen_ai__request__max_tokens=5,
        gen_ai__request__temperature=0.5,
        gen_ai__response__finish_reasons='["length"]',
        gen_ai__latency__time_to_first_token=0.061,
        gen_ai__latency__e2e=0.155,
        gen_ai__latency__time_in_model_prefill=0.055,
        **more,
    )
    return [
        *loops,
        span(trace, ident["tokenize"], ident["tok"], "tokenize", at, at + 5),
        span(trace, ident["dispatch"], ident["tok"], "api_server_dispatch", at + 5, at + 6, links=[ident["tokenize"]]),
        span(trace, ident["tok"], ident["root"], "Tokenizer(host:ab | pid:1)", at, at + 6, thread_label="Tokenizer"),
        span(trace, ident["wait"], ident["sch"], "prefill_waiting", at + 10, at + 30, links=[ident["dispatch"]]),
        span(trace, ident["prefill"], ident["sch"], "prefill_forward", at + 30, at + 60, links=[ident["wait"]]),
        span(trace, ident["decode"], ident["sch"], "decode_forward", at + 60, at + 150, links=[ident["prefill"]]),
        span(
            trace,
            ident["sch"],
            ident["root"],
            "Scheduler [TP 0]  [PP 0]  [DP 3] (host:ab | pid:2)",
            at + 9,
            at + 151,
            thread_label="Scheduler",
            tp_rank=0,
            dp_rank=3,
            events=["retract"],
        ),
        root,
    ]


def document(spans: list[dict[str, Any]], service: str = "sglang") -> dict[str, Any]:
    resource = {"attributes": [attribute("service.name", service)]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}


def jsonl(batches: list[list[dict[str, Any]]]) -> str:
    return "".join(json.dumps({"recv_ts": 1.5, **document(batch)}) + "\n" for batch in batches)


def comparable(tables: Tables) -> list[list[tuple[Any, ...]]]:
    return [
        sorted(tuple(sorted((k, str(v)) for k, v in row.items() if k != "line")) for row in tables[name])
        for name in ("records", "stages", "spans")
    ]


def test_one_request_gives_its_record_and_its_stages() -> None:
    reading, tables = tables_of(jsonl([request(3)]))
    assert reading.kind == "otlp"
    assert (reading.lines, reading.understood, reading.unparsed) == (1, 12, 0)
    (record,) = tables["records"]
    assert record["rid"] == "r0000003-long"
    assert (record["kind"], record["role"], record["dp_rank"], record["probe"]) == ("span", "unified", 3, False)
    assert (record["prompt_tokens"], record["completion_tokens"], record["cached_tokens"]) == (100, 5, 64)
    assert (record["max_new_tokens"], record["params_logged"]) == (5, True)
    assert (record["state"], record["finish_reason"], record["retractions"]) == ("finished", "length", 1)
    assert record["ttft_s"] == 0.061
    assert record["queue_s"] == pytest.approx(0.020)
    assert record["itl_max_s"] == pytest.approx(0.060)
    assert record["itl_p50_s"] == pytest.approx(0.010)
    assert record["scheduled_ts"] - record["received_ts"] == pytest.approx(0.030, abs=1e-6)
    assert "prefill_s" not in record  # time_in_model_prefill contains the queue
    stages = {row["stage"]: row for row in tables["stages"]}
    assert set(stages) == {
        "tokenize",
        "api_server_dispatch",
        "prefill_waiting",
        "prefill_forward",
        "decode_forward",
        "decode_loop",
    }
    assert all(row["rid"] == record["rid"] and row["basis"] == "pair" for row in stages.values())
    assert stages["prefill_forward"]["duration_s"] == pytest.approx(0.030)
    assert stages["decode_loop"]["within"] == "decode_forward"
    assert "within" not in stages["prefill_forward"]
    assert stages["prefill_forward"]["dp_rank"] == 3
    spans = {row["name"]: row for row in tables["spans"]}
    assert spans["prefill_forward"]["links"] == [spans["prefill_waiting"]["span_id"]]
    assert json.loads(spans["decode_loop"]["attrs"])["steps"] == 4
    assert [row["level"] for row in tables["spans"]].count("root") == 1


def test_ids_in_hex_and_in_base64_are_the_same_ids() -> None:
    spans = request(4)
    coded = [
        {**one, **{k: b64(one[k]) for k in ("traceId", "spanId", "parentSpanId") if k in one}, "links": []}
        for one in spans
    ]
    plain = [{**one, "links": []} for one in spans]
    assert comparable(tables_of(jsonl([plain]))[1]) == comparable(tables_of(jsonl([coded]))[1])


@pytest.mark.parametrize("indent", [None, 1])
def test_documents_and_arrays_read_as_lines_do(indent: int | None) -> None:
    want = comparable(tables_of(jsonl([request(1), request(2)]))[1])
    docs = [document(request(1)), document(request(2))]
    assert comparable(tables_of(json.dumps(docs, indent=indent))[1]) == want
    assert comparable(tables_of(json.dumps({"result": document(request(1) + request(2))}, indent=indent))[1]) == want


def test_the_two_sides_of_a_pair_keep_role_and_room() -> None:
    spans = request(1, "prefill", "0x2b") + request(2, "decode", "0x2b")
    reading, tables = tables_of(jsonl([spans]))
    assert {(row["role"], row["room"]) for row in tables["records"]} == {("prefill", 43), ("decode", 43)}
    assert {row["room"] for row in tables["stages"]} == {43}
    assert reading.role is None


def test_a_room_named_only_by_an_older_parent_span_reaches_the_stages() -> None:
    trace = f"{9:032x}"
    spans = [
        span(trace, f"{1:016x}", "", "Bootstrap Room 0x1f", 0, 9),
        span(trace, f"{2:016x}", f"{1:016x}", "decode Req abc", 1, 9, rid="abc", module="sglang::request"),
        span(trace, f"{3:016x}", f"{2:016x}", "Scheduler", 1, 9, thread_label="Scheduler", tp_rank=0),
        span(trace, f"{4:016x}", f"{3:016x}", "decode_bootstrap", 2, 5),
        span(trace, f"{5:016x}", f"{3:016x}", "dispatch", 1, 2),
    ]
    _, tables = tables_of(jsonl([spans]))
    assert {(row["stage"], row["room"], row["rid"], row["role"]) for row in tables["stages"]} == {
        ("decode_bootstrap", 31, "abc", "decode"),
        ("api_server_dispatch", 31, "abc", "decode"),
    }
    assert tables["records"][0]["prealloc_s"] == pytest.approx(0.003)


def test_a_refused_request_says_why_and_a_probe_is_one() -> None:
    trace = f"{5:032x}"
    spans = [
        span(
            trace,
            f"{1:016x}",
            "",
            " Req HEALTH",
            0,
            5,
            rid="ab",
            module="sglang::request",
            gen_ai__request__id="HEALTH_CHECK_ab",
        ),
        span(
            trace,
            f"{2:016x}",
            f"{1:016x}",
            "Scheduler",
            1,
            5,
            thread_label="Scheduler",
            reason="The request queue is full.",
            error=True,
        ),
    ]
    _, tables = tables_of(jsonl([spans]))
    (record,) = tables["records"]
    assert (record["rid"], record["probe"]) == ("HEALTH_CHECK_ab", True)
    assert (record["state"], record["abort_message"]) == ("aborted", "The request queue is full.")


def test_a_span_that_was_closed_with_its_thread_has_no_end() -> None:
    spans = request(1)
    thread = next(one for one in spans if one["name"].startswith("Tokenizer"))
    tokenize = next(one for one in spans if one["name"] == "tokenize")
    dispatch = next(one for one in spans if one["name"] == "api_server_dispatch")
    thread["endTimeUnixNano"] = tokenize["endTimeUnixNano"] = str(T0 + 9_000_000 * MS)
    dispatch["parentSpanId"] = tokenize["spanId"]
    _, tables = tables_of(jsonl([spans]))
    row = next(row for row in tables["stages"] if row["stage"] == "tokenize")
    assert "end_ts" not in row
    assert "duration_s" not in row
    assert "tokenize_s" not in tables["records"][0]


def test_a_stage_whose_thread_was_lost_goes_to_the_one_request_of_its_trace_or_to_none() -> None:
    spans = [one for one in request(1) if not one["name"].startswith("Scheduler")]
    _, tables = tables_of(jsonl([spans]))
    waiting = next(row for row in tables["stages"] if row["stage"] == "prefill_waiting")
    assert waiting["rid"] == "r0000001-long"
    two = [{**one, "traceId": f"{77:032x}"} for one in spans + request(2)]
    reading, tables = tables_of(jsonl([two]))
    assert {row.get("rid") for row in tables["stages"] if row["stage"] == "prefill_waiting"} == {"r0000002-long", None}
    assert any("no request root" in note for note in reading.notes)


def test_a_vllm_span_gives_durations_without_times() -> None:
    one = span(
        f"{5:032x}",
        f"{1:016x}",
        "",
        "llm_request",
        0,
        900,
        gen_ai__request__id="cmpl-9-0",
        gen_ai__latency__time_to_first_token=0.25,
        gen_ai__latency__e2e=0.9,
        gen_ai__latency__time_in_queue=0.125,
        gen_ai__latency__time_in_model_prefill=0.0625,
        gen_ai__latency__time_in_model_decode=0.5,
        gen_ai__usage__prompt_tokens=219,
        gen_ai__usage__completion_tokens=4,
    )
    _, tables = tables_of(jsonl([[one]]))
    (record,) = tables["records"]
    assert (record["queue_s"], record["prefill_s"], record["e2e_s"], record["state"]) == (
        0.125,
        0.0625,
        0.9,
        "finished",
    )
    assert {(row["stage"], row["duration_s"], row["basis"]) for row in tables["stages"]} == {
        ("prefill_waiting", 0.125, "duration-only"),
        ("prefill_forward", 0.0625, "duration-only"),
        ("decode_forward", 0.5, "duration-only"),
    }


def test_a_cut_last_line_keeps_its_whole_spans_and_says_so() -> None:
    text = jsonl([request(1), request(2)])
    reading, tables = tables_of(text[:-400])
    assert reading.unparsed == 1
    assert "given:2:" in reading.notes[0]
    assert {row["rid"] for row in tables["records"]} == {"r0000001-long"}
    assert reading.understood > 12
    assert tables["unread"][0]["line"] == 2
    assert any("no request root" in note for note in reading.notes)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_order_and_batching_gives_the_same_rows(data: st.DataObject) -> None:
    spans = [one for n in (1, 2, 3) for one in request(n, room=None)]
    want = comparable(tables_of(jsonl([spans]))[1])
    shuffled = data.draw(st.permutations(spans))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(spans)), max_size=6)))
    batches = [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, len(spans)], strict=True)]
    assert comparable(tables_of(jsonl([batch for batch in batches if batch]))[1]) == want


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_damaged_bytes_never_raise_and_every_line_is_counted(data: st.DataObject) -> None:
    raw = bytearray(jsonl([request(1), request(2)]).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=12))
    reading = Reading(1, "given")
    rows = list(otlp.read(Blob("given", None, bytes(raw)), reading))
    assert reading.understood + reading.unparsed + reading.blank > 0 or reading.notes
    assert sum(r.data.num_rows for r in rows if r.table == "records") <= 2


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "resourceSpans",
                        "scopeSpans",
                        "spans",
                        "attributes",
                        "key",
                        "value",
                        "traceId",
                        "name",
                        "status",
                        "events",
                        "links",
                        "startTimeUnixNano",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=30,
    )
)
@settings(max_examples=150, deadline=None)
def test_json_of_any_shape_never_raises(value: Any) -> None:
    reading = Reading(1, "given")
    list(
        otlp.read(
            Blob("given", None, json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [value]}]}]}).encode()), reading
        )
    )


def test_memory_is_bounded_by_held_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ridgeline.signals.tracetree.HELD_SPANS", 30)
    text = jsonl([request(n) for n in range(1, 30)])
    _, tables = tables_of(text)
    assert len(tables["records"]) == 29
    assert all(row["rid"] for row in tables["stages"])


def proto(batches: list[list[dict[str, Any]]]) -> list[bytes]:
    service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    out = []
    for batch in batches:
        message = service.ExportTraceServiceRequest()
        part = message.resource_spans.add()
        name = part.resource.attributes.add()
        name.key, name.value.string_value = "service.name", "sglang"
        scope = part.scope_spans.add()
        for one in batch:
            raw = scope.spans.add()
            raw.trace_id, raw.span_id = bytes.fromhex(one["traceId"]), bytes.fromhex(one["spanId"])
            raw.parent_span_id = bytes.fromhex(one.get("parentSpanId", ""))
            raw.name = one["name"]
            raw.start_time_unix_nano, raw.end_time_unix_nano = (
                int(one["startTimeUnixNano"]),
                int(one["endTimeUnixNano"]),
            )
            for link in one.get("links", ()):
                raw.links.add().span_id = bytes.fromhex(link["spanId"])
            for mark in one.get("events", ()):
                raw.events.add().name = mark["name"]
            for given_attribute in one.get("attributes", ()):
                target = raw.attributes.add()
                target.key = given_attribute["key"]
                ((kind, value),) = given_attribute["value"].items()
                field = {"stringValue": "string_value", "intValue": "int_value", "doubleValue": "double_value"}[kind]
                setattr(target.value, field, int(value) if kind == "intValue" else value)
        out.append(message.SerializeToString())
    return out


def varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def test_protobuf_reads_as_json_does_alone_and_behind_lengths() -> None:
    want = comparable(tables_of(jsonl([request(1), request(2)]))[1])
    (whole,) = proto([request(1) + request(2)])
    assert detect(whole) == "otlp"
    assert comparable(tables_of(whole)[1]) == want
    many = b"".join(varint(len(piece)) + piece for piece in proto([request(1), request(2)]))
    assert detect(many) == "otlp"
    reading, tables = tables_of(many)
    assert comparable(tables) == want
    assert reading.lines == 2
    cut, tables = tables_of(many[:-30])
    assert (cut.unparsed, len(tables["records"])) == (1, 1)
    assert "damaged" in cut.notes[0]


def raw_spans(path: Path) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    out = []
    for line in text.splitlines():
        for part in json.loads(line)["resourceSpans"]:
            for scope in part["scopeSpans"]:
                for one in scope["spans"]:
                    attrs = {a["key"]: next(iter(a["value"].values())) for a in one.get("attributes", ())}
                    out.append((one["name"], one, attrs))
    return out


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    [
        "sglang_0.5.23/single_full/otlp_spans.jsonl.gz",
        "sglang_0.5.23/dp2_round_robin/otlp_spans.jsonl.gz",
        "sglang_0.5.23/pd_mooncake_tcp/otlp_spans.jsonl.gz",
        "vllm_0.32.0/run1/otlp_spans.jsonl",
    ],
)
def test_recorded_traces_give_the_figures_of_the_raw_file(shared_dir: Path, name: str) -> None:
    path = shared_dir / "real" / name
    raw = raw_spans(path)
    reading, tables = tables_of(path.read_bytes())
    assert reading.understood == len(raw)
    assert reading.unparsed == 0
    roots = [attrs for span_name, _, attrs in raw if "Req " in span_name or span_name == "llm_request"]
    records = tables["records"]
    assert len(records) == len(roots)
    for key, column in (
        ("gen_ai.latency.time_to_first_token", "ttft_s"),
        ("gen_ai.usage.prompt_tokens", "prompt_tokens"),
        ("gen_ai.usage.completion_tokens", "completion_tokens"),
    ):
        want = sorted(float(attrs[key]) for attrs in roots if key in attrs)
        assert sorted(float(row[column]) for row in records if column in row) == want
        assert want
    waits = [
        (int(one["endTimeUnixNano"]) - int(one["startTimeUnixNano"])) / 1e9
        for n, one, _ in raw
        if n == "prefill_waiting"
    ]
    got = [
        row["duration_s"] for row in tables["stages"] if row["stage"] == "prefill_waiting" and row["basis"] == "pair"
    ]
    assert len(got) == len(waits)
    if waits:
        assert statistics.fmean(got) == pytest.approx(statistics.fmean(waits))
    loops = {one["parentSpanId"] for n, one, _ in raw if n == "decode_loop"}
    assert sum(row["name"] == "decode_loop" for row in tables["spans"]) == len(loops)
    steps = [json.loads(row["attrs"])["steps"] for row in tables["spans"] if row["name"] == "decode_loop"]
    assert sum(steps) == sum(n == "decode_loop" for n, _, _ in raw)
    if "pd_" in name:
        rooms = {row["room"] for row in records}
        assert len(rooms) == 120
        assert {row["role"] for row in records} == {"prefill", "decode"}
