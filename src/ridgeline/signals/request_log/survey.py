"""A look at a plain file just ahead of its reading: up to where DuckDB may read it directly, and how narrow."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ridgeline.signals.lines import BLOCK
from ridgeline.signals.request_log.fill import block
from ridgeline.signals.request_log.keys import TAIL, Look, look


def survey(path: Path) -> Iterator[Look]:
    """What the lines of each block have in common, in file order. Counts only lines that end in a newline.

    From the first block on that holds a wide key none is called narrow: a file once read wide is not read narrow again,
    and looking at keys is most of the work.
    """
    size = path.stat().st_size
    narrow = True
    with path.open("rb") as file:
        for start in range(0, size, BLOCK):
            # with as much of what stands before it as a key there may reach back
            known = min(start, TAIL + 2)
            data = block(file.fileno(), start - known, min(start + BLOCK, size))
            found = look(np.frombuffer(data, dtype=np.uint8), known, narrow)
            narrow = found.narrow
            yield found
