"""Composed scrapes: every shape of the format, and every damage that must not become a number."""

import json
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals.exposition import book
from tests.signals.exposition.flat import by_library, flat, of_text

SCRAPE = """\
# HELP sglang:num_queue_reqs Waiting.
# TYPE sglang:num_queue_reqs gauge
sglang:num_queue_reqs{dp_rank="0",engine_type="decode"} 3.0
sglang:num_queue_reqs{dp_rank="1",engine_type="decode"} 14.0
# HELP sglang:fwd_occupancy Share.
# TYPE sglang:fwd_occupancy gauge
sglang:fwd_occupancy NaN
# HELP sglang:num_aborted_requests_total Aborted.
# TYPE sglang:num_aborted_requests_total counter
sglang:num_aborted_requests_total{model_name="m"} 1.2e+03
# TYPE sglang:queue_time_seconds histogram
sglang:queue_time_seconds_sum{model_name="m"} 7.5
sglang:queue_time_seconds_bucket{le="0.1",model_name="m"} 2.0
sglang:queue_time_seconds_bucket{le="1.0",model_name="m"} 5.0
sglang:queue_time_seconds_bucket{le="+Inf",model_name="m"} 6.0
sglang:queue_time_seconds_count{model_name="m"} 6.0
"""


def header(ts: float, status: str = "200", url: str = "http://127.0.0.1:30000/metrics") -> str:
    return f"#### scrape ts={ts:.6f} took=0.0100 status={status} url={url}\n"


def test_rows_of_one_scrape() -> None:
    tables, reading = of_text(header(1796011162.25) + SCRAPE)
    assert flat(tables) == by_library(header(1796011162.25) + SCRAPE)
    assert (reading.understood, reading.unparsed, reading.blank, reading.lines) == (9, 0, 8, 17)
    assert reading.role == "decode"
    (scrape,) = tables["scrapes"]
    assert (scrape["line"], scrape["ok"], scrape["took_s"], scrape["endpoint"]) == (1, True, 0.01, "/metrics")
    assert scrape["bytes"] == len(SCRAPE)
    names = {row["series"]: row for row in tables["series"]}
    assert sorted(names) == [1, 2, 3, 4, 5]
    assert [row["name"] for row in names.values()] == [
        "num_queue_reqs", "num_queue_reqs", "fwd_occupancy", "num_aborted_requests", "queue_time_seconds",
    ]  # fmt: skip
    assert [row["dp_rank"] for row in names.values()] == [0, 1, None, None, None]
    (histogram,) = tables["histograms"]
    assert histogram["le"] == [0.1, 1.0, math.inf]
    assert (histogram["cumulative"], histogram["sum"], histogram["count"]) == ([2.0, 5.0, 6.0], 7.5, 6.0)
    assert (histogram["line"], histogram["scrape"]) == (13, 1)
    assert [row["line"] for row in tables["samples"]] == [4, 5, 8, 11]
    assert next(row["value"] for row in tables["samples"] if row["line"] == 8) is None  # NaN: not measured


def test_many_scrapes_with_changes_between_them() -> None:
    grown = SCRAPE + 'sglang:num_queue_reqs{dp_rank="2"} 1.0\n'
    fallen = SCRAPE.replace("1.2e+03", "4.0")  # the server restarted: kept as it is
    text = "".join(
        header(1796011162 + n) + body
        for n, body in enumerate([SCRAPE, SCRAPE, grown, fallen, SCRAPE.replace("14.0", "2")])
    )
    tables, reading = of_text(text)
    assert flat(tables) == by_library(text)
    assert reading.unparsed == 0
    assert (reading.from_ts, reading.to_ts) == (1796011162.0, 1796011166.0)
    assert {row["scrape"] for row in tables["samples"]} == {row["line"] for row in tables["scrapes"]}


def test_type_that_changes_with_the_version() -> None:
    gauge = '# TYPE sglang:kv_transfer_latency_ms gauge\nsglang:kv_transfer_latency_ms{m="a"} 4.5\n'
    histogram = (
        "# TYPE sglang:kv_transfer_latency_ms histogram\n"
        'sglang:kv_transfer_latency_ms_bucket{le="1",m="a"} 1\n'
        'sglang:kv_transfer_latency_ms_bucket{le="+Inf",m="a"} 3\n'
        'sglang:kv_transfer_latency_ms_sum{m="a"} 9\nsglang:kv_transfer_latency_ms_count{m="a"} 3\n'
    )
    text = header(1796011162) + gauge + header(1796011163) + histogram + header(1796011164) + gauge
    tables, _ = of_text(text)
    assert flat(tables) == by_library(text)
    assert Counter(row["kind"] for row in tables["series"]) == {"gauge": 1, "histogram": 1}


