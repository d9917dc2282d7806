"""JSON answers in general, and every reader of them under any bytes."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.signals import answer, health, incident_bundle, launch, loads, prometheus_range, server_info
from ridgeline.signals.answers import Answers, decoded, real, whole
from ridgeline.signals.rows import Reading, Rows
from ridgeline.signals.stream import Blob

READERS: tuple[Callable[[Blob, Reading], Iterator[Rows]], ...] = (
    answer.read, health.read, incident_bundle.read, launch.read, loads.read, prometheus_range.read, server_info.read,
)  # fmt: skip


def test_numbers() -> None:
    assert [whole(x) for x in (3, 3.0, 3.5, True, "3", None, 2**63, -(2**63), float("nan"), float("inf"))] == [
        3, 3, None, None, None, None, None, -(2**63), None, None,
    ]  # fmt: skip
    assert [real(x) for x in (3, 3.5, True, "3", None, 10**400, float("nan"), float("-inf"))] == [
        3.0, 3.5, None, None, None, None, None, None,
    ]  # fmt: skip


def test_json_between_other_text() -> None:
    text = 'x {"a": 1}y\n[2]\n{"cut": \n{"b": 2}'
    got = [(text[at:end], value) for at, end, value in decoded(text)]
    assert got == [
        ("x ", None), ('{"a": 1}', {"a": 1}), ("y\n", None), ("[2]", [2]), ('{"cut": ', None), ('{"b": 2}', {"b": 2}),
    ]  # fmt: skip


def test_depth_is_survived() -> None:
    deep = "[" * 100_000
    assert all(value is None for _, _, value in decoded(deep))


def test_answers_one_per_line_and_pretty_printed() -> None:
    text = '{"a": 1}\n{"a": 2}\n{\n  "a": 3\n}\n'
    reading = Reading(1, "given")
    answers = Answers(Blob("given", None, text.encode()), reading)
    assert [(a.line, a.value["a"]) for a in answers] == [(1, 1), (2, 2), (3, 3)]


@given(st.lists(st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=4), max_size=3), max_size=4))
def test_whole_documents_are_found_again(values: list[dict[str, Any]]) -> None:
    text = "\n".join(json.dumps(value) for value in values)
    assert [value for _, _, value in decoded(text) if value is not None] == values


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__module__.rpartition(".")[2])
@settings(max_examples=40, deadline=None)
@given(data=st.binary(max_size=120) | st.text(alphabet='{}[]":,0#\n aok', max_size=120).map(str.encode))
def test_any_bytes(read: Callable[[Blob, Reading], Iterator[Rows]], data: bytes) -> None:
    reading = Reading(1, "given")
    rows = list(read(Blob("given", None, data), reading))
    assert all(part.data.num_rows > 0 for part in rows)
    unread = sum(part.data.num_rows for part in rows if part.table == "unread")
    assert reading.unparsed == unread
