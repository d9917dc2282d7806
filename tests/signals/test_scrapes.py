"""Splitting a file into timed answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.signals.rows import Reading
from ridgeline.signals.scrapes import Scrape, documents, epoch, scrape_of, wall_time
from ridgeline.signals.stream import Blob

HEADER = "#### scrape ts=1796011162.139440 took=0.0293 status=200 url=http://127.0.0.1:30000/v1/loads?include=all"


def read(text: str) -> tuple[list[tuple[float | None, int, str]], Reading]:
    reading = Reading(1, "given")
    found = [(d.scrape.ts, d.first, d.text) for d in documents(Blob("given", None, text.encode()), reading)]
    return found, reading


def test_answers_behind_headers_keep_their_lines() -> None:
    found, reading = read(
        f"{HEADER}\n{{1}}\n{HEADER.replace('1162', '1163')}\n\n{HEADER.replace('1162', '1164')}\na\nb\n"
    )
    assert found == [(1796011162.13944, 2, "{1}"), (1796011163.13944, 4, ""), (1796011164.13944, 6, "a\nb")]
    assert reading.lines == 7


def test_without_header_there_is_no_time() -> None:
    assert read('{"a": 1}')[0] == [(None, 1, '{"a": 1}')]
    assert read("") == ([], Reading(1, "given"))
    assert read("\ufeff{}\n")[0] == [(None, 1, "{}")]


def test_bare_times_count_only_where_the_file_begins_with_one() -> None:
    assert read("1796011162\n{1}\n1796011163.5\n{2}\n")[0] == [(1796011162.0, 2, "{1}"), (1796011163.5, 4, "{2}")]
    assert read("# 2026-11-30T03:59:22Z\n{1}\n")[0] == [(1796011162.0, 2, "{1}")]
    # A number alone on a line of pretty-printed JSON is none.
    assert read("[\n1796011162\n]\n")[0] == [(None, 1, "[\n1796011162\n]")]


@pytest.mark.parametrize(
    ("line", "ts", "status", "failed"),
    [
        (HEADER, 1796011162.13944, 200, False),
        (
            "#### scrape ts=1796011162.5 took=0.1 status=<HTTPError 404: 'Not Found'> url=http://h/x",
            1796011162.5,
            404,
            True,
        ),
        ("#### scrape ts=1796011162.5 took=10.0 status=0 url=http://h/x", 1796011162.5, None, True),
        ("#### scrape ts=1796011162.5 took=10.0 status=<URLError timed out> url=http://h/x", 1796011162.5, None, True),
        ("#### scrape ts=17960", None, None, False),  # cut: no time is better than another one
        ("#### scrape", None, None, False),
    ],
)
def test_headers(line: str, ts: float | None, status: int | None, failed: bool) -> None:
    scrape = scrape_of(line.encode(), 3, Reading(1, "given"))
    assert scrape is not None
    assert (scrape.ts, scrape.status, scrape.failed, scrape.line) == (ts, status, failed, 3)


def test_what_a_header_says_of_the_endpoint() -> None:
    scrape = scrape_of(HEADER.encode(), 1, Reading(1, "given"))
    assert scrape is not None
    assert (scrape.endpoint, scrape.target, scrape.took_s) == ("/v1/loads", "127.0.0.1:30000", 0.0293)


def test_times() -> None:
    reading = Reading(1, "given")
    assert wall_time("2026-11-30T03:59:22.5+00:00", reading) == 1796011162.5
    assert wall_time("2026-11-30 04:59:22 +01:00", reading) == 1796011162.0
    assert not reading.notes
    assert wall_time("2026-11-30T03:59:22", reading) == 1796011162.0
    assert any("--tz" in note for note in reading.notes)
    assert [epoch(x) for x in (1796011162, "1796011162250", 1796011162250000, "7", None, "x", 1e300)] == [
        1796011162.0, 1796011162.25, 1796011162.25, None, None, None, None,
    ]  # fmt: skip


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="#\ufeff0123456789"), max_size=30), max_size=4))
def test_every_line_of_every_answer_is_given(bodies: list[str]) -> None:
    bodies = [body.replace("\r", "").strip("\n") for body in bodies]
    text = "".join(f"{HEADER}\n{body}\n" for body in bodies)
    found, reading = read(text)
    assert [body for _, _, body in found] == bodies
    assert reading.lines == text.count("\n")


def test_half_of_an_ipv6_address_is_no_target() -> None:
    scrape = Scrape(1, url="http://[::1:30000/v1/loads")
    assert (scrape.endpoint or None, scrape.target) == (None, None)
