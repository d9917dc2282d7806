"""Lines grouped by shape, and the numbers read from them in bulk."""

import re

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals.log.shapes import MAX_DIGITS, groups, shapes_of

LINE = st.from_regex(r"[a-z#:. ][a-z0-9#:. é]{0,60}", fullmatch=True)


@given(st.lists(LINE, min_size=1, max_size=12))
@settings(max_examples=150, deadline=None)
def test_shapes_are_the_lines_with_each_run_of_digits_as_one_zero(lines: list[str]) -> None:
    shapes = shapes_of(pa.array(lines, pa.string()))
    assert [shapes.texts[code] for code in shapes.codes] == [re.sub("[0-9]+", "0", line) for line in lines]
    for rows in groups(shapes.codes, len(shapes.texts)):
        assert len({int(shapes.codes[row]) for row in rows}) <= 1


@given(st.lists(LINE, min_size=1, max_size=12), st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_every_run_is_read_as_the_number_it_prints(lines: list[str], skip: int) -> None:
    array = pa.array(["x"] * skip + lines, pa.string())[skip:]
    shapes = shapes_of(array)
    for row, line in enumerate(lines):
        for slot, digits in enumerate(re.findall("[0-9]+", line)):
            at = np.array([row])
            value = shapes.integers(at, slot)[0]
            assert (np.isnan(value) and len(digits) > MAX_DIGITS) or value == int(digits)
            assert shapes.digits(at, slot)[0] == len(digits)


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**6)), min_size=1, max_size=20))
@settings(max_examples=100, deadline=None)
def test_decimals_are_the_nearest_double(pairs: list[tuple[int, int]]) -> None:
    lines = [f"v: {whole}.{part}, w: {part}" for whole, part in pairs]
    shapes = shapes_of(pa.array(lines, pa.string()))
    rows = np.arange(len(lines))
    assert shapes.decimals(rows, 0).tolist() == [float(f"{whole}.{part}") for whole, part in pairs]
    assert shapes.integers(rows, 2).tolist() == [float(part) for _, part in pairs]
