"""A look at a whole plain file before it is read: whether DuckDB may read it directly, and how narrow."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np

from ridgeline.signals.request_log.fill import block
from ridgeline.signals.request_log.keys import BLOCK, TAIL, Look, look

THREADS: Final = 2


def survey(path: Path) -> Look:
    """What all of a file's lines have in common."""
    with path.open("rb") as file, ThreadPoolExecutor(THREADS) as pool:
        size = path.stat().st_size
        found = list(pool.map(lambda start: _block(file.fileno(), start, size), range(0, size, BLOCK)))
        ended = size > 0 and block(file.fileno(), size - 1, size) == b"\n"
    return Look(
        sum(one.lines for one in found),
        ended and all(one.bare for one in found),
        all(one.narrow for one in found),
    )


def _block(file: int, start: int, size: int) -> Look:
    """One block, with as much of what stands before it as a key there may reach back."""
    known = min(start, TAIL + 2)
    data = block(file, start - known, min(start + BLOCK, size))
    return look(np.frombuffer(data, dtype=np.uint8), known)
