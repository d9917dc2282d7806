"""Bytes of a large plain file in buffers that are used again: fresh memory for each run costs more than reading it.

Files are read, not mapped: a log that is cut off while it is looked at (rotation by copy and truncate) must not end
the process.
"""

import os
from collections.abc import Generator
from pathlib import Path
from typing import Final

BUFFERS: Final = 3  # one being filled, one waiting, one in use


def filled(path: Path, size: int) -> Generator[memoryview, None, bool]:
    """Runs of whole lines, each valid until two more were asked for; the last one may lack its newline.

    Returns whether that was the whole file: False where a line does not fit into `size` bytes.
    """
    buffers = [bytearray(size) for _ in range(BUFFERS)]
    rest = b""
    turn = 0
    with path.open("rb", buffering=0) as file:
        while True:
            buffer = buffers[turn % BUFFERS]
            turn += 1
            view = memoryview(buffer)
            view[: len(rest)] = rest
            got = file.readinto(view[len(rest) :]) or 0
            stop = len(rest) + got
            if not got:
                if stop:
                    yield view[:stop]
                return True
            at = buffer.rfind(b"\n", 0, stop) + 1
            if at:
                yield view[:at]
            rest = bytes(view[at:stop])
            if len(rest) == size:
                return False


def block(file: int, start: int, stop: int) -> bytes:
    """Bytes of an open file, fewer where it has become shorter."""
    return os.pread(file, stop - start, start)
