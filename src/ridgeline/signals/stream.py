"""One source as bytes: opened, decompressed by its magic, handed out in chunks of whole lines.

Memory stays flat: a line longer than `LINE_LIMIT` is cut there, the rest skipped, and the cut is noted.
"""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import zstandard

from ridgeline.model.errors import InputError
from ridgeline.signals.rows import Reading

GZIP_MAGIC: Final = b"\x1f\x8b"
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
HEAD_BYTES: Final = 256 * 1024
CHUNK_BYTES: Final = 16 * 1024 * 1024
LINE_LIMIT: Final = 64 * 1024 * 1024
WHOLE_LIMIT: Final = 512 * 1024 * 1024


@dataclass(frozen=True)
class Blob:
    """A source's bytes. `path` is None for standard input; `shown` is the name the user sees."""

    shown: str
    path: Path | None
    data: bytes | None = None  # already in memory (standard input, an answer of a live server)

    @property
    def plain(self) -> bool:
        """True where the bytes on disk are the text itself, so that a library may read the file directly."""
        return self.path is not None and not _magic(self._raw_head(4))

    def _raw_head(self, size: int) -> bytes:
        with self._open_raw() as f:
            return f.read(size)

    def _open_raw(self) -> IO[bytes]:
        if self.data is not None:
            return io.BytesIO(self.data)
        assert self.path is not None
        try:
            return self.path.open("rb")
        except OSError as e:
            raise InputError(f"{self.shown}: cannot be read ({e.strerror}); check the path and its permissions") from e

    def open(self) -> IO[bytes]:
        """The decompressed bytes. Raises InputError where the file cannot be opened."""
        raw = self._open_raw()
        kind = _magic(raw.read(4))
        raw.seek(0)
        if kind == "gzip":
            unpacked = gzip.GzipFile(fileobj=raw)
            unpacked.myfileobj = raw  # type: ignore[assignment]  # closed with it; else the file stays open
            return unpacked  # type: ignore[return-value]
        if kind == "zstd":
            return zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=True)
        return raw

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """The first decompressed bytes; what is readable before the damage where the stream is cut."""
        return b"".join(self._pieces(None, size, size))

    def whole(self, reading: Reading, limit: int = WHOLE_LIMIT) -> bytes:
        """All bytes up to `limit`; a cut or damaged stream gives what came before, with a note."""
        data = b"".join(self._pieces(reading, 1 << 20, limit + 1))
        if len(data) > limit:
            reading.note(f"{self.shown}: larger than {limit >> 20} MiB as one document; only that much was read")
        return data[:limit]

    def chunks(self, reading: Reading, size: int = CHUNK_BYTES) -> Iterator[tuple[int, bytes]]:
        """(number of the first line, bytes of whole lines ending in a newline except perhaps the last) pairs."""
        line, rest, skipping = 1, b"", False
        for piece in self._pieces(reading, size, None):
            if skipping:
                at = piece.find(b"\n")
                if at < 0:
                    continue
                piece, skipping = piece[at:], False
            data = rest + piece
            at = data.rfind(b"\n") + 1
            if at == 0 and len(data) > LINE_LIMIT:
                reading.note(f"{self.shown}:{line}: a line of over {LINE_LIMIT >> 20} MiB was cut there")
                data, rest, skipping, at = data[:LINE_LIMIT], b"", True, LINE_LIMIT
            out, rest = data[:at], data[at:]
            if out:
                yield line, out
                line += out.count(b"\n")
        if rest:
            yield line, rest

    def _pieces(self, reading: Reading | None, size: int, limit: int | None) -> Iterator[bytes]:
        left = limit
        with self.open() as f:
            while left is None or left > 0:
                try:
                    piece = f.read(size if left is None else min(size, left))
                except (EOFError, OSError, zlib.error, zstandard.ZstdError) as e:
                    if reading is not None:
                        reading.note(
                            f"{self.shown}: compressed data ends early or is damaged ({e}); what came before was read"
                        )
                    return
                if not piece:
                    return
                left = None if left is None else left - len(piece)
                yield piece


def standard_input() -> Blob:
    """Standard input, read once into memory."""
    return Blob("-", None, sys.stdin.buffer.read())


def _magic(head: bytes) -> str | None:
    if head.startswith(GZIP_MAGIC):
        return "gzip"
    return "zstd" if head.startswith(ZSTD_MAGIC) else None
