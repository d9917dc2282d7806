"""Raw files survive what befalls them."""

from pathlib import Path

import pytest

from ridgeline.live import raw as module
from ridgeline.live.raw import OutOfSpace, RawFolder, flat
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob


def back(path: Path) -> bytes:
    return Blob(path.name, path).whole(Reading(source=1, path=path.name))


def test_every_append_is_on_disk_before_anything_is_closed(tmp_path: Path) -> None:
    raw = RawFolder(tmp_path / "raw")
    wanted = b""
    for k in range(200):
        line = f"line {k} {'x' * (k % 50)}\n".encode()
        raw.append("a/b.log", line, 0.0)
        wanted += line
        assert back(tmp_path / "raw" / "a" / "b.log.zst") == wanted
    raw.close()
    assert back(tmp_path / "raw" / "a" / "b.log.zst") == wanted
    again = RawFolder(tmp_path / "raw")
    again.append("a/b.log", b"more\n", 0.0)
    again.close()
    assert back(tmp_path / "raw" / "a" / "b.log.zst") == wanted + b"more\n"


def test_a_file_cut_anywhere_gives_back_its_beginning(tmp_path: Path) -> None:
    raw = RawFolder(tmp_path / "raw")
    lines = [f"{k}: {'abc' * (k % 30)}\n".encode() for k in range(100)]
    for line in lines:
        raw.append("x", line, 0.0)
    raw.close()
    whole = (tmp_path / "raw" / "x.zst").read_bytes()
    for cut in range(4, len(whole), 37):  # four bytes tell that it is zstd
        (tmp_path / "cut.zst").write_bytes(whole[:cut])
        assert b"".join(lines).startswith(back(tmp_path / "cut.zst"))


def test_a_full_disk_is_told_once_and_leaves_what_was_written(tmp_path: Path) -> None:
    """A real one: a file system of its own would need root; /dev/full is a device that is always full."""
    raw = RawFolder(tmp_path / "raw")
    raw.append("x", b"kept\n", 0.0)
    raw.files["x"].out.close()
    raw.files["x"].out = Path("/dev/full").open("ab", buffering=0)  # noqa: SIM115 - the raw file closes it
    with pytest.raises(OutOfSpace, match="No space left"):
        raw.append("x", b"lost\n", 0.0)
    with pytest.raises(OutOfSpace, match="full"):
        raw.append("y", b"lost\n", 0.0)
    raw.close()
    assert back(tmp_path / "raw" / "x.zst") == b"kept\n"


def test_it_stops_before_the_disk_is_full_for_everybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPACE_LEFT", 1 << 60)
    raw = RawFolder(tmp_path / "raw")
    with pytest.raises(OutOfSpace, match="are left on the disk"):
        raw.append("x", b"1\n", 0.0)
    raw.close()
    assert back(tmp_path / "raw" / "x.zst") == b"1\n"


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b\\c", "", "..", "\x1b[2J", "x" * 500])
def test_a_strangers_name_is_one_harmless_component(name: str) -> None:
    made = flat(name)
    assert made and "/" not in made and not made.startswith(".") and len(made) <= 100 and made.isascii()
