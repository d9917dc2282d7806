import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.signals.reading import tables_of


def usage_rows(text: str) -> list[tuple[object, ...]]:
    _, tables = tables_of(text)
    return [
        tuple(row.get(name) for name in ("prompt_tokens", "completion_tokens", "cached_tokens"))
        for row in tables["records"]
        if row["kind"] == "client"
    ]


def test_a_python_repr_over_two_lines() -> None:
    text = (
        "usage_metadata={'input_tokens': 2814, 'output_tokens': 31, 'total_tokens': 2845,\n"
        "                'input_token_details': {'cache_creation': 2811, 'cache_read': 0}}\n"
        "\n"
        "usage_metadata={'input_tokens': 10, 'output_tokens': 2, 'total_tokens': 12,\n"
        "                'input_token_details': {'cache_creation': 4, 'cache_read': 6}}\n"
    )
    assert usage_rows(text) == [(2814, 31, 0), (10, 2, 6)]
    reading, tables = tables_of(text)
    assert reading.unparsed == 0
    assert [(row["line"], row["name"], row["number"]) for row in tables["request_attrs"]] == [
        (1, "cache_write_tokens", 2811.0),
        (4, "cache_write_tokens", 4.0),
    ]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (
            "2026-03-07 06:20:44 INFO Usage(cache_creation_input_tokens=2811, cache_read_input_tokens=100, "
            "input_tokens=3, output_tokens=31)",
            (2914, 31, 100),
        ),
        (
            "2026-03-07 06:20:44 INFO turn 3 usage: {'prompt_tokens': 900, 'completion_tokens': 12, "
            "'prompt_tokens_details': {'cached_tokens': 512}}",
            (900, 12, 512),
        ),
        ("2026-03-07 06:20:44 INFO turn 3 usage: {'prompt_tokens': 900, 'completion_tokens': 12}", (900, 12, None)),
    ],
)
def test_other_clients(text: str, want: tuple[object, ...]) -> None:
    assert usage_rows(text + "\n") == [want]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 60))
def test_a_cut_line_never_gives_a_cut_number(prompt: int, output: int, cached: int, cut: int) -> None:
    whole = "usage_metadata=" + json.dumps(
        {"input_tokens": prompt, "output_tokens": output, "d": {"cache_read": cached}}
    )
    for row in usage_rows(f"2026-03-07 06:20:44 INFO {whole[:-cut]}") + usage_rows(
        f"2026-03-07 06:20:44 INFO {whole}\n"
    ):
        assert row[0] in (None, prompt)
        assert row[1] in (None, output)
        assert row[2] in (None, cached)
