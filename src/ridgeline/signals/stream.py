"""One source as bytes: opened, decompressed by its magic, handed out in chunks of whole lines.

Memory stays flat: a line longer than `LINE_LIMIT` is cut there, the rest skipped, and the cut is noted.
"""

import io
import os
import select
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import numpy as np
import zstandard

from ridgeline.model.errors import InputError
from ridgeline.signals.rows import Reading
from ridgeline.signals.stored import open_address

GZIP_MAGIC: Final = b"\x1f\x8b"
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
HEAD_BYTES: Final = 256 * 1024
CHUNK_BYTES: Final = 16 * 1024 * 1024
PACKED_BYTES: Final = 64 * 1024
ZSTD_BYTES: Final = 8 * 1024  # a hostile frame unpacks to 30,000 times its size, and all of it comes at once
BLOCK_BYTES: Final = 1 << 18
LINE_LIMIT: Final = 64 * 1024 * 1024
WHOLE_LIMIT: Final = 512 * 1024 * 1024
PIPE_WAIT_S: Final = 5.0


@dataclass(frozen=True)
class Blob:
    """A source's bytes. `path` is None for standard input; `shown` is the name the user sees."""

    shown: str
    path: Path | None
    data: bytes | None = None  # already in memory (standard input, an answer of a live server)
    drop_nul: bool = False  # text with holes: what a rotated log that is still written to begins with
    address: str | None = None  # on object storage, such as s3://bucket/server.log (read through fsspec)

    @property
    def plain(self) -> bool:
        """True where the bytes on disk are the text itself, so that a library may read the file directly."""
        return self.path is not None and not self.drop_nul and not _magic(self._raw_head(4))

    def _raw_head(self, size: int) -> bytes:
        with self._open_raw() as f:
            return f.read(size)

    def _open_raw(self) -> IO[bytes]:
        if self.data is not None:
            return io.BytesIO(self.data)
        if self.address is not None:
            return open_address(self.address)
        assert self.path is not None
        try:
            return self.path.open("rb")
        except OSError as e:
            raise InputError(f"{self.shown}: cannot be read ({e.strerror}); check the path and its permissions") from e

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
        return ((line, data) for line, data, _ in self.counted(reading, size))

    def counted(self, reading: Reading, size: int = CHUNK_BYTES) -> Iterator[tuple[int, bytes, int]]:
        """The same with how many newlines are in each."""
        line, skipping = 1, False
        rest: bytes | bytearray = b""
        for piece in _blocks(self._pieces(reading, size, None), size):
            if skipping:
                at = piece.find(b"\n")
                if at < 0:
                    continue
                piece, skipping = piece[at:], False
            at = piece.rfind(b"\n") + 1
            if at:
                out, rest = b"".join((rest, memoryview(piece)[:at])), piece[at:]
            else:
                out, rest = b"", b"".join((rest, piece))
            if len(rest) > LINE_LIMIT:
                reading.note(f"{self.shown}:{line}: a line of over {LINE_LIMIT >> 20} MiB was cut there")
                out, rest, skipping = out + rest[:LINE_LIMIT], b"", True
            if out:
                count = newlines(out)
                yield line, out, count
                line += count
        if rest:
            yield line, bytes(rest), newlines(rest)

    def _kind(self, raw: IO[bytes]) -> str | None:
        """How the stream is packed; leaves it at its first byte that is no hole of the file."""
        try:
            start = _hole(raw) if self.path is not None else 0
            raw.seek(start)
            kind = _magic(raw.read(4))
            raw.seek(start)
        except OSError as e:
            raise InputError(f"{self.shown}: cannot be read ({e.strerror}); check what it is") from e
        return kind

    def _pieces(self, reading: Reading | None, size: int, limit: int | None) -> Iterator[bytes | bytearray]:
        """The bytes as they come out, `limit` of them at most. Without a limit each piece is valid until the next."""
        left = limit
        with self._open_raw() as raw:
            kind = self._kind(raw)
            pieces = _PACKED[kind](raw, size) if kind else _read(raw, size, again=limit is None)
            while left is None or left > 0:
                try:
                    piece = next(pieces, b"")
                except (EOFError, OSError, zlib.error, zstandard.ZstdError) as e:
                    if reading is not None:
                        reading.note(
                            f"{self.shown}: compressed data ends early or is damaged ({e}); what came before was read"
                        )
                    return
                if not piece:
                    return
                if self.drop_nul:
                    piece = piece.replace(b"\0", b"")
                yield piece if left is None else piece[:left]
                left = None if left is None else left - len(piece)