def test_gauge_histogram_is_kept_and_summed_up() -> None:
    lines = [("0", "1", 4), ("1", "5", 2), ("5", "+Inf", 1)]
    text = "# TYPE sglang:routing_key_all_req_count gauge\n" + "".join(
        f'sglang:routing_key_all_req_count{{gt="{gt}",le="{le}",dp_rank="3"}} {n}.0\n' for gt, le, n in lines
    )
    tables, _ = of_text(text)
    assert flat(tables) == by_library(text)
    (histogram,) = tables["histograms"]
    assert (histogram["le"], histogram["cumulative"]) == ([1.0, 5.0, math.inf], [4.0, 6.0, 7.0])
    assert (histogram["sum"], histogram["count"]) == (None, 7.0)
    # With a bucket missing in the middle it cannot be summed up; the samples stay.
    tables, _ = of_text(text.replace('sglang:routing_key_all_req_count{gt="1",le="5",dp_rank="3"} 2.0\n', ""))
    assert "histograms" not in tables or tables["histograms"] == []
    assert len(tables["samples"]) == 2


@pytest.mark.parametrize(
    ("line", "name", "labels", "value", "ts"),
    [
        ('a{x="}"} 1', "a", {"x": "}"}, 1.0, None),
        ('a{x="b c, d=\\"e\\""} -2', "a", {"x": 'b c, d="e"'}, -2.0, None),
        ('a{x="l\\nm\\\\n"} +Inf', "a", {"x": "l\nm\\n"}, math.inf, None),
        ("a -Inf", "a", {}, -math.inf, None),
        ("a 1e-05", "a", {}, 1e-05, None),
        ('a{x="1"} 5 1796011162250', "a", {"x": "1"}, 5.0, 1796011162.25),
        ("a 5 1796011162.25", "a", {}, 5.0, 1796011162.25),  # OpenMetrics: seconds
        ('a_total{x="1"} 5 # {trace_id="9"} 0.5 1796011162.1', "a_total", {"x": "1"}, 5.0, None),
        ('a{x="1",} 5', "a", {"x": "1"}, 5.0, None),
        ("  a   7  ", "a", {}, 7.0, None),
        ("a\t7", "a", {}, 7.0, None),
        ("a 7\r", "a", {}, 7.0, None),
        ('{"a.b",x="1"} 5', "a.b", {"x": "1"}, 5.0, None),
    ],
)
def test_lines(line: str, name: str, labels: dict[str, str], value: float, ts: float | None) -> None:
    tables, reading = of_text(line + "\n" + line + "\n")  # the second is read from the memo
    assert reading.unparsed == 0
    (series,) = tables["series"]
    assert (series["raw"], json.loads(series["labels"])) == (name, labels)
    assert [(row["value"], row["ts"]) for row in tables["samples"]] == [(value, ts)] * 2


@pytest.mark.parametrize(
    "line",
    ["a{x=\"1} 5", 'a{x="1"} 1_000', 'a{x="1"} 0x10', "a", 'a{x="1"}', "a{} 1.0b 2.0", "a 1.0b{x=\"1\"} 2.0", "<html>",
     "Internal Server Error", 'a{x="1",x="2"} 5', "a 1 2 3", "a{x=1} 5", "9a 5", 'a{x="1"}5', "a 5 # no exemplar"],
)  # fmt: skip
def test_lines_that_are_none(line: str) -> None:
    tables, reading = of_text("good 1\n" + line + "\n")
    assert (reading.understood, reading.unparsed) == (1, 1)
    assert [(row["line"], row["text"]) for row in tables["unread"]] == [(2, line)]
    assert [row["value"] for row in tables["samples"]] == [1.0]


def test_errors_gaps_and_empty_answers() -> None:
    text = (
        header(1796011162) + SCRAPE
        + header(1796011163, "<HTTPError 500: 'Internal Server Error'>") + "\n"
        + header(1796011164, "0") + "URLError: connection refused\n"
        + header(1796011165, "503") + "<html>no backend</html>\n"
        + header(1796011166) + "\n"
        + header(1796011167) + "<html>a login page</html>\n"
    )  # fmt: skip
    tables, reading = of_text(text)
    got = [(row["ok"], row["status"], row["error"]) for row in tables["scrapes"]]
    assert got == [
        (True, 200, None),
        (False, 500, "<HTTPError 500: 'Internal Server Error'>"),
        (False, None, "URLError: connection refused"),
        (False, 503, "<html>no backend</html>"),
        (False, 200, "an empty answer"),
        (False, 200, "<html>a login page</html>"),
    ]
    assert (reading.understood, reading.unparsed) == (9 + 3, 1)


def test_scrapes_without_headers_and_with_bare_times() -> None:
    tables, reading = of_text(SCRAPE + SCRAPE.replace("14.0", "15.0"))
    assert [(row["line"], row["ts"]) for row in tables["scrapes"]] == [(1, None), (17, None)]
    assert [row["scrape"] for row in tables["histograms"]] == [1, 17]
    assert any("without a time" in note for note in reading.notes)
    timed = "1796011162\n" + SCRAPE + "2026-11-30T03:59:23.5Z\n" + SCRAPE
    tables, reading = of_text(timed)
    assert [row["ts"] for row in tables["scrapes"]] == [1796011162.0, 1796011163.5]
    assert len(tables["histograms"]) == 2
    assert reading.unparsed == 0


