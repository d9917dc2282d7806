"""The flight recorder's memory: the last minutes of raw bytes, bounded in time and in bytes, ready to be sealed.

Each piece is packed on its own, so that old ones can go one by one. What a server says of itself is asked rarely; its
last answer stays however old it is.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import zstandard

from ridgeline.live.endpoints import ENDPOINTS, INFO_S

PINNED: Final = tuple(e.file for e in ENDPOINTS if e.least_s >= INFO_S)


@dataclass
class Ring:
    """A sink that forgets. `seconds` and `limit` bound what is kept; `size` is what it takes now (packed)."""

    seconds: float
    limit: int
    size: int = 0
    pieces: deque[tuple[float, str, bytes]] = field(default_factory=deque)
    pinned: dict[str, bytes] = field(default_factory=dict)
    packer: zstandard.ZstdCompressor = field(default_factory=lambda: zstandard.ZstdCompressor(level=1))

    def append(self, name: str, data: bytes, ts: float) -> None:
        """Keep a piece and let go of what is too old or too much."""
        packed = self.packer.compress(data)
        if name.endswith(PINNED):
            self.pinned[name] = packed
            return
        self.pieces.append((ts, name, packed))
        self.size += len(packed)
        # The clock may have been stepped: a piece from the "future" must not keep the others from growing old.
        while self.pieces and (self.size > self.limit or abs(ts - self.pieces[0][0]) > self.seconds):
            self.size -= len(self.pieces.popleft()[2])

    @property
    def span_s(self) -> float:
        """How far back it reaches."""
        return self.pieces[-1][0] - self.pieces[0][0] if self.pieces else 0.0

    def write(self, folder: Path) -> None:
        """Everything it holds as raw files; each is a row of whole zstd frames."""
        for name, packed in (*self.pinned.items(), *((name, packed) for _, name, packed in list(self.pieces))):
            path = folder / f"{name}.zst"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as out:
                out.write(packed)
