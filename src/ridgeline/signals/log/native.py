"""Native back traces (UCX, glibc, glog) → one event each, with the functions innermost first."""

import re
from typing import Any, Final

import numpy as np

from ridgeline.signals.lines import LogLines, Parsed
from ridgeline.signals.log.rules import event, event_rows, matching
from ridgeline.signals.rows import Reading

HEADER: Final = r"^==== backtrace \(tid:|^\*\*\* Check failure stack trace|^Native backtrace|^={2,} backtrace"
FRAME: Final = re.compile(
    r"^\s{0,8}(?:#|@ +)?(?:\d{1,3}:?)? *(?:0x[0-9a-fA-F]+ +)?(?P<lib>/[^ (]{1,300})\((?P<function>[^)+]{0,300})"
    r"(?:\+0x[0-9a-f]+)?\)(?: ?\[0x[0-9a-fA-F]+\])?\s*$"
    r"|^\s{0,8}@ +0x[0-9a-fA-F]+ +(?P<bare>[^(]{1,300})"
)
FOOTER: Final = re.compile(r"^={10,}$")
FRAMES: Final = 60


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """An event of kind `traceback` at each header; the frames behind it count as understood."""
    understood = matching(lines.body, HEADER)
    rows: list[dict[str, Any]] = []
    for i in np.flatnonzero(understood).tolist():
        functions: list[str] = []
        at = i + 1
        while at < len(lines) and at - i <= FRAMES:
            text = lines.body[at].as_py()[:800]
            found = FRAME.match(text)
            if found is None:
                understood[at] = bool(FOOTER.match(text))
                break
            understood[at] = True
            name = found["function"] or found["bare"]
            if name:
                functions.append(name.strip())
            at += 1
        attrs = {"native": True, "functions": functions}
        rows.append(event(lines, i, reading, "traceback", {}, "error", attrs))
    return Parsed(event_rows(rows), understood)
