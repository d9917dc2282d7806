"""Each export against the format itself, by who defines it: OTLP's messages, PromQL's grammar, Grafana's models."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.bundle.view import View, view_of
from ridgeline.export import alerts, dashboard, mooncake, otlp, perfetto
from ridgeline.export.promql import Exported, quantile, rate
from ridgeline.scenario.from_bundle import traffic_of

INCIDENT: Final = str(Path(__file__).resolve().parents[2] / "examples" / "incident")
VERSIONS: Final = [("sglang", "0.5.23"), ("sglang", "0.5.9"), ("sglang", "0.5.3"), ("vllm", "0.32.0")]
OVERLAPPING: Final = [
    {"request": 1, "rid": "a", "server": "s", "dp_rank": 0, "received_ts": 100.0, "finished_ts": 104.0, "e2e_s": 4.0},
    {"request": 2, "rid": "b", "server": "s", "dp_rank": 0, "received_ts": 101.0, "finished_ts": 103.0, "e2e_s": 2.0},
    {"request": 3, "rid": "c", "server": "s", "dp_rank": 0, "received_ts": 102.0, "finished_ts": 107.0, "e2e_s": 5.0},
]


@pytest.fixture(scope="module")
def view() -> View:
    return open_sources([INCIDENT])


def written(write: Any, view: View) -> str:
    out = io.StringIO()
    write(view, out)
    return out.getvalue()


def test_otlp_is_what_a_collector_takes(view: View) -> None:
    pb = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason="needs the live extra")
    from google.protobuf import json_format

    spans = []
    for line in written(otlp.write, view).splitlines():
        told = json.loads(line, object_hook=_ids)
        asked = json_format.ParseDict(told, pb.ExportTraceServiceRequest())  # an unknown field or type raises
        spans += [s for r in asked.resource_spans for scope in r.scope_spans for s in scope.spans]
    assert len(spans) > 2000
    known = {s.span_id for s in spans}
    assert len(known) == len(spans)
    for s in spans:
        assert len(s.trace_id) == 16 and len(s.span_id) == 8 and any(s.trace_id) and any(s.span_id)
        assert 0 < s.start_time_unix_nano <= s.end_time_unix_nano
        assert not s.parent_span_id or s.parent_span_id in known


def _ids(found: dict[str, Any]) -> dict[str, Any]:
    """OTLP writes ids as hex where protobuf's own JSON has base64."""
    ids = ("traceId", "spanId", "parentSpanId")
    return {k: base64.b64encode(bytes.fromhex(v)).decode() if k in ids else v for k, v in found.items()}


def test_requests_that_overlap_are_async_slices_of_one_rank() -> None:
    events = json.loads(written(perfetto.write, view_of({"requests": OVERLAPPING})))["traceEvents"]
    slices = [e for e in events if e["ph"] in ("b", "e")]
    assert not any(e["ph"] in ("X", "B", "E") for e in events)  # these may not overlap on one thread
    assert {(e["pid"], e["tid"]) for e in slices} == {(1, 2)} and all(e["cat"] and e["id"] for e in slices)
    ends = {
        e["args"]["name"] if "name" in e.get("args", {}) else e["name"]: e["ts"]
        for e in slices
        if e["ph"] == "e" and e["name"] in "abc"
    }
    starts = {e["name"]: e["ts"] for e in slices if e["ph"] == "b" and e["name"] in "abc"}
    assert starts == {"a": 0.0, "b": 1e6, "c": 2e6} and ends == {"a": 4e6, "b": 3e6, "c": 7e6}


def test_every_event_of_a_trace_has_what_its_phase_needs(view: View) -> None:
    trace = json.loads(written(perfetto.write, view))
    needs = {"M": {"name", "args"}, "b": {"ts", "id", "cat"}, "e": {"ts", "id", "cat"}, "C": {"ts", "args"},
             "i": {"ts", "s"}, "X": {"ts", "dur"}}  # fmt: skip
    assert trace["displayTimeUnit"] in ("ms", "ns")
    named = {e["pid"] for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "process_name"}
    for e in trace["traceEvents"]:
        assert needs[e["ph"]] <= set(e) and isinstance(e["pid"], int), e
        assert e["ph"] == "M" or (e["ts"] == e["ts"] and e["pid"] in named), e
        if e["ph"] == "C":
            assert all(isinstance(v, int | float) for v in e["args"].values())


def test_mooncake_lines_have_four_fields_and_a_block_for_each_512_tokens(view: View) -> None:
    out = io.StringIO()
    mooncake.write(traffic_of(view, whole=True).scenario, out)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert lines and [line["timestamp"] for line in lines] == sorted(line["timestamp"] for line in lines)
    for line in lines:
        assert set(line) == {"timestamp", "input_length", "output_length", "hash_ids"}
        assert all(isinstance(line[name], int) for name in ("timestamp", "input_length", "output_length"))
        assert len(line["hash_ids"]) == -(-line["input_length"] // 512)
        assert all(isinstance(block, int) and block >= 0 for block in line["hash_ids"])


@pytest.mark.parametrize(("engine", "version"), VERSIONS)
def test_rules_and_panels_are_promql(engine: Any, version: str) -> None:
    promql = pytest.importorskip("promql_parser", reason="needs promql-parser (the dev extra)")
    of = Exported(engine, version, True)
    kept, _ = alerts.rules(of)
    panels = [p for p in dashboard.board(of)["panels"] if p["type"] != "row"]
    asked = [expr for _, expr in kept]
    asked += [t["expr"].replace("$__rate_interval", "1m") for p in panels for t in p["targets"]]
    for expr in asked:
        promql.parse(expr)
    assert all(re.fullmatch(r"\d+[smhd]", alert.lasts) for alert, _ in kept)
    with pytest.raises(ValueError, match="paren"):
        promql.parse(asked[0] + ")")


@pytest.mark.parametrize(("engine", "version"), VERSIONS)
def test_grafana_s_own_model_holds_all_of_the_dashboard(engine: Any, version: str) -> None:
    model = pytest.importorskip("grafana_foundation_sdk.models.dashboard", reason="needs grafana-foundation-sdk (dev)")
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins

    register_default_plugins()
    board = dashboard.board(Exported(engine, version, True))
    again = json.loads(JSONEncoder().encode(model.Dashboard.from_json(json.loads(json.dumps(board)))))
    assert list(_lost(board, again)) == []
    spots = [tuple(p["gridPos"][k] for k in "xywh") for p in board["panels"]]
    assert all(x >= 0 and w > 0 and x + w <= 24 for x, _, w, _ in spots) and len(set(spots)) == len(spots)
    assert len({p["id"] for p in board["panels"]}) == len(board["panels"])


def _lost(mine: Any, theirs: Any, at: str = "") -> Any:
    """Where something that was written did not come back from the model."""
    if isinstance(mine, dict):
        for key, value in mine.items():
            yield from [f"{at}.{key}"] if key not in theirs else _lost(value, theirs[key], f"{at}.{key}")
    elif isinstance(mine, list):
        for k, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            yield from _lost(a, b, f"{at}[{k}]")
    elif mine != theirs:
        yield f"{at}: {mine!r} is {theirs!r}"


def test_the_shapes_both_are_written_in() -> None:
    assert rate("retractions", "5m", "instance") == "sum by (instance) (rate({retractions}[5m]))"
    assert rate("ttft_s/sum", "5m", offset="1h") == "sum(rate({ttft_s}_sum[5m] offset 1h))"
    assert quantile(0.5, "ttft_s", "1m") == "histogram_quantile(0.5, sum by (le) (rate({ttft_s}_bucket[1m])))"
