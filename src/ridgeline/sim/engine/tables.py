"""Access to the engine's tables.

Handing a dozen arrays to every function costs more than most functions do, and reference counting them more
still. Compiled code therefore gets one integer, the address of a header that lists each table's address and
shape; `reqs(st)`, `ranks(st)` … make a table of it where one is needed (`accessors`). Interpreted, ``st`` is the
`State` itself and these functions are what they say.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.sim.engine import state
from ridgeline.sim.engine.jit import INTERPRETED
from ridgeline.sim.engine.state import State

WORDS = 3
"""Header words per table: address, rows, columns."""

TABLES: dict[str, tuple[str, Any, int]] = {
    "reqs": ("req", state.REQUEST, 1), "ranks": ("rank", state.RANK, 1), "nodes": ("node", state.NODE, 1),
    "slots": ("slot", state.SLOT, 1), "lists": ("queue", state.QUEUE, 1), "segs": ("seg", state.SEG, 1),
    "logs": ("log", state.LOG, 1), "param": ("param", np.int64, 2), "wide": ("wide", np.int64, 2),
    "scratch": ("scratch", np.int64, 2), "table": ("table", np.int32, 1), "blocks": ("blocks", np.int32, 2),
    "cells": ("g", np.int64, 1),
}  # fmt: skip
"""Accessor, field of `State`, element type, dimensions."""


def reqs(st: State) -> Any:
    """Requests."""
    return st.req


def ranks(st: State) -> Any:
    """Ranks (and, by worker number, workers)."""
    return st.rank


def nodes(st: State) -> Any:
    """Tree nodes."""
    return st.node


def slots(st: State) -> Any:
    """Places in the batches."""
    return st.slot


def lists(st: State) -> Any:
    """Heads and tails of the lists of requests."""
    return st.queue


def segs(st: State) -> Any:
    """Segments of contents."""
    return st.seg


def logs(st: State) -> Any:
    """The log."""
    return st.log


def param(st: State) -> Any:
    """Parameters, perturbations, what policies see."""
    return st.param


def wide(st: State) -> Any:
    """Gap counts, residues, adapter slots, front-end servers."""
    return st.wide


def scratch(st: State) -> Any:
    """Sorting room."""
    return st.scratch


def table(st: State) -> Any:
    """The child table of the trees."""
    return st.table


def blocks(st: State) -> Any:
    """Which blocks a request has, by its row (vLLM)."""
    return st.blocks


def cells(st: State) -> Any:
    """Single numbers."""
    return st.g


def call_route(function: Callable[..., int], candidates: Any, request: Any) -> int:
    """Ask a routing policy."""
    return function(candidates, request)


def call_order(function: Callable[..., int], request: Any, rank: Any) -> int:
    """Ask an ordering policy."""
    return function(request, rank)


def handle(st: State) -> tuple[Any, NDArray[np.int64]]:
    """What entries take for ``st``, and the header to keep alive while they use it."""
    header = np.zeros(len(st) * WORDS, np.int64)
    for k, array in enumerate(st):
        header[k * WORDS] = array.ctypes.data
        header[k * WORDS + 1 : k * WORDS + 1 + array.ndim] = array.shape
    return (st if INTERPRETED else int(header.ctypes.data)), header
