"""Follow files that grow: logs through rotation and truncation, and folders that gain files (the metrics exporter).

Bytes are appended as they are, whole lines first: what is behind the last newline waits until its line ends, the file
is rotated, or the capture ends. A rotated file is read to its end before its successor begins.
"""

from __future__ import annotations

import asyncio
import contextlib
import glob
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from ridgeline.live.polling import Say
from ridgeline.live.raw import Sink, flat

EVERY_S: Final = 0.5
BACK_BYTES: Final = 64 * 1024 * 1024  # of what a file already holds, this much of its end is taken
PIECE_BYTES: Final = 1 << 20
LONGEST_LINE: Final = 8 * 1024 * 1024
MOST_FILES: Final = 1000
SETTLE_S: Final = 1.0  # a file that was renamed may still be written to for this long


@dataclass
class Followed:
    """One file: the handle that is open, where it is, and the unfinished line."""

    path: Path
    name: str
    file: IO[bytes] | None = None
    inode: int = 0
    rest: bytes = b""
    gone_at: float | None = None


@dataclass
class Tail:
    """All files that are followed. `paths` may name files that do not exist yet, folders and patterns."""

    paths: Sequence[str]
    sink: Sink
    say: Say
    files: dict[str, Followed] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)

    async def run(self, until: asyncio.Event) -> None:
        """Follow until the event is set, then read to the end once more."""
        try:
            while not until.is_set():
                self.once()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(until.wait(), EVERY_S)
            self.once(last=True)
        finally:
            self.close()

    def close(self) -> None:
        """Close every file."""
        for followed in self.files.values():
            if followed.file is not None:
                followed.file.close()
                followed.file = None

    def once(self, last: bool = False) -> None:
        """Take what was added since; `last` also takes unfinished lines."""
        self._find()
        for followed in self.files.values():
            self._step(followed)
            if last:
                self._flush(followed)

    def _find(self) -> None:
        for pattern in self.paths:
            found = sorted(str(p) for p in Path(pattern).rglob("*") if p.is_file()) if Path(pattern).is_dir() else (
                sorted(glob.glob(pattern, recursive=True)) if glob.has_magic(pattern) else [pattern])  # noqa: PTH207  # fmt: skip
            for path in found:
                if path not in self.files and len(self.files) < MOST_FILES:
                    self.files[path] = Followed(Path(path), self._name(path))

    def _name(self, path: str) -> str:
        """`logs/<file>`, with its folder where another file has the same name."""
        names = {f.name for f in self.files.values()}
        parts = Path(path).parts
        for depth in range(1, len(parts) + 1):
            name = "logs/" + "__".join(flat(part) for part in parts[-depth:])
            if name not in names:
                return name
        return f"logs/{len(names)}__{flat(parts[-1])}"

    def _step(self, f: Followed) -> None:
        try:
            state = f.path.stat()
        except OSError as e:
            self._lost(f, e)
            state = None
        if state is not None and f.file is None:
            self._open(f, from_end=not f.gone_at)
        elif state is not None and f.file is not None and (state.st_ino != f.inode):
            self._drain(f)
            f.gone_at = f.gone_at or time.monotonic()
            if time.monotonic() - f.gone_at >= SETTLE_S or state.st_size > 0:
                self._drain(f)
                self._flush(f)
                f.file.close()
                self._open(f, from_end=False)
        if f.file is not None:
            self._truncated(f)
            self._drain(f)

    def _lost(self, f: Followed, e: OSError) -> None:
        if str(f.path) not in self.missing:
            self.missing.add(str(f.path))
            what = "is not there (yet): it is followed as soon as it is" if isinstance(e, FileNotFoundError) else (
                f"cannot be read ({e.strerror}); check its permissions")  # fmt: skip
            self.say(f"{f.path}: {what}")
        if f.file is not None:
            self._drain(f)

    def _open(self, f: Followed, from_end: bool) -> None:
        try:
            f.file = f.path.open("rb")
        except OSError as e:
            f.file = None
            self._lost(f, e)
            return
        state = os.fstat(f.file.fileno())
        f.inode, f.gone_at = state.st_ino, None
        if from_end and state.st_size > BACK_BYTES:
            f.file.seek(state.st_size - BACK_BYTES)
            f.file.readline(LONGEST_LINE)  # to the start of a line
            self.say(f"{f.path}: of its {state.st_size >> 20} MiB the last {BACK_BYTES >> 20} are taken")

    def _truncated(self, f: Followed) -> None:
        assert f.file is not None
        if os.fstat(f.file.fileno()).st_size < f.file.tell():
            self.say(f"{f.path}: was truncated; read on from its start")
            # Copied and truncated in the middle of a line: its end comes next, so that nothing is put between.
            f.file.seek(0)

    def _drain(self, f: Followed) -> None:
        assert f.file is not None
        while True:
            try:
                data = f.file.read(PIECE_BYTES)
            except OSError as e:
                self._lost(f, e)
                return
            if not data:
                return
            whole, newline, rest = (f.rest + data).rpartition(b"\n")
            if newline or len(rest) > LONGEST_LINE:
                self.sink.append(f.name, whole + newline if newline else rest, time.time())
                rest = rest if newline else b""
            f.rest = rest

    def _flush(self, f: Followed) -> None:
        """The unfinished last line, ended here."""
        if f.rest:
            rest, f.rest = f.rest, b""
            self.sink.append(f.name, rest + b"\n", time.time())
