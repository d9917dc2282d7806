"""Figures of the engine's own idle check of its KV pool: what the line counts, and what is missing from it.

Up to 0.4.x `available_size` is what is free and what can be evicted together; later both are on the line.
"""

import re
from typing import Final

TOTAL: Final = re.compile(r"(?:max_total_num_tokens|pool_allocator\.size|total_size|\btotal)=(\d+)(?=[,\s]|$)")
PARTS: Final = re.compile(
    r"\b(?:full_)?(available|evictable|protected|session_held)(?:_size)?(?:\(\))?=(\d+)(?=[,\s]|$)"
)


def figures(text: str) -> dict[str, str]:
    """`total` and `missing` (tokens; below zero: counted twice) of the first pool that the line names; {} without."""
    head = text.split("\n", 1)[0]
    total = TOTAL.search(head)
    parts: dict[str, int] = {}
    for name, value in PARTS.findall(head):
        parts.setdefault(name, int(value))
    if total is None or "available" not in parts or "req_to_token" in head:  # rows of that pool are no tokens
        return {}
    return {"total": total[1], "missing": str(int(total[1]) - sum(parts.values()))}
