"""Which lines stand behind an orderly shutdown: failures there are part of the end, not its cause."""

from typing import Final

import numpy as np

from ridgeline.signals.lines import LogLines, Mask
from ridgeline.signals.log.rules import matching

# vLLM 0.32 marks every step of an orderly end; older ones and SGLang say that a signal came.
TRIGGER: Final = r"^\[shutdown\] .*(?:shutdown triggered|trigger received signal=SIG(?:TERM|INT))"
BOOT: Final = r"non-default args: \{|LLM engine \(v|vLLM API server version|server_args=ServerArgs\("
TEARDOWN_S: Final = 60.0


def after_shutdown(lines: LogLines) -> Mask:
    """True for lines at most a minute behind a shutdown's trigger and before the next boot."""
    late = np.zeros(len(lines), np.bool_)
    triggers = np.flatnonzero(matching(lines.body, TRIGGER))
    if not len(triggers):
        return late
    boots = np.flatnonzero(matching(lines.body, BOOT))
    for at in triggers.tolist():
        later = boots[boots > at]
        stop = int(later[0]) if len(later) else len(lines)
        with np.errstate(invalid="ignore"):
            late[at:stop] |= ~(lines.ts[at:stop] > lines.ts[at] + TEARDOWN_S)
    return late
