"""Sources that are not what they seem: each costs one clear line, and the good log beside it is read all the same."""

import gzip
import os
import threading
from pathlib import Path

import pytest
import zstandard

from ridgeline.bundle.open import open_sources
from ridgeline.ladder.diagnose import diagnose
from tests.bundle.made import write

LINE = (
    "[2026-11-30 03:{minute:02d}:{second:02d} TP0] Decode batch, #running-req: 8, #token: 1800, token usage: 0.01, "
    "cuda graph: True, gen throughput (token/s): 810.55, #queue-req: 0\n"
)
LOG = "".join(LINE.format(minute=40, second=s) for s in range(40))
LATER = LOG.replace("03:40", "03:42")
Said = tuple[str, int, int, str]  # kind, rows, unparsed, notes


def beside(tmp_path: Path, name: str, data: bytes | str) -> Said:
    return said(tmp_path, write(tmp_path, name, data))


def said(tmp_path: Path, path: Path) -> Said:
    """What is said of one source that is opened beside a good log, which must not suffer."""
    view = open_sources([str(write(tmp_path, "good.txt", LATER)), str(path)])
    assert view.query("SELECT rows, unparsed FROM sources WHERE path LIKE '%good.txt'") == [(40, 0)]
    ((kind, rows, unparsed, notes),) = view.query(
        "SELECT kind, rows, unparsed, notes FROM sources WHERE path NOT LIKE '%good.txt'"
    )
    return kind, rows, unparsed, " | ".join(notes)


def test_a_pipe_is_a_source(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    threading.Thread(target=lambda: fifo.write_text(LOG), daemon=True).start()
    assert said(tmp_path, fifo)[:3] == ("log", 40, 0)


def test_a_folder_that_links_to_itself_is_walked_once(tmp_path: Path) -> None:
    write(tmp_path, "logs/a/server.log", LOG)
    (tmp_path / "logs/a/up").symlink_to("..")
    (tmp_path / "logs/a/self").symlink_to("self")
    view = open_sources([str(tmp_path / "logs")])
    assert view.query("SELECT path, rows FROM sources") == [("server.log", 40)]
    assert len([note for note in view.notes if "self: cannot be read (Too many levels" in note]) == 1


def test_a_line_of_60_mb_is_one_unread_line(tmp_path: Path) -> None:
    kind, rows, unparsed, _ = beside(tmp_path, "long.log", f"{LOG}[2026-11-30 03:41:00] {'x' * 60_000_000}\n{LATER}")
    assert (kind, rows, unparsed) == ("log", 80, 1)


def test_a_path_that_opens_and_cannot_be_read(tmp_path: Path) -> None:
    kind, rows, _, notes = said(tmp_path, Path("/proc/self/mem"))
    assert (kind, rows) == ("", 0)
    assert "cannot be read (" in notes
    assert "please report" not in notes


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_json_nested_ten_thousand_deep(tmp_path: Path, opening: str) -> None:
    closing = "]" if opening == "[" else "1}"
    deep = opening * 10_000 + closing * 10_000
    assert beside(tmp_path, "deep.json", deep)[1] == 0
    record = f'{{"timestamp": "2026-11-30T03:41:00", "event": "request.received", "rid": "a", "obj": {deep}}}'
    inside = f"[2026-11-30 03:41:00] {record}"
    kind, rows, _, notes = beside(tmp_path, "server.log", f"{LOG}{inside}\n{LOG}")
    assert (kind, rows >= 80) == ("log", True)
    assert "please report" not in notes
    view = open_sources([str(tmp_path / "server.log"), str(tmp_path / "deep.json")])
    assert diagnose(view).verdict in ("healthy", "inconclusive", "finding")


def test_windows_1252_is_read_and_said(tmp_path: Path) -> None:
    text = f"{LOG}[2026-11-30 03:41:00] Fehler: Größe – “x”\n".encode("cp1252")
    kind, rows, unparsed, notes = beside(tmp_path, "windows.log", text)
    assert (kind, rows, unparsed) == ("log", 40, 1)
    assert "some bytes are not UTF-8" in notes


def test_utf_16_with_and_without_its_mark(tmp_path: Path) -> None:
    kind, rows, unparsed, notes = beside(tmp_path, "marked.log", LOG.encode("utf-16"))
    assert (kind, rows, unparsed) == ("log", 40, 0)
    assert "UTF-16" in notes
    assert beside(tmp_path, "bare.log", LOG.encode("utf-16-le"))[:3] == ("log", 40, 0)


def test_nul_bytes_of_a_log_that_was_cut_while_it_was_written(tmp_path: Path) -> None:
    kind, rows, unparsed, notes = beside(tmp_path, "rotated.log", b"\0" * 5000 + LOG.encode())
    assert (kind, rows, unparsed) == ("log", 40, 0)
    assert "NUL bytes" in notes
    late = LOG.encode() * 60 + b"\0" * 5000 + LATER.encode()  # behind the head that tells the kind
    assert beside(tmp_path, "late.log", late)[:3] == ("log", 2440, 0)
    kind, _, _, notes = beside(tmp_path, "zeros.log", b"\0" * 300_000)
    assert kind == "binary"
    assert "nothing but NUL bytes" in notes


def test_a_hole_of_gigabytes_costs_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, "hole.log", "")
    with path.open("r+b") as f:
        f.truncate(3 << 30)
        f.seek(0, os.SEEK_END)
        f.write(LOG.encode())
    assert said(tmp_path, path)[:3] == ("log", 40, 0)


