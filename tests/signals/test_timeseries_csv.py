from hypothesis import given, settings
from hypothesis import strategies as st

from tests.signals.reading import tables_of

HEAD = "t,prompt_throughput,running,waiting,kv_cache_pct,odd\n"


def test_names_units_and_relative_time() -> None:
    reading, tables = tables_of(HEAD + "1.0,3392.0,5,2,13.22,7\n2.0,9045.0,16,0,39.7,\n")
    names = {s["series"]: s["name"] for s in tables["series"]}
    found = [(names[s["series"]], s["value"], s["line"]) for s in tables["samples"]]
    assert found == [
        ("avg_prompt_throughput_toks_per_s", 3392.0, 2),
        ("num_requests_running", 5.0, 2),
        ("num_requests_waiting", 2.0, 2),
        ("kv_cache_usage_perc", 0.1322, 2),
        ("odd", 7.0, 2),
        ("avg_prompt_throughput_toks_per_s", 9045.0, 3),
        ("num_requests_running", 16.0, 3),
        ("num_requests_waiting", 0.0, 3),
        ("kv_cache_usage_perc", 0.397, 3),
    ]
    assert not any("ts" in s for s in tables["samples"])
    assert any("start of the run" in note for note in reading.notes)
    assert reading.kind == "timeseries-csv"


def test_wall_times_and_damaged_lines() -> None:
    reading, tables = tables_of(
        "timestamp,running,kv_usage\n2026-11-30T03:40:00Z,4,0.5\n1796010001,5,nan\n1796010002\nnever,1,2\n\n"
    )
    assert [(s["ts"], s["value"]) for s in tables["samples"]] == [
        (1796010000.0, 4.0),
        (1796010000.0, 0.5),
        (1796010001.0, 5.0),
    ]
    assert [u["line"] for u in tables["unread"]] == [4, 5]
    assert (reading.lines, reading.blank, reading.understood, reading.unparsed) == (6, 1, 3, 2)
    assert (reading.from_ts, reading.to_ts) == (1796010000.0, 1796010001.0)


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from('\n\r,"'), max_size=200))
@settings(max_examples=50, deadline=None)
def test_any_text_behind_the_head_does_no_harm(rest: str) -> None:
    reading, tables = tables_of(HEAD + "1.0,1,2,3,4,5\n" + rest)
    assert [s["value"] for s in tables["samples"]][:5] == [1.0, 2.0, 3.0, 0.04, 5.0]
    assert reading.understood >= 2
