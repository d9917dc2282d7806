"""How engine functions are compiled, and where their machine code is kept.

numba's own cache looks only at the file of the function being loaded, so an edit in a callee in another
file would go unseen. Here the cache folder is named after a digest of every engine source and numba's
version; any edit changes the folder, hence everything compiles anew.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import types

F = TypeVar("F", bound=Callable[..., Any])

INTERPRETED = bool(numba.config.DISABLE_JIT)
"""True under ``NUMBA_DISABLE_JIT=1``: the same functions run as plain Python."""

ROUTE_SIGNATURE = types.int64(types.int64[:, ::1], types.int64[::1])
ORDER_SIGNATURE = types.int64(types.int64[::1], types.int64[::1])


def sources_digest(folder: Path, version: str) -> str:
    """Sixteen hex digits over the names and bytes of every ``*.py`` in ``folder`` and ``version``."""
    digest = hashlib.sha256(version.encode())
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """The folder of compiled code for these sources (``RIDGELINE_CACHE_DIR`` or ``~/.cache/ridgeline``)."""
    base = os.environ.get("RIDGELINE_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base else Path.home() / ".cache"
    return root / "ridgeline" / f"engine-{sources_digest(Path(__file__).parent, numba.__version__)}"


CACHE_FOLDER = cache_folder()


def is_compiled() -> bool:
    """Whether an earlier run left machine code for exactly these sources (a finished warm-up says so)."""
    return INTERPRETED or (CACHE_FOLDER / "ready").is_file()


PENDING: list[tuple[Any, Callable[..., Any]]] = []


def jit(function: F, inner: bool = True) -> F:
    """Compile for one signature, taken from the annotations, when `compile_all` comes to it.

    ``inner``: only other engine functions call it, so it needs no way in from Python (`entry` is the other).

    One signature each matters: left to itself numba compiles a function again for every mixture of integer
    widths among its arguments, which multiplies the time of the first run.
    """
    if INTERPRETED:
        return function
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE_FOLDER)
    try:
        compiled = numba.njit(cache=True, error_model="numpy", no_cpython_wrapper=inner)(function)
    finally:
        numba.config.CACHE_DIR = before
    PENDING.append((compiled, function))
    return cast(F, compiled)


def entry(function: F) -> F:
    """As `jit`, for a function that Python calls."""
    return jit(function, inner=False)


def signature_of(function: Callable[..., Any]) -> Any:
    """The numba signature that ``function``'s annotations stand for (a `State` is the address of its header)."""
    kinds = {"int": types.int64, "bool": types.boolean, "None": types.void, None: types.void}
    kinds |= {int: types.int64, bool: types.boolean, "tuple[int, int]": types.UniTuple(types.int64, 2)}
    kinds[tuple[int, int]] = types.UniTuple(types.int64, 2)
    hooks = {"order_fn": types.FunctionType(ORDER_SIGNATURE), "route_fn": types.FunctionType(ROUTE_SIGNATURE)}
    hints = dict(function.__annotations__)
    returns = kinds[hints.pop("return")]
    arguments = []
    for name, hint in hints.items():
        if name in hooks:
            arguments.append(hooks[name])
        else:
            arguments.append(types.int64 if getattr(hint, "__name__", "") == "State" else kinds[hint])
    return returns(*arguments)


def compile_all() -> None:
    """Compile, or load from the cache, every engine function not ready yet, callees first."""
    if not PENDING:
        return
    for compiled, function in PENDING:
        compiled.compile(signature_of(function))
        compiled.disable_compile()
    PENDING.clear()
    CACHE_FOLDER.mkdir(parents=True, exist_ok=True)
    (CACHE_FOLDER / "ready").touch()


def first_class(function: Callable[..., int], signature: Any) -> Callable[..., int]:
    """Compile a policy to a C function pointer: the engine takes it without compiling again."""
    if INTERPRETED:
        return function
    return cast(Callable[..., int], numba.cfunc(signature, nopython=True)(function))