def test_names_that_lie_about_compression(tmp_path: Path) -> None:
    assert beside(tmp_path, "plain.log.gz", LOG)[:3] == ("log", 40, 0)
    assert beside(tmp_path, "words.gz", "no gzip\n")[:2] == ("text", 0)
    assert "compressed data ends early or is damaged" in beside(tmp_path, "noise.gz", b"\x1f\x8b" + b"\xaa" * 500)[3]
    assert beside(tmp_path, "zstd.log", zstandard.compress(LOG.encode()))[:3] == ("log", 40, 0)


def test_compressed_twice_is_said(tmp_path: Path) -> None:
    inner = zstandard.compress(LOG.encode())
    for name, data in (("a.zst", zstandard.compress(inner)), ("b.gz", gzip.compress(inner))):
        kind, rows, _, notes = beside(tmp_path, name, data)
        assert (kind, rows) == ("binary", 0)
        assert f"{name}: is compressed twice; unpack it once" in notes


def test_bombs_are_bounded(tmp_path: Path) -> None:
    # Zeros are turned away from their head; a line of 256 MB behind a log is cut, and what follows is still read.
    zeros = tmp_path / "zeros.gz"
    with gzip.open(zeros, "wb", compresslevel=1) as f:
        for _ in range(12):
            f.write(b"\0" * (16 << 20))
    assert "nothing but NUL bytes" in said(tmp_path, zeros)[3]
    path = tmp_path / "bomb.log.zst"
    with path.open("wb") as raw, zstandard.ZstdCompressor(level=1).stream_writer(raw) as out:
        out.write(LOG.encode())
        for _ in range(16):
            out.write(b"x" * (16 << 20))
        out.write(b"\n" + LOG.encode())
    kind, rows, unparsed, notes = said(tmp_path, path)
    assert (kind, rows, unparsed) == ("log", 80, 1)
    assert "a line of over 64 MiB was cut" in notes


def test_files_that_go_away_or_shrink_while_others_are_read(tmp_path: Path) -> None:
    texts = {"a.log": LOG, "b.log": LATER * 3, "c.log": LATER * 4}
    first, gone, shrunk = (write(tmp_path, name, text) for name, text in texts.items())

    def tell(path: str, _done: int, _total: int) -> None:
        if path == "a.log":
            gone.unlink(missing_ok=True)
            shrunk.write_text(LATER[:1000])

    view = open_sources([str(first), str(gone), str(shrunk)], on_progress=tell)
    rows = view.query("SELECT path, rows, notes FROM sources ORDER BY source")
    assert [(path, count) for path, count, _ in rows][:2] == [("a.log", 40), ("b.log", 0)]
    assert 0 < rows[2][1] < 40
    assert "b.log: cannot be read (No such file or directory)" in rows[1][2][0]
