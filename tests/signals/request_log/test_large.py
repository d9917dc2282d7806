"""The quick ways for large files give what the careful way gives, and give way to it where they must."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ridgeline.signals.request_log import keys, read, reader
from ridgeline.signals.request_log.fill import filled
from ridgeline.signals.request_log.project import project
from ridgeline.signals.request_log.session import cursor
from ridgeline.signals.request_log.split import split
from ridgeline.signals.request_log.survey import survey
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob
from tests.signals.request_log.compose import bare, finished, meta, meta_59, prefixed, received


def short(i: int) -> dict[str, Any]:
    """A record without any key of the wide shape."""
    out = {"finish_reason": {"type": "length"}, "prompt_tokens": i, "completion_tokens": i % 7, "e2e_latency": i / 8}
    return {
        "timestamp": "2026-11-30T03:40:00.500000",
        "event": "request.finished",
        "rid": f"r{i}",
        "obj": {"rid": f"r{i}", "stream": True},
        "out": {"meta_info": out},
    }


QUEUE_FULL = {"finish_reason": {"type": "abort", "status_code": 503, "message": "The request queue is full."}}


def rows_of_file(path: Path) -> tuple[Reading, list[dict[str, Any]], list[dict[str, Any]]]:
    reading = Reading(1, path.name)
    records: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    for rows in read(Blob(path.name, path), reading):
        into = records if rows.table == "records" else unread if rows.table == "unread" else []
        into.extend({k: v for k, v in row.items() if v is not None} for row in rows.data.to_pylist())
    return reading, records, unread


@pytest.fixture
def small_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of any size go the way of large ones, in small batches."""
    monkeypatch.setattr(reader, "SCAN_BYTES", 1)


@pytest.mark.usefixtures("small_scan")
@pytest.mark.parametrize("form", [bare, prefixed])
@pytest.mark.parametrize("wide", [False, True])
def test_a_whole_file(tmp_path: Path, form: Callable[..., str], wide: bool) -> None:
    records = [finished(f"r{i}", meta(f"r{i}", prompt_tokens=i)) if wide else short(i) for i in range(500)]
    path = tmp_path / "log"
    path.write_text(form(*records))
    looks = list(survey(path))
    assert sum(look.lines for look in looks) == 500
    assert all(look.bare for look in looks) == (form is bare)
    assert all(look.narrow for look in looks) == (not wide)
    reading, found, unread = rows_of_file(path)
    assert [(r["line"], r["rid"], r["prompt_tokens"]) for r in found] == [(i + 1, f"r{i}", i) for i in range(500)]
    assert (reading.lines, reading.understood, reading.unparsed, unread) == (500, 500, 0, [])


def test_after_a_wide_block_none_is_narrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{survey.__module__}.BLOCK", 1000)
    path = tmp_path / "log"
    path.write_text(bare(*map(short, range(50)), finished("wide", meta("wide")), *map(short, range(50))))
    looks = [look.narrow for look in survey(path)]
    assert looks == sorted(looks, reverse=True)
    assert looks.index(False) > 2
    assert len(looks) - looks.index(False) > 2


@pytest.mark.usefixtures("small_scan")
@pytest.mark.parametrize(
    "odd",
    [
        "",
        "not JSON at all",
        '{"event": "request.finished", "rid": "cut", "obj": {"str',
        '{"event": "something.else", "rid": "x"}',
        json.dumps(received(["p", "q"], sampling_params=[{"n": 2}, {"n": 2}])),
        json.dumps({"event": "request.received.openai", "obj": {"max_tokens": 3}}),
        "caf\u00e9",
    ],
)
@pytest.mark.parametrize("at", [0, 250, 500])
def test_one_odd_line_among_many_changes_no_other(tmp_path: Path, odd: str, at: int) -> None:
    texts = [json.dumps(short(i)) for i in range(500)]
    texts.insert(at, odd)
    path = tmp_path / "log"
    path.write_bytes("\n".join(texts).encode("latin-1" if odd == "caf\u00e9" else "utf-8") + b"\n")
    reading, found, unread = rows_of_file(path)
    numbers = {r["rid"]: (r["line"], r["prompt_tokens"]) for r in found if r.get("rid", "").startswith("r")}
    assert numbers == {f"r{i}": (i + 1 + (i >= at), i) for i in range(500)}
    assert reading.lines == 501
    assert reading.understood + reading.unparsed + reading.blank == 501
    assert all(u["line"] == at + 1 for u in unread)


