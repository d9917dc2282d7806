"""What `tables` means in compiled code: an address turned into tables, and policies called by address."""

import importlib
from typing import Any

import numpy as np

from ridgeline.sim.engine.state import State
from ridgeline.sim.engine.tables import TABLES, WORDS

# numba's own annotations do not know half of what is used here
ir: Any = importlib.import_module("llvmlite.ir")
types: Any = importlib.import_module("numba.types")
cgutils: Any = importlib.import_module("numba.core.cgutils")
numpy_support: Any = importlib.import_module("numba.np.numpy_support")
arrays: Any = importlib.import_module("numba.np.arrayobj")
intrinsic: Any = importlib.import_module("numba.extending").intrinsic

MATRIX = types.int64[:, ::1]
VECTOR = types.int64[::1]


def accessor(name: str, dtype: Any, dimensions: int) -> Any:
    """An intrinsic that makes table ``name`` from the address of a header."""
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
            array = arrays.make_array(kind)(context, builder)
            data = builder.inttoptr(one[0], context.get_data_type(kind.dtype).as_pointer())
            arrays.populate_array(array, data=data, shape=cgutils.pack_array(builder, shape),
                           strides=cgutils.pack_array(builder, strides), itemsize=itemsize, meminfo=None)  # fmt: skip
            return array._getvalue()

        return kind(types.int64), code

    return intrinsic(read)


def caller(first: Any, second: Any) -> Any:
    """An intrinsic that calls a policy's machine code (an address) with two arrays."""

    def call(typing: Any, function: Any, left: Any, right: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = [context.get_value_type(first), context.get_value_type(second)]
            kind = ir.FunctionType(ir.IntType(64), kinds)
            return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

        return types.int64(types.int64, first, second), code

    return intrinsic(call)


def compiled() -> dict[str, Any]:
    """The intrinsics by the name in `tables` that each stands for."""
    made: dict[str, Any] = {name: accessor(*where) for name, where in TABLES.items()}
    return made | {"call_route": caller(MATRIX, VECTOR), "call_order": caller(VECTOR, VECTOR)}
