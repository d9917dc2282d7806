"""Public issues whose exact wording is in the evidence: candidates for `next`, bounded by the version that was read."""

from __future__ import annotations

from typing import Final

from ridgeline.bundle.view import View
from ridgeline.words.known import KNOWN, Known, Version

MOST: Final = 3
SAID: Final = """
SELECT count(*) FROM (
    SELECT text, attrs FROM events WHERE text IS NOT NULL OR attrs IS NOT NULL
    UNION ALL SELECT text, NULL FROM unread WHERE text IS NOT NULL
    UNION ALL SELECT abort_message, NULL FROM requests WHERE abort_message IS NOT NULL
)
WHERE contains(lower(coalesce(text, '') || ' ' || coalesce(attrs, '')), $text)
"""
SERVED: Final = "SELECT engine, min(version), max(version) FROM servers WHERE version IS NOT NULL GROUP BY engine"


def candidates(view: View) -> tuple[str, ...]:
    """At most three lines, one for each public thread that fits what was said and the version, if that is known."""
    versions = {engine: numbers(low) for engine, low, high in view.query(SERVED) if low == high}
    lines: list[str] = []
    for one in KNOWN:
        version = versions.get(one.engine)
        if not fits(one, version) or not view.one(SAID, {"text": one.text})[0]:
            continue
        read = ".".join(map(str, version)) if version else "a version not known here"
        told = f"candidate ({read}, same words in a public thread; read it before believing it)"
        lines.append(f"{told}: {one.says} {one.url}")
    return tuple(lines[:MOST])


def fits(one: Known, version: Version | None) -> bool:
    """Whether the version lies within the thread's bounds; an unknown version fits only where none are named."""
    if version is None:
        return one.since is None and one.until is None
    short = version[:3]
    return (one.since is None or short >= one.since) and (one.until is None or short <= one.until)


def numbers(version: str | None) -> Version | None:
    """`0.5.9.post1` → (0, 5, 9); None where it does not begin with two numbers."""
    found: list[int] = []
    for part in (version or "").split(".")[:3]:
        if not part.isdigit():
            break
        found.append(int(part))
    return tuple(found) if len(found) >= 2 else None
