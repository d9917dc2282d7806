import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals.benchline import figures_of, table_row
from tests.signals.reading import Tables, tables_of


def series(tables: Tables) -> dict[str, list[float]]:
    names = {row["series"]: row["name"] + (row["labels"] if row["labels"] != "{}" else "") for row in tables["series"]}
    out: dict[str, list[float]] = {}
    for row in tables["samples"]:
        out.setdefault(names[row["series"]], []).append(row["value"])
    return out


def test_rounds_of_a_benchmark_are_series_in_base_units() -> None:
    text = (
        "  Round 0: Average TTFT = 2210ms, Cache Hit Rate = 0.000000 (24 requests, 24 clients)\n"
        "  Round 1: Average TTFT = 2.68s, Cache Hit Rate = 49.9921% (24 requests, 24 clients)\n"
    )
    reading, tables = tables_of(text)
    assert (reading.kind, reading.understood, reading.unparsed) == ("text", 2, 0)
    assert series(tables) == {
        "bench:average_ttft": [2.21, 2.68],
        "bench:cache_hit_rate": [0.0, 0.499921],
        "bench:requests": [24.0, 24.0],
        "bench:clients": [24.0, 24.0],
    }
    assert [(row["line"], row["scrape"]) for row in tables["samples"]][::4] == [(1, 0), (2, 1)]


def test_a_printed_result_block() -> None:
    text = (
        "============ Serving Benchmark Result ============\n"
        "Successful requests:                     1,000\n"
        "Mean TTFT (ms):                          2210.44\n"
        "Request throughput (req/s):              4.57\n"
    )
    _, tables = tables_of(text)
    assert series(tables) == {
        "bench:successful_requests": [1000.0],
        "bench:mean_ttft": [2.21044],
        "bench:request_throughput": [4.57],
    }


def test_a_markdown_table_with_words_as_labels() -> None:
    text = (
        "Some words about it.\n\n"
        "| mode | concurrency | Mean TTFT (ms) | hit rate |\n"
        "|------|------------:|---:|---|\n"
        "| base | 8 | 120.5 | 40% |\n"
        "| spec | 8 | 99 | **50%** |\n"
    )
    reading, tables = tables_of(text)
    got = series(tables)
    assert got['bench:mean_ttft{"mode": "base"}'] == [0.1205]
    assert got['bench:hit_rate{"mode": "spec"}'] == [0.5]
    assert (reading.understood, reading.unparsed, reading.blank) == (4, 1, 1)


@pytest.mark.parametrize(
    "prose",
    [
        "The latency rose to 5 s after the change.",
        "round 3 of talks: tokens = many",
        "| a | b |",
        "TTFT is bad",
        "requests: none",
    ],
)
def test_prose_gives_no_figure(prose: str) -> None:
    reading, tables = tables_of(prose + "\n")
    assert "samples" not in tables
    assert [row["text"] for row in tables["unread"]] == [prose]
    assert reading.unparsed == 1


def test_error_words_in_prose_are_counted() -> None:
    reading, _ = tables_of("then the request failed with a timeout\nand that was it\n")
    assert (reading.unparsed, reading.unparsed_errors) == (2, 1)


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_any_text_is_survived_and_counted(text: str) -> None:
    figures_of(text)
    table_row(text, ["a", "b"])
    reading, _ = tables_of("Mean TTFT (ms): 5\n" + text.replace("\r", " "))
    if reading.kind == "text":
        assert reading.lines == reading.blank + reading.understood + reading.unparsed


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**7), st.integers(0, 999))
def test_numbers_are_taken_whole(whole: int, part: int) -> None:
    (figure,) = figures_of(f"Mean TTFT (ms):   {whole:,}.{part:03d}") or []
    assert figure.value == pytest.approx((whole + part / 1000) / 1000)


@pytest.mark.shared
def test_the_development_case(shared_dir: Path) -> None:
    _, tables = tables_of((shared_dir / "cases/050-hits-rise-and-so-does-ttft/bench.txt").read_bytes())
    got = series(tables)
    assert (got["bench:average_ttft"][0], got["bench:average_ttft"][-1]) == (2.21, 5.44)
    assert got["bench:cache_hit_rate"][-1] == pytest.approx(0.8889, abs=1e-3)
    assert set(got["bench:clients"]) == {24.0}
    assert all(json.loads(row["labels"]) == {} for row in tables["series"])


@pytest.mark.parametrize(
    "form", ["      Reason:       OOMKilled", "        reason: OOMKilled", '  "reason": "OOMKilled",']
)
def test_a_container_killed_for_memory_is_read_of_a_pods_description(form: str) -> None:
    text = f"    Last State:     Terminated\n{form}\n      Exit Code:    137\n"
    _, tables = tables_of(text)
    (event,) = tables["events"]
    assert (event["kind"], event["severity"], event["line"]) == ("host-oom", "fatal", 2)


def test_prose_about_memory_is_no_event() -> None:
    _, tables = tables_of("We saw OOMKilled twice.\nReason: OOMKilled pods are frequent here\n")
    assert not tables.get("events")
