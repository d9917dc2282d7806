"""Engine versions: parsing, order, and "does this version have it" with an honest third answer.

Only some releases were read. A name that is in one of them and absent from the one before may have come
with any release between the two; for those the answer is None (not known), never a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

Engine = Literal["sglang", "vllm", "gateway"]

# The releases whose sources were read, oldest first.
INSPECTED: Final[dict[Engine, tuple[str, ...]]] = {
    "sglang": ("0.4.6.post5", "0.4.10", "0.5.3", "0.5.6", "0.5.9", "0.5.23"),
    "vllm": ("0.32.0",),
    "gateway": (),
}

_NUMBER = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:\.?(post|rc|dev|a|b)(\d+))?")
_STEP: Final = {"dev": -4, "a": -3, "b": -2, "rc": -1, "": 0, "post": 1}

Version = tuple[int, int, int, int, int]


@lru_cache(maxsize=256)
def parse_version(text: str | None) -> Version | None:
    """The order of a version text (`v0.5.9rc1`, `0.4.6.post5`, `0.5.9+cu128`), or None if it is none."""
    found = _NUMBER.search(text) if text else None
    if found is None:
        return None
    major, minor, patch, step, serial = found.groups()
    # Digits beyond any release number are noise, not a version.
    if max(len(major), len(minor), len(patch or "")) > 6:
        return None
    return int(major), int(minor), int(patch or 0), _STEP[step or ""], int(serial or 0)


@dataclass(frozen=True, slots=True)
class Span:
    """The inspected releases that have a name: from `since` to `until`, None meaning open."""

    since: str | None = None
    until: str | None = None

    def has(self, version: str | None, engine: Engine = "sglang") -> bool | None:
        """Whether `version` has the name; None where the releases read cannot tell."""
        at = parse_version(version)
        if at is None:
            return None
        first, last = parse_version(self.since), parse_version(self.until)
        marks = [parsed for text in INSPECTED[engine] if (parsed := parse_version(text))]
        if first is not None and at < first:
            before = [mark for mark in marks if mark < first]
            return False if before and at <= before[-1] else None
        if last is not None and at > last:
            after = [mark for mark in marks if mark > last]
            return False if after and at >= after[0] else None
        return True


ALWAYS: Final = Span()


def nearest_inspected(version: str | None, engine: Engine = "sglang") -> str | None:
    """The newest inspected release not above `version`; the oldest one for anything older; None if unknown."""
    at = parse_version(version)
    known = INSPECTED[engine]
    if at is None or not known:
        return None
    best = known[0]
    for text in known:
        mark = parse_version(text)
        if mark is not None and mark <= at:
            best = text
    return best
