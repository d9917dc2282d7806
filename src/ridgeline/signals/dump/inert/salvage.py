"""What was whole when the data ended: a dump cut by a full disk still has the requests before the cut.

A pickler writes a container before its items and hands the items over in runs. At the cut the open stacks hold, from
the outside in: the dict; its keys and values so far; behind the key `requests` its list; the entries of the run; and
inside them the entry being written, which is lost.
"""

from typing import Any, Final

from ridgeline.signals.dump.inert.machine import Machine

KEY: Final = "requests"


def salvaged(m: Machine) -> Any:
    """A dump's dict, or its bare list, as far as it was read; None where nothing of one was."""
    levels = [*m.below, m.stack]
    root = levels[0][0] if levels[0] else None
    if isinstance(root, list):
        return _with_run(root, levels, 0)
    if not isinstance(root, dict):
        return None
    said = levels[1] if len(levels) > 1 else levels[0][1:]
    pairs = zip(said[::2], said[1::2], strict=False)
    found = {**root, **{key: value for key, value in pairs if isinstance(key, str)}}
    requests = found.get(KEY)
    if isinstance(requests, list):
        at = 1 if len(levels) > 1 else 0
        last = bool(levels[at]) and levels[at][-1] is requests
        found[KEY] = _with_run(requests, levels, at) if last else requests
    return found


def _with_run(entries: list[Any], levels: list[list[Any]], at: int) -> list[Any]:
    """The list at the end of level `at`, with the whole entries of the run that was being added."""
    run = levels[at + 1] if len(levels) > at + 1 else []
    return [*entries, *(entry for entry in run if isinstance(entry, tuple))]
