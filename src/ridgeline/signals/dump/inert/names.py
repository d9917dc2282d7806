"""Which names a dump may mention. Safety does not rest on this: a name is never looked up, whatever it is.

It tells files that were made to run code from dumps: a dump of a server names classes of sglang, transformers, torch,
numpy and the like, and of the standard library only containers and plain values. Anything else of the standard library
(`os.system`, `builtins.eval`, `getattr` chains, …) is refused with its name.
"""

import sys
from typing import Final

from ridgeline.signals.dump.inert.things import Global, Refusal

# Modules of the standard library any member of which may be named: containers, values, enums.
VALUES: Final = frozenset(
    (
        *("array", "argparse", "collections", "datetime", "decimal", "enum", "fractions", "http", "ipaddress"),
        *("numbers", "pathlib", "pathlib._local", "typing", "uuid", "zoneinfo"),
    )
)
# Single members of modules that otherwise hold what can be called to do things.
MEMBERS: Final[dict[str, frozenset[str]]] = {
    "builtins": frozenset(
        (
            *("bool", "bytearray", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "object", "range"),
            *("set", "slice", "str", "tuple", "Ellipsis", "NotImplemented", "NoneType"),
        )
    ),
    "copyreg": frozenset(("_reconstructor", "__newobj__", "__newobj_ex__")),
    "_codecs": frozenset(("encode",)),
    "_collections": frozenset(("OrderedDict", "defaultdict", "deque")),
    "functools": frozenset(("partial",)),
    "signal": frozenset(("Handlers", "Signals")),
    "types": frozenset(("NoneType", "SimpleNamespace")),
}
EXCEPTIONS: Final = ("Error", "Exception", "Warning", "Interrupt")
# Python 2's names of the same modules, which protocols 0 to 2 write.
OLD: Final = {"__builtin__": "builtins", "copy_reg": "copyreg", "exceptions": "builtins"}
OLD_NAMES: Final = {"xrange": "range", "unicode": "str", "long": "int"}
OLD_MODULES: Final = frozenset(("commands", "popen2", "pipes", "imp", "crypt", "telnetlib"))
# A step of a dotted name (`module.Outer.Inner`) that leads out of the module it starts in.
STEPS: Final = frozenset(
    (
        *("builtins", "ctypes", "eval", "exec", "execfile", "getattr", "importlib", "nt", "os", "popen", "posix"),
        *("setattr", "shutil", "socket", "subprocess", "sys", "system"),
    )
)
LONGEST: Final = 512


def named(module: object, name: object) -> Global:
    """The inert stand-in for a name. Raises Refusal for one that no dump has."""
    if not isinstance(module, str) or not isinstance(name, str):
        raise Refusal("names something by what is no text")
    if not module or not name or len(module) + len(name) > LONGEST:
        raise Refusal("has an empty or overlong name")
    if module in OLD:
        module, name = OLD[module], OLD_NAMES.get(name, name)
    first, _, rest = module.partition(".")
    allowed = MEMBERS.get(module)
    if allowed is not None:
        fine = name in allowed or (module == "builtins" and name.endswith(EXCEPTIONS) and name.isidentifier())
    elif first in sys.stdlib_module_names or first in OLD_MODULES:
        fine = module in VALUES and not _leads_out(name)
    else:
        fine = not _leads_out(name) and "__" not in rest
    if not fine:
        what = f"{_shown(module)}.{_shown(name)}"
        raise Refusal(f"names {what}, which no dump does and which can run code where a pickle is loaded")
    return Global(module, name)


def _leads_out(name: str) -> bool:
    return any(step in STEPS or step.startswith("__") for step in name.split("."))


def _shown(name: str) -> str:
    """Safe in one line, cut."""
    return ascii(name[:80])[1:-1][:80]
