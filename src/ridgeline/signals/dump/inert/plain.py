"""What the machine built → data that JSON can hold: scalars, lists, dicts with text keys.

An inert record is `{"$": "module.Class", …its attributes}`; a call with one plain argument (an enum member, a
Decimal) is that argument, and so is a numpy number. Sets are sorted lists, raw bytes only their size. What refers to
itself or unfolds beyond the caps is refused: a memo entry that is used twice is written twice here.
"""

from array import array
from struct import calcsize, unpack
from time import monotonic
from typing import Any, Final

from ridgeline.signals.dump.inert.limits import Limits
from ridgeline.signals.dump.inert.things import Global, Inert, Refusal

NUMBERS: Final = frozenset((int, float, bool, type(None)))
SCALARS: Final = NUMBERS | {str}
ROOM: Final = 1_000_000  # items any file may unfold to, besides
UNFOLDED: Final = 8  # so many items per byte of the file
CHARS: Final = 8 * 1024 * 1024  # and so much text
SPARSE: Final = "ReqInput"  # a request has some eighty fields; those that were not set are left out
STRIDE: Final = 1 << 14
SCALAR_MAKERS: Final = frozenset(("numpy._core.multiarray.scalar", "numpy.core.multiarray.scalar"))
NUMPY_FORMS: Final = {"f8": "d", "f4": "f", "f2": "e", "i8": "q", "i4": "i", "i2": "h", "i1": "b",
                      "u8": "Q", "u4": "I", "u2": "H", "u1": "B", "b1": "?"}  # fmt: skip
PACKED: Final = "$i32"
PACKED_FROM: Final = 32  # shorter lists of token ids are written as they are


class Plain:
    """One walk over what a pickle of `size` bytes built; keeps what it may still spend.

    With `ids` long lists of token ids go there instead and `{"$i32": [first, count]}` stands in their place: text of
    numbers would cost more than all the rest.
    """

    def __init__(self, size: int, limits: Limits, deadline: float, ids: "array[int] | None" = None) -> None:
        self.depth = limits.depth
        self.items = min(limits.objects, ROOM + UNFOLDED * size)
        self.chars = CHARS + UNFOLDED * size
        self.deadline = deadline
        self.ids = ids
        self.next_look = self.items - STRIDE

    def walk(self, value: Any, depth: int = 0) -> Any:
        """`value` as plain data. Raises Refusal."""
        kind = type(value)
        if kind is str:
            self.chars -= len(value)
            if self.chars < 0:
                raise Refusal("unfolds to more text than a dump of its size holds")
            return value
        if kind in NUMBERS:
            return value
        if depth > self.depth:
            raise Refusal(f"holds itself, or nests more than {self.depth} containers")
        if kind is list or kind is tuple:
            self._spend(len(value))
            if NUMBERS.issuperset(map(type, value)):
                return self._packed(value)
            return [self.walk(item, depth + 1) for item in value]
        if kind is dict:
            self._spend(len(value))
            return {self._key(key, depth): self.walk(item, depth + 1) for key, item in value.items()}
        return self._other(value, depth)

    def _packed(self, numbers: Any) -> Any:
        if self.ids is None or len(numbers) < PACKED_FROM or bool in map(type, numbers[:1]):
            return numbers
        first = len(self.ids)
        try:
            self.ids.extend(array("i", numbers))
        except (TypeError, OverflowError):  # fractions among them, or numbers that no token has
            return numbers
        return {PACKED: [first, len(numbers)]}

    def _spend(self, items: int) -> None:
        self.items -= items + 1
        if self.items < self.next_look:
            self.next_look = self.items - STRIDE
            if self.items < 0:
                raise Refusal("unfolds to more values than a dump of its size holds")
            if monotonic() > self.deadline:
                raise Refusal("takes too long to read")

    def _key(self, key: Any, depth: int) -> str:
        if type(key) is str:
            return str(self.walk(key, depth))
        return str(self.walk(key, depth + 1))

    def _other(self, value: Any, depth: int) -> Any:
        if isinstance(value, Inert):
            return self._record(value, depth)
        if isinstance(value, Global):
            return {"$": self.walk(value.path)}
        if isinstance(value, set | frozenset):
            self._spend(len(value))
            return sorted((self.walk(item, depth + 1) for item in value), key=repr)
        if isinstance(value, bytes | bytearray):
            return {"$": "bytes", "size": len(value)}
        return str(value)  # complex

    def _record(self, value: Inert, depth: int) -> Any:
        module, args = value.made_by.module, value.args
        bare = value.state is None and not value.items
        if bare and len(args) == 1 and type(args[0]) in SCALARS:
            return self.walk(args[0], depth)
        if bare and module.startswith("pathlib") and all(type(part) is str for part in args):
            return self.walk("/".join(args).replace("//", "/", 1) if args else ".", depth)
        if bare and module == "datetime" and args and type(args[0]) is bytes:
            return _iso(args[0])
        if bare and value.made_by.path in SCALAR_MAKERS and (found := _numpy_scalar(args)) is not None:
            return found
        out: dict[str, Any] = {"$": value.made_by.path}
        rest: list[Any] = []
        for part in (*args, *(value.state if isinstance(value.state, tuple) else (value.state,))):
            if isinstance(part, dict) and all(type(key) is str for key in part):
                self._spend(len(part))
                sparse = value.made_by.name.endswith(SPARSE)
                out |= {k: self.walk(v, depth + 1) for k, v in part.items() if not (sparse and v is None)}
            elif part is not None:
                rest.append(part)
        if rest:
            out["args"] = self.walk(rest, depth + 1)
        if value.items:
            out["items"] = self.walk(value.items, depth + 1)
        return out


def _numpy_scalar(args: tuple[Any, ...]) -> int | float | bool | None:
    """A number out of numpy's (kind, bytes); None for another kind."""
    if len(args) != 2 or not isinstance(args[0], Inert) or type(args[1]) is not bytes or not args[0].args:
        return None
    kind, state = args[0].args[0], args[0].state
    order = state[1] if isinstance(state, tuple) and len(state) > 1 and state[1] in ("<", ">") else "<"
    form = NUMPY_FORMS.get(kind) if isinstance(kind, str) else None
    if form is None or calcsize(form) != len(args[1]):
        return None
    number: int | float | bool = unpack(order + form, args[1])[0]
    return number


def _iso(raw: bytes) -> str:
    """A date or time as `datetime` packs it: year high, year low, month, day, hour, minute, second, microseconds."""
    if len(raw) == 4:
        return f"{raw[0] << 8 | raw[1]:04}-{raw[2] & 0x7F:02}-{raw[3]:02}"
    if len(raw) == 10:
        micro = int.from_bytes(raw[7:], "big")
        return f"{_iso(raw[:4])}T{raw[4]:02}:{raw[5]:02}:{raw[6]:02}.{micro:06}"
    return f"{len(raw)} bytes of a time"
