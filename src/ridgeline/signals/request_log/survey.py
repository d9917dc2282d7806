"""A look at a whole plain file before it is read: whether DuckDB may read it directly, and how narrow."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from ridgeline.signals.request_log.keys import Look, look
from ridgeline.signals.rows import Reading
from ridgeline.signals.stream import Blob

BLOCK: Final = 4 * 1024 * 1024
THREADS: Final = 2
AHEAD: Final = 4  # blocks in memory at once


def survey(blob: Blob) -> Look:
    """What all blocks of a file have in common; stops at the first line that is not bare JSON."""
    seen = Look(0, True, True)
    waiting: deque[Future[Look]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        for _, block in blob.chunks(Reading(0, blob.shown), BLOCK):
            waiting.append(pool.submit(look, block))
            if len(waiting) == AHEAD:
                seen = _both(seen, waiting.popleft().result())
            if not seen.bare:
                break
        for future in waiting:
            seen = _both(seen, future.result())
    return seen


def _both(one: Look, other: Look) -> Look:
    return Look(one.lines + other.lines, one.bare and other.bare, one.narrow and other.narrow)
