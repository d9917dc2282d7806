"""Python stack traces of any program → one event each: the exception's last line and the innermost frame.

Lines of one trace follow each other within one logger (a process may print every line behind its own prefix, and
several processes may print at once), so the state is kept per logger. A trace without header or end, because the
file begins or ends there or another parser took that line, still counts as one.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ridgeline.signals.lines import LogLines, Mask, Parsed
from ridgeline.signals.log import pool_check
from ridgeline.signals.log.orderly import after_shutdown
from ridgeline.signals.log.rules import event, event_rows, matching
from ridgeline.signals.log.unread import template
from ridgeline.signals.rows import Reading

GATE: Final = r"Traceback \(most recent call last\)|^[ |+-]*File \""
HEADER: Final = re.compile(r"Traceback \(most recent call last\)")
FRAME: Final = re.compile(r"^[ |]*File \"([^\"]{1,400})\", line (\d+)(?:, in (\S{1,120}))?")
INSIDE: Final = re.compile(r"^(?:\s+\S|\s*[~^]+\s*$|\s*\[Previous line repeated|\s*\| )")
CHAINED: Final = re.compile(r"^(?:During handling of the above exception|The above exception was the direct cause)")
NAMES: Final = r"(?:Error|Exception|Interrupt|Exit|Timeout|Dead|Warning|Full|Empty)"
FINAL: Final = re.compile(r"^[ |]*((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*" + NAMES + r")(?:: |:?$)")
LEAK: Final = re.compile(r"(?:memory|pool) leak detected")
TEXT_CHARS: Final = 500


@dataclass(slots=True)
class _Stack:
    """A trace being read: index of its first line, its innermost frame so far."""

    first: int
    frame: str = ""


def parse(lines: LogLines, reading: Reading) -> Parsed:
    """Events of kind `traceback` (`shutdown` behind an orderly one); every line of a trace counts as understood."""
    understood = np.zeros(len(lines), np.bool_)
    if not matching(lines.body, GATE).any():
        return Parsed([], understood)
    rows: list[dict[str, Any]] = []
    stacks: dict[str | None, _Stack] = {}
    loggers = lines.logger.to_pylist()
    for i, text in enumerate(lines.body.to_pylist()):
        stack = stacks.get(loggers[i])
        if HEADER.search(text[:2000]):
            if stack is not None and stack.frame:
                rows.append(_row(lines, stack.first, reading, "", stack.frame))
            stacks[loggers[i]] = _Stack(i)
            understood[i] = True
        elif frame := FRAME.match(text[:1000]):
            stack = stacks.setdefault(loggers[i], _Stack(i))
            stack.frame = f"{frame[1]}:{frame[2]}" + (f" in {frame[3]}" if frame[3] else "")
            understood[i] = True
        elif stack is not None:
            _continue(i, text[:2000], stack, loggers[i], stacks, understood, rows, lines, reading)
        elif CHAINED.match(text[:100]):
            understood[i] = True
    rows.extend(_row(lines, stack.first, reading, "", stack.frame) for stack in stacks.values() if stack.frame)
    late = set(lines.line[after_shutdown(lines)].tolist())
    for row in rows:
        if row["line"] in late:  # an exception while an orderly shutdown takes the engine away is that shutdown
            row["kind"], row["severity"] = "shutdown", "info"
    rows.sort(key=lambda row: row["line"])
    return Parsed(event_rows(rows), understood)


def _continue(
    i: int,
    text: str,
    stack: _Stack,
    logger: str | None,
    stacks: dict[str | None, _Stack],
    understood: Mask,
    rows: list[dict[str, Any]],
    lines: LogLines,
    reading: Reading,
) -> None:
    """One line behind a header or frame: code, the exception itself, or the end of the trace."""
    if INSIDE.match(text) and not FINAL.match(text):
        understood[i] = True
        return
    if FINAL.match(text):
        understood[i] = True
        rows.append(_row(lines, i, reading, text, stack.frame))
        if LEAK.search(text):  # raised by the engine's own idle check: also the line that says what is missing
            told = {"frame": stack.frame or None, **pool_check.figures(text)}
            rows.append(event(lines, i, reading, "pool-leak-check", told, "error"))
    elif stack.frame:
        rows.append(_row(lines, stack.first, reading, "", stack.frame))
    del stacks[logger]


def _row(lines: LogLines, i: int, reading: Reading, text: str, frame: str) -> dict[str, Any]:
    row = event(lines, i, reading, "traceback", {"frame": frame or None}, "error")
    found = FINAL.match(text)
    if text:
        row["text"], row["template"] = text[:TEXT_CHARS], template(text)
    if found:
        row["attrs"] = event(lines, i, reading, "traceback", {"frame": frame or None, "exception": found[1]})["attrs"]
    return row
