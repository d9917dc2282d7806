"""Making the engine's machine code with numba (once per change of the sources; see `jit`).

While it compiles, the engine modules' names stand for numba's dispatchers instead of plain functions.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ridgeline.sim.engine import accessors, tables
from ridgeline.sim.engine.jit import ENTRIES, FUNCTIONS

# numba's own annotations do not know half of what is used here
numba: Any = importlib.import_module("numba")
types: Any = importlib.import_module("numba.types")
config: Any = importlib.import_module("numba.core.config")

PACKAGE = "ridgeline.sim.engine."


def signature_of(function: Callable[..., Any]) -> Any:
    """The one numba signature that ``function``'s annotations stand for.

    A `State` is the address of its header, a policy the address of its machine code. One signature each matters:
    left to itself numba compiles a function again for every mixture of integer widths among its arguments.
    """
    pair = types.UniTuple(types.int64, 2)
    returns = {int: types.int64, bool: types.boolean, None: types.void, tuple[int, int]: pair}
    hints = dict(function.__annotations__)
    result = returns[hints.pop("return")]
    return result(*[types.boolean if hint is bool else types.int64 for hint in hints.values()])


def swap(old: Any, new: Any) -> None:
    """Let every engine module's name for ``old`` mean ``new``."""
    for name, module in list(sys.modules.items()):
        if name.startswith(PACKAGE):
            for key, value in list(vars(module).items()):
                if value is old:
                    setattr(module, key, new)


def build(folder: Path) -> None:
    """Compile everything and write ``engine.o`` (entries as objects) and ``engine.json`` (their symbols).

    Raises:
        OSError: the folder cannot be written.
    """
    stand_ins: list[tuple[Any, Any]] = [(getattr(tables, name), made) for name, made in accessors.compiled().items()]
    stand_ins += [(f, numba.njit(error_model="numpy", no_cpython_wrapper=True)(f)) for f in FUNCTIONS]
    for plain, fast in stand_ins:
        swap(plain, fast)
    level = config.OPT
    try:
        made = dict(stand_ins)
        for function in FUNCTIONS:
            # inner functions end up inside an entry, which is optimised as a whole: little is enough for them
            config.OPT = config._OptLevel(2 if function in ENTRIES else 1)
            made[function].compile(signature_of(function))
            made[function].disable_compile()
        symbols = {}
        folder.mkdir(parents=True, exist_ok=True)
        for function in ENTRIES:
            (result,) = made[function].overloads.values()
            library = result.library
            code = library._codegen._tm.emit_object(library._final_module)
            write(folder / f"{function.__name__}.o", code)
            symbols[function.__name__] = result.fndesc.llvm_func_name
    finally:
        config.OPT = level
        for plain, fast in stand_ins:
            swap(fast, plain)
    write(folder / "engine.json", json.dumps(symbols, sort_keys=True).encode())


def write(path: Path, data: bytes) -> None:
    """Write whole or not at all (another process may be compiling the same)."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_bytes(data)
    part.replace(path)
