"""Lines that say nothing about serving: Python warnings, progress bars, banners, leaks reported at exit."""

from typing import Final

import numpy as np

from ridgeline.signals.lines import LogLines, Parsed
from ridgeline.signals.log.rules import matching
from ridgeline.signals.rows import Reading

# RE2 syntax.
WARNING: Final = r"^\S+\.py:\d+: \w*Warning: "
CHATTER: Final = (
    r"^\s+warnings\.warn\(|^[^\[]{0,200}\d+%(?: Completed)? ?\||\d+(?:\.\d+)?(?:it/s|s/it)\]|^\s*[#=*_-]{8,}\s*$|"
    r"^#.{0,200}#\s*$|^nanobind: |^ - leaked |"
    r"^ - \.\.\. skipped remainder|^See https://nanobind|^WARNING: Logging before InitGoogleLogging|"
    # what people leave where they cut a log
    r"^\s*(?:\[(?:cut|snip(?:ped)?|truncated|omitted)\][ .…]*|(?:\.\.\.|…)[^:=]{0,60})$"
)


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """No rows. The indented line behind a Python warning is its source text."""
    warned = matching(lines.body, WARNING)
    understood = warned | matching(lines.body, CHATTER)
    if warned.any():
        behind = np.flatnonzero(warned[:-1]) + 1
        source = matching(lines.body, r"^\s{2,}\S") & ~lines.prefixed
        understood[behind] |= source[behind] & (lines.line[behind] == lines.line[behind - 1] + 1)
    return Parsed([], understood)
