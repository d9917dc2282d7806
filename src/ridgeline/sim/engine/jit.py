"""Which functions are the engine's compiled ones, and where their machine code is kept.

`jit` only notes a function; it stays plain Python until `native` asks for machine code, which `build` makes with
numba once and stores as one object file. Later runs load that file with llvmlite alone: no numba, a fifth of a
second, half the memory. The folder is named after a digest of every engine source, numba's version and the
processor, so that an edit anywhere, callees in other files included, compiles anew.
"""

import hashlib
import importlib.metadata
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from llvmlite import binding  # type: ignore[import-untyped]

F = TypeVar("F", bound=Callable[..., Any])

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
"""True under ``NUMBA_DISABLE_JIT=1``: the same functions run as plain Python."""

FUNCTIONS: list[Callable[..., Any]] = []
"""Every engine function, callees before callers."""

ENTRIES: list[Callable[..., Any]] = []
"""Those that Python calls."""


def jit(function: F) -> F:
    """Note ``function`` as part of the engine: it must compile in numba's nopython mode."""
    FUNCTIONS.append(function)
    return function


def entry(function: F) -> F:
    """As `jit`, for a function that Python calls (through `native`)."""
    ENTRIES.append(function)
    return jit(function)


def sources_digest(folder: Path, version: str) -> str:
    """Sixteen hex digits over ``version`` and the names and bytes of every ``*.py`` in ``folder``."""
    digest = hashlib.sha256(version.encode())
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def machine() -> str:
    """What machine code depends on besides the sources: numba, LLVM, Python, processor."""
    cpu = f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
    return f"{importlib.metadata.version('numba')} {binding.llvm_version_info} {sys.implementation.cache_tag} {cpu}"


def cache_folder() -> Path:
    """The folder of these sources' machine code, under ``RIDGELINE_CACHE_DIR`` or the user's cache folder."""
    base = os.environ.get("RIDGELINE_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base else Path.home() / ".cache"
    return root / "ridgeline" / f"engine-{sources_digest(Path(__file__).parent, machine())}"


def is_compiled() -> bool:
    """Whether machine code for exactly these sources is there (or none is needed)."""
    return INTERPRETED or (cache_folder() / "engine.json").is_file()
