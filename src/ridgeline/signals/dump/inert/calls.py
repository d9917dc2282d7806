"""What a pickle would call: an allow-list of containers is built, everything else stays an inert record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from ridgeline.signals.dump.inert.things import Global, Inert, Refusal

if TYPE_CHECKING:
    from ridgeline.signals.dump.inert.machine import Machine

PLAIN: Final = frozenset((str, int, float, bool, bytes, type(None)))
KEYS: Final = PLAIN | {Inert, Global}  # these two hash by identity
KEY_DEPTH: Final = 4
KEY_PARTS: Final = 256
Args = tuple[Any, ...]


def check_keys(keys: Iterable[Any]) -> None:
    """Raises Refusal for a key that cannot be hashed or whose hash would run deep."""
    kinds = set(map(type, keys))
    if kinds <= KEYS:
        return
    for key in keys:
        _parts(key, 0, 0)


def _parts(key: Any, depth: int, parts: int) -> int:
    """`parts` and those of the key: one tuple may stand in another many times, and hashing goes through each."""
    kind = type(key)
    if kind in KEYS or kind is complex:
        return parts + 1
    if kind not in (tuple, frozenset):
        raise Refusal(f"uses a {kind.__name__} as a key")
    for part in key:
        if depth >= KEY_DEPTH or parts >= KEY_PARTS:
            raise Refusal("uses a key of many parts")
        parts = _parts(part, depth + 1, parts)
    return parts + 1


def called(m: Machine, maker: Any, args: Any) -> Any:
    """REDUCE."""
    if not isinstance(maker, Global):
        raise Refusal(f"calls a {_kind(maker)}")
    if not isinstance(args, tuple):
        raise Refusal("calls something with arguments that are no tuple")
    if maker.module == "copyreg":
        return _copied(m, maker.name, args)
    build = CONTAINERS.get((maker.module, maker.name))
    if build is None:
        return Inert(maker, args)
    m.spend(sum(len(arg) for arg in args if isinstance(arg, SIZED)))
    value = build(args)
    if value is WRONG:
        raise Refusal(f"makes a {maker.name} of something that is none")
    return value


def made(m: Machine, maker: Any, args: Any) -> Any:
    """NEWOBJ, OBJ and INST: `maker.__new__(maker, *args)` were it real."""
    return called(m, maker, args)


def built(target: Any, state: Any) -> None:
    """BUILD: the state of an inert record."""
    if not isinstance(target, Inert):
        raise Refusal(f"sets attributes of a {_kind(target)}")
    if target.state is None:
        target.state = state
    elif isinstance(target.state, dict) and isinstance(state, dict):
        target.state = {**target.state, **state}
    else:
        raise Refusal("sets the state of one object twice")


def _kind(value: Any) -> str:
    if isinstance(value, Global | Inert):
        return "name" if isinstance(value, Global) else "made-up object"
    return type(value).__name__


def _copied(m: Machine, name: str, args: Args) -> Any:
    """`copyreg._reconstructor(cls, base, state)`, `__newobj__(cls, …)`, `__newobj_ex__(cls, args, keywords)`."""
    if not args or not isinstance(args[0], Global):
        raise Refusal("rebuilds an object of no class")
    if name == "__newobj__":
        return called(m, args[0], args[1:])
    if name == "__newobj_ex__":
        if len(args) != 3 or not isinstance(args[1], tuple) or not isinstance(args[2], dict):
            raise Refusal("makes an object with arguments that are none")
        return called(m, args[0], (*args[1], args[2]) if args[2] else args[1])
    if len(args) != 3:
        raise Refusal("rebuilds an object of no class")
    return Inert(args[0], () if args[2] is None else (args[2],))


WRONG: Final = object()
SIZED: Final = (str, bytes, bytearray, list, tuple, dict, set, frozenset)


def _list(args: Args) -> Any:
    """A list of the first argument; deque's second (its bound) is dropped."""
    if not args:
        return []
    return list(args[0]) if isinstance(args[0], list | tuple | set | frozenset) and len(args) < 3 else WRONG


def _tuple(args: Args) -> Any:
    found = _list(args)
    return found if found is WRONG else tuple(found)


def _set(args: Args) -> Any:
    found = _list(args)
    if found is WRONG or len(args) > 1:
        return WRONG
    check_keys(found)
    return set(found)


def _frozenset(args: Args) -> Any:
    found = _set(args)
    return found if found is WRONG else frozenset(found)


def _dict(args: Args) -> Any:
    if not args:
        return {}
    if len(args) > 1:
        return WRONG
    if isinstance(args[0], dict):
        return dict(args[0])
    if not isinstance(args[0], list | tuple):
        return WRONG
    pairs = [tuple(pair) for pair in args[0] if isinstance(pair, list | tuple) and len(pair) == 2]
    if len(pairs) < len(args[0]):
        return WRONG
    check_keys([key for key, _ in pairs])
    return dict(pairs)


def _defaultdict(args: Args) -> Any:
    return _dict(args[1:])


def _bytes(args: Args) -> Any:
    if not args:
        return b""
    if len(args) == 1 and isinstance(args[0], bytes | bytearray):
        return bytes(args[0])
    text = args[0]
    if not isinstance(text, str) or len(args) > 2 or (len(args) == 2 and args[1] not in ("latin1", "latin-1")):
        return WRONG
    return text.encode("latin-1")


def _bytearray(args: Args) -> Any:
    found = _bytes(args)
    return found if found is WRONG else bytearray(found)


def _complex(args: Args) -> Any:
    if len(args) != 2 or not all(isinstance(part, int | float) for part in args):
        return WRONG
    return complex(*args)


CONTAINERS: Final[dict[tuple[str, str], Callable[[Args], Any]]] = {
    ("builtins", "list"): _list,
    ("builtins", "tuple"): _tuple,
    ("builtins", "set"): _set,
    ("builtins", "frozenset"): _frozenset,
    ("builtins", "dict"): _dict,
    ("builtins", "bytes"): _bytes,
    ("builtins", "bytearray"): _bytearray,
    ("builtins", "complex"): _complex,
    ("_codecs", "encode"): _bytes,
    ("collections", "OrderedDict"): _dict,
    ("collections", "Counter"): _dict,
    ("collections", "defaultdict"): _defaultdict,
    ("collections", "deque"): _list,
    ("_collections", "OrderedDict"): _dict,
    ("_collections", "defaultdict"): _defaultdict,
    ("_collections", "deque"): _list,
}
