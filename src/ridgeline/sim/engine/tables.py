"""Access to the engine's tables from compiled code, through one pointer.

Handing a dozen arrays to every function costs more than most functions do, and reference counting them more
still. Compiled code therefore gets one integer, the address of a header that lists each table's address and
shape; `reqs(st)`, `ranks(st)` … make a table of it where one is needed. Interpreted, ``st`` is the `State`
itself and they are plain attribute reads. The header lives as long as its `State` (see `handle`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import numpy_support
from numba.np.arrayobj import make_array, populate_array
from numpy.typing import NDArray

from ridgeline.sim.engine import state as tables
from ridgeline.sim.engine.jit import INTERPRETED
from ridgeline.sim.engine.state import State

WORDS = 3
"""Header words per table: address, rows, columns."""


def accessor(name: str, dtype: Any, dimensions: int) -> Callable[[State], Any]:
    """What reads table ``name`` of a `State` (interpreted) or of a header's address (compiled)."""
    if INTERPRETED:
        return lambda st: getattr(st, name)
    place = State._fields.index(name) * WORDS
    kind = types.Array(numpy_support.from_dtype(np.dtype(dtype)), dimensions, "C")

    def read(typing: Any, handle: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
            one = [builder.load(builder.gep(words, [ir.Constant(ir.IntType(64), place + k)]))
                   for k in range(dimensions + 1)]  # fmt: skip
            size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
            itemsize = context.get_constant(types.intp, size)
            shape = one[1:]
            strides = [itemsize] if dimensions == 1 else [builder.mul(shape[1], itemsize), itemsize]
            array = make_array(kind)(context, builder)
            data = builder.inttoptr(one[0], context.get_data_type(kind.dtype).as_pointer())
            populate_array(array, data=data, shape=cgutils.pack_array(builder, shape),
                           strides=cgutils.pack_array(builder, strides), itemsize=itemsize, meminfo=None)  # fmt: skip
            return array._getvalue()

        return kind(types.int64), code

    return intrinsic(read)  # type: ignore[no-any-return]


reqs = accessor("req", tables.REQUEST, 1)
ranks = accessor("rank", tables.RANK, 1)
nodes = accessor("node", tables.NODE, 1)
slots = accessor("slot", tables.SLOT, 1)
lists = accessor("queue", tables.QUEUE, 1)
segs = accessor("seg", tables.SEG, 1)
logs = accessor("log", tables.LOG, 1)
param = accessor("param", np.int64, 2)
wide = accessor("wide", np.int64, 2)
scratch = accessor("scratch", np.int64, 2)
table = accessor("table", np.int32, 1)
cells = accessor("g", np.int64, 1)


def handle(st: State) -> tuple[Any, NDArray[np.int64]]:
    """What compiled functions take for ``st``, and the header to keep alive while they use it."""
    header = np.zeros(len(st) * WORDS, np.int64)
    for k, array in enumerate(st):
        header[k * WORDS] = array.ctypes.data
        header[k * WORDS + 1 : k * WORDS + 1 + array.ndim] = array.shape
    return (st if INTERPRETED else int(header.ctypes.data)), header
