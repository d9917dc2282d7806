"""What is exported is read back: traces and scenarios by our own readers, tables by DuckDB, rules by the vocabulary."""

import io
import json
import re
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.bundle.view import View, view_of
from ridgeline.export import alerts, dashboard, mooncake, otlp, perfetto, tables
from ridgeline.export.promql import Exported, exported
from ridgeline.model.errors import InputError
from ridgeline.scenario import traces
from ridgeline.scenario.from_bundle import traffic_of
from ridgeline.words.metrics import canonical_metric

INCIDENT: Final = str(Path(__file__).resolve().parents[2] / "examples" / "incident")
FIGURES: Final = """
    SELECT rid, round(received_ts, 6), round(ttft_s, 6), round(e2e_s, 6), prompt_tokens, completion_tokens,
        cached_tokens, dp_rank, finish_reason, round(queue_s, 6)
    FROM requests WHERE received_ts IS NOT NULL AND NOT coalesce(probe, false) AND state = 'finished' ORDER BY rid
"""


@pytest.fixture(scope="module")
def view() -> View:
    return open_sources([INCIDENT])


def written(write: Any, view: View, *more: Any) -> str:
    out = io.StringIO()
    write(view, out, *more)
    return out.getvalue()


def test_our_own_reader_reads_the_otlp_back(view: View, tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_text(written(otlp.write, view))
    again = open_sources([str(path)])
    assert [kind for (kind,) in again.query("SELECT kind FROM sources")] == ["otlp"]
    assert again.one("SELECT sum(unparsed) FROM sources")[0] == 0
    there, here = again.query(FIGURES), view.query(FIGURES)
    assert len(here) == 445
    assert [row[4:9] + row[:1] for row in there] == [row[4:9] + row[:1] for row in here]
    for mine, theirs in zip(there, here, strict=True):  # stamps went through nanoseconds
        assert [mine[k] for k in (1, 2, 3, 9)] == pytest.approx([theirs[k] for k in (1, 2, 3, 9)], rel=0, abs=2e-6)
    assert written(otlp.write, view) == path.read_text()  # the same bytes twice


def test_a_retracted_request_stays_one() -> None:
    rows = [{"request": 1, "rid": "a", "server": "s", "received_ts": 100.0, "finished_ts": 104.0, "retractions": 2}]
    text = written(otlp.write, view_of({"requests": rows}))
    (resource,) = json.loads(text)["resourceSpans"]
    marks = [e["name"] for s in resource["scopeSpans"][0]["spans"] for e in s.get("events", ())]
    assert marks == ["retract", "retract"]


def test_perfetto_slices_close_inside_their_request(view: View) -> None:
    trace = json.loads(written(perfetto.write, view))
    open_: dict[tuple[int, str], list[tuple[str, float]]] = {}
    ids, ranks = set(), set()
    for e in trace["traceEvents"]:
        key = (e["pid"], e.get("id", ""))
        if e["ph"] == "b":
            open_.setdefault(key, []).append((e["name"], e["ts"]))
            ids.add(e["id"])
        elif e["ph"] == "e":
            name, start = open_[key].pop()
            assert name == e["name"] and e["ts"] >= start
        elif e["ph"] == "C":
            ranks.add(e["name"])
    assert not any(open_.values())
    assert len(ids) == view.one("SELECT count(*) FROM requests WHERE received_ts IS NOT NULL AND NOT probe")[0]
    assert {"waiting DP0", "waiting DP1", "usage DP1"} <= ranks


def test_a_long_trace_is_thinned_and_says_so(view: View) -> None:
    out = io.StringIO()
    some, all_ = perfetto.write(view, out, 100)
    assert 0 < some <= 100 < all_
    assert json.loads(out.getvalue())["otherData"]["every"] > 1


def test_the_scenario_loader_reads_mooncake_back(view: View, tmp_path: Path) -> None:
    traffic = traffic_of(view, whole=True).scenario
    path = tmp_path / "trace.jsonl"
    with path.open("w") as f:
        assert mooncake.write(traffic, f) == traffic.n
    again = traces.mooncake(path)
    assert again["input_tokens"].tolist() == traffic["input_tokens"].tolist()
    assert again["output_tokens"].tolist() == traffic["output_tokens"].tolist()
    assert (again["arrival_ps"] == traffic["arrival_ps"] // mooncake.MS * mooncake.MS).all()
    read = open_sources([str(path)])
    assert read.one("SELECT kind, unparsed FROM sources") == ("mooncake", 0)


def test_mooncake_blocks_are_shared_as_far_as_prompts_agree(tmp_path: Path) -> None:
    import numpy as np

    from ridgeline.scenario.model import PS, make

    # 1 and 2 share 1,100 tokens (two whole blocks); 3 has the same first segment in another namespace
    columns = {
        "arrival_ps": np.array([0, PS, 2 * PS]),
        "input_tokens": np.array([1600, 1600, 1600]),
        "output_tokens": np.array([5, 6, 7]),
        "namespace": np.array([0, 0, 1]),
    }
    segments = (np.array([0, 2, 4, 5]), np.array([1, 2, 1, 3, 1]), np.array([1100, 500, 1100, 500, 1100]))
    out = io.StringIO()
    mooncake.write(make(columns, segments), out)
    one, two, three = (json.loads(line)["hash_ids"] for line in out.getvalue().splitlines())
    assert len(one) == len(two) == len(three) == 4
    assert one[:2] == two[:2] and not set(one[2:]) & set(two[2:])
    assert not set(three) & {*one, *two}


def test_tables_hold_what_the_view_holds(view: View, tmp_path: Path) -> None:
    for kind in ("csv", "parquet"):
        files = tables.write(view, kind, tmp_path / kind, None)  # type: ignore[arg-type]
        assert {path.stem for path, _ in files} >= {"requests", "batches", "loads", "sources"}
        for path, rows in files:
            found = duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall()[0][0]
            assert found == rows == view.one("SELECT count(*) FROM query_table($t)", {"t": path.stem})[0]
    with pytest.raises(InputError, match="requests"):
        tables.write(view, "csv", tmp_path / "x.csv", "nonsense")


@pytest.mark.parametrize(
    ("engine", "version"), [("sglang", "0.5.23"), ("sglang", "0.5.9"), ("sglang", "0.5.3"), ("vllm", "0.32.0")]
)
def test_rules_and_dashboards_name_metrics_that_exist_in_that_version(engine: Any, version: str) -> None:
    of = Exported(engine, version, True)
    kept, _ = alerts.rules(of)
    panels = [p for p in dashboard.board(of)["panels"] if p["type"] != "row"]
    expressions = [expr for _, expr in kept] + [t["expr"] for p in panels for t in p["targets"]]
    assert len(kept) >= 4 and len(panels) >= 6
    for expr in expressions:
        assert expr.count("(") == expr.count(")") and "{" not in expr
        names = re.findall(r"(?:sglang|vllm):\w+", expr)
        assert names
        for name in names:
            found = canonical_metric(name)
            assert found is not None and found.engine == engine, name
            assert found.span.has(version, engine), name
            assert found.kind == "histogram" if name.endswith("_bucket") else True
            assert (found.kind == "counter") == name.endswith("_total"), name


def test_an_old_version_leaves_out_what_it_lacks() -> None:
    kept, left = alerts.rules(Exported("sglang", "0.4.10", True))
    assert "RidgelineQueueTakesTheTime" in left  # queue_time_seconds came with 0.5.3
    assert "RidgelineQueueTakesTheTime" not in alerts.text(Exported("sglang", "0.4.10", True)).split("groups:")[1]
    assert "RidgelinePoolFull" in {a.name for a, _ in kept}


def test_the_rule_file_is_yaml() -> None:
    yaml = pytest.importorskip("yaml")
    text = alerts.text(Exported("sglang", "0.5.23", True))
    (group,) = yaml.safe_load(text)["groups"]
    assert len(group["rules"]) == len(alerts.ALERTS)
    assert all({"alert", "expr", "for", "labels", "annotations"} <= set(rule) for rule in group["rules"])


def test_the_version_comes_from_the_evidence(view: View) -> None:
    assert exported(view).sure
    assert not exported(view_of({})).sure
