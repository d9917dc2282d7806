"""Raw bytes on disk while a capture runs: compressed, appended, flushed, readable after kill -9 or on a full disk.

One file per endpoint or log, zstd. Every append ends in a flushed block, so that all of it can be read back even where
the frame was never closed; a frame is closed every `FRAME_APPENDS` appends, so that damage stays local.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, Protocol

import zstandard

FRAME_APPENDS: Final = 64
LEVEL: Final = 1
SPACE_LEFT: Final = 16 * 1024 * 1024  # a capture stops before the disk is full for everybody else


class Sink(Protocol):
    """Where captured bytes go: a folder (`RawFolder`) or a ring in memory (`ring.Ring`)."""

    def append(self, name: str, data: bytes, ts: float) -> None:
        """Keep some bytes of one file, captured at `ts`."""
        ...


class OutOfSpace(Exception):
    """The disk is full, or nearly: what was written so far is whole."""


class _File:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.out: IO[bytes] = path.open("ab", buffering=0)
        self.frame: zstandard.ZstdCompressionObj | None = None
        self.appends = 0

    def append(self, data: bytes) -> int:
        if self.frame is None:
            self.frame = zstandard.ZstdCompressor(level=LEVEL).compressobj()
        packed = self.frame.compress(data)
        self.appends += 1
        if self.appends >= FRAME_APPENDS:
            packed += self.frame.flush(zstandard.COMPRESSOBJ_FLUSH_FINISH)
            self.frame, self.appends = None, 0
        else:
            packed += self.frame.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        left = memoryview(packed)
        while left:
            left = left[self.out.write(left) or 0 :]
        return len(packed)

    def close(self) -> None:
        try:
            if self.frame is not None:
                self.out.write(self.frame.flush(zstandard.COMPRESSOBJ_FLUSH_FINISH))
        finally:
            self.frame = None
            self.out.close()


class RawFolder:
    """A folder of such files. Raises OutOfSpace from `append` once the disk is full; nothing is written after that."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)  # raw logs hold prompts until they are sealed
        self.folder = folder
        self.files: dict[str, _File] = {}
        self.written = 0
        self.full = False
        self._unchecked = SPACE_LEFT

    def append(self, name: str, data: bytes, ts: float) -> None:
        """Append to `name` (a relative path); on disk when this returns."""
        if self.full:
            raise OutOfSpace(f"{self.folder}: the disk is full")
        try:
            file = self.files.get(name) or self.files.setdefault(name, _File(self.folder / f"{name}.zst"))
            size = file.append(data)
        except OSError as e:
            self.full = True
            raise OutOfSpace(f"{self.folder}: cannot be written ({e.strerror})") from e
        self.written += size
        self._unchecked += size
        if self._unchecked >= SPACE_LEFT // 4:
            self._unchecked = 0
            space = os.statvfs(self.folder)
            if space.f_bavail * space.f_frsize < SPACE_LEFT:
                self.full = True
                raise OutOfSpace(f"{self.folder}: less than {SPACE_LEFT >> 20} MiB are left on the disk")

    def close(self) -> None:
        """End every frame; a disk that is full keeps what it has."""
        for file in self.files.values():
            with contextlib.suppress(OSError):  # the frame stays open, which the reader survives
                file.close()
        self.files.clear()


@contextlib.contextmanager
def raw_folder(folder: Path) -> Iterator[RawFolder]:
    """A raw folder that is closed whatever happens."""
    raw = RawFolder(folder)
    try:
        yield raw
    finally:
        raw.close()


def flat(name: str) -> str:
    """A stranger's name as one harmless path component."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._")[-100:] or "unnamed"
