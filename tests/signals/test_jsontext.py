import math

import pytest

from ridgeline.signals.jsontext import decoded


@pytest.mark.parametrize("text", ["", "{", "nope", "[" * 100_000, '{"a": 1} x', b"\xff\xfe", "9" * 5000])
def test_what_is_no_json_is_none(text: str | bytes) -> None:
    assert decoded(text) is None


def test_words_that_python_writes_are_read() -> None:
    value = decoded(b'{"a": NaN, "b": -Infinity, "c": 1e400, "d": [1, 2.5, "\\u00e9"]}')
    assert math.isnan(value["a"])
    assert (value["b"], value["c"], value["d"]) == (-math.inf, math.inf, [1, 2.5, "é"])