@given(
    st.lists(
        st.one_of(
            st.integers(0, 10**6).map(short),
            st.just({**short(1), "out": {"meta_info": QUEUE_FULL}}),
            st.integers(0, 9).map(lambda i: {**short(i), "event": "request.received"}),
        ),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=10, deadline=None)
def test_both_shapes_say_the_same(found: list[dict[str, Any]]) -> None:
    texts = [json.dumps(record) for record in found]
    table = pa.table({"line": pa.array(range(len(texts)), pa.int64()), "body": texts})
    con = cursor()
    wide, narrow = project(con, table).to_pylist(), project(con, table, True).to_pylist()
    if keys.narrow("".join(text + "\n" for text in texts).encode()):
        for one, other in zip(wide, narrow, strict=True):
            assert {k: v for k, v in one.items() if v is not None} == {k: v for k, v in other.items() if v is not None}


@pytest.mark.parametrize("key", sorted(keys.LOOKED_FOR))
def test_every_key_of_the_wide_shape_is_noticed(key: str) -> None:
    line = json.dumps({"timestamp": "t", "event": "request.finished", "rid": "a", "obj": {"rid": "a", key: None}})
    assert not keys.narrow(line.encode())
    assert not keys.narrow(line.replace(": ", ":").encode())
    assert not keys.narrow(line.replace('":', '" :').encode())
    # across the border of two blocks
    for shift in (2, 9, len(key)):
        text = b" " * (keys.BLOCK - line.encode().index(key.encode()) - shift) + line.encode()
        assert not keys.narrow(text)


def test_short_records_of_both_ages_are_narrow_or_wide() -> None:
    assert keys.narrow(json.dumps(short(3)).encode())
    assert not keys.narrow(json.dumps(finished("a", meta_59("a"))).encode())
    assert keys.narrow(b"")


@given(
    st.lists(
        st.sampled_from(
            [
                b"",
                b" ",
                b"{}",
                b'{"a": 1}',
                b"[2026-11-30 03:40:00] {}",
                b'[2026-11-30 03:40:00.123] {"b": 2}',
                b"[x] {",
                b"text",
                b"{" + b"y" * 40 + b"}",
            ]
        ),
        max_size=8,
    ),
    st.booleans(),
)
def test_lines_are_split_as_they_are(lines: list[bytes], ended: bool) -> None:
    data = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    found = split(data, 10)
    plain = data.split(b"\n")[: -1 if data.endswith(b"\n") or not data else None]
    wanted = [
        (10 + i, line.partition(b"] ")[2] if line[:1] == b"[" else line)
        for i, line in enumerate(plain)
        if line[:1] == b"{" or line.startswith((b"[2026-11-30 03:40:00] {", b"[2026-11-30 03:40:00.123] {"))
    ]
    assert (
        list(zip(found.line.tolist(), [t.rstrip("\n").encode() for t in found.body.to_pylist()], strict=True)) == wanted
    )
    others = [data[s:e] for s, e in zip(found.other_start.tolist(), found.other_end.tolist(), strict=True)]
    assert others == [line for line in plain if line.strip() and line in (b"[x] {", b"text")]
    assert found.blank == sum(not line.strip() for line in plain)
    assert np.all(np.diff(found.line) > 0)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30), st.booleans(), st.integers(30, 64))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_buffers_hold_all_lines_in_order(tmp_path: Path, sizes: list[int], ended: bool, size: int) -> None:
    data = b"\n".join(b"%d" % (i % 10) * n for i, n in enumerate(sizes)) + (b"\n" if ended else b"")
    path = tmp_path / "lines"
    path.write_bytes(data)
    found = []
    views = filled(path, size)
    whole = None
    while whole is None:
        try:
            found.append(bytes(next(views)))
        except StopIteration as end:
            whole = end.value
    assert all(piece.endswith(b"\n") for piece in found[:-1])
    assert data.startswith(b"".join(found))
    assert whole == (b"".join(found) == data)
    assert whole or max(sizes) >= size


@pytest.mark.usefixtures("small_scan")
def test_a_line_longer_than_a_buffer_among_prefixed_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "CHUNK", 4096)
    records = [finished(f"r{i}", meta(f"r{i}", prompt_tokens=i), text="x" * (9000 if i == 7 else 9)) for i in range(20)]
    path = tmp_path / "log"
    path.write_text(prefixed(*records))
    reading, found, unread = rows_of_file(path)
    assert [(r["line"], r["prompt_tokens"]) for r in found] == [(i + 1, i) for i in range(20)]
    assert (reading.lines, reading.understood, unread) == (20, 20, [])


@pytest.mark.usefixtures("small_scan")
@pytest.mark.parametrize("form", [bare, prefixed])
def test_a_prompt_in_a_record_without_other_keys_is_not_passed_over(tmp_path: Path, form: Callable[..., str]) -> None:
    records = [short(i) for i in range(20)]
    records[11]["obj"]["text"] = "Once upon a time"
    path = tmp_path / "log"
    path.write_text(form(*records))
    found = {
        rows.table: rows.data.to_pylist()
        for rows in read(Blob("log", path), Reading(1, "log"))
        if rows.table == "prompts"
    }
    assert [(row["rid"], row["line"]) for row in found["prompts"]] == [("r11", 12)]
