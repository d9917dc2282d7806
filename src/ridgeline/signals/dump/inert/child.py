"""The process that reads one pickle: standard input in, one JSON document out. Started by `reader.py` with `-I -S`.

Before the first byte is read it takes from itself what reading does not need: memory and CPU time beyond the limits,
new files, processes, core files. An audit hook ends it should anything be imported, compiled, opened or started.
"""

import gc
import json
import sys
from array import array
from contextlib import suppress
from os import _exit
from time import monotonic
from typing import Any, Final

from ridgeline.signals.dump.inert.limits import Limits
from ridgeline.signals.dump.inert.machine import Machine
from ridgeline.signals.dump.inert.plain import Plain
from ridgeline.signals.dump.inert.salvage import salvaged
from ridgeline.signals.dump.inert.things import Cut, Refusal

FORBIDDEN: Final = frozenset(
    ("import", "open", "exec", "compile", "pickle.find_class", "marshal.loads", "code.__new__")
)
FORBIDDEN_ROOMS: Final = ("os.", "subprocess.", "socket.", "ctypes.", "shutil.", "builtins.", "sys._", "tempfile.")
BROKE_OUT: Final = 77  # exit status where the audit hook saw something


def answer(data: bytes, limits: Limits, deadline: float, ids: "array[int] | None" = None) -> dict[str, Any]:
    """`{"root": plain data, "cut": str | None, "rest": bytes behind the end}`, or `{"refused": str}`.

    The root of a cut file is what was whole, null where nothing was. `ids`: see `Plain`.
    """
    machine = Machine(data, limits, deadline)
    cut = None
    try:
        try:
            root = machine.run()
        except Cut as e:
            cut = f"{e} at byte {machine.pos:,}"
            root = salvaged(machine)
        plain = Plain(len(data), limits, deadline, ids).walk(root)
        return {"root": plain, "cut": cut, "rest": len(data) - machine.pos}
    except Refusal as e:
        return {"refused": f"{e} (at byte {machine.pos:,})"}


def main() -> None:
    """`argv`: the limits as JSON, the seconds left. Writes the length of the answer, the answer, the token ids."""
    limits = Limits(*json.loads(sys.argv[1]))
    deadline = monotonic() + float(sys.argv[2])
    gc.disable()  # nothing the machine builds dies before the process does
    short = {"refused": f"needs more than {limits.memory_bytes >> 20} MiB of memory to be read"}
    parts = _parts(short, array("i"))  # made now: later there may be no room to
    _harden(limits)
    with suppress(MemoryError):
        ids = array("i")
        parts = _parts(answer(sys.stdin.buffer.read(), limits, deadline, ids), ids)
    for part in parts:
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()
    _exit(0)  # taking the objects down one by one would cost as much as building them


def _parts(found: dict[str, Any], ids: "array[int]") -> tuple[bytes, bytes, memoryview]:
    text = json.dumps(found, separators=(",", ":")).encode("ascii")
    return len(text).to_bytes(8, "little"), text, memoryview(ids).cast("B")


def _harden(limits: Limits) -> None:
    with suppress(ImportError):
        import resource as r

        cpu = int(limits.seconds) + 1
        caps = ((r.RLIMIT_CORE, 0), (r.RLIMIT_CPU, cpu), (r.RLIMIT_NOFILE, 3), (r.RLIMIT_FSIZE, 0))
        for what, cap in (*caps, (r.RLIMIT_AS, limits.memory_bytes), (r.RLIMIT_NPROC, 0)):
            with suppress(OSError, ValueError):  # a system without that limit: the others and the hook remain
                r.setrlimit(what, (cap, cap))
    sys.addaudithook(_watch)


def _watch(event: str, _: tuple[Any, ...]) -> None:
    if event in FORBIDDEN or event.startswith(FORBIDDEN_ROOMS):
        _exit(BROKE_OUT)