def test_head_of_the_scrape_is_missing() -> None:
    cut = SCRAPE[SCRAPE.index("sglang:queue_time_seconds_sum") :]
    tables, reading = of_text(cut)
    (histogram,) = tables["histograms"]
    assert (histogram["sum"], histogram["count"], histogram["cumulative"]) == (7.5, 6.0, [2.0, 5.0, 6.0])
    assert reading.unparsed == 0


def test_two_hosts_in_one_file() -> None:
    other = "http://127.0.0.1:30001/metrics"
    text = header(1796011162) + SCRAPE + header(1796011162.5, url=other) + SCRAPE.replace("14.0", "15.0")
    tables, _ = of_text(text)
    instances = {json.loads(row["labels"])["instance"] for row in tables["series"]}
    assert instances == {"127.0.0.1:30000", "127.0.0.1:30001"}
    assert len(tables["series"]) == 10


def test_too_many_series_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "SERIES_LIMIT", 3)
    text = "".join(f'a{{rid="{n}"}} {n}\n' for n in range(10)) + 'a{rid="1"} 5\n'
    tables, reading = of_text(text)
    assert [row["value"] for row in tables["samples"]] == [0.0, 1.0, 2.0, 5.0]
    assert reading.unparsed == 7
    assert any("series" in note for note in reading.notes)


def test_repeated_part_of_a_histogram_is_another_row() -> None:
    tables, _ = of_text(SCRAPE + 'sglang:queue_time_seconds_bucket{le="1.0",model_name="m"} 9.0\n')
    assert [row["cumulative"] for row in tables["histograms"]] == [[2.0, 5.0, 6.0], [9.0]]


TEXT = st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="\x00\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\r"),
    max_size=12,
)
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True).filter(
    lambda name: (
        name not in ("le", "gt") and not name.endswith(("_bucket", "_sum", "_count", "_total", "_gsum", "_gcount"))
    )
)
VALUES = st.floats(allow_nan=True, allow_infinity=True).map(lambda v: v if v != 0 else 0.0)


@st.composite
def scrapes(draw: st.DrawFn) -> str:
    lines = []
    for name in draw(st.lists(NAMES, min_size=1, max_size=5, unique=True)):
        kind = draw(st.sampled_from(["gauge", "counter", "histogram"]))
        name = f"{name}_total" if kind == "counter" else name
        lines.append(f"# TYPE {name} {kind}")
        labels = draw(st.dictionaries(NAMES, TEXT, max_size=3))
        escaped = [
            '{}="{}"'.format(k, v.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"'))
            for k, v in labels.items()
        ]
        if kind == "histogram":
            for le in (*sorted(draw(st.sets(st.integers(0, 50), max_size=4))), "+Inf"):
                bucket = ",".join([*escaped, f'le="{le}"'])
                lines.append(f"{name}_bucket{{{bucket}}} {draw(st.integers(0, 99))}")
            lines += [f"{name}_{part}{{{','.join(escaped)}}} {draw(VALUES)!r}" for part in ("sum", "count")]
        else:
            lines.append(f"{name}{{{','.join(escaped)}}} {draw(VALUES)!r}")
    return "\n".join(lines) + "\n"


@settings(max_examples=60, deadline=None)
@given(st.lists(scrapes(), min_size=1, max_size=3))
def test_round_trip_against_the_library(bodies: list[str]) -> None:
    text = "".join(header(1796011162 + n) + body for n, body in enumerate(bodies))
    tables, reading = of_text(text)
    assert flat(tables) == _without_nan_parts(by_library(text))
    assert reading.unparsed == 0


def _without_nan_parts(expected: Counter) -> Counter:
    # A sum or count that is NaN is null in its histogram's row: nothing to take apart again.
    return Counter(
        {key: n for key, n in expected.items() if not (key[1].endswith(("_sum", "_count")) and key[4] == "NaN")}
    )


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_damaged_scrapes_never_make_up_a_sample(data: st.DataObject) -> None:
    lines = (SCRAPE + SCRAPE).splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        match data.draw(st.sampled_from(["double", "drop", "swap", "ansi", "join"])):
            case "double":
                lines.insert(at, lines[at])
            case "drop":
                del lines[at]
            case "swap":
                other = data.draw(st.integers(0, len(lines) - 1))
                lines[at], lines[other] = lines[other], lines[at]
            case "ansi":
                lines[at] = "\x1b[32m" + lines[at]
            case _:
                lines[at] = lines[at].rstrip("\n")
    cut = data.draw(st.integers(0, len("".join(lines))))
    damaged = "".join(lines)[:cut]
    tables, reading = of_text(damaged)
    known = {key[1:] for key in by_library(SCRAPE)}
    assert {key[1:] for key in flat(tables)} <= known
    assert reading.understood + reading.unparsed + reading.blank == reading.lines
    assert reading.unparsed == len(tables.get("unread", []))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_survived(data: bytes) -> None:
    tables, reading = of_text(data)
    assert reading.understood + reading.unparsed + reading.blank == reading.lines
    assert len(tables.get("samples", [])) <= reading.understood
