"""The ring forgets what is too old or too much, and nothing else."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ridgeline.live.ring import Ring
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob


def back(path: Path) -> bytes:
    return Blob(path.name, path).whole(Reading(source=1, path=path.name))


def test_it_is_bounded_in_time_and_keeps_what_a_server_says_of_itself(tmp_path: Path) -> None:
    ring = Ring(10.0, 1 << 20)
    ring.append("a/server_info.scrapes.txt", b"info\n", 0.0)
    for k in range(100):
        ring.append("a/metrics.scrapes.txt", f"{k}\n".encode(), float(k))
    assert ring.span_s == 10.0
    ring.write(tmp_path)
    assert back(tmp_path / "a" / "metrics.scrapes.txt.zst") == "".join(f"{k}\n" for k in range(89, 100)).encode()
    assert back(tmp_path / "a" / "server_info.scrapes.txt.zst") == b"info\n"


@given(st.lists(st.binary(max_size=2000), max_size=60), st.integers(100, 5000))
def test_it_is_bounded_in_bytes(pieces: list[bytes], limit: int) -> None:
    ring = Ring(1e9, limit)
    for k, piece in enumerate(pieces):
        ring.append("x", piece, float(k))
        assert ring.size <= limit and ring.size == sum(len(packed) for *_, packed in ring.pieces)


def test_a_clock_that_was_stepped_back_does_not_keep_old_pieces_for_ever() -> None:
    ring = Ring(10.0, 1 << 20)
    for k in range(10):
        ring.append("x", b"1\n", 1e6 + k)
    for k in range(30):
        ring.append("x", b"2\n", float(k))
    assert ring.span_s <= 10.0 and all(ts < 1e6 for ts, *_ in ring.pieces)
