"""Values that no figure can be made of, whatever format they come in."""

import json
from pathlib import Path

import pytest

from ridgeline.bundle.open import open_sources
from ridgeline.signals.rows import rows_of
from tests.bundle.made import write


def test_infinite_samples_have_no_value_and_are_counted(tmp_path: Path) -> None:
    scrape = (
        "# TYPE sglang:token_usage gauge\n"
        'sglang:token_usage{model_name="m"} +Inf\n'
        "# TYPE sglang:num_running_reqs gauge\n"
        'sglang:num_running_reqs{model_name="m"} 4\n'
        "# TYPE sglang:fwd_occupancy gauge\n"
        'sglang:fwd_occupancy{model_name="m"} NaN\n'
        "# TYPE sglang:queue_time_seconds histogram\n"
        'sglang:queue_time_seconds_bucket{le="0.1",model_name="m"} 3\n'
        'sglang:queue_time_seconds_bucket{le="+Inf",model_name="m"} 5\n'
        'sglang:queue_time_seconds_count{model_name="m"} 5\n'
        'sglang:queue_time_seconds_sum{model_name="m"} 1.5\n'
    )
    view = open_sources([str(write(tmp_path, "metrics.txt", scrape))])
    values = dict(view.query("SELECT s.name, m.value FROM samples AS m JOIN series AS s USING (series)"))
    assert values == {"token_usage": None, "num_running_reqs": 4.0, "fwd_occupancy": None}
    assert view.query("SELECT count(*) FROM histograms") == [(1,)]
    ((notes,),) = view.query("SELECT notes FROM sources")
    assert "metrics.txt: 1 samples are infinite; their values are left out" in notes


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-" + "9" * 30, "1e400", "Infinity"])
def test_numbers_beyond_any_column_cost_their_own_value(tmp_path: Path, number: str) -> None:
    rows = [
        {"client_rid": f"c{n}", "send_ts": 1796011200.5 + n, "prompt_len": 7, "latency_s": 1.25, "status": 200}
        for n in range(3)
    ]
    text = "\n".join(json.dumps(row) for row in rows).replace("1.25", number, 1).replace(": 7", f": {number}", 1)
    view = open_sources([str(write(tmp_path, "client.jsonl", text + "\n"))])
    assert view.query("SELECT rid, prompt_tokens, e2e_s FROM records ORDER BY 1") == [
        ("c0", None, None),
        ("c1", 7, 1.25),
        ("c2", 7, 1.25),
    ]


def test_half_a_surrogate_pair_is_a_question_mark() -> None:
    rows = rows_of("events", {"text": ["a\ud800b", None], "count": [2**70, 5], "value": [10**400, 1.5]})
    assert rows.data.to_pylist() == [
        {"text": "a?b", "count": None, "value": None},
        {"text": None, "count": 5, "value": 1.5},
    ]
