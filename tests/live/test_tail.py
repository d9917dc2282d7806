"""Logs through rotation, truncation and half lines: no row that was written is lost, none is doubled."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ridgeline.live import tail as module
from ridgeline.live.tail import Tail


class Kept:
    """A sink in memory."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    def append(self, name: str, data: bytes, ts: float) -> None:
        self.data[name] = self.data.get(name, b"") + data

    def lines(self, name: str = "logs/server.log") -> list[str]:
        return self.data.get(name, b"").decode().splitlines()


Following = Callable[..., tuple[Tail, Kept, list[str]]]


@pytest.fixture
def following() -> Iterator[Following]:
    """Makes a tail over paths; its files are closed behind the test."""
    made: list[Tail] = []

    def of(*paths: Path) -> tuple[Tail, Kept, list[str]]:
        kept, said = Kept(), list[str]()
        made.append(Tail([str(p) for p in paths], kept, said.append))
        return made[-1], kept, said

    yield of
    for tail in made:
        tail.close()


def test_what_is_there_and_what_comes(following: Following, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("one\n")
    tail, kept, _ = following(log)
    tail.once()
    with log.open("a") as f:
        f.write("two\nthr")
        f.flush()
        tail.once()
        assert kept.lines() == ["one", "two"]
        f.write("ee\nfour")
    tail.once()
    assert kept.lines() == ["one", "two", "three"]
    tail.once(last=True)
    assert kept.lines() == ["one", "two", "three", "four"]


def test_rotated_in_the_middle_of_a_line(following: Following, tmp_path: Path) -> None:
    """The writer goes on in the renamed file for a moment, and ends its line there."""
    log = tmp_path / "server.log"
    with log.open("w", buffering=1) as writer:
        tail, kept, _ = following(log)
        writer.write("one\ntw")
        writer.flush()
        tail.once()
        log.rename(tmp_path / "server.log.1")
        writer.write("o\nthree\n")
        tail.once()
    log.write_text("four\n")
    tail.once()
    tail.once(last=True)
    assert kept.lines() == ["one", "two", "three", "four"]


def test_copied_and_truncated(following: Following, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("one\ntwo\n" * 20)
    tail, kept, said = following(log)
    tail.once()
    log.write_text("")
    tail.once()
    with log.open("a") as f:
        f.write("three\n")
    tail.once()
    assert kept.lines() == ["one", "two"] * 20 + ["three"]
    assert any("truncated" in line for line in said)


def test_a_folder_gains_files_and_names_do_not_clash(following: Following, tmp_path: Path) -> None:
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "x.log").write_text(side + "\n")
    tail, kept, _ = following(tmp_path)
    tail.once()
    (tmp_path / "a" / "y.log").write_text("late\n")
    tail.once()
    assert sorted(kept.data) == ["logs/b__x.log", "logs/x.log", "logs/y.log"]
    assert kept.lines("logs/b__x.log") == ["b"]


def test_what_is_not_there_is_said_once_and_followed_later(following: Following, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    tail, kept, said = following(log)
    for _ in range(3):
        tail.once()
    assert len(said) == 1 and "is not there (yet)" in said[0]
    log.write_text("here\n")
    tail.once()
    assert kept.lines() == ["here"]


def test_of_a_huge_file_the_end_is_taken(following: Following, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BACK_BYTES", 100)
    log = tmp_path / "server.log"
    log.write_text("".join(f"line {k:04d}\n" for k in range(100)))
    tail, kept, said = following(log)
    tail.once()
    assert kept.lines() == [f"line {k:04d}" for k in range(91, 100)] and len(said) == 1


@pytest.mark.parametrize("seed", range(8))
def test_no_row_is_lost_or_doubled(following: Following, tmp_path: Path, seed: int) -> None:
    """Random writes, half lines, looks and rotations in any order."""
    rng = random.Random(seed)
    log = tmp_path / "server.log"
    tail, kept, _ = following(log)
    writer = log.open("w")
    wanted, rotations = [], 0
    for k in range(300):
        what = rng.random()
        if what < 0.7:
            line = f"{k} {'z' * rng.randrange(40)}"
            half = rng.randrange(len(line))
            writer.write(line[:half])
            writer.flush()
            if rng.random() < 0.3:
                tail.once()
            writer.write(line[half:] + "\n")
            writer.flush()
            wanted.append(line)
        elif what < 0.9:
            tail.once()
        else:
            tail.once()
            log.rename(tmp_path / f"server.log.{rotations}")
            rotations += 1
            if rng.random() < 0.5:
                tail.once()
            writer.close()
            writer = log.open("w")
    writer.close()
    tail.once()
    tail.once(last=True)
    assert kept.lines() == wanted
