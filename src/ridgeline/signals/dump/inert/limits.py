"""What one dump may cost. The child that reads it enforces the figures; nothing of ridgeline is imported there."""

from typing import Final, NamedTuple


class Limits(NamedTuple):
    """Caps on one dump: the unpacked size in bytes, and what its pickle may build."""

    file_bytes: int = 256 * 1024 * 1024
    objects: int = 60_000_000  # opcodes, and items handed on: a pickle cannot build more objects than it has opcodes
    memo: int = 10_000_000  # entries of the memo
    depth: int = 64  # containers inside each other
    text_bytes: int = 64 * 1024 * 1024  # one string
    number_bytes: int = 512  # one whole number
    memory_bytes: int = 4 * 1024 * 1024 * 1024  # address space of the child
    seconds: float = 15.0  # from opening the file to the child's answer; what is left of twenty is for what follows


DEFAULT: Final = Limits()