def _read(raw: IO[bytes], size: int, again: bool) -> Iterator[bytes | bytearray]:
    """A plain stream in pieces; `again`: in one buffer, because fresh memory for each costs more than reading it."""
    if not again:
        yield from iter(lambda: raw.read(size), b"")
        return
    buffer = bytearray(size)
    while got := raw.readinto(buffer):  # type: ignore[attr-defined]
        yield buffer if got == size else buffer[:got]


def _gunzip(raw: IO[bytes], size: int) -> Iterator[bytes]:
    """Members of a gzip stream one behind the other, at most `size` bytes at a time: everything in front of the damage
    comes out before the error does. Raises EOFError where the stream ends inside a member.
    """
    member, left, begun = zlib.decompressobj(31), b"", False
    while True:
        data = left or raw.read(PACKED_BYTES)
        if not data:
            if begun and (last := member.flush()):
                yield last
            if begun and not member.eof:
                raise EOFError("the stream has no end marker")
            return
        if not begun and not data.startswith(GZIP_MAGIC[: len(data)]):
            return  # zero padding or a trailer behind the last member
        begun = True
        out = member.decompress(data, size)
        left = member.unconsumed_tail
        if member.eof:
            left, begun, member = member.unused_data, False, zlib.decompressobj(31)
        if out:
            yield out


def _unzstd(raw: IO[bytes], size: int) -> Iterator[bytes]:
    """The same for zstd frames."""
    frame, begun = zstandard.ZstdDecompressor().decompressobj(), False
    left = b""
    while True:
        data = left or raw.read(ZSTD_BYTES)
        if not data:
            if begun:
                raise EOFError("the stream has no end marker")
            return
        out = frame.decompress(data)
        begun, left = not frame.eof, b""
        if frame.eof:
            left, frame = frame.unused_data, zstandard.ZstdDecompressor().decompressobj()
        if out:
            yield out


_PACKED: Final[dict[str, Callable[[IO[bytes], int], Iterator[bytes]]]] = {"gzip": _gunzip, "zstd": _unzstd}


def _blocks(pieces: Iterator[bytes | bytearray], size: int) -> Iterator[bytes | bytearray]:
    """The same bytes in blocks of at least `size`, but for the last: compressed data comes out in small pieces."""
    held: list[bytes | bytearray] = []
    length = 0
    for piece in pieces:
        held.append(piece)
        length += len(piece)
        if length >= size:
            yield b"".join(held) if len(held) > 1 else piece
            held, length = [], 0
    if held:
        yield b"".join(held)


def newlines(data: bytes | bytearray) -> int:
    """How many lines end in these bytes, counted in blocks that stay in a core's cache."""
    buf = np.frombuffer(data, np.uint8)
    return sum(int(np.count_nonzero(buf[at : at + BLOCK_BYTES] == 10)) for at in range(0, len(buf), BLOCK_BYTES))


def pipe(path: Path, most: int = -1) -> bytes:
    """Everything that a named pipe gives, `most` bytes of it at most. Raises InputError where nobody writes to it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(fd, "rb", buffering=0) as raw:  # noqa: PTH123
            first = _first(raw, path)
            os.set_blocking(fd, True)
            with io.BufferedReader(raw) as f:
                return first + f.read(most)
    except OSError as e:
        raise InputError(f"{path}: cannot be read ({e.strerror}); check the path and its permissions") from e


def _first(raw: IO[bytes], path: Path) -> bytes:
    # Without a writer a pipe reads as empty at once; with one that has nothing to say yet it reads as None.
    waiting = select.poll()
    waiting.register(raw, select.POLLIN)
    ready = waiting.poll(PIPE_WAIT_S * 1000)
    first: bytes | None = raw.read(1)
    if not ready and first == b"":
        raise InputError(f"{path}: a pipe that nobody writes to; start its writer, or give a file")
    return first or b""


def standard_input() -> Blob:
    """Standard input, read once into memory."""
    return Blob("-", None, sys.stdin.buffer.read())


def _hole(raw: IO[bytes]) -> int:
    """Where the first stored byte is: a file cut to nothing while a program goes on writing begins with a hole."""
    try:
        return os.lseek(raw.fileno(), 0, os.SEEK_DATA)
    except (OSError, ValueError):
        return 0  # an empty file, or a file system that does not tell


def _magic(head: bytes) -> str | None:
    if head.startswith(GZIP_MAGIC):
        return "gzip"
    return "zstd" if head.startswith(ZSTD_MAGIC) else None
