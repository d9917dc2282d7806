"""Policies of your own: a function in a file, compiled to a fixed signature and handed to the engine.

A *route* policy picks where a request goes: ``route(candidates, request) -> index``. ``candidates`` is an int64
matrix, one row per worker (or rank): index, up (1/0), running, waiting, used tokens, pool tokens, requests in
flight, waiting tokens, summed context, 0. ``request`` is: id, arrival (ps), prompt tokens, max new tokens,
priority, routing key, lora, class, a random draw (31 bits, fixed by id and seed), number of candidates. Any
answer outside the candidates refuses the request.

An *order* policy orders the waiting queue: ``order(request, rank) -> key``, smallest first, stable.
``request`` is: id, arrival (ps), queued since (ps), prompt tokens, generated so far, max new tokens, priority,
routing key, lora, class. ``rank`` is: now (ps), rank, running, waiting, free tokens, pool tokens, 0…
"""

import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ridgeline.sim.engine.jit import INTERPRETED
from ridgeline.sim.settings import SettingError

KINDS = ("route", "order")
ALIVE: list[Any] = []
"""Compiled policies: their machine code must outlive every run that holds its address."""


def compiled(kind: str, function: Callable[..., int]) -> Any:
    """What the engine takes for a policy of this ``kind``: the address of its machine code.

    Interpreted, the function itself. Any numba error passes through.
    """
    if INTERPRETED:
        return function
    # numba's own annotations do not know half of what is used here
    numba: Any = importlib.import_module("numba")
    types: Any = importlib.import_module("numba.types")
    first = types.int64[:, ::1] if kind == "route" else types.int64[::1]
    made = numba.cfunc(types.int64(first, types.int64[::1]), nopython=True)(function)
    ALIVE.append(made)
    return made.address


def load_policy(reference: str) -> tuple[str, Any]:
    """The kind (``route`` or ``order``) and compiled function that ``FILE.py:NAME`` refers to.

    The kind is the function's attribute ``kind`` where it has one, else the part of its name before the first
    underscore. The file is executed: it is code that the user names on the command line.

    Raises:
        SettingError: no such file or function, an unknown kind, or code that does not compile.
    """
    path_text, _, name = reference.rpartition(":")
    path = Path(path_text)
    if not name or not path.is_file():
        raise SettingError(f"policy {reference}: want FILE.py:NAME of an existing file")
    spec = importlib.util.spec_from_file_location(f"ridgeline_policy_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise SettingError(f"policy {reference}: {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise SettingError(f"policy {reference}: {path} does not load: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise SettingError(f"policy {reference}: {path} has no function {name}")
    kind = str(getattr(function, "kind", name.split("_")[0]))
    if kind not in KINDS:
        raise SettingError(f"policy {reference}: begin its name with route or order, so its kind is known")
    try:
        return kind, compiled(kind, function)
    except Exception as error:
        first = str(error).strip().splitlines()[0]
        raise SettingError(f"policy {reference}: does not compile: {first}") from error
