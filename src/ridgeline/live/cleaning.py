"""A server's answer about itself without its secrets, before a byte of it is written; still the same JSON."""

from __future__ import annotations

import json
from typing import Any

from ridgeline.signals.secrets import clean, clean_text, scrubbed


def without_secrets(body: bytes) -> bytes:
    """JSON with secret values replaced; anything that is no JSON goes through the patterns for text."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return scrubbed(body.decode("utf-8", "replace")).encode()
    return json.dumps(_clean("", value), ensure_ascii=False).encode("utf-8", "replace")


def _clean(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _clean(str(name), inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_clean(key, inner) for inner in value]
    if isinstance(value, str):
        return clean(key, value) if key else clean_text(value)
    return value
