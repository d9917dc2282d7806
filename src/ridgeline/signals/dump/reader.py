"""The parent's side: a child process per dump, its answer or why there is none."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any, Final

from ridgeline.signals.dump.inert.limits import Limits
from ridgeline.signals.dump.inert.plain import PACKED

PACKAGE: Final = Path(__file__).resolve().parents[2]  # …/ridgeline
# The packages above the machine are given as bare folders: what their own code imports stays out of the child.
START: Final = """\
import sys, types
at = sys.argv.pop(1)
for name in ("ridgeline", "ridgeline.signals", "ridgeline.signals.dump"):
    package = sys.modules[name] = types.ModuleType(name)
    package.__path__ = [at + name.removeprefix("ridgeline").replace(".", "/")]
from ridgeline.signals.dump.inert.child import main
main()
"""
KEPT: Final = ("LD_LIBRARY_PATH", "SYSTEMROOT")  # without them some interpreters do not start
GRACE_S: Final = 0.5  # between the child's own deadline and its end


def inert(data: bytes, limits: Limits, deadline: float) -> dict[str, Any]:
    """What the child says of a pickle (`inert.child.answer`); a child that dies is `{"refused": why}`.

    `deadline` is on the monotonic clock; the child is ended there.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        return {"refused": "takes too long to unpack"}
    command = [sys.executable, "-I", "-S", "-B", "-W", "ignore", "-c", START, str(PACKAGE)]
    with _in_memory(data) as given:
        child = subprocess.Popen(
            [*command, json.dumps(limits), str(max(left - GRACE_S, 0.1))],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in KEPT if name in os.environ},
        )
    try:
        out, _ = child.communicate(timeout=left)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return {"refused": f"takes more than {limits.seconds:.3g} s to read"}
    if child.returncode:
        return {"refused": _died(child.returncode, limits)}
    found = _decoded(out)
    return found if isinstance(found, dict) else {"refused": "could not be read: the reading process gave no answer"}


def _in_memory(data: bytes) -> IO[bytes]:
    """A file without a name that holds the data: a pipe would be filled and emptied 64 KiB at a time."""
    if hasattr(os, "memfd_create"):
        given: IO[bytes] = os.fdopen(os.memfd_create("dump"), "w+b", buffering=0)
    else:
        given = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - the caller closes it
    view = memoryview(data)
    while view:
        view = view[given.write(view) :]
    given.seek(0)
    return given


def _decoded(out: bytes) -> Any:
    """The child's answer with the token ids put back; None where it is none."""
    size = int.from_bytes(out[:8], "little")
    raw = memoryview(out)[8 + size :]
    ids = raw[: len(raw) // 4 * 4].cast("i")

    def unpacked(found: dict[str, Any]) -> Any:
        if len(found) != 1 or PACKED not in found:
            return found
        first, count = found[PACKED]
        return ids[first : first + count].tolist()

    try:
        return json.loads(out[8 : 8 + size], object_hook=unpacked)
    except (TypeError, ValueError, RecursionError):
        return None


def _died(status: int, limits: Limits) -> str:
    if status == -signal.SIGXCPU:
        return f"takes more than {limits.seconds:.3g} s to read"
    if status == -signal.SIGKILL:
        return "could not be read: the reading process was killed, perhaps for memory"
    how = f"signal {-status}" if status < 0 else f"status {status}"
    return f"could not be read: the reading process ended with {how}"
