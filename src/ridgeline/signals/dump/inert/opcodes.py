"""The opcodes that are rare, one function each, by their byte. Facts from the pickle protocol, versions 0 to 5."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ridgeline.signals.dump.inert.calls import built, called, check_keys, made
from ridgeline.signals.dump.inert.names import LONGEST, named
from ridgeline.signals.dump.inert.things import Inert, Refusal

if TYPE_CHECKING:
    from ridgeline.signals.dump.inert.machine import Machine

NEWEST: Final = 5
FRAME_LIMIT: Final = 1 << 62


def _size(m: Machine, width: int) -> int:
    return int.from_bytes(m.take(width), "little")


def _bytes(m: Machine, width: int) -> bytes:
    size = _size(m, width)
    if size > m.limits.text_bytes:
        raise Refusal(f"declares a value of {size:,} bytes")
    return m.take(size)


def _proto(m: Machine) -> None:
    version = _size(m, 1)
    if version > NEWEST:
        raise Refusal(f"is of pickle protocol {version}, which no Python writes")


def _frame(m: Machine) -> None:
    size = _size(m, 8)
    if size > FRAME_LIMIT:
        raise Refusal(f"declares a frame of {size:,} bytes")
    m.frame_end = m.pos + size


def _stop(m: Machine) -> None:
    if not m.stack:
        raise Refusal("ends without a value")
    m.stopped = True


# numbers and texts -------------------------------------------------------------------------------------------------


def _digits(m: Machine) -> bytes:
    return m.line(2 * m.limits.number_bytes)


def _int(m: Machine) -> None:
    line = _digits(m)
    m.stack.append(line == b"01" if line in (b"00", b"01") else int(line, 0))


def _long(m: Machine) -> None:
    m.stack.append(int(_digits(m).removesuffix(b"L"), 0))


def _sized_long(m: Machine, width: int) -> None:
    size = int.from_bytes(m.take(width), "little", signed=width == 4)
    if not 0 <= size <= m.limits.number_bytes:
        raise Refusal(f"declares a whole number of {size:,} bytes")
    m.stack.append(int.from_bytes(m.take(size), "little", signed=True))


def _float(m: Machine) -> None:
    m.stack.append(float(_digits(m)))


def _string(m: Machine) -> None:
    raw = m.line(m.limits.text_bytes)
    if len(raw) < 2 or raw[:1] != raw[-1:] or raw[:1] not in (b"'", b'"'):
        raise Refusal("has a text without quotes")
    m.stack.append(codecs.escape_decode(raw[1:-1])[0].decode("latin-1"))


def _unicode(m: Machine) -> None:
    m.stack.append(codecs.raw_unicode_escape_decode(m.line(m.limits.text_bytes))[0])


def _latin(width: int) -> Callable[[Machine], None]:
    return lambda m: m.stack.append(_bytes(m, width).decode("latin-1"))


def _text(width: int) -> Callable[[Machine], None]:
    return lambda m: m.stack.append(_bytes(m, width).decode("utf-8", "surrogatepass"))


def _raw(width: int) -> Callable[[Machine], None]:
    return lambda m: m.stack.append(_bytes(m, width))


# stack and memo ----------------------------------------------------------------------------------------------------


def _pop(m: Machine) -> None:
    if m.stack:
        m.stack.pop()
    else:
        m.marked()


def _get(m: Machine) -> None:
    m.stack.append(m.memo[int(_digits(m))])


def _put(m: Machine, index: int) -> None:
    if not 0 <= index <= m.limits.memo:
        raise Refusal(f"puts memo entry {index:,}")
    m.memo[index] = m.stack[-1]


# containers --------------------------------------------------------------------------------------------------------


def _tuple(size: int) -> Callable[[Machine], None]:
    def build(m: Machine) -> None:
        if len(m.stack) < size:
            raise Refusal("takes from an empty stack")
        items = tuple(m.stack[-size:])
        del m.stack[-size:]
        m.stack.append(items)

    return build


def _marked_tuple(m: Machine) -> None:
    items = tuple(m.marked())
    m.stack.append(items)


def _marked_list(m: Machine) -> None:
    items = m.marked()
    m.stack.append(items)


def _marked_dict(m: Machine) -> None:
    items = m.marked()
    m.stack.append({})
    _set_items(m, items)


def _marked_frozenset(m: Machine) -> None:
    items = m.marked()
    check_keys(items)
    m.stack.append(frozenset(items))


def _extend(m: Machine, items: list[Any]) -> None:
    into = m.stack[-1]
    if isinstance(into, list):
        into.extend(items)
    elif isinstance(into, Inert):
        into.items.extend(items)
    else:
        raise Refusal(f"appends to a {type(into).__name__}")


def _append(m: Machine) -> None:
    item = m.stack.pop()
    _extend(m, [item])


def _set_item(m: Machine) -> None:
    value = m.stack.pop()
    key = m.stack.pop()
    _set_items(m, [key, value])


def _set_items(m: Machine, items: list[Any]) -> None:
    into = m.stack[-1]
    if len(items) % 2:
        raise Refusal("has a key without a value")
    keys = items[::2]
    if isinstance(into, dict):
        check_keys(keys)
        into.update(zip(keys, items[1::2], strict=True))
    elif isinstance(into, Inert):
        into.items.extend(zip(keys, items[1::2], strict=True))
    else:
        raise Refusal(f"sets items of a {type(into).__name__}")


def _add_items(m: Machine) -> None:
    items = m.marked()
    into = m.stack[-1]
    if isinstance(into, set):
        check_keys(items)
        into.update(items)
    elif isinstance(into, Inert):
        into.items.extend(items)
    else:
        raise Refusal(f"adds to a {type(into).__name__}")


# names and what would be calls ---------------------------------------------------------------------------------------


def _global(m: Machine) -> None:
    module = m.line(LONGEST).decode("utf-8")
    m.stack.append(named(module, m.line(LONGEST).decode("utf-8")))


def _stack_global(m: Machine) -> None:
    name = m.stack.pop()
    m.stack.append(named(m.stack.pop(), name))


def _inst(m: Machine) -> None:
    module = m.line(LONGEST).decode("utf-8")
    maker = named(module, m.line(LONGEST).decode("utf-8"))
    m.stack.append(made(m, maker, tuple(m.marked())))


def _obj(m: Machine) -> None:
    items = m.marked()
    if not items:
        raise Refusal("makes an object of nothing")
    m.stack.append(made(m, items[0], tuple(items[1:])))


def _reduce(m: Machine) -> None:
    args = m.stack.pop()
    m.stack.append(called(m, m.stack.pop(), args))


def _new_object(m: Machine) -> None:
    args = m.stack.pop()
    m.stack.append(made(m, m.stack.pop(), args))


def _new_object_ex(m: Machine) -> None:
    keywords, args = m.stack.pop(), m.stack.pop()
    if not isinstance(keywords, dict) or not isinstance(args, tuple):
        raise Refusal("makes an object with arguments that are none")
    m.stack.append(made(m, m.stack.pop(), (*args, keywords) if keywords else args))


def _build(m: Machine) -> None:
    state = m.stack.pop()
    built(m.stack[-1], state)


def _refused(what: str) -> Callable[[Machine], None]:
    def refuse(m: Machine) -> None:
        raise Refusal(f"uses {what}, which no dump does")

    return refuse


_TABLE: Final[dict[int, Callable[[Machine], None]]] = {
    0x80: _proto,
    0x95: _frame,
    ord("."): _stop,
    ord("I"): _int,
    ord("L"): _long,
    0x8A: lambda m: _sized_long(m, 1),
    0x8B: lambda m: _sized_long(m, 4),
    ord("F"): _float,
    ord("S"): _string,
    ord("V"): _unicode,
    ord("T"): _latin(4),
    ord("U"): _latin(1),
    ord("X"): _text(4),
    0x8D: _text(8),
    ord("B"): _raw(4),
    ord("C"): _raw(1),
    0x8E: _raw(8),
    0x96: lambda m: m.stack.append(bytearray(_bytes(m, 8))),
    ord("0"): _pop,
    ord("1"): lambda m: _discard(m.marked()),
    ord("2"): lambda m: m.stack.append(m.stack[-1]),
    ord("g"): _get,
    ord("p"): lambda m: _put(m, int(_digits(m))),
    ord("q"): lambda m: _put(m, _size(m, 1)),
    ord("r"): lambda m: _put(m, _size(m, 4)),
    ord(")"): lambda m: m.stack.append(()),
    0x85: _tuple(1),
    0x86: _tuple(2),
    0x87: _tuple(3),
    ord("t"): _marked_tuple,
    ord("l"): _marked_list,
    ord("d"): _marked_dict,
    0x8F: lambda m: m.stack.append(set()),
    0x91: _marked_frozenset,
    ord("a"): _append,
    ord("e"): lambda m: _extend(m, m.marked()),
    ord("s"): _set_item,
    ord("u"): lambda m: _set_items(m, m.marked()),
    0x90: _add_items,
    ord("c"): _global,
    0x93: _stack_global,
    ord("i"): _inst,
    ord("o"): _obj,
    ord("R"): _reduce,
    0x81: _new_object,
    0x92: _new_object_ex,
    ord("b"): _build,
    0x82: _refused("the extension registry"),
    0x83: _refused("the extension registry"),
    0x84: _refused("the extension registry"),
    ord("P"): _refused("persistent ids"),
    ord("Q"): _refused("persistent ids"),
    0x97: _refused("out-of-band buffers"),
    0x98: _refused("out-of-band buffers"),
}


def _discard(items: list[Any]) -> None:
    items.clear()


OTHERS: Final[list[Callable[[Machine], None] | None]] = [_TABLE.get(byte) for byte in range(256)]
