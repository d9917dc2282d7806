"""Answers of Prometheus."""

import json
import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.signals.reading import tables_of

T = 1796011162


def matrix(*results: tuple[dict[str, str], list[list[Any]]]) -> dict[str, Any]:
    return {
        "status": "success",
        "data": {
            "resultType": "matrix",
            "result": [{"metric": metric, "values": values} for metric, values in results],
        },
    }


def named(name: str, **labels: str) -> dict[str, str]:
    return {"__name__": name, **labels}


def test_matrix() -> None:
    answer = matrix(
        (named("sglang:num_queue_reqs", dp_rank="1", instance="a:1"), [[T, "3"], [T + 15, "NaN"], [T + 30.5, "+Inf"]]),
        (named("sglang:num_aborted_requests_total"), [[T, "7"]]),
    )
    reading, tables = tables_of(json.dumps(answer))
    assert (reading.kind, reading.understood, reading.unparsed) == ("prometheus-range", 2, 0)
    assert [(s["name"], s["kind"], s.get("dp_rank")) for s in tables["series"]] == [
        ("num_queue_reqs", "gauge", 1),
        ("num_aborted_requests", "counter", None),
    ]
    assert [(s["series"], s["ts"], s.get("value")) for s in tables["samples"]] == [
        (1, T, 3.0), (1, T + 15, None), (1, T + 30.5, math.inf), (2, T, 7.0),
    ]  # fmt: skip
    assert (reading.from_ts, reading.to_ts) == (T, T + 30.5)


def test_histograms_are_put_together_per_step() -> None:
    name = "sglang:time_to_first_token_seconds"
    answer = matrix(
        *(
            (named(name + "_bucket", le=le, job="x"), [[T, str(n)], [T + 15, str(n * 2)]])
            for le, n in (("0.1", 1), ("+Inf", 4))
        ),
        (named(name + "_sum", job="x"), [[T, "2.5"], [T + 15, "5"]]),
        (named(name + "_count", job="x"), [[T, "4"], [T + 15, "8"]]),
    )
    _, tables = tables_of(json.dumps(answer))
    assert [(h["ts"], h["le"], h["cumulative"], h["sum"], h["count"]) for h in tables["histograms"]] == [
        (T, [0.1, math.inf], [1.0, 4.0], 2.5, 4.0),
        (T + 15, [0.1, math.inf], [2.0, 8.0], 5.0, 8.0),
    ]
    assert [s["name"] for s in tables["series"]] == ["time_to_first_token_seconds"]
    assert not tables["samples"]


def test_vector_expression_and_several_answers() -> None:
    vector = {
        "status": "success",
        "data": {"resultType": "vector", "result": [{"metric": {"job": "x"}, "value": [T, "0.5"]}]},
    }
    reading, tables = tables_of(json.dumps([vector, vector | {"query": "sum(rate(a[1m]))"}]))
    assert (reading.understood, reading.unparsed) == (2, 0)
    assert [s["raw"] for s in tables["series"]] == ["(expression)", "sum(rate(a[1m]))"]


def test_error_and_nothing() -> None:
    reading, tables = tables_of(
        '{"status":"error","data":{"resultType":"matrix","result":[]},"error":"too many points"}'
    )
    assert (reading.kind, reading.unparsed) == ("prometheus-range", 1)
    assert tables["scrapes"][0]["error"] == "Prometheus answered: too many points"


VALUE = st.none() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from(["__name__", "le", "gt"]), st.text(max_size=4)), st.lists(VALUE, max_size=3)
        )
    )
)
def test_any_points_are_survived(results: list[tuple[dict[str, str], list[Any]]]) -> None:
    reading, _ = tables_of(json.dumps(matrix(*results)))
    assert reading.understood + reading.unparsed >= 1
