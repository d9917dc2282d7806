"""A look at a whole plain file before it is read: whether DuckDB may read it directly, and how narrow."""

import mmap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np

from ridgeline.signals.request_log.keys import BLOCK, TAIL, U8, Look, look

THREADS: Final = 2


def survey(path: Path) -> Look:
    """What all of a file's lines have in common. The file is mapped, not read into memory."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        buf = np.frombuffer(mapped, dtype=np.uint8)
        try:
            return _all(buf)
        finally:
            del buf  # a mapping cannot be closed while an array looks into it


def _all(buf: U8) -> Look:
    spans = [(start, min(start + BLOCK, len(buf))) for start in range(0, len(buf), BLOCK)]
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(lambda span: _block(buf, *span), spans))
    return Look(
        sum(one.lines for one in found),
        all(one.bare for one in found) and int(buf[-1]) == 0x0A,
        all(one.narrow for one in found),
    )


def _block(buf: U8, start: int, stop: int) -> Look:
    """One block, with as much of what stands before it as a key there may reach back."""
    return look(buf[max(0, start - TAIL - 2) : stop], min(start, TAIL + 2))
