"""Every try, one JSON line each, on the disk before the next one begins: a killed run goes on where it stopped."""

import hashlib
import os
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from ridgeline.model.alone import hold
from ridgeline.model.errors import InputError
from ridgeline.replay.body import Manner, body_of, json_of
from ridgeline.replay.minimise.trial import Try
from ridgeline.replay.shot import Shot

SCHEMA: Final = "ridgeline.minimise-tries/1"
FILE: Final = "tries.jsonl"
SHOWN_RIDS: Final = 8


class Keys:
    """Names sets by what is sent of them, in order; times and the rids that are sent are left out."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Shot, bytes]] = {}  # by identity: the same requests come in hundreds of sets

    def of(self, shots: Iterable[Shot]) -> str:
        """The name of a set."""
        return hashlib.blake2b(b"".join(map(self._one, shots)), digest_size=12).hexdigest()

    def _one(self, shot: Shot) -> bytes:
        known = self.known.get(id(shot))
        if known is None:
            body = body_of(shot, Manner())
            body.pop("rid", None)
            digest = hashlib.blake2b(json_of([shot.rid, body, shot.headers]), digest_size=16).digest()
            known = self.known[id(shot)] = (shot, digest)
        return known[1]


class Journal:
    """Tries on disk. A former run's are handed out again, in their order, for the same sets."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        """Open or begin the journal. Raises InputError where it is of another task, in use, or cannot be written."""
        self.tries: list[dict[str, Any]] = []
        self.known: dict[str, deque[Try]] = defaultdict(deque)
        path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
            hold(self.file, wait=False)
        except BlockingIOError as e:
            self.file.close()
            raise InputError(f"{folder}: another minimise is at work in it; wait, or give another folder") from e
        except OSError as e:
            raise InputError(f"{folder}: cannot be written ({e.strerror}); give another folder") from e
        try:
            self.cut = self._read(path, fingerprint)
        except InputError:
            self.file.close()
            raise
        self.resumed = len(self.tries)

    def _read(self, path: Path, fingerprint: str) -> bool:
        """Take in what is there; True where its last line was cut (it is removed)."""
        whole = self.file.read()
        end = whole.rfind(b"\n") + 1
        lines = whole[:end].splitlines()
        try:
            rows = [msgspec.json.decode(line) for line in lines]
            head = rows[0] if rows else {"schema": SCHEMA, "task": fingerprint}
            if head["schema"] != SCHEMA or head["task"] != fingerprint:
                raise InputError(
                    f"{path}: holds the tries of another dump, predicate or option; give another folder, or remove it"
                )
            for row in rows[1:]:
                self.tries.append(row)
                self.known[row["key"]].append(Try(row["failed"], tuple(row["suspects"]), row["why"], row["took_s"]))
        except (msgspec.DecodeError, LookupError, TypeError) as e:
            raise InputError(f"{path}: is damaged; remove it to begin anew") from e
        self.file.seek(end)
        self.file.truncate()
        if not rows:
            self._append(head)
        return end < len(whole)

    def again(self, key: str) -> Try | None:
        """The next try of a former run for this set."""
        return self.known[key].popleft() if self.known.get(key) else None

    def add(self, key: str, shots: Sequence[Shot], what: str, done: Try) -> None:
        """Append one try and wait until the disk has it."""
        row = {
            "try": len(self.tries) + 1, "key": key, "what": what, "requests": len(shots),
            "rids": [s.rid for s in shots[:SHOWN_RIDS]], "size": sum(s.size for s in shots),
            "failed": done.failed, "suspects": list(done.suspects), "why": done.why, "took_s": done.took_s,
        }  # fmt: skip
        self.tries.append(row)
        self._append(row)

    def _append(self, row: dict[str, Any]) -> None:
        self.file.write(json_of(row) + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def close(self) -> None:
        """Release the folder."""
        self.file.close()
