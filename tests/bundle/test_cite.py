import gzip
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ridgeline.bundle.cite import cite, lines_of, parse, ranges
from ridgeline.signals.stream import Blob

NAMES = {1: "server.log", 2: "a/b.log.gz"}


def test_neighbouring_lines_are_one_citation() -> None:
    rows = [(1, 1812), (1, 1813), (1, 1814), (1, 40), (2, 7), (1, 1813)]
    assert cite(NAMES, rows) == ["server.log:40", "server.log:1812-1814", "a/b.log.gz:7"]


def test_too_many_ranges_become_one_and_no_line_names_the_file() -> None:
    assert cite(NAMES, [(1, n) for n in range(0, 100, 10)], most=3) == ["server.log:0-90"]
    assert cite(NAMES, [(2, None), (None, None)]) == ["a/b.log.gz"]


@given(st.lists(st.integers(1, 10**9), min_size=1))
def test_ranges_hold_exactly_the_lines(lines: list[int]) -> None:
    lines = [n % 5000 + 1 for n in lines]
    assert {n for a, b in ranges(lines) for n in range(a, b + 1)} == set(lines)


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_a_citation_reads_back(first: int, more: int) -> None:
    (text,) = cite(NAMES, [(1, first), (1, first + more)], most=1)
    assert parse(text) == ("server.log", first, first + more)


def test_names_with_colons_are_not_line_numbers() -> None:
    assert parse("C:server.log") == ("C:server.log", None, None)
    assert parse("host:8080.log:3") == ("host:8080.log", 3, 3)


def test_raw_lines_are_read_back_from_gzip(tmp_path: Path) -> None:
    path = tmp_path / "x.log.gz"
    path.write_bytes(gzip.compress(b"".join(b"line %d\r\n" % n for n in range(1, 1001))))
    blob = Blob("x.log.gz", path)
    assert lines_of(blob, [3, 1000, 1001, 0, 3]) == {3: "line 3", 1000: "line 1000"}
    assert lines_of(blob, []) == {}
