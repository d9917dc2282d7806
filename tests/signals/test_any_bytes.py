"""Every reader, given what it was not made for: it raises nothing and counts what it read."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ridgeline.model.errors import InputError
from ridgeline.model.tables import TABLES
from ridgeline.signals.read import READERS
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob
from tests.signals.test_detect import SAMPLES

WHOLE = {
    "mooncake": '{"timestamp": 0, "input_length": 9, "output_length": 3, "hash_ids": [1, 2]}\n',
    "prompts": '{"rid": "a", "prompt": "one two three"}\n{"rid": "b", "prompt": "one two four"}\n',
    "answer": '{"text": "x", "meta_info": {"id": "a", "prompt_tokens": 3, "completion_tokens": 2, "e2e_latency": 0.5}}',
    "health": "#### scrape ts=1.5 took=0.02 status=503 url=http://127.0.0.1:1/health\n\n",
    "incident-bundle": '{"incident_id": "i", "created": 1.5, "kind": "slow"}\n',
}
SLOW = ("dump",)  # each is a child process; tests/signals/dump has its own hostile ones
KINDS = sorted(set(READERS) - set(SLOW))
GIVEN = {kind: [s if isinstance(s, bytes) else s.encode() for k, s in SAMPLES if k == kind] for kind in KINDS}
for _kind, _text in WHOLE.items():
    GIVEN[_kind].append(_text.encode())

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def keys_of(text: bytes) -> list[str]:
    """The words between quotes: what a damaged file of this kind may still have."""
    return sorted({part.decode("utf-8", "replace") for part in text.split(b'"')[1::2]})[:20] or ["rid"]


def check(kind: str, data: bytes) -> None:
    reading = Reading(3, "given")
    reading.kind = kind
    seen: dict[str, int] = {}
    try:
        for rows in READERS[kind](Blob("given", None, data), reading):
            assert set(rows.data.column_names) <= set(TABLES[rows.table]), rows.table
            seen[rows.table] = seen.get(rows.table, 0) + rows.data.num_rows
    except InputError:
        return
    assert reading.lines >= 0 and reading.understood >= 0 and reading.unparsed >= 0 and reading.blank >= 0
    assert seen.get("unread", 0) <= reading.unparsed
    assert all("\n" not in note for note in reading.notes)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_damaged(kind: str, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(GIVEN[kind] or [b"{}"]))
    pieces = data.draw(st.lists(st.integers(0, len(text)), min_size=1, max_size=4))
    what = data.draw(st.sampled_from(("cut", "insert", "double", "flip")))
    for at in pieces:
        if what == "cut":
            text = text[:at]
        elif what == "insert":
            text = text[:at] + data.draw(st.binary(max_size=6)) + text[at:]
        elif what == "double":
            text = text + text[at:]
        elif at < len(text):
            text = text[:at] + bytes([text[at] ^ data.draw(st.integers(1, 255))]) + text[at + 1 :]
    check(kind, text)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_json_with_the_right_keys_and_any_values(kind: str, data: st.DataObject) -> None:
    known = keys_of(b"".join(GIVEN[kind]))
    record: dict[str, Any] = data.draw(st.dictionaries(st.sampled_from(known), values, max_size=6))
    line = json.dumps(record).encode() + b"\n"
    check(kind, line * data.draw(st.integers(1, 3)))


@pytest.mark.parametrize("kind", KINDS)
@given(noise=st.binary(max_size=300))
@settings(max_examples=15, deadline=None)
def test_noise(kind: str, noise: bytes) -> None:
    check(kind, noise)


def test_every_reader_has_something_to_be_damaged() -> None:
    assert [kind for kind in KINDS if not GIVEN[kind]] == []
