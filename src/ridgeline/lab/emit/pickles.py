"""Pickle opcodes written by hand (protocol 4): plain values, tuples, and instances of classes named by path.

Nothing here imports or calls what a name stands for; the bytes are what ``copyreg`` would have produced for a
plain object: class, ``NEWOBJ``, state, ``BUILD``.
"""

import struct
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Instance:
    """An object of class ``module.name`` with the given attributes."""

    module: str
    name: str
    state: tuple[tuple[str, Any], ...]


def text(value: str) -> bytes:
    """A string."""
    raw = value.encode("utf-8")
    if len(raw) < 256:
        return b"\x8c" + bytes([len(raw)]) + raw
    return b"X" + struct.pack("<I", len(raw)) + raw


def integer(value: int) -> bytes:
    """A whole number of any size."""
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if 0 <= value < 65536:
        return b"M" + struct.pack("<H", value)
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def body(value: Any) -> bytes:
    """The opcodes that put ``value`` on the stack.

    Raises:
        TypeError: a value of a kind a dump does not hold.
    """
    if value is None:
        return b"N"
    if value is True:
        return b"\x88"
    if value is False:
        return b"\x89"
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, float):
        return b"G" + struct.pack(">d", value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, tuple):
        if not value:
            return b")"
        return b"(" + b"".join(map(body, value)) + b"t"
    if isinstance(value, list):
        return b"]" + (b"(" + b"".join(map(body, value)) + b"e" if value else b"")
    if isinstance(value, dict):
        inside = b"".join(body(k) + body(v) for k, v in value.items())
        return b"}" + (b"(" + inside + b"u" if value else b"")
    if isinstance(value, Instance):
        start = text(value.module) + text(value.name) + b"\x93" + b")" + b"\x81"
        return start + body(dict(value.state)) + b"b"
    raise TypeError(f"a dump does not hold {type(value).__name__}")


def dumps(value: Any) -> bytes:
    """A whole pickle."""
    return b"\x80\x04" + body(value) + b"."
