"""JSON that fits a reader with little room: long lists and texts are cut, and what was cut is said."""

from __future__ import annotations

import json
from typing import Any, Final

MOST_CHARS: Final = 60_000
SHORTEST: Final = 2


def bounded(value: Any, most: int = MOST_CHARS) -> str:
    """`value` as JSON of at most about `most` characters; valid JSON whatever was cut."""
    items, chars = 400, 4000
    while True:
        text = json.dumps(_cut(value, items, chars), ensure_ascii=False, allow_nan=False)
        if len(text) <= most or (items <= SHORTEST and chars <= 80):
            return text
        items, chars = max(SHORTEST, items // 2), max(80, chars // 2)


def _cut(value: Any, items: int, chars: int) -> Any:
    if isinstance(value, dict):
        kept = {k: _cut(v, items, chars) for k, v in list(value.items())[: items * 4]}
        left = len(value) - len(kept)
        return {**kept, "left_out": left} if left else kept
    if isinstance(value, list):
        kept_items = [_cut(v, items, chars) for v in value[:items]]
        left = len(value) - len(kept_items)
        return [*kept_items, f"{left} more left out"] if left else kept_items
    if isinstance(value, str) and len(value) > chars:
        return f"{value[:chars]}… ({len(value) - chars} more characters)"
    return value
