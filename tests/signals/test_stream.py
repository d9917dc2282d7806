"""Bytes of a source: decompression by magic, cut streams, whole lines, the line limit."""

import gzip
import os
import threading
import time
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.model.errors import InputError
from ridgeline.signals import stream
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob

TEXT = b"".join(b"line %d of some length\n" % i for i in range(5000))


def _joined(blob: Blob, size: int = 4096) -> tuple[bytes, Reading]:
    reading = Reading(0, blob.shown)
    return b"".join(data for _, data in blob.chunks(reading, size)), reading


@pytest.mark.parametrize("pack", [lambda b: b, gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_source_reads_the_same_however_it_is_packed(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(pack(TEXT))  # type: ignore[operator]
    blob = Blob("any.name", path)
    assert _joined(blob)[0] == TEXT
    assert blob.head(100) == TEXT[:100]
    assert blob.plain is (path.read_bytes() == TEXT)


def test_concatenated_members_are_one_source() -> None:
    data = gzip.compress(TEXT[:300]) + gzip.compress(TEXT[300:])
    assert _joined(Blob("a", None, data))[0] == TEXT


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_cut_stream_gives_what_came_before_and_says_so(pack: object) -> None:
    packed = pack(TEXT * 20)  # type: ignore[operator]
    got, reading = _joined(Blob("log.gz", None, packed[: len(packed) // 2]))
    assert (TEXT * 20).startswith(got)
    if got != TEXT * 20:
        assert any("ends early" in note for note in reading.notes) or packed.startswith(stream.ZSTD_MAGIC)


def test_garbage_behind_the_magic_is_a_note_not_an_error() -> None:
    got, reading = _joined(Blob("bad.gz", None, b"\x1f\x8bnot gzip at all"))
    assert got == b""
    assert len(reading.notes) == 1


def test_an_unreadable_path_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.log: cannot be read"):
        list(Blob("nowhere.log", tmp_path / "nowhere.log").chunks(Reading(0, "nowhere.log")))


@given(st.binary(max_size=600), st.integers(1, 64))
@settings(max_examples=50, deadline=None)
def test_chunks_are_whole_lines_with_right_numbers(data: bytes, size: int) -> None:
    line = 1
    parts = []
    for first, part in Blob("x", None, b" " + data).chunks(Reading(0, "x"), size):
        assert first == line
        line += part.count(b"\n")
        parts.append(part)
    assert b"".join(parts) == b" " + data
    assert all(part.endswith(b"\n") for part in parts[:-1])


def test_a_line_beyond_the_limit_is_cut_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LINE_LIMIT", 1000)
    data = b"first\n" + b"x" * 5000 + b"\nlast\n"
    reading = Reading(0, "x")
    parts = list(Blob("x", None, data).chunks(reading, 300))
    text = b"".join(part for _, part in parts)
    assert text.startswith(b"first\n") and text.endswith(b"\nlast\n")
    assert len(text) < 2000
    assert parts[-1][0] in (2, 3)
    assert "x:2:" in reading.notes[0]


def test_whole_stops_at_its_limit() -> None:
    reading = Reading(0, "x")
    assert Blob("x", None, TEXT).whole(reading, 100) == TEXT[:100]
    assert reading.notes


def test_a_pipe_that_nobody_writes_to_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "PIPE_WAIT_S", 0.1)
    os.mkfifo(tmp_path / "p")
    with pytest.raises(InputError, match="nobody writes"):
        stream.pipe(tmp_path / "p")


def test_a_writer_that_takes_its_time_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "PIPE_WAIT_S", 0.1)
    path = tmp_path / "p"
    os.mkfifo(path)

    def write() -> None:
        with path.open("wb") as f:
            time.sleep(0.4)
            f.write(b"late " * 50_000)

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(0.05)
    assert stream.pipe(path) == b"late " * 50_000
    writer.join()
