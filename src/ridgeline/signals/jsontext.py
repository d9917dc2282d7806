"""JSON as programs really write it."""

import json
from typing import Any

import msgspec


def decoded(data: bytes | str) -> Any:
    """The value of a JSON text; None where it is none. NaN and Infinity, which Python writes, are read as such."""
    for read in (msgspec.json.decode, json.loads):
        try:
            return read(data)
        except (ValueError, RecursionError):
            continue  # no strict JSON: the slower reader takes what Python writes
    return None
