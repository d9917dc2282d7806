"""The engine's entries as machine code, loaded from the object files that `build` wrote."""

import ctypes
import json
from collections.abc import Callable
from typing import Any

from llvmlite import binding  # type: ignore[import-untyped]

from ridgeline.model.alone import hold
from ridgeline.sim.engine import drive, grow
from ridgeline.sim.engine.jit import ENTRIES, INTERPRETED, cache_folder, is_compiled

LOADED: dict[str, Callable[..., Any]] = {}
"""Entries by name, once loaded."""

ALIVE: list[Any] = []
"""Execution engines that own the loaded code: they must live as long as the process."""


def bind(address: int, count: int) -> Callable[..., int]:
    """A compiled entry that takes ``count`` integers, as a Python function (numba's calling convention)."""
    kinds = [ctypes.c_int64] * count
    call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p, *kinds)(address)

    def run(*arguments: int) -> int:
        answer, trouble = ctypes.c_int64(0), ctypes.c_void_p(None)
        status = call(ctypes.byref(answer), ctypes.cast(ctypes.byref(trouble), ctypes.c_void_p), *arguments)
        if status not in (0, -2):
            raise RuntimeError(f"the simulation engine failed with status {status}: a defect in Ridgeline")
        return answer.value

    return run


def load() -> dict[str, Callable[..., Any]]:
    """The entries, compiled first where these sources have not been (that takes a while).

    Raises:
        OSError: the cache folder cannot be written or read.
    """
    if LOADED:
        return LOADED
    if INTERPRETED:
        LOADED.update({"advance": drive.advance, "rehash": grow.rehash})
        return LOADED
    folder = cache_folder()
    if not is_compiled():
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("wb") as lock:
            # one process compiles, the others wait for it
            hold(lock, wait=True)
            if not is_compiled():
                from ridgeline.sim.engine.build import build

                build(folder)
    symbols = json.loads((folder / "engine.json").read_text())
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    counts = {function.__name__: len(function.__annotations__) - 1 for function in ENTRIES}
    for name, symbol in sorted(symbols.items()):
        target = binding.Target.from_default_triple().create_target_machine(codemodel="jitdefault", jit=True)
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), target)
        engine.add_object_file(binding.ObjectFileRef.from_data((folder / f"{name}.o").read_bytes()))
        engine.finalize_object()
        ALIVE.append(engine)
        LOADED[name] = bind(engine.get_function_address(symbol), counts[name])
    return LOADED
